#include <fmt/format.h>

#include <algorithm>

#include "cluster/discovery/gpu_library.h"

namespace placewright {
namespace {

// Lanes from `gpu` to each GPU, and behind them those that end at no GPU.
std::vector<int32_t> LanesOf(const GpuInventory& inventory, size_t gpu) {
  const size_t count = inventory.gpus.size();
  std::vector<int32_t> lanes(count + 1, 0);
  for (const std::string& remote : inventory.gpus[gpu].nvlink_remotes) {
    size_t peer = 0;
    while (peer < count && inventory.gpus[peer].pci != remote) ++peer;
    ++lanes[peer];
  }
  return lanes;
}

}  // namespace

Result<GpuInventory> TakeInventory(GpuLibrary& library) {
  GpuInventory inventory;
  PW_ASSIGN(const int32_t count, library.Count());
  if (count < 0 || static_cast<size_t>(count) > kMaxTopoNodes) {
    return MakeError(ErrorCode::kField, fmt::format("the driver reports {} GPUs", count));
  }
  for (int32_t i = 0; i < count; ++i) {
    PW_ASSIGN(GpuFacts facts, library.Describe(i));
    inventory.gpus.push_back(std::move(facts));
    inventory.topology.nodes.push_back({fmt::format("GPU{}", i), i, -1});
  }
  const auto n = static_cast<size_t>(count);
  inventory.topology.cells.resize(n * n);
  inventory.peers.gpus = n;
  inventory.peers.source = "NVIDIA's driver";
  inventory.peers.cells.resize(n * n);
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      inventory.peers.cell(a, b).access =
          library.PeerAccess(static_cast<int32_t>(a), static_cast<int32_t>(b));
    }
  }
  std::vector<std::vector<int32_t>> lanes;
  for (size_t i = 0; i < n; ++i) lanes.push_back(LanesOf(inventory, i));
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = a + 1; b < n; ++b) {
      TopoCell cell;
      PW_ASSIGN(cell.path, library.PathBetween(static_cast<int32_t>(a), static_cast<int32_t>(b)));
      const int32_t direct = std::min(lanes[a][b], lanes[b][a]);
      cell.lanes = direct > 0 ? direct : std::min(lanes[a][n], lanes[b][n]);
      inventory.topology.cell(a, b) = inventory.topology.cell(b, a) = cell;
    }
  }
  return inventory;
}

}  // namespace placewright
