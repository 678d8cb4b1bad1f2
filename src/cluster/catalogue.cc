#include "cluster/catalogue.h"

#include <array>
#include <utility>
#include <vector>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

std::vector<DeviceKind> MakeCatalogue() {
  std::vector<DeviceKind> kinds;
  for (std::vector<DeviceKind> part :
       {NvidiaKinds(), GeForceKinds(), AmdKinds(), TpuKinds(), CpuKinds()}) {
    for (DeviceKind& kind : part) kinds.push_back(std::move(kind));
  }
  return kinds;
}

// "V100 32", "v100-32gb" and "V100_32GB" are one name.
std::string Normalized(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (out.size() > 2 && out.ends_with("gb")) out.resize(out.size() - 2);
  return out;
}

// Other names of the same hardware.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kAliases = {{
    {"H100-SXM", "H100"},
    {"H100-SXM5", "H100"},
    {"H100-80GB", "H100"},
    {"H100-PCIe-80GB", "H100-PCIe"},
    {"H200-SXM", "H200"},
    {"V100-SXM2-16GB", "V100-16GB"},
    {"V100-SXM2-32GB", "V100-32GB"},
    {"A6000", "RTX-A6000"},
}};

}  // namespace

DeviceKind AcceleratorKind(const AcceleratorRow& row, DeviceClass device_class) {
  constexpr double kTera = 1e12;
  // An empty kernel costs 3 us of driver time when launches are queued back to back (University of
  // Virginia, "CUDA kernel overhead": at most 334,000 launches a second), and the dispatch of a
  // framework comes on top: 5 us per op on every accelerator.
  constexpr Nanos kLaunch(5'000);
  const PeakRates& tera = row.tera;
  return DeviceKind{
      std::string(row.name),
      device_class,
      std::string(row.architecture),
      {tera.f64 * kTera, tera.f32 * kTera, tera.f16 * kTera, tera.bf16 * kTera, tera.i8 * kTera},
      BytesPerSecond(static_cast<int64_t>(row.gb_per_second * 1e9)),
      Bytes(row.gib << 30),
      kLaunch,
      Bytes(row.context_mib << 20),
      std::string(row.source)};
}

std::span<const DeviceKind> Catalogue() {
  static const std::vector<DeviceKind> kinds = MakeCatalogue();
  return kinds;
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
  for (const auto& [alias, kind] : kAliases) {
    if (Normalized(alias) == wanted) wanted = Normalized(kind);
  }
  for (const DeviceKind& kind : Catalogue()) {
    if (Normalized(kind.name) == wanted) return &kind;
  }
  return nullptr;
}

}  // namespace placewright
