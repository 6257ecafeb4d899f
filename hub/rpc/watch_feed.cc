#include "hub/rpc/watch_feed.h"

#include "common/base/status_macros.h"
#include "hub/records/keys.h"

namespace nave {

uint64_t Fingerprint(const google::protobuf::Message& record) {
  std::string bytes;
  if (const auto* cluster = dynamic_cast<const v1::Cluster*>(&record)) {
    // Every ping moves it.
    v1::Cluster still = *cluster;
    still.mutable_status()->clear_last_seen();
    bytes = SerializeDeterministic(still);
  } else {
    bytes = SerializeDeterministic(record);
  }
  uint64_t hash = std::hash<std::string>()(bytes);
  return hash == 0 ? 1 : hash;
}

namespace {

// The key of the record with that uid, as the snapshot has it.
template <typename Record>
std::string KeyOfUid(const FleetSnapshot&, const Uuid&) {
  return "";
}
template <>
std::string KeyOfUid<Cluster>(const FleetSnapshot& snapshot, const Uuid& uid) {
  auto record = snapshot.clusters.Find(uid);
  return record == nullptr ? "" : ClusterKey(record->value.id);
}
template <>
std::string KeyOfUid<Bundle>(const FleetSnapshot& snapshot, const Uuid& uid) {
  auto record = snapshot.bundles.Find(uid);
  return record == nullptr ? "" : BundleKey(record->value.project, record->value.id);
}

template <typename Record>
bool Touches(const FleetChanges& changes);
template <>
bool Touches<Project>(const FleetChanges& changes) {
  return changes.tenancy || !changes.bundles.empty();
}
template <>
bool Touches<ClusterSet>(const FleetChanges& changes) {
  return changes.tenancy || !changes.clusters.empty();
}
template <>
bool Touches<RoleBinding>(const FleetChanges& changes) {
  return changes.tenancy;
}

}  // namespace

template <typename Record>
absl::Status WatchFeed<Record>::Begin(std::optional<WatchVersion> resume, SentMap sent,
                                      uint64_t revision) {
  call_->Refresh();
  if (!WatchKind<Record>::kStored) revision = call_->snapshot().revision;
  target_ = watches_->VersionAt(revision).ToString();
  if (resume.has_value()) reached_ = resume->ToString();
  sent_ = std::move(sent);
  for (const auto& [key, known] : sent_) keys_[known.uid] = key;
  std::set<std::string> present;
  RETURN_IF_ERROR(
      VisitRecords<Record>(*call_, filter_.project, "", [&](const Versioned<Record>& record) {
        std::string key = RecordKey(Kind<Record>::kKey, RefOf(record.value));
        present.insert(key);
        auto known = sent_.find(key);
        bool same = known != sent_.end() && known->second.uid == record.value.meta.uid &&
                    known->second.mod_revision == record.mod_revision;
        if (same && WatchKind<Record>::kLive)
          same = !watches_->ChangedSince(record.value.meta.uid, *resume);
        if (!same) Queue(key);
        return true;
      }));
  for (const auto& [key, known] : sent_) {
    if (present.count(key) == 0) Queue(key);
  }
  return absl::OkStatus();
}

template <typename Record>
void WatchFeed<Record>::QueueAll() {
  for (const auto& [key, known] : sent_) Queue(key);
  absl::Status visited =
      VisitRecords<Record>(*call_, filter_.project, "", [&](const Versioned<Record>& record) {
        Queue(RecordKey(Kind<Record>::kKey, RefOf(record.value)));
        return true;
      });
  visited.IgnoreError();  // Only the store's kinds can fail, and these come by OnStored.
}

template <typename Record>
void WatchFeed<Record>::QueueUid(const Uuid& uid) {
  std::string key = KeyOfUid<Record>(call_->snapshot(), uid);
  if (!key.empty()) Queue(key);
  auto known = keys_.find(uid);
  if (known != keys_.end()) Queue(known->second);
}

template <typename Record>
void WatchFeed<Record>::OnChanges(const FleetChanges& changes) {
  call_->Refresh();
  if constexpr (WatchKind<Record>::kStored) return;
  target_ = watches_->VersionAt(call_->snapshot().revision).ToString();
  if constexpr (WatchKind<Record>::kLive) {
    // The caller's rights may be others now.
    if (changes.tenancy) return QueueAll();
    const std::set<Uuid>& uids =
        std::is_same_v<Record, Cluster> ? changes.clusters : changes.bundles;
    for (const Uuid& uid : uids) QueueUid(uid);
  } else if constexpr (!WatchKind<Record>::kStored) {
    if (Touches<Record>(changes)) QueueAll();
  }
}

template <typename Record>
void WatchFeed<Record>::OnStored(const std::vector<std::string>& keys, uint64_t revision) {
  target_ = watches_->VersionAt(revision).ToString();
  for (const std::string& key : keys) Queue(key);
}

template <typename Record>
absl::StatusOr<bool> WatchFeed<Record>::Gone(const std::string& key, const RecordRef& ref,
                                             WatchMessage<Proto>* message) {
  auto known = sent_.find(key);
  if (known == sent_.end()) return false;
  message->type = v1::WATCH_EVENT_TYPE_DELETED;
  SetIdentity(RecordName(Kind<Record>::kKey, ref), known->second.uid, &message->record);
  keys_.erase(known->second.uid);
  sent_.erase(known);
  return true;
}

// Whether there is something to tell of the record under `key`.
template <typename Record>
absl::StatusOr<bool> WatchFeed<Record>::Look(const std::string& key, WatchMessage<Proto>* message) {
  auto parsed = ParseStoreKey(key);
  if (!parsed.has_value()) return false;
  RecordRef ref{parsed->project, parsed->id};
  ASSIGN_OR_RETURN(auto record, FindRecord<Record>(*call_, ref));
  if (!record.has_value() || !filter_.Matches(*call_, record->value))
    return Gone(key, ref, message);
  Uuid uid = record->value.meta.uid;
  auto known = sent_.find(key);
  if (known != sent_.end() && known->second.uid != uid) {
    // Another record under the old name: the new one comes next.
    Queue(key);
    return Gone(key, ref, message);
  }
  RETURN_IF_ERROR(ToApi<Record>(*call_, *record, &message->record));
  uint64_t fingerprint = Fingerprint(message->record);
  Sent& sent = sent_[key];
  if (sent.fingerprint == fingerprint) return false;
  sent = {uid, record->mod_revision, fingerprint};
  keys_[uid] = key;
  return true;
}

template <typename Record>
void WatchFeed<Record>::SetVersion(WatchMessage<Proto>* message) {
  // The point is reached with the last message of a round. Before SYNCED a new watch can only begin
  // again.
  if (queue_.empty() && (synced_ || message->type == v1::WATCH_EVENT_TYPE_SYNCED))
    reached_ = target_;
  message->resource_version = reached_;
}

template <typename Record>
absl::StatusOr<std::optional<WatchMessage<typename Kind<Record>::Proto>>>
WatchFeed<Record>::Next() {
  WatchMessage<Proto> message;
  while (!queue_.empty()) {
    std::string key = std::move(queue_.front());
    queue_.pop_front();
    queued_.erase(key);
    ASSIGN_OR_RETURN(bool told, Look(key, &message));
    if (!told) {
      message = {};
      continue;
    }
    SetVersion(&message);
    return message;
  }
  if (synced_) {
    reached_ = target_;
    return std::nullopt;
  }
  message.type = v1::WATCH_EVENT_TYPE_SYNCED;
  SetVersion(&message);
  synced_ = true;
  return message;
}

template class WatchFeed<Project>;
template class WatchFeed<ClusterSet>;
template class WatchFeed<Cluster>;
template class WatchFeed<RoleBinding>;
template class WatchFeed<JoinToken>;
template class WatchFeed<Bundle>;
template class WatchFeed<Event>;

}  // namespace nave
