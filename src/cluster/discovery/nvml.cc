// Declarations after NVIDIA's NVML API reference (docs.nvidia.com/deploy/nvml-api).
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <string>

#include "base/text.h"
#include "cluster/discovery/gpu_library.h"

namespace placewright {
namespace {

using Handle = struct NvmlDevice*;
struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
constexpr int kSuccess = 0;
constexpr unsigned int kMaxLinks = 36;  // more than any GPU has

std::string Lower(const char* text, size_t limit) {
  std::string out;
  for (size_t i = 0; i < limit && text[i] != '\0'; ++i) {
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  return out;
}

Error Missing(std::string message) {
  return MakeError(ErrorCode::kMissingRuntime, std::move(message), "",
                   "Install NVIDIA's driver, or describe the GPUs with --topo and --gpu.");
}

class Nvml : public GpuLibrary {
 public:
  ~Nvml() override {
    if (started_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }

  Status Open();
  Result<int32_t> Count() override;
  Result<GpuFacts> Describe(int32_t gpu) override;
  Result<TopoPath> PathBetween(int32_t a, int32_t b) override;
  std::optional<bool> PeerAccess(int32_t a, int32_t b) override;

 private:
  template <class Function>
  bool Find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr;
  }
  Result<Handle> HandleOf(int32_t gpu) const;
  Error Failed(std::string_view what, int code) const;

  void* library_ = nullptr;
  bool started_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned int*) = nullptr;
  int (*handle_)(unsigned int, Handle*) = nullptr;
  int (*name_)(Handle, char*, unsigned int) = nullptr;
  int (*memory_)(Handle, Memory*) = nullptr;
  int (*pci_)(Handle, PciInfo*) = nullptr;
  // Older drivers lack some of these; GPUs without the feature fail in them.
  int (*generation_)(Handle, unsigned int*) = nullptr;
  int (*width_)(Handle, unsigned int*) = nullptr;
  int (*link_state_)(Handle, unsigned int, int*) = nullptr;
  int (*link_remote_)(Handle, unsigned int, PciInfo*) = nullptr;
  int (*ancestor_)(Handle, Handle, int*) = nullptr;
  int (*peer_)(Handle, Handle, int, int*) = nullptr;
};

Error Nvml::Failed(std::string_view what, int code) const {
  return Missing(fmt::format("NVIDIA's driver does not say {} (NVML error {})", what, code));
}

Status Nvml::Open() {
  constexpr const char* kName = "libnvidia-ml.so.1";
  library_ = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return Missing(fmt::format("{} is not here", kName));
  if (!Find("nvmlInit_v2", init_) || !Find("nvmlShutdown", shutdown_) ||
      !Find("nvmlDeviceGetCount_v2", count_) || !Find("nvmlDeviceGetHandleByIndex_v2", handle_) ||
      !Find("nvmlDeviceGetName", name_) || !Find("nvmlDeviceGetMemoryInfo", memory_) ||
      !Find("nvmlDeviceGetPciInfo_v3", pci_)) {
    return Missing(fmt::format("{} is too old", kName));
  }
  Find("nvmlDeviceGetMaxPcieLinkGeneration", generation_);
  Find("nvmlDeviceGetMaxPcieLinkWidth", width_);
  Find("nvmlDeviceGetNvLinkState", link_state_);
  Find("nvmlDeviceGetNvLinkRemotePciInfo_v2", link_remote_);
  Find("nvmlDeviceGetTopologyCommonAncestor", ancestor_);
  Find("nvmlDeviceGetP2PStatus", peer_);
  const int code = init_();
  if (code != kSuccess) return Failed("anything: it does not start", code);
  started_ = true;
  return Ok();
}

Result<int32_t> Nvml::Count() {
  unsigned int count = 0;
  const int code = count_(&count);
  if (code != kSuccess) return Failed("how many GPUs there are", code);
  return static_cast<int32_t>(count);
}

Result<Handle> Nvml::HandleOf(int32_t gpu) const {
  Handle handle = nullptr;
  const int code = handle_(static_cast<unsigned int>(gpu), &handle);
  if (code != kSuccess) return Failed(fmt::format("anything about GPU {}", gpu), code);
  return handle;
}

Result<GpuFacts> Nvml::Describe(int32_t gpu) {
  PW_ASSIGN(const Handle handle, HandleOf(gpu));
  GpuFacts facts;
  std::array<char, 97> name{};
  Memory memory{};
  PciInfo pci{};
  int code = name_(handle, name.data(), name.size() - 1);
  if (code != kSuccess) return Failed("a GPU's name", code);
  facts.name = name.data();
  code = memory_(handle, &memory);
  if (code != kSuccess) return Failed("a GPU's memory", code);
  if (memory.total > static_cast<unsigned long long>(kMaxQuantity)) {
    return Failed("a possible amount of memory", code);
  }
  facts.memory = Bytes(static_cast<int64_t>(memory.total));
  code = pci_(handle, &pci);
  if (code != kSuccess) return Failed("a GPU's PCI address", code);
  facts.pci = Lower(pci.bus_id, sizeof pci.bus_id);
  unsigned int value = 0;
  if (generation_ != nullptr && generation_(handle, &value) == kSuccess && value <= 16) {
    facts.pcie_generation = static_cast<int32_t>(value);
  }
  if (width_ != nullptr && width_(handle, &value) == kSuccess && value <= 32) {
    facts.pcie_width = static_cast<int32_t>(value);
  }
  for (unsigned int link = 0; link_state_ != nullptr && link < kMaxLinks; ++link) {
    int up = 0;
    if (link_state_(handle, link, &up) != kSuccess || up == 0) continue;
    PciInfo remote{};
    const bool known = link_remote_ != nullptr && link_remote_(handle, link, &remote) == kSuccess;
    facts.nvlink_remotes.push_back(known ? Lower(remote.bus_id, sizeof remote.bus_id) : "");
  }
  return facts;
}

Result<TopoPath> Nvml::PathBetween(int32_t a, int32_t b) {
  PW_ASSIGN(const Handle first, HandleOf(a));
  PW_ASSIGN(const Handle second, HandleOf(b));
  int level = 0;
  if (ancestor_ == nullptr) return TopoPath::kSys;
  const int code = ancestor_(first, second, &level);
  if (code != kSuccess) return TopoPath::kSys;  // virtual machines hide it: the farthest
  if (level <= 10) return TopoPath::kPix;       // 0: on one board
  if (level <= 20) return TopoPath::kPxb;
  if (level <= 30) return TopoPath::kPhb;
  return level <= 40 ? TopoPath::kNode : TopoPath::kSys;
}

std::optional<bool> Nvml::PeerAccess(int32_t a, int32_t b) {
  constexpr int kRead = 0, kWrite = 1, kPeersOk = 0;  // NVML_P2P_CAPS_INDEX_*, NVML_P2P_STATUS_OK
  const Result<Handle> first = HandleOf(a), second = HandleOf(b);
  if (peer_ == nullptr || !first.ok() || !second.ok()) return std::nullopt;
  for (const int what : {kRead, kWrite}) {
    int status = 0;
    if (peer_(first.value(), second.value(), what, &status) != kSuccess) return std::nullopt;
    if (status != kPeersOk) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<GpuLibrary>> OpenNvml() {
  auto nvml = std::make_unique<Nvml>();
  PW_RETURN_IF_ERROR(nvml->Open());
  return std::unique_ptr<GpuLibrary>(std::move(nvml));
}

}  // namespace placewright
