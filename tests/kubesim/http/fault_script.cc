#include "tests/kubesim/http/fault_script.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace nave::kubesim {
namespace {

int64_t NumberAt(const Value& rule, absl::string_view key, int64_t otherwise) {
  const Value* found = rule.Find(key);
  return found == nullptr ? otherwise : found->IntOr(otherwise);
}

constexpr std::pair<const char*, SimFault::Kind> kKinds[] = {
    {"answer", SimFault::Kind::kAnswer},       {"dropBefore", SimFault::Kind::kDropBefore},
    {"dropAfter", SimFault::Kind::kDropAfter}, {"silent", SimFault::Kind::kSilent},
    {"none", SimFault::Kind::kNone},
};

}  // namespace

std::string FaultScript::Add(const Value& rule) {
  Rule out;
  std::string kind = rule.StringAt("kind");
  bool known = false;
  for (const auto& [name, value] : kKinds) {
    if (kind != name) continue;
    known = true;
    out.fault.kind = value;
  }
  if (!known) {
    return absl::StrCat("kind: want answer, dropBefore, dropAfter, silent or none, got \"", kind,
                        "\"");
  }
  out.verb = rule.StringAt("verb");
  out.resource = rule.StringAt("resource");
  out.ns = rule.StringAt("namespace");
  out.name = rule.StringAt("name");
  int64_t count = NumberAt(rule, "count", 1);
  out.left = count == 0 ? -1 : count;
  out.fault.delay = absl::Milliseconds(NumberAt(rule, "delayMs", 0));
  if (out.fault.kind == SimFault::Kind::kAnswer) {
    int code = static_cast<int>(NumberAt(rule, "code", 0));
    if (code < 400 || code > 599) return absl::StrCat("code: want 400 to 599, got ", code);
    out.fault.answer = MakeStatus(code, rule.StringAt("reason"), rule.StringAt("message"));
    int64_t retry = NumberAt(rule, "retryAfterSeconds", -1);
    if (retry >= 0) out.fault.answer.retry_after_s = static_cast<int>(retry);
  }
  rules_.push_back(std::move(out));
  return "";
}

SimFault FaultScript::Decide(const SimRequest& request) {
  std::string resource =
      request.group.empty() ? request.plural : absl::StrCat(request.plural, ".", request.group);
  for (auto it = rules_.begin(); it != rules_.end(); ++it) {
    if (!it->verb.empty() && it->verb != VerbName(request.verb)) continue;
    if (!it->resource.empty() && it->resource != resource) continue;
    if (!it->ns.empty() && it->ns != request.ns) continue;
    if (!it->name.empty() && it->name != request.name) continue;
    SimFault fault = it->fault;
    if (it->left > 0 && --it->left == 0) rules_.erase(it);
    return fault;
  }
  return {};
}

}  // namespace nave::kubesim
