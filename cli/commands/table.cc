#include "cli/commands/command.h"

namespace nave::cli {

std::vector<Command> AllCommands() {
  std::vector<Command> table;
  AddStatusCommands(&table);
  AddGetCommands(&table);
  AddDescribeCommands(&table);
  AddWhyCommands(&table);
  AddEventCommands(&table);
  AddApplyCommands(&table);
  AddDeleteCommands(&table);
  AddConfirmCommands(&table);
  AddWaitCommands(&table);
  AddClusterJoinCommands(&table);
  AddClusterLifeCommands(&table);
  AddTokenCommands(&table);
  AddHubCommands(&table);
  AddConfigCommands(&table);
  return table;
}

}  // namespace nave::cli
