#include "hub/auth/authenticate.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

constexpr absl::string_view kBearer = "bearer ";

absl::Status BadLine(size_t number, absl::string_view rule) {
  return MakeError(Reason::kConfigInvalid, absl::StrCat("token file line ", number, ": ", rule),
                   {{"line", absl::StrCat(number)}});
}

}  // namespace

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text) {
  TokenTable table;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() != 3) return BadLine(number, "must have three words: USER GROUPS SHA256");
    auto digest = Digest::FromHex(absl::AsciiStrToLower(words[2]));
    if (!digest.has_value()) return BadLine(number, "the third word must be 64 hexadecimal digits");
    Entry entry{std::string(words[0]), {}};
    if (words[1] != "-") {
      for (absl::string_view group : absl::StrSplit(words[1], ',', absl::SkipEmpty()))
        entry.groups.emplace_back(group);
    }
    if (!table.entries_.emplace(*digest, std::move(entry)).second) {
      return BadLine(number, "the token is there twice");
    }
  }
  return table;
}

const TokenTable::Entry* TokenTable::Find(absl::string_view token) const {
  auto it = entries_.find(Sha256(token));
  return it == entries_.end() ? nullptr : &it->second;
}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(std::string path) {
  auto file = std::unique_ptr<TokenFile>(new TokenFile(std::move(path)));
  if (file->path_.empty()) return file;
  std::string stamp = file->Stamp();
  ASSIGN_OR_RETURN(TokenTable table, file->Read());
  std::lock_guard<std::mutex> lock(file->mutex_);
  file->stamp_ = std::move(stamp);
  file->table_ = std::make_shared<const TokenTable>(std::move(table));
  return file;
}

std::string TokenFile::Stamp() const {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return "absent";
  return absl::StrCat(info.st_size, ":", info.st_ino, ":", info.st_mtim.tv_sec, ":",
                      info.st_mtim.tv_nsec);
}

absl::StatusOr<TokenTable> TokenFile::Read() const {
  std::ifstream in(path_, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in)
    return MakeError(Reason::kConfigInvalid,
                     absl::StrCat("token file ", path_, ": cannot be read"));
  return TokenTable::Parse(text.str());
}

std::shared_ptr<const TokenTable> TokenFile::Current() {
  if (path_.empty()) return table_;
  std::lock_guard<std::mutex> lock(mutex_);
  std::string stamp = Stamp();
  if (stamp == stamp_) return table_;
  stamp_ = std::move(stamp);
  absl::StatusOr<TokenTable> table = Read();
  if (table.ok()) {
    table_ = std::make_shared<const TokenTable>(*std::move(table));
  } else {
    ++failures_;
    LogWarning("token file is bad, the one before stays in use",
               {{"error", table.status().message()}});
  }
  return table_;
}

uint64_t TokenFile::failures() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failures_;
}

absl::StatusOr<Caller> Authenticate(const Peer& peer, absl::string_view hub_id,
                                    std::optional<absl::string_view> authorization,
                                    const TokenTable& tokens) {
  if (authorization.has_value()) {
    if (!absl::StartsWithIgnoreCase(*authorization, kBearer)) {
      return MakeError(Reason::kUnauthenticated, "header authorization: must be 'Bearer TOKEN'");
    }
    absl::string_view token = absl::StripAsciiWhitespace(authorization->substr(kBearer.size()));
    const TokenTable::Entry* entry = tokens.Find(token);
    if (entry == nullptr)
      return MakeError(Reason::kUnauthenticated, "bearer token: is not known to this hub");
    return Caller{entry->user, entry->groups, Caller::Via::kToken, ""};
  }
  RETURN_IF_ERROR(CheckPeer(peer, hub_id, {PeerKind::kUser}));
  return Caller{peer.uri.name, {}, Caller::Via::kCertificate, ""};
}

}  // namespace nave
