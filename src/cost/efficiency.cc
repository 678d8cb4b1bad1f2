#include "cost/efficiency.h"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

// One row an architecture. `bandwidth` is of streaming kernels; `clock` in GHz is the rate at which
// one lane steps through a sum.
struct ArchitectureRow {
  std::string_view name;
  DeviceClass device_class;
  double bandwidth, clock;
  double gemm, dense, winograd, pointwise, depthwise, recurrent, scalar;
};

// Sources by column and row: docs/costs.md, "Efficiencies".
constexpr std::array kRows = {
    //              name       class            bw    GHz   gemm  dense wino  1x1   dw    rnn scalar
    ArchitectureRow{"kepler", DeviceClass::kGpu, 0.70, 0.82, 0.65, 0.40, 0.75, 0.50, 0.05, 0.45,
                    0.40},
    ArchitectureRow{"pascal", DeviceClass::kGpu, 0.75, 1.48, 0.85, 0.60, 1.40, 0.70, 0.08, 0.60,
                    0.50},
    ArchitectureRow{"volta", DeviceClass::kGpu, 0.83, 1.53, 0.88, 0.65, 1.40, 0.75, 0.08, 0.65,
                    0.50},
    ArchitectureRow{"turing", DeviceClass::kGpu, 0.80, 1.70, 0.85, 0.65, 1.40, 0.75, 0.08, 0.65,
                    0.50},
    ArchitectureRow{"ampere", DeviceClass::kGpu, 0.88, 1.41, 0.90, 0.70, 1.40, 0.80, 0.10, 0.70,
                    0.50},
    ArchitectureRow{"hopper", DeviceClass::kGpu, 0.88, 1.70, 0.85, 0.70, 1.40, 0.80, 0.10, 0.70,
                    0.50},
    ArchitectureRow{"broadwell", DeviceClass::kCpu, 0.75, 0, 0.80, 0.60, 0.80, 0.65, 0.20, 0.50,
                    0.25},
};

const ArchitectureRow& RowOf(DeviceClass device_class, std::string_view architecture) {
  for (const ArchitectureRow& row : kRows) {
    if (row.name == architecture) return row;
  }
  const std::string_view fallback = device_class == DeviceClass::kCpu ? "broadwell" : "volta";
  return *std::find_if(kRows.begin(), kRows.end(),
                       [&](const ArchitectureRow& row) { return row.name == fallback; });
}

double ComputeShare(const ArchitectureRow& row, OpClass op_class) {
  switch (op_class) {
    case OpClass::kGemm:
    case OpClass::kGemv: return row.gemm;
    case OpClass::kConvDense: return row.dense;
    case OpClass::kConvWinograd: return row.winograd;
    case OpClass::kConvPointwise: return row.pointwise;
    case OpClass::kConvDepthwise: return row.depthwise;
    case OpClass::kRecurrent: return row.recurrent;
    default: return row.scalar;
  }
}

}  // namespace

bool HasEfficiencyRow(std::string_view architecture) {
  return std::any_of(kRows.begin(), kRows.end(),
                     [&](const ArchitectureRow& row) { return row.name == architecture; });
}

Efficiency EfficiencyOf(OpClass op_class, DeviceClass device_class, std::string_view architecture) {
  const ArchitectureRow& row = RowOf(device_class, architecture);
  return {ComputeShare(row, op_class), row.bandwidth, row.clock};
}

}  // namespace placewright
