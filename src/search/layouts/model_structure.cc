#include "search/layouts/model_structure.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cost/work.h"
#include "search/layouts/mixtures.h"
#include "search/layouts/products.h"

namespace placewright {
namespace {

constexpr double kMuch = 0.5;  // of the parameters, from which on fully connected layers are large

class Finder {
 public:
  Finder(const Graph& graph, const NamedAxes& axes)
      : graph_(graph), axes_(axes), products_(ForwardProducts(graph, axes)) {}

  ModelStructure Find() {
    FindHeads();
    FindExperts();
    found_.mixtures = FindMixtures(graph_, axes_, products_);
    FindWidths();
    FindRecurrent();
    FindOutputs();
    found_.kind = Kind();
    return std::move(found_);
  }

 private:
  ModelKind Kind() const {
    if (!found_.experts.empty() || !found_.mixtures.empty()) return ModelKind::kExperts;
    if (!found_.heads.empty()) return ModelKind::kAttention;
    if (!found_.recurrent.empty()) return ModelKind::kRecurrent;
    if (found_.matrices >= kMuch && !found_.outputs.empty()) return ModelKind::kFullyConnected;
    return HasConvolutions() ? ModelKind::kConvolutional : ModelKind::kOther;
  }

  void Mark(TensorId id, bool value, IdVector<AxisId, bool>& marks) const {
    for (size_t dimension = 0; dimension < graph_.tensor(id).shape.size(); ++dimension) {
      for (const AxisId axis : axes_.factors(id, dimension)) marks[axis] = value;
    }
  }

  // Axes of weights, and of no input. A parameter may also be the state that a recurrent layer starts
  // from, with an axis for the samples.
  IdVector<AxisId, bool> AxesOfWeights() const {
    IdVector<AxisId, bool> marks(axes_.axis_count(), false);
    for (const Product& product : products_) {
      if (product.weight.valid()) Mark(product.weight, true, marks);
    }
    for (const TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.kind == TensorKind::kInput && !tensor.producer.valid()) Mark(id, false, marks);
    }
    return marks;
  }

  static void AddOnce(AxisId axis, std::vector<AxisId>& list) {
    if (std::find(list.begin(), list.end(), axis) == list.end()) list.push_back(axis);
  }
  static bool Contains(const std::vector<AxisId>& list, AxisId axis) {
    return std::find(list.begin(), list.end(), axis) != list.end();
  }

  void FindHeads() {
    const IdVector<AxisId, bool> of_weight = AxesOfWeights();
    for (const Product& product : products_) {
      if (product.weight.valid()) continue;
      for (const AxisId axis : product.batch) {
        if (axis == axes_.batch() || !of_weight[axis]) continue;
        AddOnce(axis, found_.heads);
        break;  // of heads in groups that share keys and values: the groups
      }
    }
    for (const OpId op : graph_.ops()) {
      for (const AxisId axis : SharedByAttention(op)) {
        if (axis == axes_.batch() || !of_weight[axis]) continue;
        AddOnce(axis, found_.heads);
        break;
      }
    }
  }

  // Of an attention that is one operator, the axes that queries, keys, values and output have in common.
  std::vector<AxisId> SharedByAttention(OpId id) const {
    const Op& op = graph_.op(id);
    const OpRule* const rule = axes_.rule(id);
    std::vector<AxisId> shared;
    const bool attends = op.phase == Phase::kForward && op.inputs.size() >= 3 && rule != nullptr &&
                         op.type.find("scaled_dot_product") != std::string_view::npos;
    if (!attends) return shared;
    for (const RuleAxisId axis : IdRange<RuleAxisId>(rule->axes.size())) {
      const bool in_all = Holds(rule->inputs[0], axis) && Holds(rule->inputs[1], axis) &&
                          Holds(rule->inputs[2], axis) && Holds(rule->outputs.front(), axis);
      if (!in_all) continue;
      for (const AxisId factor : axes_.FactorsOf(id, axis)) {
        if (axes_.axis(factor).size > 1) shared.push_back(factor);
      }
    }
    return shared;
  }

  void FindExperts() {
    for (const Product& product : products_) {
      if (!product.weight.valid()) continue;
      for (const AxisId axis : product.batch) {
        if (axis != axes_.batch() && !Contains(found_.heads, axis)) AddOnce(axis, found_.experts);
      }
    }
  }

  bool TouchesHeads(const Product& product, const IdVector<AxisId, bool>& is_head) const {
    const Op& op = graph_.op(product.op);
    const auto has_heads = [&](TensorId id) {
      for (size_t dimension = 0; dimension < graph_.tensor(id).shape.size(); ++dimension) {
        for (const AxisId axis : axes_.factors(id, dimension)) {
          if (is_head[axis]) return true;
        }
      }
      return false;
    };
    return std::any_of(op.inputs.begin(), op.inputs.end(), has_heads) ||
           std::any_of(op.outputs.begin(), op.outputs.end(), has_heads);
  }

  void FindWidths() {
    IdVector<AxisId, int32_t> summed_by(axes_.axis_count(), 0);
    std::set<std::pair<AxisId, TensorId>>
        seen;  // one product with a weight, however many micro-batches it is of
    for (const Product& product : products_) {
      for (const AxisId axis : product.summed) {
        // What activations are summed over is no part of a perceptron.
        if (!product.weight.valid()) summed_by[axis] += 2;
        if (product.weight.valid() && seen.emplace(axis, product.weight).second) ++summed_by[axis];
      }
    }
    const IdVector<OpId, bool> followed = FollowedByProducts();
    const IdVector<AxisId, bool> needed_whole = NeededWhole();
    IdVector<AxisId, bool> is_head(axes_.axis_count(), false);
    for (const AxisId axis : found_.heads) is_head[axis] = true;
    for (const Product& product : products_) {
      if (!product.weight.valid() || TouchesHeads(product, is_head)) continue;
      int64_t inputs = 1;
      for (const AxisId axis : product.summed) inputs *= axes_.axis(axis).size;
      for (const AxisId axis : product.features) {
        if (summed_by[axis] == 1 && !needed_whole[axis]) AddOnce(axis, found_.widths);
        const bool scores = summed_by[axis] == 0 && !followed[product.op];
        if (scores && axes_.axis(axis).size > inputs) AddOnce(axis, found_.words);
      }
    }
  }

  // Forward ops that some product follows from: what they make is no score, though it may be joined with something
  // else before that product sums over it.
  IdVector<OpId, bool> FollowedByProducts() const {
    IdVector<OpId, bool> product(graph_.op_count(), false), followed(graph_.op_count(), false);
    for (const Product& one : products_) product[one.op] = true;
    const auto order = graph_.topological_order();
    for (size_t i = order.size(); i-- > 0;) {
      const OpId op = order[i];
      if (graph_.op(op).phase != Phase::kForward) continue;
      if (!product[op] && !followed[op]) continue;
      for (const OpId producer : graph_.producers(op)) followed[producer] = true;
    }
    return followed;
  }

  // Axes of which some forward op that has them needs all.
  IdVector<AxisId, bool> NeededWhole() const {
    IdVector<AxisId, bool> whole(axes_.axis_count(), false);
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.phase != Phase::kForward) continue;
      for (const std::vector<TensorId>* const tensors : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *tensors) {
          for (size_t d = 0; d < graph_.tensor(tensor).shape.size(); ++d) {
            for (const AxisId axis : axes_.factors(tensor, d)) {
              if (!whole[axis]) whole[axis] = !axes_.SplitBy(id, axis).valid();
            }
          }
        }
      }
    }
    return whole;
  }

  // Products of the weight, all of one module: whether a later one follows from the first within it.
  bool Recurs(const std::vector<OpId>& products, const std::vector<OpId>& module) const {
    std::set<OpId> follows = {products.front()};
    for (const OpId op : module) {
      if (graph_.op(op).phase != Phase::kForward || op == products.front()) continue;
      const auto producers = graph_.producers(op);
      if (std::none_of(producers.begin(), producers.end(),
                       [&](OpId producer) { return follows.contains(producer); })) {
        continue;
      }
      follows.insert(op);
      if (std::find(products.begin(), products.end(), op) != products.end()) return true;
    }
    return false;
  }

  void FindRecurrent() {
    std::map<ModuleId, std::vector<OpId>> ops;  // in topological order
    for (const OpId op : graph_.topological_order()) ops[graph_.op(op).module].push_back(op);
    std::map<std::pair<ModuleId, TensorId>, std::vector<OpId>> by_weight;
    for (const Product& product : products_) {
      if (!product.weight.valid()) continue;
      by_weight[{graph_.op(product.op).module, product.weight}].push_back(product.op);
    }
    std::map<ModuleId, OpId> first;  // product, or recurrent op
    for (const auto& [key, products] : by_weight) {
      const auto& [module, weight] = key;
      if (products.size() < 2 || !Recurs(products, ops[module])) continue;
      const auto [at, added] = first.try_emplace(module, products.front());
      if (!added) at->second = std::min(at->second, products.front());
    }
    for (const OpId op : graph_.ops()) {
      if (graph_.op(op).phase != Phase::kForward) continue;
      if (WorkOf(graph_, op).op_class == OpClass::kRecurrent) {
        first.try_emplace(graph_.op(op).module, op);
      }
    }
    for (const auto& [module, op] : first) found_.recurrent.push_back(module);
    std::stable_sort(found_.recurrent.begin(), found_.recurrent.end(),
                     [&](ModuleId a, ModuleId b) { return first.at(a) < first.at(b); });
  }

  void FindOutputs() {
    std::map<TensorId, int> readers;
    for (const Product& product : products_) {
      if (product.weight.valid()) ++readers[product.weight];
    }
    double matrices = 0, all = 0;
    for (const TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.kind == TensorKind::kParameter && !tensor.producer.valid()) {
        all += static_cast<double>(tensor.bytes.count);
      }
    }
    for (const auto& [weight, count] : readers) {
      matrices += static_cast<double>(graph_.tensor(weight).bytes.count);
    }
    if (all > 0) found_.matrices = matrices / all;
    for (const Product& product : products_) {
      if (!product.weight.valid() || readers[product.weight] > 1) continue;
      for (const AxisId axis : product.features) AddOnce(axis, found_.outputs);
    }
  }

  bool HasConvolutions() const {
    for (const OpId op : graph_.ops()) {
      switch (WorkOf(graph_, op).op_class) {
        case OpClass::kConvDense:
        case OpClass::kConvWinograd:
        case OpClass::kConvPointwise:
        case OpClass::kConvDepthwise: return true;
        default: break;
      }
    }
    return false;
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const std::vector<Product> products_;
  ModelStructure found_;
};

}  // namespace

ModelStructure StructureOf(const Graph& graph, const NamedAxes& axes) {
  return Finder(graph, axes).Find();
}

}  // namespace placewright
