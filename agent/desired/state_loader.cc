#include "agent/desired/state_loader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace nave {
namespace {

// Each is half a megabyte at most.
constexpr size_t kReadsInFlightMax = 8;

bool IsTooNew(const SecretData& data) { return FormatOf(data).value_or(0) > kSecretFormat; }

}  // namespace

template <typename F>
auto StateLoader::Guarded(F task) {
  return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... args) mutable {
    if (alive.lock() != nullptr) task(std::forward<decltype(args)>(args)...);
  };
}

void StateLoader::Start(Done done) {
  done_ = std::move(done);
  client_.Get(SecretType(), ns_, kStateSecretName,
              Guarded([this](KubeResult result) { OnState(std::move(result)); }));
}

void StateLoader::Finish(LoadOutcome outcome) {
  loaded_.outcome = outcome;
  Done done = std::move(done_);
  LoadedState loaded = std::move(loaded_);
  std::move(done)(std::move(loaded));
}

void StateLoader::OnState(KubeResult result) {
  if (result.error.error_class == KubeErrorClass::kNotFound) return ListNames("");
  if (!result.error.ok()) {
    LogWarning("state not read", {{"error", result.error.message}});
    return Finish(LoadOutcome::kUnavailable);
  }
  state_there_ = true;
  loaded_.state_ref = SecretRefOf(result.object);
  SecretData data = SecretDataOf(result.object);
  if (IsTooNew(data)) return Finish(LoadOutcome::kStateTooNew);
  absl::StatusOr<AgentState> state = ParseState(data);
  state_unreadable_ = !state.ok();
  if (state.ok()) {
    loaded_.state = *std::move(state);
  } else {
    LogError("state cannot be read", {{"error", state.status().message()}});
  }
  const std::string& of = loaded_.state.kube_system_uid;
  if (!of.empty() && !kube_system_uid_.empty() && of != kube_system_uid_) {
    return Finish(LoadOutcome::kWrongCluster);
  }
  TakeOver(std::move(data));
}

void StateLoader::TakeOver(SecretData data) {
  writer_.Replace(loaded_.state_ref, std::move(data),
                  Guarded([this](absl::StatusOr<SecretRef> written) {
                    if (!written.ok()) {
                      LogWarning("state not taken over", {{"error", written.status().message()}});
                      return Finish(LoadOutcome::kUnavailable);
                    }
                    loaded_.state_ref = *std::move(written);
                    ListNames("");
                  }));
}

void StateLoader::ListNames(std::string continue_token) {
  ListRequest request;
  request.type = SecretType();
  request.ns = ns_;
  request.metadata_only = true;
  request.continue_token = std::move(continue_token);
  client_.List(std::move(request), Guarded([this](ListPage page) { OnNames(std::move(page)); }));
}

void StateLoader::OnNames(ListPage page) {
  if (!page.error.ok()) {
    LogWarning("state not listed", {{"error", page.error.message}});
    return Finish(LoadOutcome::kUnavailable);
  }
  for (const Value& item : page.items) {
    SecretRef ref = SecretRefOf(item);
    std::optional<SecretName> name = ParseSecretName(ref.name);
    if (!name.has_value() || name->kind == SecretName::Kind::kState) continue;
    Found& found = found_[ref.name];
    found.name = *name;
    found.ref = std::move(ref);
  }
  if (!page.continue_token.empty()) return ListNames(std::move(page.continue_token));
  OnAllNames();
}

void StateLoader::OnAllNames() {
  if (!state_there_ && found_.empty()) return CreateState();
  if (!state_there_ || state_unreadable_ || !HasNamedShards()) return ReadForRebuild();
  Read([this](const SecretName& name) { return Names(name); }, [this] { Assemble(); });
}

// Nothing there yet. Made at once, so that a write of a predecessor that is still on its way fails
// from now on.
void StateLoader::CreateState() {
  loaded_.state.kube_system_uid = kube_system_uid_;
  writer_.CreateOnly(kStateSecretName, FormatState(loaded_.state),
                     Guarded([this](absl::StatusOr<SecretRef> written) {
                       if (!written.ok()) {
                         LogWarning("state not made", {{"error", written.status().message()}});
                         return Finish(LoadOutcome::kUnavailable);
                       }
                       loaded_.state_ref = *std::move(written);
                       Finish(LoadOutcome::kOk);
                     }));
}

bool StateLoader::HasNamedShards() const {
  for (const auto& [key, assignment] : loaded_.state.assignments) {
    for (uint32_t i = 0; i < assignment.inventory_shards; ++i) {
      std::string name = InventorySecretName(key, assignment.inventory_shards, i);
      if (found_.contains(name)) continue;
      LogError("inventory is missing", {{"secret", name}});
      return false;
    }
  }
  return true;
}

bool StateLoader::Names(const SecretName& name) const {
  auto it = loaded_.state.assignments.find(name.key);
  if (it == loaded_.state.assignments.end()) return false;
  if (name.kind == SecretName::Kind::kInventory) {
    return name.count == it->second.inventory_shards && name.index < name.count;
  }
  const Digest& digest = it->second.content_digest;
  return !digest.IsNone() && ContentSecretName(name.key, digest, name.index) ==
                                 absl::StrCat("nave-desired-", name.key.ToString(), "-",
                                              name.digest_start, "-", name.index);
}

void StateLoader::Read(const std::function<bool(const SecretName&)>& wanted,
                       absl::AnyInvocable<void()> then) {
  for (const auto& [name, found] : found_) {
    if (!found.read && wanted(found.name)) to_read_.push_back(name);
  }
  then_ = std::move(then);
  ReadMore();
}

void StateLoader::ReadMore() {
  while (!to_read_.empty() && reading_ < kReadsInFlightMax && !read_failed_) {
    std::string name = std::move(to_read_.front());
    to_read_.pop_front();
    ++reading_;
    client_.Get(
        SecretType(), ns_, name, Guarded([this, name](KubeResult result) {
          --reading_;
          Found& found = found_[name];
          found.read = true;
          found.gone = result.error.error_class == KubeErrorClass::kNotFound;
          if (result.error.ok()) {
            found.ref = SecretRefOf(result.object);
            found.data = SecretDataOf(result.object);
          } else if (!found.gone) {
            LogWarning("state not read", {{"secret", name}, {"error", result.error.message}});
            read_failed_ = true;
          }
          ReadMore();
        }));
  }
  if (reading_ > 0) return;
  if (read_failed_) return Finish(LoadOutcome::kUnavailable);
  if (to_read_.empty()) std::exchange(then_, nullptr)();
}

bool StateLoader::AnyTooNew() const {
  return std::any_of(found_.begin(), found_.end(),
                     [](const auto& found) { return IsTooNew(found.second.data); });
}

void StateLoader::Assemble() {
  if (AnyTooNew()) return Finish(LoadOutcome::kStateTooNew);
  if (!AssembleInventories()) {
    loaded_.inventories.clear();
    return ReadForRebuild();
  }
  AssembleContents();
  CollectUnnamed();
  Finish(LoadOutcome::kOk);
}

bool StateLoader::AssembleInventories() {
  for (const auto& [key, assignment] : loaded_.state.assignments) {
    StoredInventory& stored = loaded_.inventories[key];
    for (uint32_t i = 0; i < assignment.inventory_shards; ++i) {
      Found& found = found_[InventorySecretName(key, assignment.inventory_shards, i)];
      absl::StatusOr<Inventory> shard = ParseInventoryShard(found.data);
      if (!shard.ok()) {
        LogError("inventory cannot be read",
                 {{"secret", found.ref.name}, {"error", shard.status().message()}});
        return false;
      }
      stored.shards.push_back(found.ref);
      stored.written.push_back(Sha256(found.data["inventory"]));
      stored.entries.merge(*shard);
    }
  }
  return true;
}

void StateLoader::AssembleContents() {
  for (auto& [key, assignment] : loaded_.state.assignments) {
    const Digest digest = assignment.content_digest;
    if (digest.IsNone()) continue;
    StoredContent stored;
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; ++i) {
      auto it = found_.find(ContentSecretName(key, digest, i));
      absl::StatusOr<ContentPart> part =
          it == found_.end() ? MakeError(Reason::kContentInvalid, "a part is missing")
                             : ParseContentPart(it->second.data);
      if (!part.ok() || part->digest != digest || part->count <= i) break;
      count = part->count;
      stored.parts.push_back(it->second.ref);
      stored.packed.append(part->data);
      it->second.data.clear();
    }
    absl::StatusOr<DesiredContentPtr> content =
        stored.parts.size() == count ? UnpackContent(stored.packed, digest)
                                     : MakeError(Reason::kContentInvalid, "a part is missing");
    if (content.ok()) {
      for (const Listing::Entry& entry : (*content)->listing.objects) {
        stored.objects.push_back(entry.digest);
      }
      std::sort(stored.objects.begin(), stored.objects.end());
      loaded_.contents[key].emplace(digest, std::move(stored));
      continue;
    }
    // The hub has it still: as if it had never come.
    LogError("content cannot be read",
             {{"key", key.ToString()}, {"error", content.status().message()}});
    assignment.content_digest = Digest{};
    if (assignment.state == KeyState::kPresent) {
      assignment.digest = Digest{};
      assignment.revision = 0;
    }
  }
}

void StateLoader::ReadForRebuild() {
  Read([](const SecretName& name) { return name.kind == SecretName::Kind::kInventory; },
       [this] { Rebuild(); });
}

// What the inventories alone tell: every key NotDesired, at revision 0.
void StateLoader::Rebuild() {
  if (AnyTooNew()) return Finish(LoadOutcome::kStateTooNew);
  loaded_.state.assignments.clear();
  loaded_.state.kube_system_uid = kube_system_uid_;
  loaded_.state.at = At{};
  loaded_.state.hold_reason = std::string(Camel(Reason::kStateLost));
  for (const auto& [secret, found] : found_) {
    if (found.name.kind == SecretName::Kind::kInventory && !found.gone) RebuildFrom(found);
  }
  for (auto& [key, stored] : loaded_.inventories) {
    Assignment& assignment = loaded_.state.assignments[key];
    assignment.key = key;
    assignment.state = KeyState::kNotDesired;
    // Whole, and of one count: it stays as it is. Else it is written anew under names that are not
    // in use.
    if (!stored.mixed && stored.shards.size() == stored.count_seen) {
      assignment.inventory_shards = stored.count_seen;
      continue;
    }
    stored.shards.clear();
    stored.written.clear();
    ++stored.count_seen;
  }
  CollectUnnamed();
  Finish(LoadOutcome::kStateLost);
}

void StateLoader::RebuildFrom(const Found& found) {
  StoredInventory& stored = loaded_.inventories[found.name.key];
  const bool first = stored.count_seen == 0;
  const bool other_count = !first && stored.count_seen != found.name.count;
  stored.count_seen = std::max(stored.count_seen, found.name.count);
  absl::StatusOr<Inventory> shard = ParseInventoryShard(found.data);
  if (!shard.ok()) {
    LogError("inventory cannot be read",
             {{"secret", found.ref.name}, {"error", shard.status().message()}});
    return;
  }
  stored.entries.merge(*shard);
  if (other_count) stored.mixed = true;
  stored.shards.push_back(found.ref);
  stored.written.push_back(Sha256(found.data.find("inventory")->second));
}

void StateLoader::CollectUnnamed() {
  std::set<std::string> used;
  for (const auto& [key, stored] : loaded_.inventories) {
    for (const SecretRef& ref : stored.shards) used.insert(ref.name);
  }
  for (const auto& [key, contents] : loaded_.contents) {
    for (const auto& [digest, stored] : contents) {
      for (const SecretRef& ref : stored.parts) used.insert(ref.name);
    }
  }
  for (const auto& [name, found] : found_) {
    if (!used.contains(name) && !found.gone) loaded_.unnamed.push_back(found.ref);
  }
}

}  // namespace nave
