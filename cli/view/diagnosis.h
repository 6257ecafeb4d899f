// `why`: a diagnosis for people. Pure.
#ifndef NAVE_CLI_VIEW_DIAGNOSIS_H_
#define NAVE_CLI_VIEW_DIAGNOSIS_H_

#include <string>

#include "absl/time/time.h"
#include "cli/output/style.h"
#include "nave/v1/meta.pb.h"

namespace nave::cli {

//   edge-17 is Disconnected, cause Revoked, for 14m
//     All its certificates are refused.
//    1 hub      last stream closed by hub: REVOKED          14m ago
//   Next:  navectl token create --cluster edge-17 --rejoin  # a new one-time token
std::string FormatDiagnosis(const v1::Diagnosis& diagnosis, const Style& style, absl::Time now);

// Nothing is wrong.
bool IsWell(const v1::Diagnosis& diagnosis);

}  // namespace nave::cli

#endif  // NAVE_CLI_VIEW_DIAGNOSIS_H_
