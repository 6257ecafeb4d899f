#include "hub/rpc/bundle_write.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/model/names.h"
#include "hub/controllers/actions.h"
#include "hub/rpc/bundle_content.h"
#include "hub/rpc/bundle_warnings.h"
#include "hub/rpc/record_handlers.h"

namespace nave {

template <>
struct WriteHooks<Bundle> {
  static void Carry(const Bundle& before, absl::Time, Bundle* after) {
    after->project = before.project;
    after->id = before.id;
    after->status = before.status;
    after->spec.manifest_list = before.spec.manifest_list;
  }
};

namespace {

// Rendering costs; a plan that is made again because somebody else wrote first has the same files.
struct RenderedOnce {
  std::string key;
  std::optional<BundleContent> content;
};

std::string FilesKey(const BundleSpec& spec) {
  Sha256Builder builder;
  for (const Manifest& manifest : spec.manifests) {
    builder.Add(absl::StrCat(manifest.path.size(), ":", manifest.path));
    builder.Add(manifest.digest.View());
  }
  builder.Add(absl::StrCat(spec.default_namespace, ";", spec.create_namespace, ";",
                           spec.allow_empty, ";", static_cast<int>(spec.adoption)));
  return builder.Finish().Hex();
}

Digest ListDigest(const BundleContent& content) {
  return content.manifests.empty() ? Digest{} : Sha256(content.manifest_list);
}

std::shared_ptr<const RevisionsOfBundle> RevisionsOf(const ApiCall& call, const Bundle& bundle) {
  auto revisions = call.snapshot().revisions.Find(bundle.meta.uid);
  return revisions != nullptr ? revisions : std::make_shared<const RevisionsOfBundle>();
}

BundleRevision MakeRevision(const ApiCall& call, const Bundle& bundle,
                            const BundleContent& content) {
  BundleRevision revision;
  revision.project = bundle.project;
  revision.bundle = bundle.id;
  revision.bundle_uid = bundle.meta.uid;
  revision.number = bundle.status.revision + 1;
  InitMeta(call.now(), &revision);
  revision.listing = content.rendered.listing_digest;
  revision.manifest_list = bundle.spec.manifest_list;
  revision.default_namespace = bundle.spec.default_namespace;
  revision.create_namespace = bundle.spec.create_namespace;
  revision.adoption = bundle.spec.adoption;
  revision.objects = static_cast<uint32_t>(content.rendered.objects.size());
  revision.bytes = content.rendered.bytes;
  return revision;
}

bool SameContent(const BundleRevision& a, const BundleRevision& b) {
  return a.listing == b.listing && a.manifest_list == b.manifest_list &&
         a.default_namespace == b.default_namespace && a.create_namespace == b.create_namespace &&
         a.adoption == b.adoption;
}

// The write of `after`, whose files have content or a digest. `before` null: it is new.
class BundleWrite {
 public:
  BundleWrite(const ApiCall& call, bool validate_only, RenderedOnce* rendered)
      : call_(call), validate_only_(validate_only), rendered_(rendered) {}

  absl::StatusOr<WritePlan> Plan(const Versioned<Bundle>* before, Bundle after,
                                 v1::Bundle* response) {
    const Bundle* record = before == nullptr ? nullptr : &before->value;
    RETURN_IF_ERROR(CheckRecord(call_, record, after));
    ControlTxn txn;
    std::vector<Manifest> files = after.spec.manifests;
    std::vector<std::string> warnings;
    bool same_files = record != nullptr && FilesKey(record->spec) == FilesKey(after.spec);
    if (same_files) {
      files = record->spec.manifests;
    } else {
      RETURN_IF_ERROR(Render(record, after.spec));
      files = rendered_->content->manifests;
      warnings = rendered_->content->warnings;
      after.spec.manifest_list = ListDigest(*rendered_->content);
      RETURN_IF_ERROR(AddRevision(&after, &txn, &warnings));
    }
    bool changed = record == nullptr || Stamp(*record, &after);
    AddPlacementWarnings(call_, record, after, &warnings);
    WritePlan plan;
    if (changed) RETURN_IF_ERROR(AddRecord(before, after, std::move(txn), &plan));
    for (Manifest& file : files) file.content.clear();
    after.spec.manifests = std::move(files);
    RETURN_IF_ERROR(
        ToApi<Bundle>(call_, {after, before == nullptr ? 0 : before->mod_revision}, response));
    for (std::string& warning : warnings)
      response->mutable_status()->add_warnings(std::move(warning));
    return plan;
  }

 private:
  absl::Status Render(const Bundle* before, const BundleSpec& spec) {
    std::string key = FilesKey(spec);
    if (rendered_->content.has_value() && rendered_->key == key) return absl::OkStatus();
    ASSIGN_OR_RETURN(rendered_->content, RenderContent(call_, before, spec));
    rendered_->key = std::move(key);
    return absl::OkStatus();
  }

  // A revision, unless the newest one is the same.
  absl::Status AddRevision(Bundle* after, ControlTxn* txn, std::vector<std::string>* warnings) {
    const BundleContent& content = *rendered_->content;
    BundleRevision revision = MakeRevision(call_, *after, content);
    auto revisions = RevisionsOf(call_, *after);
    auto newest = revisions->find(after->status.revision);
    if (newest != revisions->end()) {
      if (SameContent(newest->second, revision)) return absl::OkStatus();
      RETURN_IF_ERROR(
          AddRemovalWarnings(call_, *after, newest->second.listing, content.rendered, warnings));
    }
    after->status.revision = revision.number;
    if (!validate_only_) RETURN_IF_ERROR(PutContent(call_, content, txn));
    std::string key = RevisionKey(revision.project, revision.bundle_uid, revision.number);
    txn->Compare(key, 0);
    txn->Put(std::move(key), EncodeRecord(revision));
    return absl::OkStatus();
  }

  bool Stamp(const Bundle& before, Bundle* after) const {
    bool same_spec = FilesKey(before.spec) == FilesKey(after->spec) &&
                     before.spec.placement == after->spec.placement;
    bool same = same_spec && before.meta == after->meta;
    if (same) return false;
    if (!same_spec) ++after->meta.generation;
    after->meta.update_time = call_.now();
    return true;
  }

  absl::Status AddRecord(const Versioned<Bundle>* before, Bundle record, ControlTxn txn,
                         WritePlan* plan) const {
    record.spec.manifests.clear();
    std::string key = BundleKey(record.project, record.id);
    txn.Compare(key, before == nullptr ? 0 : before->mod_revision);
    txn.Put(std::move(key), EncodeRecord(record));
    std::string name = absl::StrCat(record.project, "/", record.id);
    if (before == nullptr) txn.Put(ByUidKey(UidKind::kBundle, record.meta.uid), EncodeText(name));
    plan->detail = absl::StrCat("revision ", record.status.revision);
    plan->txns.push_back(std::move(txn));
    return absl::OkStatus();
  }

  const ApiCall& call_;
  const bool validate_only_;
  RenderedOnce* const rendered_;
};

absl::StatusOr<WritePlan> PlanCreateBundle(const ApiCall& call, const RecordRef& ref,
                                           absl::string_view id_field, const v1::Bundle& wanted,
                                           BundleWrite* write, v1::Bundle* response) {
  RETURN_IF_ERROR(
      call.rights().Check(Role::kEditor, Scope::OfProject(ref.project), "write bundles"));
  Violations violations;
  ValidateId(id_field, ref.id, &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  v1::Bundle nameless = wanted;
  nameless.clear_name();
  Bundle bundle;
  RETURN_IF_ERROR(FromProto(nameless, &bundle));
  bundle.project = ref.project;
  bundle.id = ref.id;
  ASSIGN_OR_RETURN(auto present, FindRecord<Bundle>(call, ref));
  if (present.has_value() && present->value.meta.deleting()) {
    return MakeError(Reason::kBundleDeleting,
                     absl::StrCat("bundle \"", ref.id, "\": is being deleted"),
                     {{"resource", BundleName(ref.project, ref.id)}});
  }
  if (present.has_value()) {
    return MakeError(Reason::kAlreadyExists,
                     absl::StrCat("bundle \"", ref.id, "\": exists already"),
                     {{"resource", BundleName(ref.project, ref.id)}});
  }
  InitMeta(call.now(), &bundle);
  return write->Plan(nullptr, std::move(bundle), response);
}

absl::Status CheckNotDeleting(const Bundle& bundle) {
  if (!bundle.meta.deleting()) return absl::OkStatus();
  return MakeError(Reason::kBundleDeleting,
                   absl::StrCat("bundle \"", bundle.id, "\": is being deleted"),
                   {{"resource", BundleName(bundle.project, bundle.id)}});
}

absl::StatusOr<WritePlan> PlanUpdateBundle(const ApiCall& call, const RecordRef& ref,
                                           const v1::UpdateBundleRequest& request,
                                           BundleWrite* write, v1::Bundle* response) {
  RETURN_IF_ERROR(
      call.rights().Check(Role::kEditor, Scope::OfProject(ref.project), "write bundles"));
  std::string name = BundleName(ref.project, ref.id);
  ASSIGN_OR_RETURN(auto present, FindRecord<Bundle>(call, ref));
  if (!present.has_value()) {
    if (!request.allow_missing()) return NotFound<Bundle>(ref);
    RETURN_IF_ERROR(CheckEtag(request.bundle().etag(), "", name));
    return PlanCreateBundle(call, ref, "name", request.bundle(), write, response);
  }
  RETURN_IF_ERROR(CheckEtag(request.bundle().etag(), EtagOf(present->value), name));
  RETURN_IF_ERROR(CheckNotDeleting(present->value));
  RETURN_IF_ERROR(FillManifests(call, &present->value));
  ASSIGN_OR_RETURN(Bundle after,
                   (MergeUpdate<Bundle>(call, present->value, request, request.bundle())));
  return write->Plan(&*present, std::move(after), response);
}

absl::StatusOr<WritePlan> PlanDeleteBundle(const ApiCall& call, const RecordRef& ref,
                                           const v1::DeleteBundleRequest& request,
                                           v1::Bundle* response) {
  RETURN_IF_ERROR(
      call.rights().Check(Role::kEditor, Scope::OfProject(ref.project), "delete bundles"));
  std::string name = BundleName(ref.project, ref.id);
  ASSIGN_OR_RETURN(auto present, FindRecord<Bundle>(call, ref));
  if (!present.has_value()) return NotFound<Bundle>(ref);
  RETURN_IF_ERROR(CheckEtag(request.etag(), EtagOf(present->value), name));
  if (!request.confirm().empty() && request.confirm() != ref.id) {
    return MakeError(
        Reason::kConfirmMismatch,
        absl::StrCat("confirm: must be \"", ref.id, "\", got \"", request.confirm(), "\""),
        {{"resource", name}});
  }
  Bundle after = present->value;
  WritePlan plan;
  if (after.meta.deleting()) {
    // The orders are on their way; another kind of deletion cannot overtake them.
    if (after.status.orphan != request.orphan()) RETURN_IF_ERROR(CheckNotDeleting(after));
  } else {
    after.meta.delete_time = call.now();
    after.meta.update_time = call.now();
    after.status.orphan = request.orphan();
    after.status.delete_confirmed = !request.confirm().empty();
    plan.txns.push_back(PutTxn(after, present->mod_revision));
    plan.detail = request.orphan() ? "the objects stay" : "";
  }
  RETURN_IF_ERROR(ToApi<Bundle>(call, {after, present->mod_revision}, response));
  std::vector<std::string> warnings;
  AddPlacementWarnings(call, &present->value, after, &warnings);
  for (std::string& warning : warnings)
    response->mutable_status()->add_warnings(std::move(warning));
  return plan;
}

}  // namespace

absl::Status CreateBundle(ApiCall* call, const v1::CreateBundleRequest& request,
                          v1::Bundle* response) {
  ASSIGN_OR_RETURN(std::string project, ParseProjectParent("parent", request.parent()));
  if (project == kAnyProject) return FieldError("parent", "must name one project");
  RecordRef ref{project, request.bundle_id()};
  RenderedOnce rendered;
  return RunWrite(call, WriteOf<Bundle>(request, ref), response, [&] {
    BundleWrite write(*call, request.validate_only(), &rendered);
    return PlanCreateBundle(*call, ref, "bundle_id", request.bundle(), &write, response);
  });
}

absl::Status UpdateBundle(ApiCall* call, const v1::UpdateBundleRequest& request,
                          v1::Bundle* response) {
  ASSIGN_OR_RETURN(RecordRef ref,
                   ParseRecordName(KeyKind::kBundle, "name", request.bundle().name()));
  RenderedOnce rendered;
  return RunWrite(call, WriteOf<Bundle>(request, ref), response, [&] {
    BundleWrite write(*call, request.validate_only(), &rendered);
    return PlanUpdateBundle(*call, ref, request, &write, response);
  });
}

absl::Status DeleteBundle(ApiCall* call, const v1::DeleteBundleRequest& request,
                          v1::Bundle* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kBundle, "name", request.name()));
  return RunWrite(call, WriteOf<Bundle>(request, ref), response,
                  [&] { return PlanDeleteBundle(*call, ref, request, response); });
}

absl::Status ConfirmBundle(ApiCall* call, const v1::ConfirmBundleRequest& request,
                           v1::Bundle* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kBundle, "name", request.name()));
  return RunWrite(
      call, WriteOf<Bundle>(request, ref), response, [&]() -> absl::StatusOr<WritePlan> {
        RETURN_IF_ERROR(
            call->rights().Check(Role::kEditor, Scope::OfProject(ref.project), "confirm removals"));
        if (request.shown().empty()) {
          return FieldError(
              "shown",
              "must be the held hash of the bundle or the confirm digest of an assignment");
        }
        ASSIGN_OR_RETURN(auto present, FindRecord<Bundle>(*call, ref));
        if (!present.has_value()) return NotFound<Bundle>(ref);
        WritePlan plan;
        ASSIGN_OR_RETURN(plan.txns,
                         PlanConfirm(call->snapshot(), call->live(), present->value.meta.uid,
                                     request.cluster(), request.shown(), call->now()));
        plan.detail = absl::StrCat("confirmed ", request.shown(),
                                   request.cluster().empty() ? "" : " on ", request.cluster());
        RETURN_IF_ERROR(ToApi<Bundle>(*call, *present, response));
        return plan;
      });
}

}  // namespace nave
