// A workload of the device-placement benchmarks of dnn-partitioning: nodes with one time on a CPU
// and one on an accelerator, and a cost for moving what a node produces. One training step or one
// inference of a pipeline; its two objectives are in sim/pipeline.
//
// Times are reals in one unit that the file does not name, sizes are bytes. Nothing is rounded:
// the objectives are compared with published ones to the last digits.
// Source: Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino, "Efficient algorithms for
// device placement of DNN graph operators", NeurIPS 2020, and its public package.
#ifndef PLACEWRIGHT_PLAN_PIPELINE_WORKLOAD_H_
#define PLACEWRIGHT_PLAN_PIPELINE_WORKLOAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace placewright {

struct WorkloadNode {
  int64_t id = 0;    // unique, in any order
  std::string name;  // may be empty
  double cpu_time = 0, accelerator_time = 0;
  double size = 0;  // bytes on an accelerator
  bool runs_on_accelerator = true;
  bool backward = false;
  std::optional<int64_t> color_class;  // nodes of one class share a device
};

struct WorkloadEdge {
  int32_t from = 0, to = 0;  // positions in `nodes`
};

struct PipelineWorkload {
  double accelerator_memory = 0;  // bytes of each; CPUs have no limit
  int64_t accelerators = 0, cpus = 0;
  std::vector<WorkloadNode> nodes;
  std::vector<WorkloadEdge> edges;  // as in the file; a pair may come twice
  // By node: time to move its output between an accelerator and the host, one way. The cost of its
  // first edge in the file; 0 if it has none.
  std::vector<double> output_cost;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PIPELINE_WORKLOAD_H_
