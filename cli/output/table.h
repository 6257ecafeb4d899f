// Tables for people: columns as wide as their widest cell, two spaces apart. Not a contract. Pure.
#ifndef NAVE_CLI_OUTPUT_TABLE_H_
#define NAVE_CLI_OUTPUT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/output/style.h"

namespace nave::cli {

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;

  Cell() = default;
  Cell(const char* t) : text(t) {}
  Cell(absl::string_view t) : text(t) {}
  Cell(std::string t) : text(std::move(t)) {}
  Cell(std::string t, Tone tone) : text(std::move(t)), tone(tone) {}
};

using Row = std::vector<Cell>;

class Table {
 public:
  // No headers: a table of columns without a first line.
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  // Empty cells are shown as "-" when there are headers, so that every line has the same number of
  // words.
  void Add(Row row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // Each line begins with `indent` spaces and ends without trailing ones. `with_headers` false
  // leaves the first out.
  std::string Format(const Style& style, bool with_headers = true, size_t indent = 0) const;

  // Rows that arrive later line up with this table: fixes the columns at their present width.
  std::string FormatMore(const Row& row, const Style& style) const;

 private:
  std::vector<size_t> Widths(bool with_headers) const;
  std::string FormatRow(const Row& row, const std::vector<size_t>& widths, const Style& style,
                        size_t indent) const;

  std::vector<std::string> headers_;
  std::vector<Row> rows_;
};

}  // namespace nave::cli

#endif  // NAVE_CLI_OUTPUT_TABLE_H_
