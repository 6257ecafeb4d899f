// Published examples of the kstatus rules, row by row. NAVE_VECTORS names a folder with another
// health.tsv to run too.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/health/health.h"
#include "common/value/codec.h"
#include "tests/common/health/vector_row.h"

namespace nave {
namespace {

void RunFile(const std::string& path) {
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  const absl::Time now = absl::FromUnixSeconds(1700000000);
  HealthRowReader reader(now);
  std::string line;
  int rows = 0;
  int examples = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_EQ(columns.size(), 3u) << "a row has three columns";
    absl::StatusOr<std::vector<HealthExample>> row =
        reader.Read(columns[0], columns[1], columns[2]);
    ASSERT_TRUE(row.ok()) << row.status();
    ++rows;
    for (const HealthExample& example : *row) {
      ++examples;
      HealthResult result = EvaluateHealth(example.object, now, now);
      EXPECT_EQ(FormatHealth(result.health), FormatHealth(example.health))
          << FormatJson(example.object);
      if (!example.reason.empty()) {
        EXPECT_EQ(result.reason, example.reason) << FormatJson(example.object);
      }
      EXPECT_EQ(result.reason.empty(), result.health == Health::kHealthy) << result.reason;
    }
  }
  std::printf("%s: %d rows, %d examples\n", path.c_str(), rows, examples);
  EXPECT_GT(rows, 0);
}

TEST(HealthVectorsTest, EveryRow) { RunFile(NAVE_SOURCE_DIR "/tests/data/health.tsv"); }

TEST(HealthVectorsTest, EveryRowOfTheFolderInTheEnvironment) {
  const char* folder = std::getenv("NAVE_VECTORS");
  if (folder != nullptr && *folder != '\0') RunFile(std::string(folder) + "/health.tsv");
}

TEST(HealthVectorsTest, ARowThatCannotBeReadIsAnError) {
  HealthRowReader reader(absl::UnixEpoch());
  EXPECT_FALSE(reader.Read("H1", "Gadget og1", "Current").ok());
  EXPECT_FALSE(reader.Read("H1", "Pod frobnicated", "Current").ok());
  EXPECT_FALSE(reader.Read("H1", "Pod Running", "Splendid").ok());
  EXPECT_FALSE(reader.Read("H1", "Pod Running / Pending / Failed", "Current / Current").ok());
  EXPECT_FALSE(reader.Read("H1", "DS as 99, ready2", "Current").ok());
  EXPECT_FALSE(reader.Read("H1", "Pod desired4", "Current").ok());
}

}  // namespace
}  // namespace nave
