// Writes Secrets so that the outcome is known in the end: an answer that was lost is looked up,
// never guessed.
#ifndef NAVE_AGENT_DESIRED_SECRET_WRITER_H_
#define NAVE_AGENT_DESIRED_SECRET_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "agent/desired/secret_format.h"
#include "agent/kube/kube_client.h"
#include "common/base/backoff.h"
#include "common/runtime/executor.h"

namespace nave {

// A Secret as the API server has it.
struct SecretRef {
  std::string name;
  std::string uid;
  std::string resource_version;
};
// Of a Secret as the server gave it.
SecretRef SecretRefOf(const Value& secret);

// Loop thread only; what it is given must outlive it. Callbacks run on the loop, later, exactly
// once, and not after the destructor. A server that does not answer, is busy or fails is asked
// again for ever, with a back-off to 10 s (without the API server the agent loses its leadership
// before long and with it this object).
class SecretWriter {
 public:
  using Put = absl::AnyInvocable<void(absl::StatusOr<SecretRef>) &&>;
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // `writer` names this process: random.
  SecretWriter(KubeClient& client, Executor& executor, std::string ns, std::string writer,
               uint64_t seed);
  ~SecretWriter();
  SecretWriter(const SecretWriter&) = delete;
  SecretWriter& operator=(const SecretWriter&) = delete;

  // A Secret that nobody else has a right to: one of that name which is there already (left by a
  // process that died) is replaced by a new one.
  void CreateFresh(std::string name, SecretData data, bool immutable, Put done);
  // Creates, if nobody did. STATE_TAKEN_OVER otherwise.
  void CreateOnly(std::string name, SecretData data, Put done);
  // Compare-and-swap from `ref`. STATE_TAKEN_OVER: another process wrote it, or it is gone.
  void Replace(SecretRef ref, SecretData data, Put done);
  // Deletes exactly the one with that uid; it being gone is success.
  void Delete(SecretRef ref, Done done);

 private:
  enum class Mode { kFresh, kCreateOnly, kReplace };
  struct PutOp;
  struct DeleteOp;

  void Start(Mode mode, SecretRef ref, SecretData data, bool immutable, Put done);
  void Attempt(std::shared_ptr<PutOp> op);
  void OnPut(std::shared_ptr<PutOp> op, KubeResult result);
  void Resolve(std::shared_ptr<PutOp> op);
  void OnResolved(const std::shared_ptr<PutOp>& op, KubeResult result);
  void ReplaceLeftover(std::shared_ptr<PutOp> op, const Value& found);
  void AttemptDelete(std::shared_ptr<DeleteOp> op);
  void Later(Backoff* backoff, Task task);
  template <typename F>
  auto Guarded(F task);

  KubeClient& client_;
  Executor& executor_;
  const std::string ns_;
  const std::string writer_;
  uint64_t last_op_ = 0;
  SplitMix random_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What an error of the API server is to users. `what`: "cannot write Secret
// nave-system/nave-state".
absl::Status SecretError(absl::string_view what, const KubeError& error);

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_SECRET_WRITER_H_
