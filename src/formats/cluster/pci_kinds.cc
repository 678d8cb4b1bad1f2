#include "formats/cluster/pci_kinds.h"

#include <array>
#include <string_view>

#include "cluster/catalogue.h"

namespace placewright {
namespace {

constexpr int32_t kPciNvidia = 0x10de, kPciAmd = 0x1002;

struct PciRow {
  int32_t vendor, device;
  std::string_view kind;
};
// Two RX 7900 share a number, as do SXM2 and SXM3 modules of a V100 their figures.
constexpr std::array kPciRows = {
    PciRow{kPciNvidia, 0x102d, "K80"},
    PciRow{kPciNvidia, 0x15f7, "P100-12GB"},
    PciRow{kPciNvidia, 0x15f8, "P100-16GB"},
    PciRow{kPciNvidia, 0x15f9, "P100-SXM2-16GB"},
    PciRow{kPciNvidia, 0x1b06, "GTX-1080Ti"},
    PciRow{kPciNvidia, 0x1b80, "GTX-1080"},
    PciRow{kPciNvidia, 0x1b81, "GTX-1070"},
    PciRow{kPciNvidia, 0x1b38, "P40"},
    PciRow{kPciNvidia, 0x1db1, "V100-16GB"},
    PciRow{kPciNvidia, 0x1db5, "V100-32GB"},
    PciRow{kPciNvidia, 0x1db8, "V100-32GB"},
    PciRow{kPciNvidia, 0x1db4, "V100-PCIe-16GB"},
    PciRow{kPciNvidia, 0x1db6, "V100-PCIe-32GB"},
    PciRow{kPciNvidia, 0x1d81, "TITAN-V"},
    PciRow{kPciNvidia, 0x1e02, "TITAN-RTX"},
    PciRow{kPciNvidia, 0x1e04, "RTX-2080Ti"},
    PciRow{kPciNvidia, 0x1e07, "RTX-2080Ti"},
    PciRow{kPciNvidia, 0x1e82, "RTX-2080"},
    PciRow{kPciNvidia, 0x1e87, "RTX-2080"},
    PciRow{kPciNvidia, 0x1eb8, "T4"},
    PciRow{kPciNvidia, 0x20b0, "A100-40GB"},
    PciRow{kPciNvidia, 0x20b2, "A100-80GB"},
    PciRow{kPciNvidia, 0x20f1, "A100-PCIe-40GB"},
    PciRow{kPciNvidia, 0x20b5, "A100-PCIe-80GB"},
    PciRow{kPciNvidia, 0x20b7, "A30"},
    PciRow{kPciNvidia, 0x20f3, "A800-80GB"},
    PciRow{kPciNvidia, 0x2235, "A40"},
    PciRow{kPciNvidia, 0x2236, "A10"},
    PciRow{kPciNvidia, 0x2237, "A10G"},
    PciRow{kPciNvidia, 0x2230, "RTX-A6000"},
    PciRow{kPciNvidia, 0x2231, "RTX-A5000"},
    PciRow{kPciNvidia, 0x2232, "RTX-A4500"},
    PciRow{kPciNvidia, 0x24b0, "RTX-A4000"},
    PciRow{kPciNvidia, 0x2203, "RTX-3090Ti"},
    PciRow{kPciNvidia, 0x2204, "RTX-3090"},
    PciRow{kPciNvidia, 0x2206, "RTX-3080-10GB"},
    PciRow{kPciNvidia, 0x220a, "RTX-3080-12GB"},
    PciRow{kPciNvidia, 0x2208, "RTX-3080Ti"},
    PciRow{kPciNvidia, 0x2482, "RTX-3070Ti"},
    PciRow{kPciNvidia, 0x2484, "RTX-3070"},
    PciRow{kPciNvidia, 0x2503, "RTX-3060"},
    PciRow{kPciNvidia, 0x2504, "RTX-3060"},
    PciRow{kPciNvidia, 0x2684, "RTX-4090"},
    PciRow{kPciNvidia, 0x2685, "RTX-4090D"},
    PciRow{kPciNvidia, 0x2702, "RTX-4080-SUPER"},
    PciRow{kPciNvidia, 0x2704, "RTX-4080"},
    PciRow{kPciNvidia, 0x2705, "RTX-4070Ti-SUPER"},
    PciRow{kPciNvidia, 0x2782, "RTX-4070Ti"},
    PciRow{kPciNvidia, 0x2783, "RTX-4070-SUPER"},
    PciRow{kPciNvidia, 0x2786, "RTX-4070"},
    PciRow{kPciNvidia, 0x2882, "RTX-4060"},
    PciRow{kPciNvidia, 0x27b8, "L4"},
    PciRow{kPciNvidia, 0x26b9, "L40S"},
    PciRow{kPciNvidia, 0x26b5, "L40"},
    PciRow{kPciNvidia, 0x26b1, "RTX-6000-Ada"},
    PciRow{kPciNvidia, 0x26b2, "RTX-5000-Ada"},
    PciRow{kPciNvidia, 0x27b1, "RTX-4500-Ada"},
    PciRow{kPciNvidia, 0x27b2, "RTX-4000-Ada"},
    PciRow{kPciNvidia, 0x2321, "H100-NVL"},
    PciRow{kPciNvidia, 0x2324, "H800"},
    PciRow{kPciNvidia, 0x2329, "H20"},
    PciRow{kPciNvidia, 0x2330, "H100"},
    PciRow{kPciNvidia, 0x2331, "H100-PCIe"},
    PciRow{kPciNvidia, 0x2335, "H200"},
    PciRow{kPciNvidia, 0x2342, "GH200"},
    PciRow{kPciNvidia, 0x2901, "B200"},
    PciRow{kPciNvidia, 0x2941, "GB200"},
    PciRow{kPciNvidia, 0x3182, "B300"},
    PciRow{kPciNvidia, 0x31c2, "GB300"},
    PciRow{kPciNvidia, 0x2b85, "RTX-5090"},
    PciRow{kPciNvidia, 0x2c02, "RTX-5080"},
    PciRow{kPciNvidia, 0x2c05, "RTX-5070Ti"},
    PciRow{kPciNvidia, 0x2f04, "RTX-5070"},
    PciRow{kPciNvidia, 0x2bb1, "RTX-PRO-6000"},
    PciRow{kPciNvidia, 0x2bb5, "RTX-PRO-6000-Server"},
    PciRow{kPciAmd, 0x738c, "MI100"},
    PciRow{kPciAmd, 0x7408, "MI250X"},
    PciRow{kPciAmd, 0x740c, "MI250X"},
    PciRow{kPciAmd, 0x740f, "MI210"},
    PciRow{kPciAmd, 0x74a1, "MI300X"},
    PciRow{kPciAmd, 0x74a5, "MI325X"},
    PciRow{kPciAmd, 0x75a0, "MI350X"},
    PciRow{kPciAmd, 0x75a3, "MI355X"},
    PciRow{kPciAmd, 0x744c, "RX-7900-XTX"},
};

}  // namespace

const DeviceKind* FindPciKind(int32_t vendor, int32_t device) {
  for (const PciRow& row : kPciRows) {
    if (row.vendor == vendor && row.device == device) return FindKind(row.kind);
  }
  return nullptr;
}

}  // namespace placewright
