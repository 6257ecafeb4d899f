#include "common/wire/grpc_status.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/model/violations.h"
#include "common/wire/scalars.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace nave {
namespace {

namespace rpc = ::google::rpc;

constexpr size_t kTextBytesMax = 1024;
constexpr size_t kValueBytesMax = 256;
constexpr size_t kDetailsBytesMax = 4096;
constexpr int kHelpLinksMax = 5;

std::string Cut(absl::string_view text, size_t max) { return CutUtf8(MakeUtf8(text), max); }

// The details of one error, before they are packed.
struct Details {
  rpc::ErrorInfo info;
  rpc::BadRequest bad_request;
  rpc::ResourceInfo resource;
  rpc::RetryInfo retry;
  rpc::Help help;
  rpc::RequestInfo request;
};

void AddHelp(absl::string_view text, absl::string_view reason, rpc::Help* help) {
  if (text.empty() || help->links_size() >= kHelpLinksMax) return;
  rpc::Help::Link* link = help->add_links();
  link->set_description(Cut(text, kValueBytesMax));
  link->set_url(absl::StrCat(kErrorDocsUrl, reason));
}

void AddViolation(absl::string_view field, absl::string_view rule, Details* details) {
  auto* violation = details->bad_request.add_field_violations();
  violation->set_field(Cut(field, kValueBytesMax));
  violation->set_description(Cut(rule, kValueBytesMax));
  if (details->bad_request.field_violations_size() == 1) {
    (*details->info.mutable_metadata())["field"] = violation->field();
  }
}

Details MakeDetails(const absl::Status& status, absl::string_view reason,
                    absl::string_view request_id) {
  Details details;
  details.info.set_reason(std::string(reason));
  details.info.set_domain(std::string(kErrorDomain));
  const ReasonInfo* known = FindReason(reason);
  if (known != nullptr) AddHelp(known->next, reason, &details.help);
  for (const auto& [key, value] : ErrorMetadataOf(status)) {
    absl::string_view field = key;
    absl::Duration after;
    if (absl::ConsumePrefix(&field, kFieldMetadataPrefix)) {
      AddViolation(field, value, &details);
    } else if (key == "help") {
      AddHelp(value, reason, &details.help);
    } else if (key == "retry_after" && absl::ParseDuration(value, &after)) {
      DurationToProto(after, details.retry.mutable_retry_delay());
    } else {
      (*details.info.mutable_metadata())[Cut(key, 64)] = Cut(value, kValueBytesMax);
      if (key == "resource") details.resource.set_resource_name(Cut(value, kValueBytesMax));
    }
  }
  details.request.set_request_id(std::string(request_id));
  return details;
}

void Pack(const absl::Status& status, const Details& details, rpc::Status* out) {
  out->add_details()->PackFrom(details.info);
  if (details.bad_request.field_violations_size() > 0)
    out->add_details()->PackFrom(details.bad_request);
  if (!details.resource.resource_name().empty()) out->add_details()->PackFrom(details.resource);
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    rpc::PreconditionFailure failure;
    auto* violation = failure.add_violations();
    violation->set_type(details.info.reason());
    violation->set_subject(details.resource.resource_name());
    violation->set_description(out->message());
    out->add_details()->PackFrom(failure);
  }
  if (details.retry.has_retry_delay()) out->add_details()->PackFrom(details.retry);
  if (details.help.links_size() > 0) out->add_details()->PackFrom(details.help);
  if (!details.request.request_id().empty()) out->add_details()->PackFrom(details.request);
}

absl::string_view ReasonOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
      return "HUB_UNREACHABLE";
    case absl::StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    case absl::StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case absl::StatusCode::kDeadlineExceeded:
      return "TIMEOUT";
    case absl::StatusCode::kCancelled:
      return "CANCELLED";
    default:
      return "INTERNAL";
  }
}

void ReadDetails(const rpc::Status& wire, std::string* reason, ErrorMetadata* metadata) {
  for (const google::protobuf::Any& any : wire.details()) {
    rpc::ErrorInfo info;
    rpc::BadRequest bad_request;
    rpc::RetryInfo retry;
    rpc::Help help;
    rpc::RequestInfo request;
    if (any.UnpackTo(&info)) {
      *reason = info.reason();
      for (const auto& [key, value] : info.metadata()) {
        if (key != "field") metadata->emplace_back(key, value);
      }
    } else if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        metadata->emplace_back(absl::StrCat(kFieldMetadataPrefix, violation.field()),
                               violation.description());
      }
    } else if (any.UnpackTo(&retry)) {
      auto after = DurationFromProto(retry.retry_delay());
      if (after.has_value()) metadata->emplace_back("retry_after", absl::FormatDuration(*after));
    } else if (any.UnpackTo(&help)) {
      for (const auto& link : help.links()) metadata->emplace_back("help", link.description());
    } else if (any.UnpackTo(&request)) {
      metadata->emplace_back("request_id", request.request_id());
    }
  }
  // The wire's map has no order.
  std::stable_sort(metadata->begin(), metadata->end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  std::string reason = ErrorReason(status);
  if (reason == "INTERNAL") reason = std::string(ReasonOfCode(status.code()));
  rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(Cut(status.message(), kTextBytesMax));
  Details details = MakeDetails(status, reason, request_id);
  Pack(status, details, &wire);
  while (wire.ByteSizeLong() > kDetailsBytesMax &&
         details.bad_request.field_violations_size() > 1) {
    details.bad_request.mutable_field_violations()->RemoveLast();
    wire.clear_details();
    Pack(status, details, &wire);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), wire.message(),
                      wire.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  auto code = static_cast<absl::StatusCode>(status.error_code());
  std::string reason(ReasonOfCode(code));
  ErrorMetadata metadata;
  rpc::Status wire;
  if (!status.error_details().empty() && wire.ParseFromString(status.error_details())) {
    ReadDetails(wire, &reason, &metadata);
  }
  return ErrorFromWire(code, MakeUtf8(status.error_message()), reason, std::move(metadata));
}

}  // namespace nave
