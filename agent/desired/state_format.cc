// nave-state and inventories as compressed JSON.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/desired/secret_format.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/compress/zstd.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr size_t kDocumentBytesMax = 64 << 20;

absl::Status InvalidState(absl::string_view what) {
  return MakeError(Reason::kContentInvalid, what);
}

SecretData Pack(absl::string_view key, const Value& document) {
  SecretData data;
  data["format"] = absl::StrCat(kSecretFormat);
  data[std::string(key)] = ZstdCompress(FormatJson(document));
  return data;
}

absl::StatusOr<Value> Unpack(absl::string_view key, const SecretData& data) {
  auto packed = data.find(key);
  if (packed == data.end()) return InvalidState(absl::StrCat("key ", key, " is missing"));
  ASSIGN_OR_RETURN(std::string text, ZstdDecompress(packed->second, kDocumentBytesMax));
  return ParseJson(text);
}

uint64_t NumberAt(const Value& object, absl::string_view name) {
  const Value* value = object.Find(name);
  return value == nullptr ? 0 : static_cast<uint64_t>(value->IntOr(0));
}

bool BoolAt(const Value& object, absl::string_view name) {
  const Value* value = object.Find(name);
  return value != nullptr && value->BoolOr(false);
}

// Absent is none; anything else must be a digest.
absl::StatusOr<Digest> DigestAt(const Value& object, absl::string_view name) {
  const Value* value = object.Find(name);
  if (value == nullptr) return Digest{};
  std::optional<Digest> digest = Digest::FromHex(value->StringOr(""));
  if (!digest.has_value()) return InvalidState(absl::StrCat(name, ": no digest"));
  return *digest;
}

absl::StatusOr<Uuid> UuidAt(const Value& object, absl::string_view name) {
  const Value* value = object.Find(name);
  if (value == nullptr) return Uuid{};
  std::optional<Uuid> uuid = Uuid::Parse(value->StringOr(""));
  if (!uuid.has_value()) return InvalidState(absl::StrCat(name, ": no UUID"));
  return *uuid;
}

void PutDigest(Value* object, absl::string_view name, const Digest& digest) {
  if (!digest.IsNone()) (*object)[name] = digest.Hex();
}
void PutText(Value* object, absl::string_view name, const std::string& text) {
  if (!text.empty()) (*object)[name] = text;
}
void PutNumber(Value* object, absl::string_view name, uint64_t number) {
  if (number != 0) (*object)[name] = static_cast<int64_t>(number);
}

constexpr absl::string_view kStates[] = {"Present", "Removing", "NotDesired"};

Value FormatAssignment(const Assignment& assignment) {
  Value value{Object{}};
  value["uid"] = assignment.key.ToString();
  PutText(&value, "name", assignment.name);
  PutNumber(&value, "revision", assignment.revision);
  PutDigest(&value, "digest", assignment.digest);
  // Nearly always the same.
  if (assignment.content_digest == assignment.digest) {
    value["content"] = "=";
  } else {
    PutDigest(&value, "content", assignment.content_digest);
  }
  value["state"] = kStates[static_cast<int>(assignment.state)];
  if (assignment.confirmed) value["confirmed"] = true;
  if (assignment.propagation == Propagation::kOrphan) value["orphan"] = true;
  PutNumber(&value, "shards", assignment.inventory_shards);
  return value;
}

absl::StatusOr<Assignment> ParseAssignment(const Value& value) {
  Assignment assignment;
  ASSIGN_OR_RETURN(assignment.key, UuidAt(value, "uid"));
  if (assignment.key.IsNone()) return InvalidState("assignment: no uid");
  assignment.name = value.StringAt("name");
  assignment.revision = NumberAt(value, "revision");
  ASSIGN_OR_RETURN(assignment.digest, DigestAt(value, "digest"));
  if (value.StringAt("content") == "=") {
    assignment.content_digest = assignment.digest;
  } else {
    ASSIGN_OR_RETURN(assignment.content_digest, DigestAt(value, "content"));
  }
  const std::string state = value.StringAt("state");
  std::optional<KeyState> known;
  for (int i = 0; i < 3; ++i) {
    if (state == kStates[i]) known = static_cast<KeyState>(i);
  }
  if (!known.has_value()) return InvalidState(absl::StrCat("assignment: state '", state, "'"));
  assignment.state = *known;
  assignment.confirmed = BoolAt(value, "confirmed");
  assignment.propagation = BoolAt(value, "orphan") ? Propagation::kOrphan : Propagation::kDelete;
  assignment.inventory_shards = static_cast<uint32_t>(NumberAt(value, "shards"));
  return assignment;
}

Value FormatEntry(const InventoryEntry& entry) {
  Value value{Object{}};
  PutText(&value, "group", entry.key.group);
  value["kind"] = entry.key.kind;
  PutText(&value, "ns", entry.key.ns);
  value["name"] = entry.key.name;
  PutText(&value, "version", entry.version);
  PutText(&value, "uid", entry.uid);
  if (entry.origin == InventoryEntry::Origin::kAdopted) value["adopted"] = true;
  PutNumber(&value, "progress", static_cast<uint64_t>(entry.progress));
  PutDigest(&value, "sent", entry.sent);
  PutDigest(&value, "fields", entry.fields);
  PutText(&value, "rv", entry.resource_version);
  PutNumber(&value, "generation", static_cast<uint64_t>(entry.generation));
  if (!entry.left_out.empty()) {
    Array paths;
    for (const std::string& path : entry.left_out) paths.emplace_back(path);
    value["leftOut"] = std::move(paths);
  }
  if (entry.finished) value["finished"] = true;
  return value;
}

absl::StatusOr<InventoryEntry> ParseEntry(const Value& value) {
  InventoryEntry entry;
  entry.key = {value.StringAt("group"), value.StringAt("kind"), value.StringAt("ns"),
               value.StringAt("name")};
  if (entry.key.kind.empty() || entry.key.name.empty())
    return InvalidState("entry: no kind or name");
  entry.version = value.StringAt("version");
  entry.uid = value.StringAt("uid");
  if (BoolAt(value, "adopted")) entry.origin = InventoryEntry::Origin::kAdopted;
  const uint64_t progress = NumberAt(value, "progress");
  if (progress > static_cast<uint64_t>(InventoryEntry::Progress::kDeleting)) {
    return InvalidState("entry: unknown progress");
  }
  entry.progress = static_cast<InventoryEntry::Progress>(progress);
  ASSIGN_OR_RETURN(entry.sent, DigestAt(value, "sent"));
  ASSIGN_OR_RETURN(entry.fields, DigestAt(value, "fields"));
  entry.resource_version = value.StringAt("rv");
  entry.generation = static_cast<int64_t>(NumberAt(value, "generation"));
  if (const Value* paths = value.Find("leftOut"); paths != nullptr && paths->array() != nullptr) {
    for (const Value& path : *paths->array()) entry.left_out.push_back(path.StringOr(""));
  }
  entry.finished = BoolAt(value, "finished");
  return entry;
}

}  // namespace

SecretData FormatState(const AgentState& state) {
  Value document{Object{}};
  PutText(&document, "hubId", state.hub_id);
  PutText(&document, "clusterUid", state.cluster_uid);
  PutText(&document, "kubeSystemUid", state.kube_system_uid);
  if (!state.at.IsNone()) {
    Value& at = document["at"];
    PutNumber(&at, "term", state.at.term);
    at["nonce"] = state.at.nonce.ToString();
    PutNumber(&at, "revision", state.at.revision);
  }
  PutText(&document, "hold", state.hold_reason);
  Array assignments;
  for (const auto& [key, assignment] : state.assignments) {
    assignments.push_back(FormatAssignment(assignment));
  }
  document["assignments"] = std::move(assignments);
  return Pack("state", document);
}

absl::StatusOr<AgentState> ParseState(const SecretData& data) {
  ASSIGN_OR_RETURN(Value document, Unpack("state", data));
  AgentState state;
  state.hub_id = document.StringAt("hubId");
  state.cluster_uid = document.StringAt("clusterUid");
  state.kube_system_uid = document.StringAt("kubeSystemUid");
  if (const Value* at = document.Find("at"); at != nullptr) {
    state.at.term = NumberAt(*at, "term");
    ASSIGN_OR_RETURN(state.at.nonce, UuidAt(*at, "nonce"));
    state.at.revision = NumberAt(*at, "revision");
  }
  state.hold_reason = document.StringAt("hold");
  const Value* assignments = document.Find("assignments");
  if (assignments == nullptr || assignments->array() == nullptr) {
    return InvalidState("state: no assignments");
  }
  for (const Value& value : *assignments->array()) {
    ASSIGN_OR_RETURN(Assignment assignment, ParseAssignment(value));
    const Uuid key = assignment.key;
    if (!state.assignments.emplace(key, std::move(assignment)).second) {
      return InvalidState(absl::StrCat("state: ", key.ToString(), " is there twice"));
    }
  }
  return state;
}

SecretData FormatInventoryShard(const Inventory& entries) {
  Array array;
  for (const auto& [key, entry] : entries) array.push_back(FormatEntry(entry));
  Value document{Object{}};
  document["entries"] = std::move(array);
  return Pack("inventory", document);
}

absl::StatusOr<Inventory> ParseInventoryShard(const SecretData& data) {
  ASSIGN_OR_RETURN(Value document, Unpack("inventory", data));
  const Value* entries = document.Find("entries");
  if (entries == nullptr || entries->array() == nullptr)
    return InvalidState("inventory: no entries");
  Inventory inventory;
  for (const Value& value : *entries->array()) {
    ASSIGN_OR_RETURN(InventoryEntry entry, ParseEntry(value));
    ObjectKey key = entry.key;
    inventory.emplace(std::move(key), std::move(entry));
  }
  return inventory;
}

}  // namespace nave
