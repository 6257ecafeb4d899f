#include "agent/desired/secret_writer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// The write may have happened, or may yet.
bool IsUncertain(KubeErrorClass error) {
  switch (error) {
    case KubeErrorClass::kUnreachable:
    case KubeErrorClass::kUnauthorized:
    case KubeErrorClass::kThrottled:
    case KubeErrorClass::kServerError:
      return true;
    default:
      return false;
  }
}

absl::Status TakenOver(absl::string_view ns, absl::string_view name) {
  return MakeError(Reason::kStateTakenOver,
                   absl::StrCat("Secret ", ns, "/", name, ": was written or removed by another"));
}

}  // namespace

SecretRef SecretRefOf(const Value& secret) {
  return {secret.StringAt("metadata", "name"), secret.StringAt("metadata", "uid"),
          secret.StringAt("metadata", "resourceVersion")};
}

absl::Status SecretError(absl::string_view what, const KubeError& error) {
  Reason reason = Reason::kApiServerUnavailable;
  if (error.http_status == 403) reason = Reason::kForbidden;
  if (error.error_class == KubeErrorClass::kTooLarge) reason = Reason::kObjectTooLarge;
  return MakeError(reason, absl::StrCat(what, ": ", error.http_status, " ", error.message));
}

struct SecretWriter::PutOp {
  Mode mode = Mode::kFresh;
  SecretRef ref;  // The one to replace; resource_version empty: create.
  std::string tag;
  SecretData data;
  bool immutable = false;
  Put done;
  Backoff backoff{absl::Milliseconds(500), absl::Seconds(10)};
};

struct SecretWriter::DeleteOp {
  SecretRef ref;
  Done done;
  Backoff backoff{absl::Milliseconds(500), absl::Seconds(10)};
};

SecretWriter::SecretWriter(KubeClient& client, Executor& executor, std::string ns,
                           std::string writer, uint64_t seed)
    : client_(client),
      executor_(executor),
      ns_(std::move(ns)),
      writer_(std::move(writer)),
      random_(seed) {}

SecretWriter::~SecretWriter() = default;

template <typename F>
auto SecretWriter::Guarded(F task) {
  return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... args) mutable {
    if (alive.lock() != nullptr) task(std::forward<decltype(args)>(args)...);
  };
}

void SecretWriter::Later(Backoff* backoff, Task task) {
  const double uniform = 0.5 + random_.Uniform() / 2;
  executor_.PostAfter(backoff->Next(uniform),
                      Guarded([task = std::move(task)]() mutable { std::move(task)(); }));
}

void SecretWriter::CreateFresh(std::string name, SecretData data, bool immutable, Put done) {
  Start(Mode::kFresh, {std::move(name), "", ""}, std::move(data), immutable, std::move(done));
}

void SecretWriter::CreateOnly(std::string name, SecretData data, Put done) {
  Start(Mode::kCreateOnly, {std::move(name), "", ""}, std::move(data), false, std::move(done));
}

void SecretWriter::Replace(SecretRef ref, SecretData data, Put done) {
  Start(Mode::kReplace, std::move(ref), std::move(data), false, std::move(done));
}

void SecretWriter::Start(Mode mode, SecretRef ref, SecretData data, bool immutable, Put done) {
  auto op = std::make_shared<PutOp>();
  op->mode = mode;
  op->ref = std::move(ref);
  op->tag = absl::StrCat(writer_, ".", ++last_op_);
  op->data = std::move(data);
  op->immutable = immutable;
  op->done = std::move(done);
  Attempt(std::move(op));
}

void SecretWriter::Attempt(std::shared_ptr<PutOp> op) {
  Value secret = MakeSecretObject(ns_, op->ref.name, op->tag, op->data, op->immutable);
  std::string name = op->ref.name;
  const std::string version = op->ref.resource_version;
  auto answered = Guarded([this, op](KubeResult result) { OnPut(op, std::move(result)); });
  if (version.empty()) {
    client_.Create(SecretType(), ns_, FormatJson(secret), std::move(answered));
  } else {
    secret["metadata"]["resourceVersion"] = version;
    client_.Replace(SecretType(), ns_, std::move(name), FormatJson(secret), std::move(answered));
  }
}

void SecretWriter::OnPut(std::shared_ptr<PutOp> op, KubeResult result) {
  const KubeErrorClass error = result.error.error_class;
  if (error == KubeErrorClass::kNone) {
    std::move(op->done)(SecretRefOf(result.object));
  } else if (error == KubeErrorClass::kConflict || error == KubeErrorClass::kNotFound) {
    Resolve(std::move(op));
  } else if (IsUncertain(error)) {
    LogWarning("state not written, trying again",
               {{"secret", op->ref.name}, {"error", result.error.message}});
    Backoff* backoff = &op->backoff;
    Later(backoff, [this, op]() { Attempt(op); });
  } else {
    std::move(op->done)(
        SecretError(absl::StrCat("cannot write Secret ", ns_, "/", op->ref.name), result.error));
  }
}

void SecretWriter::Resolve(std::shared_ptr<PutOp> op) {
  std::string name = op->ref.name;
  client_.Get(SecretType(), ns_, std::move(name),
              Guarded([this, op](KubeResult result) { OnResolved(op, std::move(result)); }));
}

void SecretWriter::OnResolved(const std::shared_ptr<PutOp>& op, KubeResult result) {
  const KubeErrorClass error = result.error.error_class;
  if (error == KubeErrorClass::kNotFound) {
    // Gone between the write and the look; a creation simply goes on.
    if (op->mode == Mode::kReplace) return std::move(op->done)(TakenOver(ns_, op->ref.name));
    return Later(&op->backoff, [this, op]() { Attempt(op); });
  }
  if (error != KubeErrorClass::kNone) {
    return Later(&op->backoff, [this, op]() { Resolve(op); });
  }
  const std::string writer = SecretWriterOf(result.object);
  // It was this very write, whose answer was lost.
  if (writer == op->tag) return std::move(op->done)(SecretRefOf(result.object));
  if (op->mode == Mode::kFresh) return ReplaceLeftover(op, result.object);
  if (!absl::StartsWith(writer, absl::StrCat(writer_, ".")) ||
      (op->mode == Mode::kReplace && result.object.StringAt("metadata", "uid") != op->ref.uid)) {
    return std::move(op->done)(TakenOver(ns_, op->ref.name));
  }
  // An older write of this process arrived late.
  op->ref = SecretRefOf(result.object);
  op->mode = Mode::kReplace;
  Later(&op->backoff, [this, op]() { Attempt(op); });
}

void SecretWriter::ReplaceLeftover(std::shared_ptr<PutOp> op, const Value& found) {
  Delete(SecretRefOf(found), [this, op = std::move(op)](absl::Status status) mutable {
    if (!status.ok()) return std::move(op->done)(status);
    Backoff* backoff = &op->backoff;
    Later(backoff, [this, op]() { Attempt(op); });
  });
}

void SecretWriter::Delete(SecretRef ref, Done done) {
  auto op = std::make_shared<DeleteOp>();
  op->ref = std::move(ref);
  op->done = std::move(done);
  AttemptDelete(std::move(op));
}

void SecretWriter::AttemptDelete(std::shared_ptr<DeleteOp> op) {
  DeleteRequest request;
  request.type = SecretType();
  request.ns = ns_;
  request.name = op->ref.name;
  request.uid = op->ref.uid;
  client_.Delete(
      std::move(request), Guarded([this, op](KubeResult result) {
        const KubeErrorClass error = result.error.error_class;
        // A conflict says that another one has the name now.
        if (error == KubeErrorClass::kNone || error == KubeErrorClass::kNotFound ||
            error == KubeErrorClass::kConflict) {
          std::move(op->done)(absl::OkStatus());
        } else if (IsUncertain(error)) {
          Later(&op->backoff, [this, op]() { AttemptDelete(op); });
        } else {
          std::move(op->done)(SecretError(
              absl::StrCat("cannot delete Secret ", ns_, "/", op->ref.name), result.error));
        }
      }));
}

}  // namespace nave
