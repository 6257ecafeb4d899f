#include "tests/common/health/vector_row.h"

#include <cctype>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

struct Kind {
  const char* api_version;
  const char* kind;
  // Counters of a complete object, by the word that the file uses.
  std::map<std::string, std::string> counters;
};

const std::map<std::string, Kind>& Kinds() {
  static const auto* kinds = new std::map<std::string, Kind>{
      {"Pod", {"v1", "Pod", {}}},
      {"PVC", {"v1", "PersistentVolumeClaim", {}}},
      {"Service", {"v1", "Service", {}}},
      {"STS",
       {"apps/v1",
        "StatefulSet",
        {{"replicas", "replicas"},
         {"ready", "readyReplicas"},
         {"current", "currentReplicas"},
         {"updated", "updatedReplicas"},
         {"available", "availableReplicas"}}}},
      {"DS",
       {"apps/v1",
        "DaemonSet",
        {{"desired", "desiredNumberScheduled"},
         {"current", "currentNumberScheduled"},
         {"updated", "updatedNumberScheduled"},
         {"available", "numberAvailable"},
         {"ready", "numberReady"}}}},
      {"Deploy",
       {"apps/v1",
        "Deployment",
        {{"replicas", "replicas"},
         {"updated", "updatedReplicas"},
         {"available", "availableReplicas"},
         {"ready", "readyReplicas"}}}},
      {"RS",
       {"apps/v1",
        "ReplicaSet",
        {{"replicas", "replicas"},
         {"labelled", "fullyLabeledReplicas"},
         {"available", "availableReplicas"},
         {"ready", "readyReplicas"}}}},
      {"PDB", {"policy/v1", "PodDisruptionBudget", {}}},
      {"Job",
       {"batch/v1",
        "Job",
        {{"active", "active"},
         {"succeeded", "succeeded"},
         {"failed", "failed"},
         {"ready", "ready"}}}},
      {"CronJob", {"batch/v1", "CronJob", {}}},
      {"CRD", {"apiextensions.k8s.io/v1", "CustomResourceDefinition", {}}},
      {"CR", {"example.dev/v1", "Foo", {}}},
  };
  return *kinds;
}

void SetCondition(Value* object, const std::string& type, absl::string_view status,
                  absl::string_view reason) {
  Value& conditions = (*object)["status"]["conditions"];
  if (!conditions.is_array()) conditions = Array();
  Value condition;
  condition["type"] = type;
  condition["status"] = status;
  if (!reason.empty()) condition["reason"] = reason;
  for (Value& present : *conditions.mutable_array()) {
    if (present.StringAt("type") != type) continue;
    present = std::move(condition);
    return;
  }
  conditions.mutable_array()->push_back(std::move(condition));
}

void DropCondition(Value* object, const std::string& type) {
  Array* conditions = (*object)["status"]["conditions"].mutable_array();
  if (conditions == nullptr) return;
  std::erase_if(*conditions,
                [&](const Value& condition) { return condition.StringAt("type") == type; });
}

// A complete, healthy object.
Value Complete(const std::string& word, const Kind& kind, int64_t want) {
  Value object;
  object["apiVersion"] = kind.api_version;
  object["kind"] = kind.kind;
  object["metadata"]["name"] = "x";
  object["metadata"]["generation"] = 1;
  object["status"]["observedGeneration"] = 1;
  for (const auto& [unused, field] : kind.counters) object["status"][field] = want;
  if (kind.counters.count("replicas") > 0) object["spec"]["replicas"] = want;
  if (word == "Pod") {
    object["status"]["phase"] = "Running";
    SetCondition(&object, "Ready", "True", "");
  } else if (word == "PVC") {
    object["status"]["phase"] = "Bound";
  } else if (word == "Service") {
    object["spec"]["type"] = "ClusterIP";
    object["spec"]["clusterIP"] = "10.96.0.7";
  } else if (word == "STS") {
    object["status"]["currentRevision"] = "x-1";
    object["status"]["updateRevision"] = "x-1";
  } else if (word == "Deploy") {
    object["spec"]["progressDeadlineSeconds"] = 600;
    SetCondition(&object, "Progressing", "True", "NewReplicaSetAvailable");
    SetCondition(&object, "Available", "True", "");
  } else if (word == "Job") {
    object["status"]["startTime"] = "2024-01-01T00:00:00Z";
  } else if (word == "CRD") {
    SetCondition(&object, "NamesAccepted", "True", "");
    SetCondition(&object, "Established", "True", "");
  } else if (word == "CR") {
    SetCondition(&object, "Ready", "True", "");
  }
  return object;
}

// Words of one object; a quoted text is one word.
std::vector<std::string> Tokens(absl::string_view words) {
  std::vector<std::string> tokens;
  std::string token;
  bool quoted = false;
  for (char c : absl::StrCat(words, " ")) {
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ' ' && c != ',' && c != '+')) {
      token.push_back(c);
    } else if (!token.empty()) {
      tokens.push_back(std::exchange(token, ""));
    }
  }
  return tokens;
}

// "ready4" -> "ready" and 4.
std::optional<std::pair<std::string, int64_t>> SplitNumber(const std::string& token) {
  size_t digits = token.find_first_of("0123456789");
  int64_t number = 0;
  if (digits == std::string::npos || digits == 0) return std::nullopt;
  if (!absl::SimpleAtoi(token.substr(digits), &number)) return std::nullopt;
  return std::make_pair(token.substr(0, digits), number);
}

// Builds one object from its tokens.
class Builder {
 public:
  Builder(std::string word, const Kind& kind, std::vector<std::string> tokens, absl::Time now)
      : word_(std::move(word)), kind_(kind), tokens_(std::move(tokens)), now_(now) {}

  absl::StatusOr<Value> Build() {
    object_ = Complete(word_, kind_, Want());
    for (const std::string& token : tokens_) {
      // "only", and a counter of another kind's name, stand for a status that has nothing else.
      if (token == "only" || token == "currentReplicas") object_["status"] = Object();
    }
    if (Has("waiting")) DropCondition(&object_, "Ready");
    while (at_ < tokens_.size()) {
      std::string token = tokens_[at_++];
      if (!Take(token))
        return absl::InvalidArgumentError(absl::StrCat("word not understood: ", token));
    }
    return std::move(object_);
  }

 private:
  bool Has(absl::string_view word) const {
    for (const std::string& token : tokens_) {
      if (token == word) return true;
    }
    return false;
  }

  int64_t Want() const {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      auto number = SplitNumber(tokens_[i]);
      if (number.has_value() && number->first == "want") return number->second;
      int64_t all = 0;
      if (tokens_[i] == "all" && i + 1 < tokens_.size() && absl::SimpleAtoi(tokens_[i + 1], &all))
        return all;
    }
    return 1;
  }

  std::string Next() { return at_ < tokens_.size() ? tokens_[at_++] : ""; }

  bool SetCounter(const std::string& name, int64_t number) {
    auto field = kind_.counters.find(name == "avail" ? "available" : name);
    if (field == kind_.counters.end()) return false;
    object_["status"][field->second] = number;
    return true;
  }

  bool TakeNo() {
    std::string what = Next();
    if (what == "status") {
      object_.mutable_object()->erase("status");
    } else if (what == "conditions") {
      object_["status"].mutable_object()->erase("conditions");
    } else if (what == "startTime") {
      object_["status"].mutable_object()->erase("startTime");
    } else if (what == "clusterIP") {
      object_["spec"].mutable_object()->erase("clusterIP");
    } else if (what == "Ready") {
      DropCondition(&object_, what);
    } else {
      return false;
    }
    return true;
  }

  // "Type=Status", with the reason that may follow.
  bool TakeAssignment(const std::string& token) {
    std::vector<std::string> parts = absl::StrSplit(token, '=');
    if (parts.size() != 2) return false;
    if (absl::ascii_islower(parts[0][0])) {
      object_["spec"][parts[0]] = parts[1] == "true"    ? Value(true)
                                  : parts[1] == "false" ? Value(false)
                                                        : Value(parts[1]);
      return true;
    }
    std::string reason;
    if (at_ < tokens_.size() && tokens_[at_] == "reason") ++at_;
    bool is_reason = at_ < tokens_.size() && !absl::StrContains(tokens_[at_], "=") &&
                     (tokens_[at_][0] == '"' || absl::ascii_isupper(tokens_[at_][0]));
    if (is_reason) reason = absl::StrReplaceAll(Next(), {{"\"", ""}});
    SetCondition(&object_, parts[0], parts[1], reason);
    return true;
  }

  bool TakeNumber(const std::string& name, int64_t number) {
    if (name == "g") {
      object_["metadata"]["generation"] = number;
    } else if (name == "og") {
      object_["status"]["observedGeneration"] = number;
    } else if (name == "dl") {
      object_["spec"]["progressDeadlineSeconds"] = number;
    } else if (name == "partition") {
      object_["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = number;
    } else if (name != "want") {
      return SetCounter(name, number);
    }
    return true;
  }

  bool TakeCreated() {
    std::string when = Next();
    absl::Duration age;
    if (when != "now" && !absl::ParseDuration(absl::StrReplaceAll(when, {{">", ""}}), &age))
      return false;
    if (at_ < tokens_.size() && tokens_[at_] == "ago") ++at_;
    object_["metadata"]["creationTimestamp"] =
        absl::FormatTime(absl::RFC3339_sec, now_ - age, absl::UTCTimeZone());
    return true;
  }

  bool Take(const std::string& token) {
    static const char* kPhases[] = {"Running", "Pending", "Failed", "Succeeded", "Unknown"};
    for (const char* phase : kPhases) {
      if (word_ == "Pod" && token == phase) return (object_["status"]["phase"] = token, true);
    }
    int64_t number = 0;
    bool number_follows = at_ < tokens_.size() && absl::SimpleAtoi(tokens_[at_], &number);
    if (token == "only") return true;
    if (token == "no") return TakeNo();
    if (token == "status" && Next() == "null") return (object_["status"] = Value(), true);
    if (token == "phase") return (object_["status"]["phase"] = Next(), true);
    if (token == "created") return TakeCreated();
    if (token == "startTime") return true;
    if (token == "paused") return (object_["spec"]["paused"] = true, true);
    if (token == "LoadBalancer") return (object_["spec"]["type"] = token, true);
    if (token == "OnDelete") return (object_["spec"]["updateStrategy"]["type"] = token, true);
    if (token == "waiting") {
      Value status;
      status["name"] = "main";
      status["state"]["waiting"]["reason"] = Next();
      object_["status"]["containerStatuses"] = Array{status};
      return true;
    }
    if (number_follows && token == "all") return (++at_, true);
    if (number_follows && token == "currentReplicas")
      return (++at_, object_["status"][token] = number, true);
    if (number_follows) {
      ++at_;
      for (const std::string& name : std::vector<std::string>(absl::StrSplit(token, '/'))) {
        if (!SetCounter(name, number)) return false;
      }
      return true;
    }
    if (absl::StrContains(token, "=")) return TakeAssignment(token);
    auto split = SplitNumber(token);
    return split.has_value() && TakeNumber(split->first, split->second);
  }

  std::string word_;
  const Kind& kind_;
  std::vector<std::string> tokens_;
  absl::Time now_;
  size_t at_ = 0;
  Value object_;
};

std::vector<std::string> Alternatives(absl::string_view input) {
  // "no/False Ready" says two things of one condition.
  if (absl::StrContains(input, "no/False Ready")) {
    return {absl::StrReplaceAll(input, {{"no/False Ready", "no Ready"}}),
            absl::StrReplaceAll(input, {{"no/False Ready", "Ready=False"}})};
  }
  std::vector<std::string> parts =
      absl::StrSplit(absl::StrReplaceAll(input, {{", or ", " / "}}), " / ");
  // What stands behind the last alternative holds for all.
  for (std::string& part : parts) {
    bool shared = absl::StrContains(parts.back(), ", no startTime") &&
                  !absl::StrContains(part, "no startTime");
    if (shared) absl::StrAppend(&part, ", no startTime");
  }
  return parts;
}

bool ReadExpected(absl::string_view text, HealthExample* example) {
  std::vector<std::string> words =
      absl::StrSplit(absl::StripAsciiWhitespace(text), absl::MaxSplits(' ', 1));
  static const std::map<std::string, Health> kWords = {
      {"Current", Health::kHealthy},         {"InP", Health::kProgressing},
      {"InProgress", Health::kProgressing},  {"Failed", Health::kDegraded},
      {"Terminating", Health::kTerminating}, {"Unknown", Health::kUnknown},
      {"NotFound", Health::kMissing},
  };
  auto found = kWords.find(words[0]);
  if (found == kWords.end()) return false;
  example->health = found->second;
  if (words.size() > 1) example->reason = words[1];
  return true;
}

}  // namespace

absl::StatusOr<Value> HealthRowReader::Build(absl::string_view words, std::string* kind) {
  std::vector<std::string> tokens = Tokens(words);
  if (!tokens.empty() && (Kinds().count(tokens[0]) > 0 || tokens[0] == "any")) {
    *kind = tokens[0] == "any" ? "CR" : tokens[0];
    tokens.erase(tokens.begin());
  }
  auto found = Kinds().find(*kind);
  if (found == Kinds().end()) return absl::InvalidArgumentError("kind not understood");
  // "as 20": the words of that row come first.
  if (tokens.size() > 1 && tokens[0] == "as") {
    auto row = words_by_number_.find(tokens[1]);
    if (row == words_by_number_.end())
      return absl::InvalidArgumentError("row that it refers to is not there");
    std::vector<std::string> base = Tokens(row->second);
    tokens.erase(tokens.begin(), tokens.begin() + 2);
    tokens.insert(tokens.begin(), base.begin() + 1, base.end());
  }
  return Builder(*kind, found->second, std::move(tokens), now_).Build();
}

absl::StatusOr<std::vector<HealthExample>> HealthRowReader::Read(absl::string_view id,
                                                                 absl::string_view input,
                                                                 absl::string_view expected) {
  size_t digits = id.find_first_of("0123456789");
  if (digits == absl::string_view::npos) return absl::InvalidArgumentError("id without a number");
  words_by_number_[std::string(id.substr(digits))] = std::string(input);
  std::vector<std::string> inputs = Alternatives(input);
  std::vector<std::string> wanted = absl::StrSplit(expected, " / ");
  if (wanted.size() != 1 && wanted.size() != inputs.size()) {
    return absl::InvalidArgumentError("not as many results as inputs");
  }
  std::vector<HealthExample> examples;
  std::string kind;
  for (size_t i = 0; i < inputs.size(); ++i) {
    HealthExample example;
    example.words = inputs[i];
    if (!ReadExpected(wanted[wanted.size() == 1 ? 0 : i], &example)) {
      return absl::InvalidArgumentError("result not understood");
    }
    ASSIGN_OR_RETURN(example.object, Build(inputs[i], &kind));
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace nave
