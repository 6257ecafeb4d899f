// Making join tokens.
#ifndef NAVE_CLI_COMMANDS_TOKEN_H_
#define NAVE_CLI_COMMANDS_TOKEN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/command.h"
#include "cli/commands/session.h"
#include "nave/v1/join_token.pb.h"

namespace nave::cli {

struct TokenFlags {
  std::string cluster;
  std::string ttl;
  std::string cluster_set;
  std::vector<std::string> labels;
  bool rejoin = false;
  bool auto_accept = false;
};

// All but cluster and auto_accept.
void DeclareTokenFlags(ArgumentList& arguments, TokenFlags* flags);

// USAGE_INVALID, or what the hub says: ALREADY_ENROLLED and so on.
absl::StatusOr<v1::CreateJoinTokenResponse> CreateToken(Session& session, const TokenFlags& flags);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_TOKEN_H_
