#include "tests/sim/watchman.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "agent/desired/secret_format.h"

namespace nave::sim {
namespace {

// Longer than a commit's longest waiting time after failures.
constexpr absl::Duration kDurableWithin = absl::Minutes(1);
constexpr char kStateLost[] = "StateLost";

}  // namespace

const std::optional<AgentState>& Watchman::Durable() {
  kubesim::ObjectPtr secret = kube_->Find("secrets", "nave-system", kStateSecretName);
  std::string version = secret == nullptr ? "" : secret->StringAt("metadata", "resourceVersion");
  if (version != durable_version_ || secret == nullptr) {
    durable_version_ = version;
    durable_.reset();
    if (secret != nullptr) {
      absl::StatusOr<AgentState> state = ParseState(SecretDataOf(*secret));
      if (state.ok()) durable_ = *std::move(state);
    }
  }
  return durable_;
}

void Watchman::OnSent(const AgentFrame& frame) {
  if (const auto* hello = std::get_if<Hello>(&frame)) {
    if (!(hello->instance_id == instance_)) {
      refused_.clear();
      released_ = false;
    }
    instance_ = hello->instance_id;
    state_lost_ = hello->state_lost;
    incomplete_.reset();
  } else if (const auto* ack = std::get_if<DesiredAck>(&frame)) {
    ++exchanges_;
    OnAck(*ack);
  } else if (std::holds_alternative<KeySet>(frame)) {
    ++exchanges_;
  }
}

void Watchman::OnDelivered(const HubFrame& frame, absl::Time now) {
  if (const auto* welcome = std::get_if<Welcome>(&frame.body)) {
    OnWelcome(*welcome);
  } else if (const auto* batch = std::get_if<DesiredBatch>(&frame.body)) {
    ++exchanges_;
    OnBatch(*batch, now);
  }
}

void Watchman::CheckParts() {
  const std::optional<AgentState>& durable = Durable();
  if (durable.has_value() && incomplete_.has_value() && durable->at == *incomplete_) {
    fail_("a part of a batch became durable before its last part came");
  }
}

void Watchman::OnDown(bool died) {
  CheckParts();
  if (died) revived_.clear();
  newest_.clear();
  incomplete_.reset();
}

void Watchman::OnWelcome(const Welcome& welcome) {
  released_ = (welcome.history_contains_yours && !state_lost_) || welcome.adopt;
  if (released_) must_hold_ = false;
}

void Watchman::OnBatch(const DesiredBatch& batch, absl::Time now) {
  CheckParts();
  // The same point may be told again.
  const std::optional<AgentState>& durable = Durable();
  bool told = durable.has_value() && durable->at == batch.at;
  incomplete_.reset();
  if (!batch.last && !told) incomplete_ = batch.at;
  for (const Upsert& upsert : batch.upserts) {
    auto refused = refused_.find(upsert.key);
    if (refused != refused_.end()) {
      if (refused->second.digest == upsert.digest &&
          refused->second.confirmed == upsert.confirmed) {
        fail_(absl::StrCat("a refused version was sent again: ", upsert.key.ToString()));
      }
      refused_.erase(refused);
    }
    Delivered& newest = newest_[upsert.key];
    if (!(newest.digest == upsert.digest)) newest.at = now;
    newest.digest = upsert.digest;
    newest.confirmed = upsert.confirmed;
    auto leaving = leaving_.find(upsert.key);
    if (leaving != leaving_.end()) {
      revived_[upsert.key] = {leaving->second, upsert.digest, now};
    } else if (auto revived = revived_.find(upsert.key);
               revived != revived_.end() && !(revived->second.wanted == upsert.digest)) {
      revived_.erase(revived);
    }
    leaving_.erase(upsert.key);
  }
  auto forget = [&](const Uuid& key) {
    newest_.erase(key);
    refused_.erase(key);
    revived_.erase(key);
    leaving_.erase(key);
  };
  for (const Tombstone& tombstone : batch.tombstones) {
    forget(tombstone.key);
    if (!durable.has_value()) continue;
    auto held = durable->assignments.find(tombstone.key);
    if (held != durable->assignments.end()) {
      leaving_[tombstone.key] = held->second.content_digest;
    }
  }
  for (const Uuid& key : batch.not_desired) forget(key);
}

void Watchman::OnAck(const DesiredAck& ack) {
  const std::optional<AgentState>& durable = Durable();
  if (durable.has_value() && durable->at.revision < ack.revision) {
    fail_(absl::StrCat("acknowledged ", ack.revision, ", durable is ", durable->at.revision));
  }
  for (const Rejection& rejection : ack.rejected) {
    auto newest = newest_.find(rejection.key);
    if (newest != newest_.end() && newest->second.digest == rejection.digest) {
      refused_[rejection.key] = newest->second;
    }
  }
}

void Watchman::Look(const std::optional<std::string>& hold, bool healthy, absl::Time now) {
  const std::optional<AgentState>& durable = Durable();
  CheckParts();
  bool held = hold.has_value() && !hold->empty();
  bool kept = durable.has_value() && !durable->hold_reason.empty();
  if (held && !released_ && (kept || *hold == kStateLost)) must_hold_ = true;
  if (!held || released_ || *hold == kStateLost || !healthy || !durable.has_value()) {
    hold_since_ = absl::InfiniteFuture();
    return;
  }
  if (hold_since_ == absl::InfiniteFuture()) hold_since_ = now;
  if (now - hold_since_ > kDurableWithin && durable->hold_reason.empty()) {
    fail_("HOLD is not durable");
  }
}

absl::Time Watchman::DeliveredAt(const Uuid& key, const Digest& digest) const {
  auto newest = newest_.find(key);
  if (newest == newest_.end() || !(newest->second.digest == digest)) return absl::InfiniteFuture();
  return newest->second.at;
}

const Watchman::Revived* Watchman::FindRevived(const Uuid& key) const {
  auto found = revived_.find(key);
  return found == revived_.end() ? nullptr : &found->second;
}

}  // namespace nave::sim
