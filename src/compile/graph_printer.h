// A distributed step as a graph, printed from its arrays (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_GRAPH_PRINTER_H_
#define PLACEWRIGHT_COMPILE_GRAPH_PRINTER_H_

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "compile/array_writer.h"
#include "compile/part_prices.h"
#include "graph/graph_builder.h"
#include "plan/distributed_step.h"

namespace placewright {

// Of a writer that has written once, with parts by their arguments.
class GraphPrinter {
 public:
  // Names what there is before passes change it: what they add is called after that. All must outlive it.
  GraphPrinter(const Graph& original, const PartPrices& parts, ArrayWriter& writer);

  // The step with its writer's outputs. Errors: those of GraphBuilder.
  Result<DistributedStep> Print();
  // Those of the arrays, in the order of the printed ones.
  const std::vector<CollectiveId>& collectives() const { return collectives_; }

 private:
  // Of a tensor. Ops that move or join it are in its module.
  struct Label {
    std::string name;
    ModuleId module;  // of the original; none: the root
  };

  const std::string& DeviceName(DeviceId id) const;
  std::string FreshName(std::string name);
  std::string InstanceName(const ArrayOp& op) const;
  std::string NameOf(const ArrayOp& op);
  std::string OutputName(const ArrayOp& op, const std::string& name, size_t output) const;
  void NameInputs();
  void NameOp(OpId id);
  void NameChanges();
  std::string NameOfHalf(const ArrayOp& op,
                         const std::unordered_set<std::string_view>& taken) const;
  Status AddInputs();
  Status AddOp(OpId id);
  OpSpec SpecOf(OpId id);
  void SetHalf(const ArrayOp& op, OpSpec& spec) const;
  Status AddCollectives();

  const Graph& original_;
  const PartPrices& parts_;
  ArrayWriter& writer_;
  const StepArrays& arrays_;
  std::vector<TensorId> inputs_;   // in their order
  IdVector<OpId, int32_t> count_;  // of the original's ops: on how many devices they are
  std::unordered_map<std::string, int> fresh_;
  IdVector<OpId, std::string> names_;
  IdVector<OpId, ModuleId> modules_;
  IdVector<TensorId, Label> labels_;

  IdVector<OpId, bool> added_;  // by a pass

  std::vector<CollectiveId> collectives_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> printed_;
  IdVector<OpId, OpId> printed_op_;
  std::multimap<OpId, OpId> after_;  // what each waits for
  DistributedStep step_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_GRAPH_PRINTER_H_
