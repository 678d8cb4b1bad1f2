#include "search/layouts/products.h"

#include <optional>
#include <utility>

#include "cost/work.h"

namespace placewright {
namespace {

// The inputs that hold an axis which the output does not have.
std::vector<size_t> OperandsOf(const OpRule& rule) {
  std::vector<size_t> operands;
  for (size_t i = 0; i < rule.inputs.size(); ++i) {
    bool sums = false;
    for (const RuleAxisId axis : IdRange<RuleAxisId>(rule.axes.size())) {
      sums = sums || (rule.axes[axis].parts == Parts::kSum && Holds(rule.inputs[i], axis) &&
                      !Holds(rule.outputs.front(), axis));
    }
    if (sums) operands.push_back(i);
  }
  return operands;
}

std::optional<Product> ProductOf(const Graph& graph, const NamedAxes& axes, OpId id) {
  const OpRule* const rule = axes.rule(id);
  const Op& op = graph.op(id);
  if (rule == nullptr || rule->outputs.size() != 1) return std::nullopt;
  const std::vector<size_t> operands = OperandsOf(*rule);
  if (operands.size() != 2) return std::nullopt;
  size_t read = operands[0], weight = operands[1];
  if (!ParameterIn(graph, op.inputs[weight]).valid()) std::swap(read, weight);
  Product product{id, ParameterIn(graph, op.inputs[weight]), op.inputs[read], {}, {}, {}};
  for (const RuleAxisId axis : IdRange<RuleAxisId>(rule->axes.size())) {
    const bool in_output = Holds(rule->outputs.front(), axis);
    const bool in_weight = Holds(rule->inputs[weight], axis);
    const bool in_read = Holds(rule->inputs[read], axis);
    for (const AxisId factor : axes.FactorsOf(id, axis)) {
      if (axes.axis(factor).size < 2 || !in_weight) continue;
      if (in_read) (in_output ? product.batch : product.summed).push_back(factor);
      if (!in_read && in_output) product.features.push_back(factor);
    }
  }
  return product;
}

}  // namespace

bool MovesOneTensor(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  if (op.inputs.size() != 1) return false;
  const OpClass op_class = WorkOf(graph, id).op_class;
  return op.is_view || op_class == OpClass::kView || op_class == OpClass::kDataMovement;
}

TensorId ParameterIn(const Graph& graph, TensorId tensor) {
  for (;;) {
    const Storage& storage = graph.storage(graph.tensor(tensor).storage);
    if (storage.kind == TensorKind::kParameter) return storage.first;
    const OpId producer = graph.tensor(tensor).producer;
    if (!producer.valid() || !MovesOneTensor(graph, producer)) return {};
    tensor = graph.op(producer).inputs.front();
  }
}

std::vector<Product> ForwardProducts(const Graph& graph, const NamedAxes& axes) {
  std::vector<Product> products;
  for (const OpId op : graph.ops()) {
    if (graph.op(op).phase != Phase::kForward) continue;
    const OpClass op_class = WorkOf(graph, op).op_class;
    if (op_class != OpClass::kGemm && op_class != OpClass::kGemv) continue;
    if (std::optional<Product> product = ProductOf(graph, axes, op)) {
      products.push_back(*std::move(product));
    }
  }
  return products;
}

}  // namespace placewright
