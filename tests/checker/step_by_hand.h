// Steps, and what devices compute of them, written op by op.
#ifndef TESTS_CHECKER_STEP_BY_HAND_H_
#define TESTS_CHECKER_STEP_BY_HAND_H_

#include <map>
#include <string>
#include <vector>

#include "graph/graph_builder.h"
#include "plan/box.h"
#include "plan/distributed_step.h"

namespace placewright::tests {

using Shape = std::vector<int64_t>;

// A step on one device. Tensors are called like their ops.
class GraphByHand {
 public:
  TensorId Input(const std::string& name, TensorKind kind, Shape shape, DType dtype = DType::kF32);
  // The arguments: its inputs, then `more`.
  TensorId Add(const std::string& name, const std::string& type, std::vector<TensorId> inputs,
               Shape shape, std::vector<Value> more = {}, AliasKind alias = AliasKind::kFresh);
  void set_phase(Phase phase) { phase_ = phase; }
  Graph Build(std::vector<TensorId> outputs) &&;

 private:
  GraphBuilder builder_{"by-hand", "aten"};
  Phase phase_ = Phase::kForward;
};

// Numbers as an argument: a list of them.
Value ListOf(const std::vector<int64_t>& numbers);

// What devices compute of a step. The tensor "y" of device 2 is called "y@2".
class StepByHand {
 public:
  explicit StepByHand(const Graph& original);  // outlives it

  TensorId Input(const std::string& name, size_t device, const TensorBox& box);
  // An instance of the op, with the arguments of the op.
  TensorId Run(const std::string& op, size_t device, std::vector<TensorId> inputs, Shape shape);
  // The same, with those arguments.
  TensorId RunAs(const std::string& op, const std::string& type, size_t device,
                 std::vector<TensorId> inputs, Shape shape, const std::vector<Value>& more);
  // "placewright.TYPE.default" with numbers behind its inputs, or what is called otherwise.
  TensorId Move(const std::string& name, const std::string& type, size_t device,
                std::vector<TensorId> inputs, Shape shape,
                const std::vector<int64_t>& numbers = {});
  // Their makers are the members of one collective.
  void Together(const std::vector<TensorId>& made);
  const Shape& shape(TensorId tensor) const { return shapes_.at(tensor); }

  DistributedStep Build(std::vector<TensorId> outputs) &&;

 private:
  TensorId Add(OpSpec spec, size_t device, OpId origin);

  const Graph& original_;
  GraphBuilder builder_{"by-hand", "aten"};
  DistributedStep step_;
  std::map<TensorId, Shape> shapes_;
  std::map<TensorId, OpId> makers_;
  int collectives_ = 0;
};

// The op of that name. Precondition: there is one.
OpId OpCalled(const DistributedStep& step, const std::string& name);

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_STEP_BY_HAND_H_
