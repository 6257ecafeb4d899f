// Random trees: what is written is read back; the reader agrees with a second, independent one;
// damaged text never does more than give an error.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/backoff.h"
#include "common/value/codec.h"
#include "common/value/utf8.h"

namespace nave {
namespace {

// Counts what the generator made, so that a property cannot pass by never meeting its special
// cases.
struct Shares {
  int values = 0;
  int odd_strings = 0;
  int doubles = 0;
  int containers = 0;
};

std::string RandomString(SplitMix& random, Shares& shares) {
  static const uint32_t kOdd[] = {0,      '\t',   '\n',   '\r',   '"',    '\\',    '/',  ':',
                                  '#',    '-',    ' ',    0x7f,   0x80,   0x85,    0xa0, 0xe9,
                                  0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff, 0x1f600, '\'', '{',
                                  '[',    '&',    '*',    '!',    '|',    '>',     '%'};
  std::string text;
  bool odd = random.Below(3) == 0;
  shares.odd_strings += odd;
  for (uint64_t size = random.Below(12); size > 0; --size) {
    bool pick_odd = odd && random.Below(2) == 0;
    Utf8Append(&text, pick_odd ? kOdd[random.Below(std::size(kOdd))]
                               : static_cast<uint32_t>('0' + random.Below(75)));
  }
  return text;
}

Value RandomValue(SplitMix& random, int depth, Shares& shares) {
  ++shares.values;
  switch (random.Below(depth > 0 ? 9 : 6)) {
    case 0:
      return Value();
    case 1:
      return Value(random.Below(2) == 0);
    case 2:
      return Value(static_cast<int64_t>(random.Next()));
    case 3:
      return Value(static_cast<int64_t>(random.Below(2000)) - 1000);
    case 4: {
      ++shares.doubles;
      // A fraction: whole numbers are read as integers.
      double number = (static_cast<double>(random.Below(1 << 20)) + 0.5) / 1024;
      for (uint64_t i = random.Below(60); i > 0; --i) number *= random.Below(2) == 0 ? 10 : 0.1;
      int64_t truncated = static_cast<int64_t>(std::min(number, 1e18));
      return number < 1e18 && static_cast<double>(truncated) == number ? Value(0.5) : Value(number);
    }
    case 5:
      return Value(RandomString(random, shares));
    case 6: {
      ++shares.containers;
      Array items;
      for (uint64_t i = random.Below(5); i > 0; --i)
        items.push_back(RandomValue(random, depth - 1, shares));
      return Value(std::move(items));
    }
    default: {
      ++shares.containers;
      Object members;
      for (uint64_t i = random.Below(5); i > 0; --i) {
        members[RandomString(random, shares)] = RandomValue(random, depth - 1, shares);
      }
      return Value(std::move(members));
    }
  }
}

TEST(PropertyTest, WrittenTreesAreReadBack) {
  Shares shares;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SplitMix random(seed);
    Value value = RandomValue(random, 4, shares);
    std::string json = FormatJson(value);
    absl::StatusOr<Value> strict = ParseJson(json);
    ASSERT_TRUE(strict.ok()) << "seed " << seed << " " << strict.status() << " " << json;
    ASSERT_EQ(*strict, value) << "seed " << seed << " " << json;
    absl::StatusOr<Value> lenient = ParseJsonLenient(FormatJsonPretty(value));
    ASSERT_TRUE(lenient.ok() && *lenient == value) << "seed " << seed << " " << json;
    // The YAML reader stands in for the one of server-side apply.
    for (const std::string& text : {json, FormatYaml(value), "k: " + json}) {
      absl::StatusOr<std::vector<YamlDocument>> yaml = ParseYamlStream(text, nullptr);
      ASSERT_TRUE(yaml.ok()) << "seed " << seed << " " << yaml.status() << "\n" << text;
      bool wrapped = text[0] == 'k' && text.size() == json.size() + 3;
      Value got = yaml->empty() ? Value()
                  : wrapped     ? *(*yaml)[0].value.Find("k")
                                : (*yaml)[0].value;
      ASSERT_EQ(got, value) << "seed " << seed << "\n" << text;
    }
  }
  std::printf("values %d, odd strings %d, doubles %d, containers %d\n", shares.values,
              shares.odd_strings, shares.doubles, shares.containers);
  EXPECT_GT(shares.odd_strings, shares.values / 20);
  EXPECT_GT(shares.doubles, shares.values / 20);
  EXPECT_GT(shares.containers, shares.values / 20);
}

Value FromOracle(const nlohmann::json& json) {
  switch (json.type()) {
    case nlohmann::json::value_t::boolean:
      return Value(json.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return Value(json.get<int64_t>());
    case nlohmann::json::value_t::number_unsigned: {
      uint64_t number = json.get<uint64_t>();
      if (number > static_cast<uint64_t>(INT64_MAX)) return Value(static_cast<double>(number));
      return Value(static_cast<int64_t>(number));
    }
    case nlohmann::json::value_t::number_float: {
      double number = json.get<double>();
      Value value(number);
      int64_t integer = value.IntOr(1);
      return integer == 1 && value.IntOr(2) == 2 ? value : Value(integer);
    }
    case nlohmann::json::value_t::string:
      return Value(json.get<std::string>());
    case nlohmann::json::value_t::array: {
      Array items;
      for (const nlohmann::json& item : json) items.push_back(FromOracle(item));
      return Value(std::move(items));
    }
    case nlohmann::json::value_t::object: {
      Object members;
      for (const auto& [key, member] : json.items()) members[key] = FromOracle(member);
      return Value(std::move(members));
    }
    default:
      return Value();
  }
}

// Text near to JSON: a written tree with some bytes changed, taken out or put in.
std::string Damage(SplitMix& random, std::string text) {
  static const char kBytes[] = "{}[]\",:\\u0123456789eE+-.truefalsn \n\t\x80\xe2\xff";
  for (uint64_t i = random.Below(4); i > 0 && !text.empty(); --i) {
    size_t at = random.Below(text.size());
    char byte = kBytes[random.Below(sizeof(kBytes) - 1)];
    switch (random.Below(3)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, 1 + random.Below(3));
        break;
      default:
        text.insert(at, 1, byte);
    }
  }
  return text;
}

TEST(PropertyTest, TheReaderAgreesWithASecondOne) {
  int accepted = 0;
  int refused = 0;
  Shares shares;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    SplitMix random(seed);
    std::string text = Damage(random, FormatJson(RandomValue(random, 3, shares)));
    absl::StatusOr<Value> ours = ParseJson(text);
    nlohmann::json oracle = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    // Only we refuse duplicate keys and numbers that a double cannot hold.
    bool stricter = !ours.ok() && !oracle.is_discarded() &&
                    (absl::IsInvalidArgument(ours.status()) &&
                     (ours.status().message().find("twice") != absl::string_view::npos ||
                      ours.status().message().find("out of range") != absl::string_view::npos));
    if (stricter) continue;
    ASSERT_EQ(ours.ok(), !oracle.is_discarded())
        << "seed " << seed << " " << text << " " << ours.status();
    ours.ok() ? ++accepted : ++refused;
    if (ours.ok()) {
      ASSERT_EQ(*ours, FromOracle(oracle)) << "seed " << seed << " " << text;
    }
  }
  std::printf("accepted %d, refused %d\n", accepted, refused);
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(PropertyTest, DamagedYamlNeverDoesMoreThanFail) {
  Shares shares;
  int refused = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    SplitMix random(seed);
    std::string text = FormatYaml(RandomValue(random, 4, shares));
    absl::StatusOr<std::vector<YamlDocument>> documents =
        ParseYamlStream(Damage(random, text), nullptr);
    if (documents.ok()) continue;
    ++refused;
    EXPECT_NE(documents.status().message().find("line"), absl::string_view::npos)
        << documents.status();
  }
  std::printf("refused %d of 5000\n", refused);
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace nave
