#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands/command.h"
#include "torch_api/blas.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

enum class Health { kOk, kOptional, kBroken };

struct Finding {
  std::string name;
  Health health = Health::kOk;
  std::string detail;
  std::string remedy;  // empty where nothing is to do
};

const char* ToString(Health health) {
  switch (health) {
    case Health::kOk: return "ok";
    case Health::kOptional: return "absent";
    case Health::kBroken: return "broken";
  }
  return "";
}

Finding CheckMachine() {
  struct sysinfo info {};
  sysinfo(&info);
  const auto unit = static_cast<int64_t>(info.mem_unit);
  return {"machine", Health::kOk,
          fmt::format("{} CPU threads, {} memory, {} free", std::thread::hardware_concurrency(),
                      FormatBytes(Bytes(static_cast<int64_t>(info.totalram) * unit)),
                      FormatBytes(Bytes(static_cast<int64_t>(info.freeram) * unit))),
          ""};
}

Finding CheckFolder() {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  if (!error && access(".", W_OK | X_OK) == 0) return {"folder", Health::kOk, folder, ""};
  return {"folder", Health::kBroken, folder + " is not writable",
          "Plans are written here by default: change the folder, or give -o FILE."};
}

// Planning needs no GPU; commands that measure or execute will.
Finding CheckGpus() {
  int count = 0;
  while (access(fmt::format("/dev/nvidia{}", count).c_str(), F_OK) == 0) ++count;
  if (count > 0) return {"gpus", Health::kOk, fmt::format("{} NVIDIA device(s)", count), ""};
  return {"gpus", Health::kOptional, "no NVIDIA device; planning and simulating need none", ""};
}

// Of the python3 on the PATH: its PyTorch's version and folder; "" where it has none. Nothing is imported.
std::pair<std::string, std::string> InstalledPyTorch() {
  constexpr const char* kAsk =
      "python3 -c \"import importlib.util as u, importlib.metadata as m; "
      "print(m.version('torch'), u.find_spec('torch').submodule_search_locations[0])\" "
      "2>/dev/null";
  std::string line;
  if (FILE* const pipe = popen(kAsk, "r")) {
    std::array<char, 4096> buffer{};
    if (fgets(buffer.data(), buffer.size(), pipe) != nullptr) line = buffer.data();
    pclose(pipe);
  }
  while (!line.empty() && line.back() == '\n') line.pop_back();
  const size_t blank = line.find(' ');
  if (blank == std::string::npos) return {};
  return {line.substr(0, blank), line.substr(blank + 1)};
}

// "2.15" of "2.15.0+cu132".
std::string MinorOf(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

// Steps that one version records may have operators that another has not.
std::string VersionAdvice(const std::string& libtorch) {
  const auto [version, folder] = InstalledPyTorch();
  if (version.empty() || MinorOf(version) == MinorOf(libtorch)) return "";
  return fmt::format(
      "python3 has PyTorch {}: steps that it records may have operators that LibTorch {} cannot "
      "run. PLACEWRIGHT_TORCH={} ./run builds against it.",
      Printable(version, 40), libtorch, Printable(folder, 400));
}

Finding CheckTorch() {
  const Result<TorchLibrary> library = TorchLibrary::Open();
  if (library.ok()) {
    const TorchApi& api = library.value().api();
    const std::string blas = api.blas();
    std::string advice = BlasAdvice(blas);
    const std::string version = VersionAdvice(api.libtorch_version());
    if (!advice.empty() && !version.empty()) advice += " ";
    advice += version;
    return {
        "libtorch", Health::kOk,
        fmt::format("LibTorch {}, {} CUDA device(s), BLAS {}, {}", api.libtorch_version(),
                    api.cuda_devices(), blas.empty() ? "its own" : blas, library.value().path()),
        advice};
  }
  return {"libtorch", Health::kOptional, library.error().message,
          std::string(library.error().Remedy())};
}

class DoctorCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand("doctor", "Check what this machine offers and lacks");
    app.Footer(
        "Exit status 0 where every command that this version has can run, else 6.\n"
        "Examples:\n"
        "  placewright doctor\n"
        "  placewright doctor --json");
    return app;
  }

  Result<int> Run(Context& context) override {
    const std::vector<Finding> analysis = {CheckMachine(), CheckFolder(), CheckGpus(),
                                           CheckTorch()};
    bool broken = false;
    Json checks = Json::array();
    Table table({{"check"}, {"state"}, {"detail"}});
    std::string remedies;
    for (const Finding& f : analysis) {
      broken |= f.health == Health::kBroken;
      const Tone tone = f.health == Health::kOk         ? Tone::kGood
                        : f.health == Health::kOptional ? Tone::kFaint
                                                        : Tone::kBad;
      table.AddRow({f.name, Table::Cell(ToString(f.health), tone), f.detail});
      if (!f.remedy.empty()) remedies += fmt::format("{}: {}\n", f.name, f.remedy);
      checks.push_back({{"name", f.name},
                        {"state", ToString(f.health)},
                        {"detail", f.detail},
                        {"remedy", f.remedy}});
    }
    if (context.console.json) {
      Json object;
      object["schema"] = "placewright.doctor/1";
      object["version"] = PLACEWRIGHT_VERSION;
      object["ok"] = !broken;
      object["checks"] = std::move(checks);
      context.console.PrintJson(object);
    } else {
      context.console.Print("placewright " PLACEWRIGHT_VERSION "\n" +
                            table.Render(context.console.style()) + remedies);
    }
    return broken ? InfoOf(ErrorCode::kMissingRuntime).exit_status : 0;
  }
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace placewright
