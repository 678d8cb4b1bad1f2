#include "search/layouts/mixtures.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace placewright {
namespace {

// Where the tokens of an expert come from: a tensor that is cut, and the part.
struct Part {
  TensorId whole, part;
};

int64_t ElementsOf(const Graph& graph, TensorId tensor) {
  int64_t elements = 1;
  for (const int64_t size : graph.tensor(tensor).shape) elements *= size;
  return elements;
}

// Backwards over views and copies to where a tensor was cut; none: it was not.
Part PartBehind(const Graph& graph, TensorId tensor) {
  for (;;) {
    const OpId producer = graph.tensor(tensor).producer;
    if (!producer.valid() || !MovesOneTensor(graph, producer)) return {};
    const TensorId from = graph.op(producer).inputs.front();
    if (ElementsOf(graph, tensor) < ElementsOf(graph, from)) return {from, tensor};
    tensor = from;
  }
}

// By part, the weights that it is multiplied with.
using Weights = std::map<TensorId, std::vector<TensorId>>;

// Tensors of the forward pass that follow from a router of so many experts: a product of a weight with so many
// outputs. Streams that an attention joins and that are cut apart behind it (text and image), or chunks that go to
// projections of their own, have weights of equal shapes, too, but nothing chooses among them.
IdVector<TensorId, bool> RoutedAmong(size_t experts, const Graph& graph, const NamedAxes& axes,
                                     const std::vector<Product>& products) {
  IdVector<OpId, bool> routes(graph.op_count(), false);
  for (const Product& product : products) {
    int64_t outputs = 1;
    for (const AxisId axis : product.features) outputs *= axes.axis(axis).size;
    if (product.weight.valid() && outputs == static_cast<int64_t>(experts)) {
      routes[product.op] = true;
    }
  }
  IdVector<TensorId, bool> routed(graph.tensor_count(), false);
  for (const OpId id : graph.topological_order()) {
    const Op& op = graph.op(id);
    if (op.phase != Phase::kForward) continue;
    const bool follows = routes[id] || std::any_of(op.inputs.begin(), op.inputs.end(),
                                                   [&](TensorId input) { return routed[input]; });
    for (const TensorId output : op.outputs) routed[output] = routed[output] || follows;
  }
  return routed;
}

// The parts have weights of their own, of equal shapes.
bool AreExperts(const Graph& graph, const Weights& weights) {
  std::set<TensorId> seen;
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& [part, own] : weights) {
    std::vector<int64_t> shape;
    for (const TensorId weight : own) {
      if (!seen.insert(weight).second) return false;
      const std::vector<int64_t>& sizes = graph.tensor(weight).shape;
      shape.insert(shape.end(), sizes.begin(), sizes.end());
    }
    shapes.push_back(std::move(shape));
  }
  return shapes.size() >= 2 &&
         std::all_of(shapes.begin(), shapes.end(), [&](const auto& s) { return s == shapes[0]; });
}

constexpr int32_t kNoExpert = -1, kSeveral = -2;

// The expert that a forward op follows from, by op.
IdVector<OpId, int32_t> ExpertOfOps(const Graph& graph, const Weights& weights) {
  IdVector<TensorId, int32_t> of_tensor(graph.tensor_count(), kNoExpert);
  int32_t number = 0;
  for (const auto& [part, own] : weights) of_tensor[part] = number++;
  IdVector<OpId, int32_t> of_op(graph.op_count(), kNoExpert);
  for (const OpId id : graph.topological_order()) {
    const Op& op = graph.op(id);
    if (op.phase != Phase::kForward) continue;
    int32_t expert = kNoExpert;
    for (const TensorId input : op.inputs) {
      const int32_t of_input = of_tensor[input];
      if (of_input == kNoExpert) continue;
      expert = expert == kNoExpert || expert == of_input ? of_input : kSeveral;
    }
    of_op[id] = expert;
    for (const TensorId output : op.outputs) {
      if (of_tensor[output] == kNoExpert) of_tensor[output] = expert;
    }
  }
  return of_op;
}

// Views of parameters follow from nothing: they say nothing of whose their module is.
std::vector<std::vector<ModuleId>> ModulesOf(const Graph& graph, const Weights& weights) {
  const IdVector<OpId, int32_t> of_op = ExpertOfOps(graph, weights);
  IdVector<ModuleId, int32_t> of_module(graph.module_count(), kNoExpert);
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const bool weight = !op.inputs.empty() && ParameterIn(graph, op.inputs.front()).valid() &&
                        MovesOneTensor(graph, id);
    if (op.phase != Phase::kForward || weight) continue;
    const int32_t expert = of_op[id] == kNoExpert ? kSeveral : of_op[id];
    int32_t& of = of_module[op.module];
    of = of == kNoExpert || of == expert ? expert : kSeveral;
  }
  std::vector<std::vector<ModuleId>> modules(weights.size());
  for (const ModuleId module : IdRange<ModuleId>(graph.module_count())) {
    if (of_module[module] >= 0) {
      modules[static_cast<size_t>(of_module[module])].push_back(module);
    }
  }
  return modules;
}

}  // namespace

std::vector<std::vector<std::vector<ModuleId>>> FindMixtures(const Graph& graph,
                                                             const NamedAxes& axes,
                                                             const std::vector<Product>& products) {
  std::map<TensorId, Weights> by_whole;
  for (const Product& product : products) {
    if (!product.weight.valid()) continue;
    const Part part = PartBehind(graph, product.read);
    if (part.whole.valid()) by_whole[part.whole][part.part].push_back(product.weight);
  }
  std::vector<std::vector<std::vector<ModuleId>>> mixtures;
  std::map<size_t, IdVector<TensorId, bool>> routed;  // by the number of experts
  for (const auto& [whole, weights] : by_whole) {
    if (!AreExperts(graph, weights)) continue;
    const size_t experts = weights.size();
    auto at = routed.find(experts);
    if (at == routed.end()) {
      at = routed.emplace(experts, RoutedAmong(experts, graph, axes, products)).first;
    }
    if (!at->second[whole]) continue;
    std::vector<std::vector<ModuleId>> modules = ModulesOf(graph, weights);
    std::erase_if(modules, [](const auto& own) { return own.empty(); });
    if (modules.size() >= 2) mixtures.push_back(std::move(modules));
  }
  return mixtures;
}

}  // namespace placewright
