// What a driver says about a machine's GPUs, behind an interface as small as our questions.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_GPU_LIBRARY_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_GPU_LIBRARY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/discovery/topo_matrix.h"
#include "cluster/peer_matrix.h"

namespace placewright {

struct GpuFacts {
  std::string name;             // as the driver calls it: "NVIDIA A100-SXM4-80GB"
  Bytes memory;                 // all of it
  std::string pci;              // "00000000:17:00.0"
  int32_t pcie_generation = 0;  // at most; 0: not said
  int32_t pcie_width = 0;       // lanes at most; 0: not said
  // The PCI address at the other end of every NVLink lane that is up; an NVSwitch has one too.
  std::vector<std::string> nvlink_remotes;
};

class GpuLibrary {
 public:
  virtual ~GpuLibrary() = default;
  virtual Result<int32_t> Count() = 0;
  virtual Result<GpuFacts> Describe(int32_t gpu) = 0;
  virtual Result<TopoPath> PathBetween(int32_t a, int32_t b) = 0;
  // Whether `a` can read and write b's memory; nullopt: the driver does not say.
  virtual std::optional<bool> PeerAccess(int32_t /*a*/, int32_t /*b*/) { return std::nullopt; }
};

// NVIDIA's management library, opened at run time ("libnvidia-ml.so.1"). Errors: kMissingRuntime
// where there is none or it does not work.
Result<std::unique_ptr<GpuLibrary>> OpenNvml();

struct GpuInventory {
  std::vector<GpuFacts> gpus;
  TopoMatrix topology;  // of GPU0, GPU1, ...; NUMA affinities not stated
  PeerMatrix peers;     // access alone
};

// All of it. Two GPUs have the lanes that end at each other; lanes that end at no GPU of the
// machine end at an NVSwitch, and two such GPUs have the lesser number of them, as nvidia-smi
// counts. Errors: those of the library; kField for more than kMaxTopoNodes GPUs.
Result<GpuInventory> TakeInventory(GpuLibrary& library);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_GPU_LIBRARY_H_
