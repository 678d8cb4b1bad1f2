// Which share of a device's peak figures a class of ops reaches, by architecture.
//
// Every number has its source in docs/costs.md: published measurements of a kernel, or a fit to
// named rows of the accuracy table there. Shares of the compute peak above 1 are algorithms that
// need fewer products than flops counts (Winograd).
#ifndef PLACEWRIGHT_COST_EFFICIENCY_H_
#define PLACEWRIGHT_COST_EFFICIENCY_H_

#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "cost/work.h"

namespace placewright {

struct Efficiency {
  double compute = 0;       // of the peak rate of the op's dtype
  double bandwidth = 0;     // of the memory bandwidth
  double steps_per_ns = 0;  // clock: steps of a dependent sum; 0: not modelled
};

// An unknown architecture counts as other-gpu (GPUs and others) or other-cpu, which have the
// figures of volta and broadwell. Of 16-bit products the share also depends on how much faster they are
// than float32 on the kind.
Efficiency EfficiencyOf(OpClass op_class, DType dtype, const DeviceKind& kind);
// What a kind with TF32 reaches in it, in operations per second: a share of half its 16-bit rate. 0 where
// it states none.
double Tf32Rate(OpClass op_class, const DeviceKind& kind);

// How many times as long as products of as many flops an op takes: PyTorch's attention in one kernel, FlashAttention-2,
// in 16 bits on GPUs whose tensor cores are to be fed asynchronously, which it does not do. 1 of all else.
double TimesOfProducts(std::string_view op_type, DType dtype, const DeviceKind& kind);

// The architectures with rows of their own.
std::vector<std::string> EfficiencyArchitectures(DeviceClass device_class);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_EFFICIENCY_H_
