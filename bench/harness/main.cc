// placewright_bench: what `placewright bench` runs. It reads the words of that command line, so that usage and
// errors are those of one program.
#include "bench/harness/commands/harness.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  return placewright::RunProgram(argc, argv, placewright::Clock::now(), [] {
    std::vector<std::unique_ptr<placewright::Command>> commands;
    commands.push_back(placewright::MakeHarnessCommand());
    return commands;
  });
}
