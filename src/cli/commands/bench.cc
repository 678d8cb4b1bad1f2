#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/on_demand_library.h"
#include "cli/commands/command.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "placewright_bench";

// Only who measures Placewright or makes published tables anew needs it, and it takes a minute to build: a
// program of its own (bench/harness), which reads the same words.
class BenchCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    return program.AddCommand(
        "bench", "Measure Placewright itself: its speed, and published tables made anew");
  }

  bool ReadsAllWords() const override { return true; }

  Result<int> Run(Context& context) override {
    std::error_code failed;
    const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
    const fs::path program = here / kProgram;
    if (access(program.c_str(), X_OK) != 0) BuildOnDemand(kProgram);
    std::vector<char*> words;
    std::vector<std::string> copies(context.words.begin(), context.words.end());
    for (std::string& word : copies) words.push_back(word.data());
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    return MakeError(
        ErrorCode::kMissingRuntime,
        fmt::format("{} cannot be started: {}", program.string(), std::strerror(errno)), "",
        "It is no part of the wheel: `./run bench` in the repository builds it.");
  }
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace placewright
