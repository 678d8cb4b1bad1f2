#include "cli/command.h"

namespace placewright {

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeDoctorCommand());
  commands.push_back(MakeExplainCommand());
  return commands;
}

}  // namespace placewright
