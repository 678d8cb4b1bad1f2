#include "cluster/catalogue.h"

#include <array>
#include <utility>
#include <vector>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

// Driver, CUDA modules and the handles of cuBLAS and cuDNN, before the first tensor: 100-500 MB by
// practitioners' reports, up to 723 MiB with all of PyTorch's kernels loaded (discuss.pytorch.org/t/73021);
// it grows with the number of multiprocessors. An estimate, of AMD's and Intel's after NVIDIA's recent GPUs.
int64_t ContextMib(std::string_view architecture) {
  if (architecture == "tpu") return 0;
  if (architecture == "kepler" || architecture == "pascal") return 300;
  return architecture == "volta" || architecture.starts_with("turing") ? 400 : 500;
}

// NVIDIA's boards with NVSwitches of the third generation on, which add up; multiprocessors of the data
// sheets (of Blackwell as device queries show them). NCCL takes 16 to 24 channels there (its tuner's logs:
// 16 over several machines, 24 of rings in one), a multiprocessor each.
struct CollectiveRow {
  std::string_view kind;
  int32_t multiprocessors;
};
constexpr int32_t kChannels = 20;
constexpr std::array kCollectiveRows = {
    CollectiveRow{"H100", 132},  CollectiveRow{"H200", 132},  CollectiveRow{"H20", 78},
    CollectiveRow{"H800", 132},  CollectiveRow{"B200", 148},  CollectiveRow{"B300", 148},
    CollectiveRow{"GB200", 148}, CollectiveRow{"GB300", 148},
};

DeviceKind AcceleratorKind(const AcceleratorRow& row, DeviceClass device_class) {
  constexpr double kTera = 1e12;
  // An empty kernel costs 3 us of driver time when launches are queued back to back (University of
  // Virginia, "CUDA kernel overhead": at most 334,000 launches a second), and the dispatch of a
  // framework comes on top: 5 us per op on every accelerator.
  constexpr Nanos kLaunch(5'000);
  const PeakRates& tera = row.tera;
  DeviceKind kind{
      std::string(row.name),
      device_class,
      std::string(row.architecture),
      {tera.f64 * kTera, tera.f32 * kTera, tera.f16 * kTera, tera.bf16 * kTera, tera.i8 * kTera},
      BytesPerSecond(static_cast<int64_t>(row.gb_per_second * 1e9)),
      Bytes((row.gib << 30) - (row.kept_mib << 20)),
      kLaunch,
      Bytes(ContextMib(row.architecture) << 20),
      std::string(row.source)};
  kind.p2p = row.p2p;
  for (const CollectiveRow& collectives : kCollectiveRows) {
    if (collectives.kind != row.name) continue;
    kind.multiprocessors = collectives.multiprocessors;
    kind.channels = kChannels;
    kind.nvls = true;
  }
  return kind;
}

std::vector<DeviceKind> MakeCatalogue() {
  std::vector<DeviceKind> kinds;
  for (const auto& rows : {NvidiaRows(), GeForceRows(), AmdRows(), IntelRows()}) {
    for (const AcceleratorRow& row : rows) {
      kinds.push_back(AcceleratorKind(row, DeviceClass::kGpu));
    }
  }
  for (const AcceleratorRow& row : TpuRows()) {
    kinds.push_back(AcceleratorKind(row, DeviceClass::kOther));
  }
  for (DeviceKind& kind : CpuKinds()) kinds.push_back(std::move(kind));
  return kinds;
}

// "V100 32", "v100-32gb" and "NVIDIA V100_32GB" are one name.
std::string Normalized(std::string_view name) {
  constexpr std::array<std::string_view, 9> kMakers = {
      "nvidia", "geforce", "tesla", "quadro", "amd", "instinct", "radeon", "intel", "(r)"};
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view maker : kMakers) {
      if (!out.starts_with(maker) || out.size() == maker.size()) continue;
      out.erase(0, maker.size());
      found = true;
    }
  }
  if (out.size() > 3 && out.ends_with("gpu")) out.resize(out.size() - 3);
  if (out.size() > 2 && out.ends_with("gb")) out.resize(out.size() - 2);
  return out;
}

// Other names of the same hardware. With a note: names that leave something open.
struct Alias {
  std::string_view name, kind, note = "";
};
constexpr std::array kAliases = {
    Alias{"H100-SXM", "H100"},
    Alias{"H100-SXM5", "H100"},
    Alias{"H100-80GB", "H100"},
    Alias{"H100-SXM-80GB", "H100"},
    Alias{"H100-SXM5-80GB", "H100"},
    Alias{"H100-80GB-HBM3", "H100"},
    Alias{"H100-PCIe-80GB", "H100-PCIe"},
    Alias{"H100-NVL-94GB", "H100-NVL"},
    Alias{"H200-SXM", "H200"},
    Alias{"H200-SXM-141GB", "H200"},
    Alias{"H200-141GB", "H200"},
    Alias{"H20-96GB", "H20"},
    Alias{"B200-SXM", "B200"},
    Alias{"B200-180GB", "B200"},
    Alias{"B200-192GB", "B200"},
    Alias{"B300-SXM", "B300"},
    Alias{"GH200-96GB", "GH200"},
    Alias{"V100-SXM2-16GB", "V100-16GB"},
    Alias{"V100-SXM2-32GB", "V100-32GB"},
    Alias{"A100-SXM-40GB", "A100-40GB"},
    Alias{"A100-SXM4-40GB", "A100-40GB"},
    Alias{"A100-SXM-80GB", "A100-80GB"},
    Alias{"A100-SXM4-80GB", "A100-80GB"},
    Alias{"A100-80GB-PCIe", "A100-PCIe-80GB"},
    Alias{"A6000", "RTX-A6000"},
    Alias{"A5000", "RTX-A5000"},
    Alias{"A4000", "RTX-A4000"},
    Alias{"RTX-6000-Ada-Generation", "RTX-6000-Ada"},
    Alias{"RTX-PRO-6000-Blackwell", "RTX-PRO-6000"},
    Alias{"RTX-PRO-6000-Blackwell-Server-Edition", "RTX-PRO-6000-Server"},
    Alias{"RTX-PRO-6000-Blackwell-Workstation-Edition", "RTX-PRO-6000"},
    Alias{"GTX-1080-Ti", "GTX-1080Ti"},
    Alias{"7900-XTX", "RX-7900-XTX"},
    Alias{"RTX-3080", "RTX-3080-10GB",
          "RTX 3080 without a size is taken as the one of 10 GB (RTX-3080-12GB is the other)"},
    Alias{"RTX-4060Ti", "RTX-4060Ti-8GB",
          "RTX 4060 Ti without a size is taken as the one of 8 GB (RTX-4060Ti-16GB is the other)"},
    Alias{"RTX-5060Ti", "RTX-5060Ti-8GB",
          "RTX 5060 Ti without a size is taken as the one of 8 GB (RTX-5060Ti-16GB is the other)"},
    Alias{"RTX-3060-12GB", "RTX-3060"},
    Alias{"RTX-3090-24GB", "RTX-3090"},
    Alias{"RTX-4090-24GB", "RTX-4090"},
    Alias{"RTX-5090-32GB", "RTX-5090"},
    Alias{"GB200-NVL72", "GB200"},
    Alias{"GB300-NVL72", "GB300"},
    Alias{"Arc-A770-16GB", "Arc-A770"},
    Alias{"RTX-TITAN", "TITAN-RTX"},
};

const Alias* FindAlias(std::string_view normalized) {
  for (const Alias& alias : kAliases) {
    if (Normalized(alias.name) == normalized) return &alias;
  }
  return nullptr;
}

}  // namespace

std::span<const DeviceKind> Catalogue() {
  static const std::vector<DeviceKind> kinds = MakeCatalogue();
  return kinds;
}

std::string_view NoteOfKindName(std::string_view name) {
  const Alias* alias = FindAlias(Normalized(name));
  return alias == nullptr ? std::string_view() : alias->note;
}

std::string_view WhyNotInCatalogue(std::string_view name) {
  const std::string wanted = Normalized(name);
  const std::string_view rest =
      wanted.starts_with("apple") ? std::string_view(wanted).substr(5) : std::string_view(wanted);
  const bool m_series = rest.size() >= 2 && rest[0] == 'm' && rest[1] >= '1' && rest[1] <= '9' &&
                        (rest.size() == 2 || rest.substr(2) == "pro" || rest.substr(2) == "max" ||
                         rest.substr(2) == "ultra");
  if (!m_series && !wanted.starts_with("apple")) return "";
  return "the GPU of Apple's chips shares one memory with the CPU and is programmed through Metal; "
         "neither is modelled, as every device here has memory of its own";
}

const DeviceKind* FindKind(std::string_view name) {
  std::string wanted = Normalized(name);
  if (const Alias* alias = FindAlias(wanted)) wanted = Normalized(alias->kind);
  for (const DeviceKind& kind : Catalogue()) {
    if (Normalized(kind.name) == wanted) return &kind;
  }
  return nullptr;
}

}  // namespace placewright
