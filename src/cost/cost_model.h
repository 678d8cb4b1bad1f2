// The roofline model: time of an op on a device from its work and the device kind's figures.
//
//   time = launch_overhead + max(flops / (peak * e_c) + fill, bytes / (bandwidth * e_b))
//   fill = 16 * min(depth, 512) / clock
//
// with efficiencies e per (op class, architecture), each with its source (docs/costs.md). The
// fill time of a product is what a lane needs for a 4 x 4 tile of outputs however small the product
// is (Hockney's half-performance length); it makes small products inefficient and
// keeps the time monotone within a class: more work never takes less. An op that neither computes
// nor moves anything (empty_like, Shape) launches no kernel and takes no time.
#ifndef PLACEWRIGHT_COST_COST_MODEL_H_
#define PLACEWRIGHT_COST_COST_MODEL_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/communication/measured_collectives.h"
#include "cost/cost_table.h"
#include "cost/measured_costs.h"
#include "cost/precision.h"
#include "cost/work.h"

namespace placewright {

// Which ops a device kind can run at all. `profile` "default": everything everywhere except
// strings on GPUs; "tf1": also embedding lookups on CPUs only (the papers' "GPU only"). ModelCosts
// also looks at the tensors: string tensors, ONNX Gathers from a parameter under "tf1", and
// arithmetic in a dtype for which the kind states no rate.
bool IsCostProfile(std::string_view profile);
bool Supports(std::string_view op_type, const DeviceKind& kind, std::string_view profile);

// One line of an override file: times for the ops whose name or type matches.
struct CostOverride {
  std::string op;      // glob over op names; empty: any
  std::string type;    // glob over op types; empty: any
  std::string device;  // glob over device names; empty: any
  std::string kind;    // glob over device kinds; empty: any
  Nanos time;          // or CostTable::kUnsupported
  double scale = 0;    // if > 0: multiplies the modelled time instead
  CostSource source = CostSource::kMeasured;
  std::string place;  // where in the file, for messages
};

struct CostOptions {
  std::string profile = "default";
  std::vector<CostOverride> overrides;   // win over the others; later lines win
  std::vector<MeasuredDevice> measured;  // win over the model
  std::vector<MeasuredCollectives> measured_collectives;
  FloatPrecision precision = FloatPrecision::kPyTorch;
};

// Op types of the graph that are costed by their bytes alone: sorted, distinct; none where the file
// gives times instead of types, as cost graphs and profiles do.
std::vector<std::string> UnknownTypes(const Graph& graph);

struct CostModelReport {
  std::vector<std::string> unknown_types;  // as UnknownTypes
  MeasuredUse measured;
};

// Modelled costs of every op on every device, overridden where the options say so.
// Errors: kField (an unknown profile; an override that matches nothing, with near names). Views
// cost nothing and no override touches them. Of a compiled step: instance_costs.h.
Result<CostTable> ModelCosts(const Graph& graph, const Cluster& cluster, const CostOptions& options,
                             CostModelReport* report = nullptr);

// Time of one piece of work on one device kind (dtype decides the peak rate), rounded up to whole
// nanoseconds; CostTable::kUnsupported if it computes in a dtype for which the kind has no rate.
Nanos RooflineTime(const Work& work, DType dtype, const DeviceKind& kind,
                   FloatPrecision precision = FloatPrecision::kPyTorch);

// The product, rounded up to whole nanoseconds; what is unsupported stays so.
Nanos ScaledTime(Nanos time, double scale);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COST_MODEL_H_
