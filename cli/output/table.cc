#include "cli/output/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/output/text.h"

namespace nave::cli {
namespace {

std::string ShownText(const Cell& cell, bool dash) {
  return cell.text.empty() && dash ? "-" : PrintableText(cell.text);
}

}  // namespace

std::vector<size_t> Table::Widths(bool with_headers) const {
  std::vector<size_t> widths;
  auto widen = [&widths](size_t column, size_t width) {
    if (column >= widths.size()) widths.resize(column + 1);
    widths[column] = std::max(widths[column], width);
  };
  if (with_headers) {
    for (size_t i = 0; i < headers_.size(); ++i) widen(i, TextWidth(headers_[i]));
  }
  for (const Row& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i)
      widen(i, TextWidth(ShownText(row[i], !headers_.empty())));
  }
  return widths;
}

std::string Table::FormatRow(const Row& row, const std::vector<size_t>& widths, const Style& style,
                             size_t indent) const {
  std::string line(indent, ' ');
  size_t pending = 0;  // Spaces that are written only when something follows.
  for (size_t i = 0; i < row.size(); ++i) {
    std::string text = ShownText(row[i], !headers_.empty());
    if (!text.empty()) {
      line.append(pending, ' ');
      pending = 0;
    }
    absl::StrAppend(&line, style.Paint(row[i].tone, text));
    size_t width = TextWidth(text);
    size_t column = i < widths.size() ? widths[i] : width;
    pending += (column > width ? column - width : 0) + 2;
  }
  return line + "\n";
}

std::string Table::Format(const Style& style, bool with_headers, size_t indent) const {
  with_headers = with_headers && !headers_.empty();
  std::vector<size_t> widths = Widths(with_headers);
  std::string text;
  if (with_headers) {
    Row header(headers_.begin(), headers_.end());
    for (Cell& cell : header) cell.tone = Tone::kStrong;
    text = FormatRow(header, widths, style, indent);
  }
  for (const Row& row : rows_) absl::StrAppend(&text, FormatRow(row, widths, style, indent));
  return text;
}

std::string Table::FormatMore(const Row& row, const Style& style) const {
  return FormatRow(row, Widths(!headers_.empty()), style, 0);
}

}  // namespace nave::cli
