#include "hub/records/keys.h"

#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace nave {
namespace {

struct KindWord {
  KeyKind kind;
  absl::string_view prefix;
};

constexpr std::array<KindWord, 20> kKinds = {{
    {KeyKind::kProject, "/v1/project/"},
    {KeyKind::kCluster, "/v1/cluster/"},
    {KeyKind::kClusterSet, "/v1/clusterset/"},
    {KeyKind::kRoleBinding, "/v1/rolebinding/"},
    {KeyKind::kJoinToken, "/v1/jointoken/"},
    {KeyKind::kBundle, "/v1/bundle/"},
    {KeyKind::kRevision, "/v1/revision/"},
    {KeyKind::kEvent, "/v1/event/"},
    {KeyKind::kAudit, "/v1/audit/"},
    {KeyKind::kByUid, "/v1/by-uid/"},
    {KeyKind::kBlob, "/v1/blob/"},
    {KeyKind::kDecisionHead, "/v1/decision/"},
    {KeyKind::kDecisionPage, "/v1/decision/"},
    {KeyKind::kTombstone, "/v1/tombstone/"},
    {KeyKind::kTerm, "/v1/term/"},
    {KeyKind::kSession, "/v1/session/"},
    {KeyKind::kStatus, "/v1/status/"},
    {KeyKind::kRequest, "/v1/request/"},
    {KeyKind::kRetired, "/v1/retired/"},
    {KeyKind::kMeta, "/v1/meta/"},
}};

// Digits of what is padded: revisions, terms and heads are 64 bit; pages and chunks are few.
constexpr int kNumberDigits = 20;
constexpr int kPageDigits = 6;

std::string Padded(uint64_t number, size_t digits) {
  std::string text = absl::StrCat(number);
  return text.size() >= digits ? text : std::string(digits - text.size(), '0') + text;
}

// Exactly `digits` digits.
template <typename Number>
bool ParsePadded(absl::string_view text, size_t digits, Number* number) {
  if (text.size() != digits) return false;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return absl::SimpleAtoi(text, number);
}

bool ParseUid(absl::string_view text, Uuid* uid) {
  std::optional<Uuid> parsed = Uuid::Parse(text);
  if (!parsed.has_value() || parsed->ToString() != text) return false;
  *uid = *parsed;
  return true;
}

absl::string_view UidKindWord(UidKind kind) {
  return kind == UidKind::kCluster ? "cluster" : "bundle";
}

absl::string_view ProjectPart(absl::string_view project) { return project.empty() ? "-" : project; }

std::string GlobalKey(KeyKind kind, absl::string_view id) {
  return absl::StrCat(KindPrefix(kind), "-/", id);
}

std::string UidKey(KeyKind kind, const Uuid& uid) {
  return absl::StrCat(KindPrefix(kind), uid.ToString());
}

bool ParseIdParts(const std::vector<absl::string_view>& parts, bool in_project, StoreKey* key) {
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) return false;
  key->id = std::string(parts[1]);
  if (parts[0] != "-") key->project = std::string(parts[0]);
  return in_project || parts[0] == "-";
}

bool ParseDecision(const std::vector<absl::string_view>& parts, StoreKey* key) {
  if (parts.size() != 2 || !ParseUid(parts[0], &key->uid)) return false;
  key->kind = KeyKind::kDecisionHead;
  if (parts[1] == "head") return true;
  key->kind = KeyKind::kDecisionPage;
  return parts[1].size() == kNumberDigits + 1 + kPageDigits && parts[1][kNumberDigits] == '-' &&
         ParsePadded(parts[1].substr(0, kNumberDigits), kNumberDigits, &key->number) &&
         ParsePadded(parts[1].substr(kNumberDigits + 1), kPageDigits, &key->page);
}

bool ParseByUid(const std::vector<absl::string_view>& parts, StoreKey* key) {
  if (parts.size() != 2) return false;
  if (parts[0] == UidKindWord(UidKind::kBundle)) key->uid_kind = UidKind::kBundle;
  return parts[0] == UidKindWord(key->uid_kind) && ParseUid(parts[1], &key->uid);
}

bool ParseBlob(const std::vector<absl::string_view>& parts, StoreKey* key) {
  if (parts.size() != 2) return false;
  std::optional<Digest> digest = Digest::FromHex(parts[0]);
  if (!digest.has_value()) return false;
  key->digest = *digest;
  return digest->Hex() == parts[0] && ParsePadded(parts[1], kPageDigits, &key->page);
}

bool ParseParts(const std::vector<absl::string_view>& parts, StoreKey* key) {
  switch (key->kind) {
    case KeyKind::kBundle:
      return ParseIdParts(parts, true, key) && !key->project.empty();
    case KeyKind::kEvent:
      return ParseIdParts(parts, true, key);
    case KeyKind::kProject:
    case KeyKind::kCluster:
    case KeyKind::kClusterSet:
    case KeyKind::kRoleBinding:
    case KeyKind::kJoinToken:
    case KeyKind::kAudit:
      return ParseIdParts(parts, false, key);
    case KeyKind::kRevision:
      if (parts.size() != 3 || parts[0].empty()) return false;
      key->project = std::string(parts[0]);
      return ParseUid(parts[1], &key->uid) && ParsePadded(parts[2], kNumberDigits, &key->number);
    case KeyKind::kByUid:
      return ParseByUid(parts, key);
    case KeyKind::kBlob:
      return ParseBlob(parts, key);
    case KeyKind::kDecisionHead:
    case KeyKind::kDecisionPage:
      return ParseDecision(parts, key);
    case KeyKind::kTombstone:
      return parts.size() == 2 && ParseUid(parts[0], &key->uid) && ParseUid(parts[1], &key->bundle);
    case KeyKind::kTerm:
      return parts.size() == 1 && ParsePadded(parts[0], kNumberDigits, &key->number);
    case KeyKind::kSession:
    case KeyKind::kStatus:
    case KeyKind::kRequest:
    case KeyKind::kRetired:
      return parts.size() == 1 && ParseUid(parts[0], &key->uid);
    case KeyKind::kMeta:
      key->id = std::string(parts[0]);
      return parts.size() == 1 && !parts[0].empty();
  }
  return false;
}

}  // namespace

std::string ProjectKey(absl::string_view id) { return GlobalKey(KeyKind::kProject, id); }
std::string ClusterKey(absl::string_view id) { return GlobalKey(KeyKind::kCluster, id); }
std::string ClusterSetKey(absl::string_view id) { return GlobalKey(KeyKind::kClusterSet, id); }
std::string RoleBindingKey(absl::string_view id) { return GlobalKey(KeyKind::kRoleBinding, id); }
std::string JoinTokenKey(absl::string_view id) { return GlobalKey(KeyKind::kJoinToken, id); }
std::string AuditKey(absl::string_view id) { return GlobalKey(KeyKind::kAudit, id); }

std::string BundleKey(absl::string_view project, absl::string_view id) {
  return absl::StrCat(ProjectPrefix(KeyKind::kBundle, project), id);
}

std::string RevisionKey(absl::string_view project, const Uuid& bundle, uint64_t number) {
  return absl::StrCat(RevisionPrefix(project, bundle), Padded(number, kNumberDigits));
}

std::string EventKey(absl::string_view project, absl::string_view id) {
  return absl::StrCat(ProjectPrefix(KeyKind::kEvent, project), id);
}

std::string ByUidKey(UidKind kind, const Uuid& uid) {
  return absl::StrCat(KindPrefix(KeyKind::kByUid), UidKindWord(kind), "/", uid.ToString());
}

std::string BlobKey(const Digest& digest, uint32_t chunk) {
  return absl::StrCat(BlobPrefix(digest), Padded(chunk, kPageDigits));
}

std::string DecisionHeadKey(const Uuid& bundle) {
  return absl::StrCat(DecisionPrefix(bundle), "head");
}

std::string DecisionPageKey(const Uuid& bundle, uint64_t head, uint32_t page) {
  return absl::StrCat(DecisionPrefix(bundle), Padded(head, kNumberDigits), "-",
                      Padded(page, kPageDigits));
}

std::string TombstoneKey(const Uuid& cluster, const Uuid& bundle) {
  return absl::StrCat(TombstonePrefix(cluster), bundle.ToString());
}

std::string TermKey(uint64_t number) {
  return absl::StrCat(KindPrefix(KeyKind::kTerm), Padded(number, kNumberDigits));
}

std::string SessionKey(const Uuid& cluster) { return UidKey(KeyKind::kSession, cluster); }
std::string StatusKey(const Uuid& cluster) { return UidKey(KeyKind::kStatus, cluster); }
std::string RequestKey(const Uuid& request) { return UidKey(KeyKind::kRequest, request); }
std::string RetiredKey(const Uuid& cluster) { return UidKey(KeyKind::kRetired, cluster); }

absl::string_view KindPrefix(KeyKind kind) { return kKinds[static_cast<size_t>(kind)].prefix; }

std::string ProjectPrefix(KeyKind kind, absl::string_view project) {
  return absl::StrCat(KindPrefix(kind), ProjectPart(project), "/");
}

std::string RevisionPrefix(absl::string_view project, const Uuid& bundle) {
  return absl::StrCat(ProjectPrefix(KeyKind::kRevision, project), bundle.ToString(), "/");
}

std::string DecisionPrefix(const Uuid& bundle) {
  return absl::StrCat(KindPrefix(KeyKind::kDecisionHead), bundle.ToString(), "/");
}

std::string TombstonePrefix(const Uuid& cluster) {
  return absl::StrCat(KindPrefix(KeyKind::kTombstone), cluster.ToString(), "/");
}

std::string BlobPrefix(const Digest& digest) {
  return absl::StrCat(KindPrefix(KeyKind::kBlob), digest.Hex(), "/");
}

std::string TimeOrderedId(int64_t time_us, uint64_t number) {
  uint64_t time = time_us < 0 ? 0 : static_cast<uint64_t>(time_us);
  return absl::StrCat(Padded(time, kNumberDigits), "-", Padded(number, kNumberDigits));
}

std::optional<StoreKey> ParseStoreKey(absl::string_view key) {
  for (const KindWord& word : kKinds) {
    if (!absl::StartsWith(key, word.prefix)) continue;
    StoreKey parsed;
    parsed.kind = word.kind;
    std::vector<absl::string_view> parts = absl::StrSplit(key.substr(word.prefix.size()), '/');
    if (!ParseParts(parts, &parsed)) return std::nullopt;
    return parsed;
  }
  return std::nullopt;
}

}  // namespace nave
