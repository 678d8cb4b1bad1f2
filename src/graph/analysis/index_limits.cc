#include "graph/analysis/index_limits.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace placewright {
namespace {

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8: return true;
    default: return false;
  }
}

// "aten.embedding.default" -> "embedding".
std::string_view NameOf(std::string_view type) {
  const size_t first = type.find('.'), last = type.rfind('.');
  if (first == type.npos || first == last) return type;
  return type.substr(first + 1, last - first - 1);
}

// The op's positional argument, or the one of that name.
const Value* ArgumentOf(const Op& op, size_t position, std::string_view name) {
  if (position < op.args.size()) return &op.args[position];
  for (const NamedValue& attribute : op.attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

bool KeepsValues(const Op& op, std::string_view name) {
  static constexpr std::array<std::string_view, 10> kKeeping = {
      "clone", "_to_copy", "to",     "contiguous", "cat",
      "stack", "clamp",    "clamp_", "copy_",      "_reshape_alias"};
  return op.is_view || std::find(kKeeping.begin(), kKeeping.end(), name) != kKeeping.end();
}

class Limits {
 public:
  explicit Limits(const Graph& graph) : graph_(graph), limits_(graph.tensor_count(), 0) {}

  IdVector<TensorId, int64_t> Find() {
    const std::span<const OpId> order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) Visit(graph_.op(*op));
    return std::move(limits_);
  }

 private:
  void Lower(TensorId tensor, int64_t limit) {
    if (!tensor.valid() || limit <= 0 || !IsInteger(graph_.tensor(tensor).dtype)) return;
    int64_t& known = limits_[tensor];
    known = known == 0 ? limit : std::min(known, limit);
  }

  static TensorId TensorOf(const Op& op, const Value* value) {
    const InputRef* const input = value == nullptr ? nullptr : value->AsInput();
    return input == nullptr ? TensorId() : op.inputs[static_cast<size_t>(input->index)];
  }

  // Elements along a dimension of a tensor; negative ones count from the end. 0: there is none.
  int64_t SizeOf(TensorId tensor, int64_t dimension) const {
    if (!tensor.valid()) return 0;
    const std::vector<int64_t>& shape = graph_.tensor(tensor).shape;
    const auto rank = static_cast<int64_t>(shape.size());
    if (dimension < 0) dimension += rank;
    return dimension >= 0 && dimension < rank ? shape[static_cast<size_t>(dimension)] : 0;
  }

  static int64_t NumberOf(const Value* value) {
    const int64_t* const number = value == nullptr ? nullptr : value->AsInt();
    return number == nullptr ? 0 : *number;
  }

  void Visit(const Op& op) {
    const std::string_view name = NameOf(op.type);
    const auto argument = [&](size_t position, std::string_view named) {
      return ArgumentOf(op, position, named);
    };
    if (name == "embedding" || name == "embedding_bag" || name == "_embedding_bag") {
      Lower(TensorOf(op, argument(1, "indices")), SizeOf(TensorOf(op, argument(0, "weight")), 0));
    } else if (name == "embedding_dense_backward") {
      Lower(TensorOf(op, argument(1, "indices")), NumberOf(argument(2, "num_weights")));
    } else if (name.starts_with("nll_loss") || name == "cross_entropy_loss") {
      const bool backward = name.ends_with("backward");
      const TensorId scores = TensorOf(op, argument(backward ? 1 : 0, "self"));
      if (!scores.valid()) return;
      const bool batched = graph_.tensor(scores).shape.size() > 1;
      Lower(TensorOf(op, argument(backward ? 2 : 1, "target")), SizeOf(scores, batched ? 1 : 0));
    } else if (name == "one_hot") {
      Lower(TensorOf(op, argument(0, "self")), NumberOf(argument(1, "num_classes")));
    } else if (name == "index" || name.starts_with("index_put") || name == "_index_put_impl_") {
      VisitIndexed(op);
    } else if (name.starts_with("index_") || name.starts_with("gather") ||
               name.starts_with("scatter")) {
      const TensorId self = TensorOf(op, argument(0, "self"));
      Lower(TensorOf(op, argument(2, "index")), SizeOf(self, NumberOf(argument(1, "dim"))));
      // The values that are gathered, or put among others, stay what they are.
      if (!op.outputs.empty()) Lower(self, limits_[op.outputs.front()]);
    } else if (KeepsValues(op, name)) {
      for (const TensorId output : op.outputs) {
        for (const TensorId input : op.inputs) Lower(input, limits_[output]);
      }
    }
  }

  // tensor[i, :, j]: a list of indices, one for each dimension or none.
  void VisitIndexed(const Op& op) {
    const TensorId self = TensorOf(op, ArgumentOf(op, 0, "self"));
    const Value* const given = ArgumentOf(op, 1, "indices");
    const Value::List* const list = given == nullptr ? nullptr : given->AsList();
    if (list == nullptr) return;
    for (size_t i = 0; i < list->size(); ++i) {
      Lower(TensorOf(op, &(*list)[i]), SizeOf(self, static_cast<int64_t>(i)));
    }
    if (!op.outputs.empty()) Lower(self, limits_[op.outputs.front()]);
  }

  const Graph& graph_;
  IdVector<TensorId, int64_t> limits_;
};

}  // namespace

IdVector<TensorId, int64_t> IndexLimits(const Graph& graph) { return Limits(graph).Find(); }

IdVector<TensorId, IntegerUse> IntegerUses(const Graph& graph) {
  IdVector<TensorId, IntegerUse> uses(graph.tensor_count());
  const std::span<const OpId> order = graph.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Op& op = graph.op(*id);
    const std::string_view name = NameOf(op.type);
    const auto input = [&](size_t position) -> IntegerUse* {
      const InputRef* const ref = position < op.args.size() ? op.args[position].AsInput() : nullptr;
      return ref == nullptr ? nullptr : &uses[op.inputs[static_cast<size_t>(ref->index)]];
    };
    if (name.starts_with("embedding") || name == "_embedding_bag") {
      if (IntegerUse* const use = input(1)) use->token = true;
    } else if (name.starts_with("nll_loss") || name == "cross_entropy_loss") {
      if (IntegerUse* const use = input(name.ends_with("backward") ? 2 : 1)) use->target = true;
    } else if (KeepsValues(op, name)) {
      for (const TensorId output : op.outputs) {
        for (const TensorId from : op.inputs) {
          uses[from].target |= uses[output].target;
          uses[from].token |= uses[output].token;
        }
      }
    }
  }
  return uses;
}

IdVector<TensorId, bool> HidingMasks(const Graph& graph) {
  IdVector<TensorId, bool> hides(graph.tensor_count(), false);
  const std::span<const OpId> order = graph.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Op& op = graph.op(*id);
    const std::string_view name = NameOf(op.type);
    if (name.starts_with("masked_fill") && op.inputs.size() > 1) hides[op.inputs[1]] = true;
    if (!KeepsValues(op, name)) continue;
    for (const TensorId output : op.outputs) {
      for (const TensorId input : op.inputs) hides[input] = hides[input] || hides[output];
    }
  }
  return hides;
}

Graph WithInputLimits(Graph graph, const IdVector<TensorId, int64_t>& below) {
  for (const TensorId id : graph.tensors()) {
    Tensor& tensor = graph.data_.tensors[id];
    const bool integers = tensor.dtype == DType::kI64 || tensor.dtype == DType::kI32 ||
                          tensor.dtype == DType::kI16 || tensor.dtype == DType::kI8 ||
                          tensor.dtype == DType::kU8;
    if (tensor.producer.valid() || !integers || below[id] <= 0) continue;
    tensor.below = below[id];
  }
  return graph;
}

}  // namespace placewright
