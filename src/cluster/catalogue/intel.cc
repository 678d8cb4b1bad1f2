#include <array>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

// 16-bit and 8-bit products are those of the matrix engines (XMX): in Alchemist 8 and 16 times float;
// Intel states Battlemage's 8-bit rate, 16 bits have half of it. Alchemist has no double; Battlemage's
// is an eighth.
constexpr std::array kIntelRows = {
    AcceleratorRow{"Arc-A750",
                   "xe-hpg",
                   {0, 17.2, 137.6, 137.6, 275},
                   512,
                   8,
                   "Intel ARK, Arc A750: 28 Xe cores at 2.4 GHz, 256 bits at 16 Gb/s",
                   kNoPeerToPeer},
    AcceleratorRow{"Arc-A770",
                   "xe-hpg",
                   {0, 19.7, 157.3, 157.3, 314.6},
                   560,
                   16,
                   "Intel ARK, Arc A770 16 GB: 32 Xe cores at 2.4 GHz, 256 bits at 17.5 Gb/s",
                   kNoPeerToPeer},
    AcceleratorRow{"Arc-B570",
                   "xe2",
                   {1.44, 11.5, 101.5, 101.5, 203},
                   380,
                   10,
                   "Intel ARK, Arc B570: 18 Xe cores at 2.5 GHz, 203 TOPS, 160 bits at 19 Gb/s",
                   kNoPeerToPeer},
    AcceleratorRow{"Arc-B580",
                   "xe2",
                   {1.71, 13.7, 116.5, 116.5, 233},
                   456,
                   12,
                   "Intel ARK, Arc B580: 20 Xe cores at 2.67 GHz, 233 TOPS, 192 bits at 19 Gb/s",
                   kNoPeerToPeer},
    AcceleratorRow{"Arc-Pro-B60",
                   "xe2",
                   {1.54, 12.3, 98.5, 98.5, 197},
                   456,
                   24,
                   "Intel ARK, Arc Pro B60: 20 Xe cores at 2.4 GHz, 197 TOPS, 192 bits at 19 Gb/s",
                   kNoPeerToPeer},
};

}  // namespace

std::vector<AcceleratorRow> IntelRows() { return {kIntelRows.begin(), kIntelRows.end()}; }

}  // namespace placewright
