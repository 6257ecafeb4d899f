#include "common/value/value.h"

#include <cmath>

namespace nave {
namespace {

// Bounds of the doubles that convert to int64 without overflow.
constexpr double kInt64Low = -9223372036854775808.0;
constexpr double kInt64High = 9223372036854775808.0;

}  // namespace

bool Value::BoolOr(bool otherwise) const {
  const bool* b = std::get_if<bool>(&data_);
  return b == nullptr ? otherwise : *b;
}

int64_t Value::IntOr(int64_t otherwise) const {
  if (const int64_t* i = std::get_if<int64_t>(&data_)) return *i;
  const double* d = std::get_if<double>(&data_);
  if (d == nullptr || !(*d >= kInt64Low && *d < kInt64High) || *d != std::trunc(*d))
    return otherwise;
  return static_cast<int64_t>(*d);
}

double Value::DoubleOr(double otherwise) const {
  if (const double* d = std::get_if<double>(&data_)) return *d;
  const int64_t* i = std::get_if<int64_t>(&data_);
  return i == nullptr ? otherwise : static_cast<double>(*i);
}

std::string Value::StringOr(absl::string_view otherwise) const {
  const std::string* s = std::get_if<std::string>(&data_);
  return s == nullptr ? std::string(otherwise) : *s;
}

const Value* Value::Find(absl::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  auto it = members->find(key);
  return it == members->end() ? nullptr : &it->second;
}

Value& Value::operator[](absl::string_view key) {
  if (!is_object()) data_ = Object();
  Object& members = std::get<Object>(data_);
  auto it = members.lower_bound(key);
  if (it == members.end() || it->first != key) it = members.emplace_hint(it, key, Value());
  return it->second;
}

}  // namespace nave
