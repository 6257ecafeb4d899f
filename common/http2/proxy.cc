#include "common/http2/proxy.h"

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace nave {
namespace {

// An address as 16 bytes (IPv4 mapped into IPv6).
using Address = std::array<uint8_t, 16>;

std::optional<Address> ParseAddress(absl::string_view text, bool* is_v4) {
  const std::string owned(text);
  Address address{};
  if (inet_pton(AF_INET, owned.c_str(), &address[12]) == 1) {
    address[10] = address[11] = 0xff;
    *is_v4 = true;
    return address;
  }
  *is_v4 = false;
  if (inet_pton(AF_INET6, owned.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

bool SharesPrefix(const Address& a, const Address& b, int bits) {
  const int bytes = bits / 8;
  if (std::memcmp(a.data(), b.data(), bytes) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || ((a[bytes] ^ b[bytes]) >> (8 - rest)) == 0;
}

bool InBlock(absl::string_view block, const Address& address) {
  const std::vector<absl::string_view> parts = absl::StrSplit(block, absl::MaxSplits('/', 1));
  bool is_v4 = false;
  const std::optional<Address> base = ParseAddress(parts[0], &is_v4);
  int bits = 0;
  if (!base || !absl::SimpleAtoi(parts[1], &bits) || bits < 0 || bits > (is_v4 ? 32 : 128))
    return false;
  return SharesPrefix(*base, address, is_v4 ? bits + 96 : bits);
}

bool IsLoopback(absl::string_view host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  bool is_v4 = false;
  const std::optional<Address> address = ParseAddress(host, &is_v4);
  if (!address) return false;
  return is_v4 ? (*address)[12] == 127 : InBlock("::1/128", *address);
}

// Splits "host:port" or "[v6]:port"; the port stays 0 when there is none. False: not of that form.
bool SplitHostPort(absl::string_view text, std::string* host, int* port) {
  absl::string_view rest;
  if (absl::StartsWith(text, "[")) {
    const size_t close = text.find(']');
    if (close == absl::string_view::npos) return false;
    *host = std::string(text.substr(1, close - 1));
    rest = text.substr(close + 1);
  } else {
    const size_t colon = text.find(':');
    // More than one colon and no brackets: an IPv6 address without port.
    if (colon != absl::string_view::npos && text.find(':', colon + 1) != absl::string_view::npos) {
      *host = std::string(text);
      return true;
    }
    *host = std::string(text.substr(0, colon));
    rest = colon == absl::string_view::npos ? "" : text.substr(colon);
  }
  if (rest.empty()) return true;
  return rest[0] == ':' && absl::SimpleAtoi(rest.substr(1), port) && *port > 0 && *port < 65536;
}

bool EntryCovers(absl::string_view entry, absl::string_view host, int port) {
  if (entry == "*") return true;
  bool is_v4 = false;
  const std::optional<Address> address = ParseAddress(host, &is_v4);
  if (absl::StrContains(entry, '/')) return address && InBlock(entry, *address);
  std::string name;
  int entry_port = 0;
  if (!SplitHostPort(entry, &name, &entry_port)) return false;
  if (entry_port != 0 && entry_port != port) return false;
  if (address) {
    const std::optional<Address> other = ParseAddress(name, &is_v4);
    return other && *other == *address;
  }
  absl::string_view suffix = name;
  absl::ConsumePrefix(&suffix, "*");
  const bool subdomains_only = absl::ConsumePrefix(&suffix, ".");
  if (suffix.empty()) return false;
  if (absl::EqualsIgnoreCase(host, suffix)) return !subdomains_only;
  return absl::EndsWithIgnoreCase(host, absl::StrCat(".", suffix));
}

std::string PercentDecode(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && absl::ascii_isxdigit(text[i + 1]) &&
        absl::ascii_isxdigit(text[i + 2])) {
      out += absl::HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<Proxy> ParseProxyUrl(absl::string_view url) {
  absl::string_view rest = url;
  if (const size_t scheme_end = rest.find("://"); scheme_end != absl::string_view::npos) {
    if (!absl::EqualsIgnoreCase(rest.substr(0, scheme_end), "http")) {
      return absl::InvalidArgumentError(
          absl::StrCat("proxy url: want scheme http, got ", rest.substr(0, scheme_end)));
    }
    rest.remove_prefix(scheme_end + 3);
  }
  rest = rest.substr(0, rest.find_first_of("/?#"));
  Proxy proxy;
  if (const size_t at = rest.rfind('@'); at != absl::string_view::npos) {
    proxy.authorization =
        absl::StrCat("Basic ", absl::Base64Escape(PercentDecode(rest.substr(0, at))));
    rest.remove_prefix(at + 1);
  }
  if (!SplitHostPort(rest, &proxy.host, &proxy.port) || proxy.host.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("proxy url: want http://host:port, got host \"", rest, "\""));
  }
  if (proxy.port == 0) proxy.port = 80;
  return proxy;
}

bool BypassesProxy(absl::string_view host, int port, absl::string_view no_proxy) {
  if (IsLoopback(host)) return true;
  for (absl::string_view entry : absl::StrSplit(no_proxy, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (!entry.empty() && EntryCovers(entry, host, port)) return true;
  }
  return false;
}

std::string FormatHostPort(absl::string_view host, int port) {
  const bool v6 = absl::StrContains(host, ':');
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

std::string FormatConnectRequest(absl::string_view host, int port, const Proxy& proxy) {
  const std::string target = FormatHostPort(host, port);
  std::string request = absl::StrCat("CONNECT ", target, " HTTP/1.1\r\nHost: ", target, "\r\n");
  if (!proxy.authorization.empty()) {
    absl::StrAppend(&request, "Proxy-Authorization: ", proxy.authorization, "\r\n");
  }
  return absl::StrCat(request, "\r\n");
}

absl::Status CheckConnectReply(absl::string_view reply) {
  const absl::string_view line = reply.substr(0, reply.find_first_of("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  int code = 0;
  if (words.size() < 2 || !absl::StartsWith(words[0], "HTTP/1.") ||
      !absl::SimpleAtoi(words[1], &code)) {
    return absl::UnavailableError("proxy: the answer to CONNECT is no HTTP/1.1 response");
  }
  if (code < 200 || code > 299) {
    return absl::UnavailableError(
        absl::StrCat("proxy: CONNECT answered \"", line.substr(0, 200), "\""));
  }
  return absl::OkStatus();
}

}  // namespace nave
