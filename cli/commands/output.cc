#include "cli/commands/output.h"

#include "cli/output/table.h"
#include "cli/resources/columns.h"
#include "cli/resources/print.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"

namespace nave::cli {

using google::protobuf::Message;

absl::Status UseOutput(Session& session, const std::string& word) {
  ASSIGN_OR_RETURN(OutputFormat format, ParseOutputFormat(word));
  session.set_output(format);
  return absl::OkStatus();
}

absl::Status PrintResult(Session& session, const Message& resource, const std::string& sentence) {
  if (session.output() == OutputFormat::kTable || session.output() == OutputFormat::kWide) {
    session.Print(sentence);
    return absl::OkStatus();
  }
  return PrintList(session, {&resource}, true, {});
}

absl::Status PrintList(Session& session, const std::vector<const Message*>& resources, bool single,
                       const TableOptions& options) {
  switch (session.output()) {
    case OutputFormat::kJson:
      session.Print(FormatAsJson(resources, single));
      return absl::OkStatus();
    case OutputFormat::kYaml:
      session.Print(FormatAsYaml(resources));
      return absl::OkStatus();
    case OutputFormat::kName: {
      ASSIGN_OR_RETURN(std::string project, session.Project());
      session.Print(FormatAsNames(resources, project));
      return absl::OkStatus();
    }
    default:
      break;
  }
  if (resources.empty()) return absl::OkStatus();
  const KindInfo& kind = *KindOf(*resources[0]);
  ColumnOptions columns{session.output() == OutputFormat::kWide, options.show_project,
                        options.show_labels, session.Now()};
  Table table(Headers(kind, columns));
  for (const Message* resource : resources) table.Add(MakeRow(kind, *resource, columns));
  session.Print(table.Format(session.out_style(), !options.no_headers));
  return absl::OkStatus();
}

std::string FormatAnswer(const Message& answer, OutputFormat format) {
  Value value = ToValue(answer);
  return format == OutputFormat::kYaml ? FormatYaml(value) : FormatJsonPretty(value) + "\n";
}

}  // namespace nave::cli
