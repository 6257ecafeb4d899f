#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/enroll/identity_store.h"
#include "common/base/error.h"
#include "common/value/codec.h"

namespace nave {
namespace {

absl::Status KubeFailed(absl::string_view what, const std::string& ns, const KubeError& error) {
  Reason reason = Reason::kApiServerUnavailable;
  if (error.error_class == KubeErrorClass::kForbidden ||
      error.error_class == KubeErrorClass::kUnauthorized) {
    reason = Reason::kForbidden;
  }
  return MakeError(reason, absl::StrCat(what, " Secret ", ns, "/", kIdentitySecretName, ": ",
                                        error.http_status, " ", error.message));
}

class SecretIdentityStore final : public IdentityStore {
 public:
  SecretIdentityStore(KubeClient& client, std::string ns) : client_(client), ns_(std::move(ns)) {}

  void Load(Loaded done) override {
    client_.Get(SecretType(), ns_, kIdentitySecretName,
                Guarded<KubeResult>([this, done = std::move(done)](KubeResult&& result) mutable {
                  std::move(done)(IdentityIn(std::move(result)));
                }));
  }

  void Save(AgentIdentity identity, Saved done) override {
    std::string body = FormatJson(MakeSecret(identity));
    auto answered =
        Guarded<KubeResult>([this, done = std::move(done)](KubeResult&& result) mutable {
          std::move(done)(OutcomeOf(std::move(result)));
        });
    if (resource_version_.empty()) {
      client_.Create(SecretType(), ns_, std::move(body), std::move(answered));
    } else {
      client_.Replace(SecretType(), ns_, kIdentitySecretName, std::move(body), std::move(answered));
    }
  }

 private:
  template <typename T, typename F>
  KubeClient::Callback<T> Guarded(F task) {
    return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](T&& result) mutable {
      if (alive.lock() != nullptr) task(std::move(result));
    };
  }

  // The base64 of an object that is not ours to trust blindly: a person may have edited it.
  absl::StatusOr<std::optional<AgentIdentity>> IdentityIn(KubeResult result) {
    if (result.error.error_class == KubeErrorClass::kNotFound) {
      resource_version_.clear();
      return std::nullopt;
    }
    if (!result.error.ok()) return KubeFailed("cannot read", ns_, result.error);
    resource_version_ = result.object.StringAt("metadata", "resourceVersion");
    IdentityData data;
    const Value* encoded = result.object.Find("data");
    if (encoded != nullptr && encoded->object() != nullptr) {
      for (const auto& [key, value] : *encoded->object()) {
        if (!absl::Base64Unescape(value.StringOr(""), &data[key])) {
          return MakeError(Reason::kIdentityInvalid,
                           absl::StrCat("Secret ", ns_, "/", kIdentitySecretName, ": data of \"",
                                        key, "\" is no base64"));
        }
      }
    }
    absl::StatusOr<AgentIdentity> identity = ParseIdentity(data);
    if (!identity.ok()) {
      return Prepend(identity.status(), absl::StrCat("Secret ", ns_, "/", kIdentitySecretName));
    }
    return std::optional<AgentIdentity>(*std::move(identity));
  }

  absl::Status OutcomeOf(KubeResult result) {
    if (result.error.error_class == KubeErrorClass::kConflict ||
        (result.error.error_class == KubeErrorClass::kNotFound && !resource_version_.empty())) {
      return MakeError(Reason::kEtagMismatch,
                       absl::StrCat("Secret ", ns_, "/", kIdentitySecretName,
                                    ": was changed by someone else meanwhile"));
    }
    if (!result.error.ok()) return KubeFailed("cannot write", ns_, result.error);
    resource_version_ = result.object.StringAt("metadata", "resourceVersion");
    return absl::OkStatus();
  }

  Value MakeSecret(const AgentIdentity& identity) const {
    Value secret{Object{}};
    secret["apiVersion"] = "v1";
    secret["kind"] = "Secret";
    secret["type"] = "Opaque";
    secret["metadata"]["name"] = kIdentitySecretName;
    secret["metadata"]["namespace"] = ns_;
    if (!resource_version_.empty()) secret["metadata"]["resourceVersion"] = resource_version_;
    secret["data"] = Object{};
    for (const auto& [key, value] : FormatIdentity(identity)) {
      secret["data"][key] = absl::Base64Escape(value);
    }
    return secret;
  }

  KubeClient& client_;
  const std::string ns_;
  // Of the Secret as it was last read or written; empty: there is none.
  std::string resource_version_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<IdentityStore> MakeSecretIdentityStore(KubeClient& client, std::string ns) {
  return std::make_unique<SecretIdentityStore>(client, std::move(ns));
}

}  // namespace nave
