#include <array>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

// The matrix units multiply bfloat16 and add float. XLA gets float products from six such passes
// (`Precision.HIGHEST`): a sixth of the published rate stands for f32, and for f16. v3 states no
// 8-bit rate of its own: bfloat16's, which holds all 8-bit values. No rate for f64: XLA emulates
// it in software at a rate that is not published.
constexpr std::array kTpuRows = {
    // A v3 chip has two cores, and programs see each as one device: half of the chip's 123
    // TFLOP/s, 32 GiB and 900 GB/s.
    AcceleratorRow{"TPU-v3",
                   "tpu",
                   {0, 10.25, 10.25, 61.5, 61.5},
                   450,
                   16,
                   "cloud.google.com/tpu/docs/v3; one TensorCore of the chip's two; f32 estimated"},
    // The two cores of a v4 chip are one device.
    AcceleratorRow{"TPU-v4",
                   "tpu",
                   {0, 45.8, 45.8, 275, 275},
                   1200,
                   32,
                   "cloud.google.com/tpu/docs/v4; f32 estimated"},
};

}  // namespace

std::vector<AcceleratorRow> TpuRows() { return {kTpuRows.begin(), kTpuRows.end()}; }

}  // namespace placewright
