// Reads the agent's Secrets at the start of a leadership.
#ifndef NAVE_AGENT_DESIRED_STATE_LOADER_H_
#define NAVE_AGENT_DESIRED_STATE_LOADER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "agent/desired/secret_writer.h"
#include "agent/desired/stored.h"
#include "agent/kube/kube_client.h"

namespace nave {

// One load; loop thread only. Takes nave-state over before it looks at anything else, so that what
// it reads is not changed by a predecessor's commit any more.
class StateLoader {
 public:
  using Done = absl::AnyInvocable<void(LoadedState) &&>;

  StateLoader(KubeClient& client, SecretWriter& writer, std::string ns, std::string kube_system_uid)
      : client_(client),
        writer_(writer),
        ns_(std::move(ns)),
        kube_system_uid_(std::move(kube_system_uid)) {}
  StateLoader(const StateLoader&) = delete;
  StateLoader& operator=(const StateLoader&) = delete;

  // `done` may destroy this object.
  void Start(Done done);

 private:
  struct Found {
    SecretName name;
    SecretRef ref;
    SecretData data;
    bool read = false;
    bool gone = false;
  };

  void OnState(KubeResult result);
  void TakeOver(SecretData data);
  void ListNames(std::string continue_token);
  void OnNames(ListPage page);
  void OnAllNames();
  void CreateState();
  bool HasNamedShards() const;
  // Reads those of `found_` that `wanted` selects and were not read; then calls `then`.
  void Read(const std::function<bool(const SecretName&)>& wanted, absl::AnyInvocable<void()> then);
  void ReadMore();
  void Assemble();
  bool AssembleInventories();
  void AssembleContents();
  void ReadForRebuild();
  void Rebuild();
  void RebuildFrom(const Found& found);
  bool Names(const SecretName& name) const;
  bool AnyTooNew() const;
  void CollectUnnamed();
  void Finish(LoadOutcome outcome);
  template <typename F>
  auto Guarded(F task);

  KubeClient& client_;
  SecretWriter& writer_;
  const std::string ns_;
  const std::string kube_system_uid_;
  Done done_;
  LoadedState loaded_;
  bool state_there_ = false;
  bool state_unreadable_ = false;
  std::map<std::string, Found> found_;
  std::deque<std::string> to_read_;
  size_t reading_ = 0;
  bool read_failed_ = false;
  absl::AnyInvocable<void()> then_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_STATE_LOADER_H_
