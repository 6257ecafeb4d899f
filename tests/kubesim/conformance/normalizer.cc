#include "tests/kubesim/conformance/normalizer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/kube/classify.h"

namespace nave::kubesim {
namespace {

bool IsTime(const std::string& key) {
  return absl::EndsWith(key, "Timestamp") || absl::EndsWith(key, "Time") || key == "time";
}

bool IsAddress(const std::string& key) { return key == "clusterIP" || key == "clusterIPs"; }

}  // namespace

Value Comparable(const Value& value) {
  if (const Array* items = value.array()) {
    Array out;
    for (const Value& item : *items) out.push_back(Comparable(item));
    return Value(std::move(out));
  }
  const nave::Object* members = value.object();
  if (members == nullptr) return value;
  nave::Object out;
  for (const auto& [name, member] : *members) {
    Value kept = Comparable(member);
    if (name == "managedFields" && kept.is_array()) {
      Array& owners = *kept.mutable_array();
      std::stable_sort(owners.begin(), owners.end(), [](const Value& a, const Value& b) {
        return std::pair(a.StringAt("manager"), a.StringAt("operation")) <
               std::pair(b.StringAt("manager"), b.StringAt("operation"));
      });
    }
    if (name == "annotations" && kept.mutable_object() != nullptr) {
      kept.mutable_object()->erase("deployment.kubernetes.io/revision");
      if (kept.object()->empty()) continue;
    }
    out.emplace(name, std::move(kept));
  }
  return Value(std::move(out));
}

std::string Normalizer::Text(const std::string& text) const {
  std::string out = absl::StrReplaceAll(text, {{own_, "OWN"}});
  // Labels and keys of lists quote uids.
  for (const auto& [uid, name] : uids_) out = absl::StrReplaceAll(out, {{uid, name}});
  return out;
}

std::string Normalizer::Named(const char* kind, const std::string& text) {
  std::string& name = names_[absl::StrCat(kind, " ", text)];
  if (name.empty()) name = absl::StrCat(kind, "-", ++counts_[kind]);
  return name;
}

Value Normalizer::Walk(const std::string& key, const Value& value) {
  if (const std::string* text = value.string()) {
    if (IsTime(key)) return Value("TIME");
    if (key == "uid") return Value(Named("uid", *text));
    if (key == "resourceVersion" && !text->empty()) return Value(Named("version", *text));
    if (IsAddress(key) && *text != "None") return Value("ADDRESS");
    return Value(Text(*text));
  }
  if (const Array* items = value.array()) {
    Array out;
    for (const Value& item : *items) out.push_back(Walk(key, item));
    return Value(std::move(out));
  }
  if (const nave::Object* members = value.object()) {
    nave::Object out;
    for (const auto& [name, member] : *members) {
      // The set of fields of an owner names what it names literally.
      out.emplace(Text(name), Walk(name, member));
    }
    return Value(std::move(out));
  }
  return value;
}

void Normalizer::Learn(const std::string& key, const Value& value) {
  if (key == "uid" && value.is_string()) uids_[*value.string()] = Named("uid", *value.string());
  if (const Array* items = value.array()) {
    for (const Value& item : *items) Learn(key, item);
  } else if (const nave::Object* members = value.object()) {
    for (const auto& [name, member] : *members) Learn(name, member);
  }
}

Value Normalizer::Object(const Value& object) {
  Value known = object;
  // When controllers write, and what, is not the API server's affair.
  const Value* managed = object.Find("metadata", "managedFields");
  if (managed != nullptr && managed->is_array()) {
    Array kept;
    for (const Value& entry : *managed->array()) {
      if (entry.StringAt("manager") != "kube-controller-manager") kept.push_back(entry);
    }
    known["metadata"]["managedFields"] = Value(std::move(kept));
  }
  Learn("", known);
  return Walk("", known);
}

Value Normalizer::Error(const KubeError& error, bool with_message) {
  Value out(nave::Object{{"class", Value(KubeErrorClassName(error.error_class))}});
  if (error.http_status != 0) out["status"] = Value(error.http_status);
  if (!error.reason.empty()) out["reason"] = Value(error.reason);
  std::vector<std::string> causes;
  for (const KubeCause& cause : error.causes) {
    causes.push_back(Text(absl::StrCat(cause.reason, " ", cause.field)));
  }
  std::sort(causes.begin(), causes.end());
  causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
  if (!causes.empty()) {
    Array list;
    for (const std::string& cause : causes) list.push_back(Value(cause));
    out["causes"] = Value(std::move(list));
  }
  if (with_message) out["message"] = Value(Text(error.message));
  return out;
}

}  // namespace nave::kubesim
