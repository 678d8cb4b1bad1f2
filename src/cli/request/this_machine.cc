#include "cli/request/this_machine.h"

#include <fmt/format.h>

#include <memory>

namespace placewright {

Status AskGpuDriver(DetectInput& input, std::vector<std::string>& notes) {
  Result<std::unique_ptr<GpuLibrary>> library = OpenNvml();
  if (!library.ok()) {
    notes.push_back(fmt::format("no NVIDIA GPU is described: {}", library.error().message));
    return Ok();
  }
  PW_ASSIGN(input.inventory, TakeInventory(*library.value()));
  if (input.inventory->gpus.empty()) notes.push_back("NVIDIA's driver reports no GPU");
  return Ok();
}

Result<ClusterBuilder> DescribeThisMachine(bool gpus, std::vector<std::string>& notes) {
  if (gpus) {
    DetectInput input;
    const auto describe = [&]() -> Result<ClusterBuilder> {
      PW_RETURN_IF_ERROR(AskGpuDriver(input, notes));
      std::vector<std::string> pci;
      if (input.inventory) {
        for (const GpuFacts& gpu : input.inventory->gpus) pci.push_back(gpu.pci);
      }
      PW_ASSIGN(input.host, ReadHostTopology(pci));
      return DetectMachine(input, notes);
    };
    Result<ClusterBuilder> builder = describe();
    if (builder.ok()) return builder;
    notes.push_back("its GPUs are left out: " + builder.error().ToString());
  }
  DetectInput input;
  PW_ASSIGN(input.host, ReadHostTopology({}));
  return DetectMachine(input, notes);
}

}  // namespace placewright
