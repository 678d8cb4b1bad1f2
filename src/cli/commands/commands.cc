#include "cli/commands/command.h"

namespace placewright {

std::vector<std::unique_ptr<Command>> MakeCommands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakePlanCommand());
  commands.push_back(MakeTrainCommand());
  commands.push_back(MakeInspectCommand());
  commands.push_back(MakeAdviseCommand());
  commands.push_back(MakeSimulateCommand());
  commands.push_back(MakeMemoryCommand());
  commands.push_back(MakeCompareCommand());
  commands.push_back(MakeSizeCommand());
  commands.push_back(MakeWhatIfCommand());
  commands.push_back(MakeCompileCommand());
  commands.push_back(MakeProfileCommand());
  commands.push_back(MakeCostsCommand());
  commands.push_back(MakeRunCommand());
  commands.push_back(MakeValidateCommand());
  commands.push_back(MakeCheckCommand());
  commands.push_back(MakeExportCommand());
  commands.push_back(MakeCaptureCommand());
  commands.push_back(MakeZooCommand());
  commands.push_back(MakeClusterCommand());
  commands.push_back(MakeBenchCommand());
  commands.push_back(MakeDoctorCommand());
  commands.push_back(MakeExplainCommand());
  commands.push_back(MakeCompletionCommand());
  commands.push_back(MakeManCommand());
  return commands;
}

}  // namespace placewright
