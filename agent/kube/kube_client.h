// The spoke's API server behind an interface. HttpKubeClient speaks to a real one; the API-server
// simulator implements the same interface in-process.
#ifndef NAVE_AGENT_KUBE_KUBE_CLIENT_H_
#define NAVE_AGENT_KUBE_KUBE_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/value/value.h"

namespace nave {

// A kind as the server serves it.
struct ResourceType {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = false;
  std::vector<std::string> verbs;
  bool Can(absl::string_view verb) const;
  bool operator==(const ResourceType&) const = default;
};

// What went wrong, by what the caller can do about it (the table of error classes of the apply
// engine).
enum class KubeErrorClass {
  kNone,              // No error.
  kUnreachable,       // No answer, or one cut off; a write may have happened. Retry with back-off.
  kUnauthorized,      // 401 that a fresh credential did not cure.
  kForbidden,         // 403 by RBAC or quota: slow retry.
  kAdmissionRefused,  // Any other 403 (a missing ServiceAccount, a terminating CRD): back-off.
  kRbacEscalation,    // 403 "attempting to grant RBAC permissions not currently held".
  kNamespaceTerminating,  // 403 with that cause: wait until the namespace is gone.
  kKindNotServed,         // 404 without an object's name: rediscover.
  kNamespaceMissing,      // 404 for the namespace of a write.
  kNotFound,              // 404 with the object's name.
  kFieldConflict,         // 409 whose causes are FieldManagerConflict.
  kConflict,   // 409: resourceVersion or uid precondition, AlreadyExists, namespace being emptied.
  kGone,       // 410, or a resourceVersion from the future: list again without one.
  kTooLarge,   // 413, "etcdserver: request is too large" and its like: permanent.
  kInvalid,    // 400, 405, 415, 422, structural 500: permanent until manifest or server changes.
  kThrottled,  // 429: wait retry_after.
  kServerError,  // 500, 503, 504 and webhooks that fail: retry with back-off.
};

struct KubeCause {
  std::string reason;
  std::string field;
  std::string message;
};

struct KubeError {
  KubeErrorClass error_class = KubeErrorClass::kNone;
  int http_status = 0;
  // metav1.Status.reason, "" when the body was no Status.
  std::string reason;
  // At most 2 KiB.
  std::string message;
  std::vector<KubeCause> causes;
  std::optional<absl::Duration> retry_after;
  bool ok() const { return error_class == KubeErrorClass::kNone; }
};

struct KubeResult {
  KubeError error;
  // The object answered; null after an error and for a deletion that was complete at once.
  Value object;
  // 201.
  bool created = false;
  // Texts of Warning headers.
  std::vector<std::string> warnings;
};

struct ListPage {
  KubeError error;
  // Items carry apiVersion and kind even where the server leaves them out.
  std::vector<Value> items;
  std::string resource_version;
  // Empty: last page.
  std::string continue_token;
};

struct ApplyRequest {
  ResourceType type;
  std::string ns;
  std::string name;
  // The JSON to send (FormatJson), with metadata.resourceVersion when the caller wants a
  // precondition.
  std::string body;
  std::string field_manager;
  bool force = false;
  bool dry_run = false;
};

struct ListRequest {
  ResourceType type;
  std::string ns;              // Empty: all namespaces.
  std::string label_selector;  // Empty: all.
  size_t limit = 500;
  std::string continue_token;
  // "": quorum; "0": from the server's cache.
  std::string resource_version;
  // Only apiVersion, kind and metadata of each item.
  bool metadata_only = false;
};

enum class DeletePropagation { kBackground, kForeground, kOrphan };

struct DeleteRequest {
  ResourceType type;
  std::string ns;
  std::string name;
  // Preconditions; empty: none. Options always travel in the body.
  std::string uid;
  std::string resource_version;
  DeletePropagation propagation = DeletePropagation::kBackground;
  bool dry_run = false;
};

enum class PatchType { kJson, kMerge };

struct PatchRequest {
  ResourceType type;
  std::string ns;
  std::string name;
  PatchType patch_type = PatchType::kMerge;
  std::string body;
  std::string field_manager;
  bool dry_run = false;
};

// One event of a watch.
struct KubeEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  Value object;
};

struct WatchRequest {
  ResourceType type;
  std::string ns;
  std::string label_selector;
  std::string resource_version;
  bool metadata_only = false;
};

// Ends a watch when destroyed; no callback runs afterwards.
class KubeWatch {
 public:
  virtual ~KubeWatch() = default;
};

// Every method may be called on the loop thread only; every callback runs there, later (never
// inside the call), exactly once, and not after the client was destroyed. Requests are limited in
// number by the implementation and wait their turn.
class KubeClient {
 public:
  template <typename T>
  using Callback = absl::AnyInvocable<void(T) &&>;

  virtual ~KubeClient() = default;

  // What the server serves, all groups. Groups whose backend is down keep what was known of them
  // and are named in `failed_groups`: unknown, never absent.
  struct Discovery {
    KubeError error;
    std::vector<ResourceType>
        types;  // Of one kind in several versions: the preferred version first.
    std::vector<std::string> failed_groups;
  };
  virtual void Discover(Callback<Discovery> done) = 0;

  // gitVersion of the server.
  virtual void GetServerVersion(Callback<KubeResult> done) = 0;

  // Server-side apply with fieldValidation=Strict.
  virtual void Apply(ApplyRequest request, Callback<KubeResult> done) = 0;
  virtual void Get(ResourceType type, std::string ns, std::string name,
                   Callback<KubeResult> done) = 0;
  virtual void List(ListRequest request, Callback<ListPage> done) = 0;
  // POST. For the agent's own Secrets and Lease only; manifests are created by Apply.
  virtual void Create(ResourceType type, std::string ns, std::string body,
                      Callback<KubeResult> done) = 0;
  // PUT; the body's metadata.resourceVersion makes it a compare-and-swap.
  virtual void Replace(ResourceType type, std::string ns, std::string name, std::string body,
                       Callback<KubeResult> done) = 0;
  virtual void Patch(PatchRequest request, Callback<KubeResult> done) = 0;
  virtual void Delete(DeleteRequest request, Callback<KubeResult> done) = 0;

  // One watch request: events until it ends, then `on_end` once (error.ok(): a normal end, watch
  // again from the last resourceVersion; kGone: list again).
  virtual std::unique_ptr<KubeWatch> Watch(WatchRequest request,
                                           std::function<void(KubeEvent)> on_event,
                                           Callback<KubeError> on_end) = 0;
};

// Types that an agent always knows, without discovery.
const ResourceType& SecretType();
const ResourceType& NamespaceType();
const ResourceType& LeaseType();

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_KUBE_CLIENT_H_
