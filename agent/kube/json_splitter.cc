#include "agent/kube/json_splitter.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nave {

absl::Status JsonSplitter::Feed(absl::string_view data,
                                const std::function<bool(absl::string_view)>& on_object) {
  size_t begin = 0;  // Of the present object in `data`; what is before is in pending_.
  for (size_t i = 0; i < data.size(); ++i) {
    const char c = data[i];
    if (depth_ == 0) {
      if (absl::ascii_isspace(static_cast<unsigned char>(c))) continue;
      if (c != '{') {
        return absl::InvalidArgumentError(absl::StrCat("watch stream: want a JSON object, got \"",
                                                       absl::CHexEscape(data.substr(i, 40)), "\""));
      }
      begin = i;
      depth_ = 1;
      continue;
    }
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      continue;
    }
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (--depth_ > 0) continue;
      absl::string_view object = data.substr(begin, i + 1 - begin);
      std::string whole;
      if (!pending_.empty()) {
        whole = absl::StrCat(pending_, object);
        object = whole;
        std::string().swap(pending_);
      }
      if (!on_object(object)) return absl::OkStatus();
    }
  }
  if (depth_ == 0) return absl::OkStatus();
  const absl::string_view rest = data.substr(begin);
  if (pending_.size() + rest.size() > object_bytes_max_) {
    return absl::InvalidArgumentError(absl::StrCat("watch stream: want objects of at most ",
                                                   object_bytes_max_, " bytes, got a longer one"));
  }
  absl::StrAppend(&pending_, rest);
  return absl::OkStatus();
}

}  // namespace nave
