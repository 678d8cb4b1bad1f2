// The interface of every command of the program, and the table of them.
//
// CLI11 parses; its types appear in the commands' sources only by this forward declaration and
// in Register, and its exceptions stop in program.cc.
#ifndef PLACEWRIGHT_CLI_COMMANDS_COMMAND_H_
#define PLACEWRIGHT_CLI_COMMANDS_COMMAND_H_

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/console.h"

namespace placewright {

// What every command is run with.
struct Context {
  Console& console;
  Clock::time_point started;           // of the process
  std::span<const char* const> words;  // of the command line, with the program's name
};

class Command {
 public:
  virtual ~Command() = default;
  // Adds the command, its options and examples to the program. The command outlives `program`.
  virtual CommandLine Register(CommandLine program) = 0;
  // Whether it reads the words itself: its options are another program's.
  virtual bool ReadsAllWords() const { return false; }
  // The exit status, or the error that decides it.
  virtual Result<int> Run(Context& context) = 0;
};

std::unique_ptr<Command> MakePlanCommand();
std::unique_ptr<Command> MakeInspectCommand();
std::unique_ptr<Command> MakeAdviseCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeMemoryCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeSizeCommand();
std::unique_ptr<Command> MakeWhatIfCommand();
std::unique_ptr<Command> MakeCompileCommand();
std::unique_ptr<Command> MakeProfileCommand();
std::unique_ptr<Command> MakeCostsCommand();
std::unique_ptr<Command> MakeRunCommand();
std::unique_ptr<Command> MakeValidateCommand();
std::unique_ptr<Command> MakeCheckCommand();
std::unique_ptr<Command> MakeExportCommand();
std::unique_ptr<Command> MakeCaptureCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeZooCommand();
std::unique_ptr<Command> MakeClusterCommand();
std::unique_ptr<Command> MakeBenchCommand();
std::unique_ptr<Command> MakeDoctorCommand();
std::unique_ptr<Command> MakeExplainCommand();
std::unique_ptr<Command> MakeCompletionCommand();
std::unique_ptr<Command> MakeManCommand();

// The commands below `cluster` that make descriptions of machines.
std::unique_ptr<Command> MakeClusterAmendCommand();
std::unique_ptr<Command> MakeClusterDetectCommand();
std::unique_ptr<Command> MakeClusterRandomCommand();
std::unique_ptr<Command> MakeClusterSchemaCommand();

// In the order in which --help lists them.
std::vector<std::unique_ptr<Command>> MakeCommands();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_COMMAND_H_
