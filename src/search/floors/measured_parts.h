// What instances of ops take at least where times were measured: of every row that may be of an instance.
//
// An instance of an op, whole or a part of n of the F elements of an axis, costs what was measured for its
// signature, or else what is modelled of it. Which rows may be its signature is seen by the operator and the
// tensors alone: as many, of as many dimensions and the same dtypes, none larger than the op's. Of those n / F is
// at most the smallest ratio of a dimension, so that (F / n) t(n) is at least the row's time by that ratio. Rows of
// other ops that are looked at, too, only make it smaller.
#ifndef PLACEWRIGHT_SEARCH_FLOORS_MEASURED_PARTS_H_
#define PLACEWRIGHT_SEARCH_FLOORS_MEASURED_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "cost/measured_costs.h"
#include "graph/graph.h"
#include "sharding/op_rule.h"

namespace placewright {

class MeasuredParts {
 public:
  MeasuredParts(const Cluster& cluster, const std::vector<MeasuredDevice>& measured);

  // Whether anything was measured on this kind of device, by its number in the cluster.
  bool Any(size_t kind) const { return !rows_[kind].empty(); }
  bool AnyKind() const;

  // Nanoseconds; kMaxQuantity: nothing that was measured may be of it.
  struct Smallest {
    int64_t whole = kMaxQuantity;  // of (F / n) t(n), over all parts
    int64_t part = kMaxQuantity;   // of t(n)
  };
  // `rule`: the op's, or nullptr.
  Smallest Of(const Graph& graph, OpId op, const OpRule* rule, size_t kind) const;
  // Of an instance with the op's own signature alone.
  int64_t OfSignature(const std::string& signature, size_t kind) const;

 private:
  struct TensorText {
    std::string_view dtype;
    std::vector<int64_t> shape;
  };
  struct Row {
    std::string_view signature;
    int64_t time = 0;  // at least, in whatever state it is wanted
    std::vector<TensorText> tensors;
    bool known = true;  // its tensors are those
  };
  static Row RowOf(const MeasuredOp& op, const MachineState& now);
  // By how much the op's largest dimension is longer; 0: the row is of no instance of it.
  static double RatioOf(const Row& row, const Graph& graph, const std::vector<TensorId>& inputs);

  std::vector<std::map<std::string_view, std::vector<Row>>> rows_;  // by kind and operator
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_FLOORS_MEASURED_PARTS_H_
