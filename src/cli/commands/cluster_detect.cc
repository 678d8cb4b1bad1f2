#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "cli/commands/cluster_output.h"
#include "cli/commands/command.h"
#include "cli/request/this_machine.h"
#include "cli/terminal/output_path.h"
#include "cluster/catalogue.h"
#include "cluster/discovery/detect.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

Result<TopoMatrix> ReadTable(const std::string& path) {
  constexpr ReadLimits kLimits{int64_t{1} << 20, int64_t{1} << 20, 200, int64_t{1} << 20};
  PW_ASSIGN(const std::string text, ReadFile(path, kLimits));
  Result<TopoMatrix> table = ParseTopoMatrix(text);
  if (!table.ok()) table.error().file = path;
  return table;
}

}  // namespace

Result<const DeviceKind*> FindGpuKind(const std::string& name) {
  const DeviceKind* kind = FindKind(name);
  if (kind != nullptr && kind->device_class == DeviceClass::kGpu) return kind;
  if (const std::string_view why = WhyNotInCatalogue(name); !why.empty()) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("\"{}\" is not in the catalogue: {}", Printable(name, 80), why));
  }
  std::vector<std::string> known;
  for (const DeviceKind& each : Catalogue()) {
    if (each.device_class == DeviceClass::kGpu) known.push_back(each.name);
  }
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("no kind of GPU is called \"{}\"{}", Printable(name, 80),
                               DidYouMean(name, known)),
                   "", "`placewright cluster show` lists the kinds.");
}

namespace {

class ClusterDetectCommand : public Command {
 public:
  CommandLine Register(CommandLine cluster) override {
    CommandLine app = cluster.AddCommand("detect", "Describe this machine as a cluster file");
    app.AddOption("--topo", topo_,
                  "What `nvidia-smi topo -m` printed, instead of asking the driver")
        .TypeName("FILE");
    app.AddOption(
           "--pairs", pairs_,
           "What p2pBandwidthLatencyTest or `nvidia-smi topo -p2p r` printed of the same GPUs")
        .TypeName("FILE");
    app.AddOption("--gpu", gpu_, "What every GPU is, where the driver's name for it is not known")
        .TypeName("KIND");
    app.AddOption("--split-cpu", split_,
                  "N CPU devices, each with as many of the cores, or the cores of each (3+1)")
        .TypeName("N|CORES+CORES..");
    app.AddOption("-o,--output", output_, "The cluster file; standard output where left out or -")
        .TypeName("FILE");
    app.Footer(
        "Without a GPU the machine's CPUs are described, and a note says so.\n"
        "Examples:\n"
        "  placewright cluster detect -o this-machine.yaml\n"
        "  placewright cluster detect --split-cpu 2 -o workers.yaml\n"
        "  placewright cluster detect --topo topo.txt --gpu A100-40GB -o that-machine.yaml");
    return app;
  }

  Result<int> Run(Context& context) override {
    DetectInput input;
    std::vector<std::string> notes;
    if (!gpu_.empty()) {
      PW_ASSIGN(input.gpu, FindGpuKind(gpu_));
    }
    if (!topo_.empty()) {
      PW_ASSIGN(input.table, ReadTable(topo_));
    }
    if (!pairs_.empty()) {
      PW_ASSIGN(input.measured, ReadPeerMatrix(pairs_));
    }
    if (output_ == "-") output_.clear();
    if (!output_.empty()) {
      PW_RETURN_IF_ERROR(
          RejectOverwriting({{"-o", output_}}, {{"--topo", topo_}, {"--pairs", pairs_}}));
      PW_RETURN_IF_ERROR(ProbeWritable(output_));
    }
    // A table with the GPUs' kind is of any machine: this one's GPUs do not matter.
    if (!input.table || input.gpu == nullptr) PW_RETURN_IF_ERROR(AskGpuDriver(input, notes));
    std::vector<std::string> pci;
    if (input.inventory) {
      for (const GpuFacts& gpu : input.inventory->gpus) pci.push_back(gpu.pci);
    }
    PW_ASSIGN(input.host, ReadHostTopology(pci));
    if (!split_.empty()) {
      PW_ASSIGN(input.cpu_cores, ReadSplit(split_, input.host));
    }
    PW_ASSIGN(const ClusterBuilder builder, DetectMachine(input, notes));
    for (const std::string& note : notes) context.console.Note(note);
    PW_RETURN_IF_ERROR(PutCluster(builder, notes, output_, context.console));
    return 0;
  }

 private:
  // "2", or "3+1".
  static Result<std::vector<int64_t>> ReadSplit(const std::string& text, const HostTopology& host) {
    const auto refuse = [&](const std::string& why) {
      return MakeError(
          ErrorCode::kUsage, fmt::format("--split-cpu \"{}\": {}", Printable(text, 80), why), "",
          "Give a number of CPU devices, such as 2, or the cores of each, such as 3+1.");
    };
    std::vector<int64_t> numbers;
    for (const char *at = text.data(), *const end = at + text.size(); at <= end; ++at) {
      int64_t number = 0;
      const auto [rest, failure] = std::from_chars(at, end, number);
      if (failure != std::errc() || (rest != end && *rest != '+') || number < 1 || number > 4096) {
        return refuse("not numbers from 1 to 4096");
      }
      numbers.push_back(number);
      at = rest;
    }
    if (numbers.size() > 1) return numbers;
    int64_t cores = 0;
    for (const Socket& socket : host.sockets) cores += socket.cores;
    const int64_t devices = numbers.front();
    if (devices > cores) {
      return refuse(fmt::format("this machine has {} core{}", cores, cores == 1 ? "" : "s"));
    }
    return std::vector<int64_t>(static_cast<size_t>(devices), cores / devices);
  }

  std::string topo_, pairs_, gpu_, split_, output_;
};

}  // namespace

std::unique_ptr<Command> MakeClusterDetectCommand() {
  return std::make_unique<ClusterDetectCommand>();
}

}  // namespace placewright
