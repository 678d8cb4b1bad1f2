// Edges of a pipeline workload as rows, and an order of its nodes.
#ifndef PLACEWRIGHT_SIM_PIPELINE_NODE_GRAPH_H_
#define PLACEWRIGHT_SIM_PIPELINE_NODE_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/pipeline_workload.h"

namespace placewright {

// Row i of a relation among nodes: ascending and distinct.
class NodeRows {
 public:
  NodeRows(size_t nodes, std::vector<std::pair<int32_t, int32_t>> pairs);
  std::span<const int32_t> operator[](int32_t node) const {
    return {items_.data() + begin_[node], static_cast<size_t>(begin_[node + 1] - begin_[node])};
  }

 private:
  std::vector<int32_t> begin_, items_;
};

// Distinct successors, or with `reverse` distinct predecessors.
NodeRows RowsOf(const PipelineWorkload& workload, bool reverse);

// Nodes 0 .. nodes-1 so that every one stands before its successors; shorter where a cycle leaves
// some out.
std::vector<int32_t> OrderOf(size_t nodes, const NodeRows& successors);

// The order of the workload's own nodes. Errors: kGraphCycle naming a node.
Result<std::vector<int32_t>> OrderOf(const PipelineWorkload& workload, const NodeRows& successors);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PIPELINE_NODE_GRAPH_H_
