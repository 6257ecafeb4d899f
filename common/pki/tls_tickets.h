// Process-wide TLS settings that gRPC has no option for.
#ifndef NAVE_COMMON_PKI_TLS_TICKETS_H_
#define NAVE_COMMON_PKI_TLS_TICKETS_H_

namespace nave {

// Makes every TLS server of this process send no session tickets: with client certificates they
// save a peer little and cost a quarter of a connect, and a resumed session would come without its
// certificate chain. Whatever else the system's OpenSSL configuration sets for servers and clients
// stays. Thread-safe; acts once, on contexts made later.
void DisableTlsTickets();

}  // namespace nave

#endif  // NAVE_COMMON_PKI_TLS_TICKETS_H_
