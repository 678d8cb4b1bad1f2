// The table that `nvidia-smi topo -m` prints: how every two GPUs (and NICs) of a machine reach each
// other.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_TOPO_MATRIX_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_TOPO_MATRIX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright {

// What a path crosses at most, by nvidia-smi's legend; from near to far.
enum class TopoPath : uint8_t {
  kSelf,  // X
  kPix,   // one PCIe switch (an older word: the board's own, PSB)
  kPxb,   // several PCIe switches, no host bridge
  kPhb,   // a PCIe host bridge, typically the CPU
  kNode,  // the interconnect between host bridges of one NUMA node
  kSys,   // the interconnect between NUMA nodes, as QPI or UPI (older: SOC)
};
std::string_view ToString(TopoPath path);  // "X", "PIX", ...

struct TopoCell {
  // By PCIe. Where only NVLink is stated: kPhb within one NUMA node, else kSys.
  TopoPath path = TopoPath::kSelf;
  int32_t lanes = 0;  // of NVLink; 0: none
  friend bool operator==(const TopoCell&, const TopoCell&) = default;
};

struct TopoNode {
  std::string name;   // "GPU0", "NIC0", "mlx5_0"
  int32_t gpu = -1;   // its number; -1: no GPU
  int32_t numa = -1;  // NUMA affinity (the first, where there are several); -1: not stated
};

inline constexpr size_t kMaxTopoNodes = 128;

struct TopoMatrix {
  std::vector<TopoNode> nodes;  // GPUs first
  std::vector<TopoCell> cells;  // nodes^2, row by row; symmetric
  const TopoCell& cell(size_t a, size_t b) const { return cells[a * nodes.size() + b]; }
  TopoCell& cell(size_t a, size_t b) { return cells[a * nodes.size() + b]; }
  size_t GpuCount() const;
};

// The text as printed (tabs, colour escapes, legends) or pasted with blanks. Errors: kSyntax and
// kField with "line N" and a remedy: no table, a row of another length or name, an unknown word, a
// diagonal that is not X, two halves that differ, GPUs that are not GPU0, GPU1, ...; kFileTooLarge.
Result<TopoMatrix> ParseTopoMatrix(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_TOPO_MATRIX_H_
