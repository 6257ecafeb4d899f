// A tree of JSON values. The one in-memory form of manifests and API objects; no other layer sees a
// JSON library.
#ifndef NAVE_COMMON_VALUE_VALUE_H_
#define NAVE_COMMON_VALUE_VALUE_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace nave {

class Value;
using Array = std::vector<Value>;
// Sorted bytewise, as canonical JSON wants it. Lookup takes absl::string_view.
using Object = std::map<std::string, Value, std::less<>>;

// Null, boolean, 64-bit integer, double, string, array or object. A plain value type; not
// thread-safe while changed.
class Value {
 public:
  Value() = default;  // Null.
  Value(std::nullptr_t) {}
  Value(bool b) : data_(b) {}
  Value(int i) : data_(static_cast<int64_t>(i)) {}
  Value(int64_t i) : data_(i) {}
  Value(double d) : data_(d) {}
  Value(const char* s) : data_(std::string(s)) {}
  Value(absl::string_view s) : data_(std::string(s)) {}
  Value(std::string s) : data_(std::move(s)) {}
  Value(Array a) : data_(std::move(a)) {}
  Value(Object o) : data_(std::move(o)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  bool is_double() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }

  // The content, or nullptr when the value is of another type.
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  std::string* mutable_string() { return std::get_if<std::string>(&data_); }
  Array* mutable_array() { return std::get_if<Array>(&data_); }
  Object* mutable_object() { return std::get_if<Object>(&data_); }

  // The content, or a default when the value is of another type (a double counts as an integer when
  // exact).
  bool BoolOr(bool otherwise) const;
  int64_t IntOr(int64_t otherwise) const;
  double DoubleOr(double otherwise) const;
  std::string StringOr(absl::string_view otherwise) const;

  // Member of an object; nullptr when this is no object or has none. Chains: v.Find("spec",
  // "replicas").
  const Value* Find(absl::string_view key) const;
  template <typename... Keys>
  const Value* Find(absl::string_view key, absl::string_view next, Keys... rest) const {
    const Value* child = Find(key);
    return child == nullptr ? nullptr : child->Find(next, rest...);
  }
  // Shorthand for the string member at a path; empty when there is none.
  template <typename... Keys>
  std::string StringAt(Keys... keys) const {
    const Value* found = Find(absl::string_view(keys)...);
    return found == nullptr ? "" : found->StringOr("");
  }
  // Member of an object, made when absent; a value that is no object becomes one.
  Value& operator[](absl::string_view key);

  // Structural equality; 1 and 1.0 are different values.
  bool operator==(const Value& other) const { return data_ == other.data_; }

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data_;
};

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_VALUE_H_
