#include "sharding/bags.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "graph/batch/numbers.h"

namespace placewright {
namespace {

// "aten.mul.Tensor" -> "mul"
std::string_view NameOfBagOp(std::string_view type) {
  constexpr std::string_view kPrefix = "aten.";
  if (!type.starts_with(kPrefix)) return "";
  type.remove_prefix(kPrefix.size());
  return type.substr(0, type.rfind('.'));
}

// Where what counts stands among the arguments of an operator of bags; -1: nowhere.
struct BagArguments {
  std::string_view name;
  int32_t offsets = -1, bag_of = -1;  // those of the region
  int32_t by_frequency = -1;          // a flag that must be false
  int32_t last_offset = -1;           // the same: the end of the last bag is an offset, too
};
constexpr BagArguments kBagOps[] = {
    {"_embedding_bag", 2, -1, 3, 7},
    {"_embedding_bag_forward_only", 2, -1, 3, 7},
    {"_embedding_bag_backward", 2, 3, 7, -1},
    {"_embedding_bag_dense_backward", -1, 2, 6, -1},
    {"_embedding_bag_per_sample_weights_backward", 3, 4, -1, -1},
};

class BagFinder {
 public:
  explicit BagFinder(const Graph& graph) : graph_(graph), of_(graph.tensor_count()) {}

  void Find(RoutedRows& found) {
    for (const OpId op : graph_.ops()) Visit(op);
    for (const TensorId output : graph_.outputs()) {
      if (of_[output].region >= 0) Fail(of_[output].region);
    }
    for (Region& region : regions_) {
      if (region.failed || !region.used) continue;
      found.regions.push_back(region.ops);
      for (const OpId op : region.ops) found.rules.emplace(op, std::move(rules_.at(op)));
    }
    for (const TensorId id : graph_.tensors()) {
      if (of_[id].region < 0) continue;
      const Region& region = regions_[static_cast<size_t>(of_[id].region)];
      if (!region.failed && region.used) found.tensors[id] = true;
    }
  }

 private:
  struct Region {
    std::vector<OpId> ops;
    int64_t bags = 0, length = 0;  // of each bag; 0: no op of bags has read the offsets
    bool used = false;             // something takes rows by them
    bool failed = false;
  };
  // A tensor whose parts begin at 0 anew.
  struct Numbers {
    int32_t region = -1;
    int64_t step = 0;  // 0, step, 2 step, ...; 0: of each index its bag
    int64_t bags = 0;  // of those: how many there are
  };

  const std::vector<int64_t>& ShapeOf(TensorId id) const { return graph_.tensor(id).shape; }
  void Fail(int32_t region) { regions_[static_cast<size_t>(region)].failed = true; }

  // So many elements of dimension 0 are of each sample.
  bool FollowsBatch(TensorId id) const {
    for (const DimensionLaw& law : graph_.batch_scaling()->dimensions[id]) {
      if (law.dimension != 0) continue;
      return law.slope > 0 && ShapeOf(id)[0] == law.slope * graph_.batch();
    }
    return false;
  }

  void Visit(OpId id) {
    const Op& op = graph_.op(id);
    std::set<int32_t> regions;
    for (const TensorId input : op.inputs) {
      if (of_[input].region >= 0) regions.insert(of_[input].region);
    }
    if (regions.empty()) return Begin(id);
    if (regions.size() > 1 || !Continue(id, *regions.begin())) {
      for (const int32_t region : regions) Fail(region);
    }
  }

  // arange(end), arange(start, end), arange(start, end, step): from 0 on, in steps of integers.
  void Begin(OpId id) {
    const Op& op = graph_.op(id);
    if (NameOfBagOp(op.type) != "arange" || op.outputs.size() != 1 ||
        !FollowsBatch(op.outputs[0])) {
      return;
    }
    std::vector<int64_t> numbers;
    for (const Value& value : op.args) {
      if (value.AsInt() == nullptr) return;
      numbers.push_back(*value.AsInt());
    }
    const int64_t bags = ShapeOf(op.outputs[0])[0];
    const int64_t start = numbers.size() > 1 ? numbers[0] : 0;
    const int64_t step = numbers.size() > 2 ? numbers[2] : 1;
    const auto end = static_cast<size_t>(numbers.size() > 1 ? 1 : 0);
    if (numbers.empty() || start != 0 || step < 1 || numbers[end] != bags * step) return;
    const auto region = static_cast<int32_t>(regions_.size());
    regions_.push_back({{}, bags, 0, false, false});
    of_[op.outputs[0]] = {region, step, bags};
    OpRule rule;
    rule.outputs = {{{rule.axes.push_back({bags, Parts::kSplit})}}};
    Add(id, region, std::move(rule));
    const OpRule& made = rules_.at(id);
    rules_.at(id).sizes = {{static_cast<int32_t>(end), step, made.outputs[0][0]}};
  }

  // The rule in whose tensors dimension 0 is [b r] where it follows the batch; b, the batch, can be split.
  void Add(OpId id, int32_t region, OpRule rule) {
    const Op& op = graph_.op(id);
    const RuleAxisId batch = rule.axes.push_back({graph_.batch(), Parts::kSplit});
    std::set<RuleAxisId> cut;
    bool summed = true;
    const auto cut_axes = [&](TensorId tensor, TensorAxes& axes) {
      if (axes.empty() || axes[0].size() != 1 || !FollowsBatch(tensor)) return false;
      const RuleAxisId rows = axes[0][0];
      if (cut.insert(rows).second) {
        rule.axes[rows] = {rule.axes[rows].size / graph_.batch(), Parts::kWhole};
      }
      axes[0] = {batch, rows};
      return true;
    };
    for (size_t i = 0; i < op.inputs.size(); ++i) cut_axes(op.inputs[i], rule.inputs[i]);
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (cut_axes(op.outputs[i], rule.outputs[i])) summed = false;
    }
    if (summed) rule.axes[batch].parts = Parts::kSum;
    regions_[static_cast<size_t>(region)].ops.push_back(id);
    rules_[id] = std::move(rule);
  }

  bool Continue(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    const std::string_view name = NameOfBagOp(op.type);
    for (const BagArguments& known : kBagOps) {
      if (name == known.name) return OfBags(id, region, known);
    }
    if (name == "index_select") return TakeOfBags(id, region);
    if (op.inputs.size() != 1 || op.outputs.size() != 1) return false;
    Numbers made = of_[op.inputs[0]];
    if (name == "mul" && op.args.size() == 2) {
      const int64_t* const by = op.args[1].AsInt();
      if (by == nullptr || *by < 1 || made.step == 0 || made.step > kMaxQuantity / *by)
        return false;
      made.step *= *by;
    } else if (name == "floor_divide" && op.args.size() == 2) {
      // 0, 0, 0, 1, 1, 1, ...
      const int64_t* const by = op.args[1].AsInt();
      if (by == nullptr || *by < 1 || made.step != 1 || made.bags % *by != 0 ||
          made.bags / *by % graph_.batch() != 0) {
        return false;
      }
      made = {made.region, 0, made.bags / *by};
    } else if (name != "_to_copy" && name != "clone" && name != "detach" && name != "alias") {
      return false;
    }
    std::optional<OpRule> rule = RuleOf(graph_, id);
    if (!rule) return false;
    of_[op.outputs[0]] = made;
    Add(id, region, std::move(*rule));
    return true;
  }

  // The input that an argument names; invalid: none.
  static TensorId InputOf(const Op& op, int32_t argument) {
    if (argument < 0 || static_cast<size_t>(argument) >= op.args.size()) return TensorId();
    const InputRef* const input = op.args[static_cast<size_t>(argument)].AsInput();
    return input == nullptr ? TensorId() : op.inputs[static_cast<size_t>(input->index)];
  }
  static bool IsFalse(const Op& op, int32_t argument) {
    if (argument < 0 || static_cast<size_t>(argument) >= op.args.size()) return true;
    const bool* const flag = op.args[static_cast<size_t>(argument)].AsBool();
    return flag != nullptr && !*flag;
  }

  // All bags have `length` indices, and what is read of the region stands where it belongs.
  bool OfBags(OpId id, int32_t region, const BagArguments& known) {
    const Op& op = graph_.op(id);
    Region& of = regions_[static_cast<size_t>(region)];
    const TensorId offsets = InputOf(op, known.offsets), bag_of = InputOf(op, known.bag_of);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Numbers& numbers = of_[op.inputs[i]];
      if (numbers.region < 0) continue;
      if (op.inputs[i] != (numbers.step > 0 ? offsets : bag_of)) return false;
      if (numbers.step > 0 && of.length != 0 && of.length != numbers.step) return false;
      if (numbers.step > 0) of.length = numbers.step;
    }
    std::optional<OpRule> rule = RuleOf(graph_, id);
    const bool per_index = known.name.ends_with("per_sample_weights_backward");
    const TensorId indices = InputOf(op, per_index ? 2 : 1);
    if (!rule || of.length == 0 || !IsFalse(op, known.by_frequency) ||
        !IsFalse(op, known.last_offset) || !indices.valid() || !FollowsBatch(indices) ||
        ShapeOf(indices).size() != 1 || ShapeOf(indices)[0] != of.bags * of.length ||
        HasOtherRows(op, of)) {
      return false;
    }
    of.used = true;
    if (known.bag_of < 0) {
      for (const TensorId output : op.outputs) {
        if (graph_.tensor(output).output_index != 1 || ShapeOf(output)[0] == 0) continue;
        of_[output] = {region, 0, of.bags};
      }
    }
    Add(id, region, std::move(*rule));
    return true;
  }

  // Rows that are of samples, but neither of bags nor of indices.
  bool HasOtherRows(const Op& op, const Region& of) const {
    for (const std::vector<TensorId>* const tensors : {&op.inputs, &op.outputs}) {
      for (const TensorId id : *tensors) {
        if (ShapeOf(id).empty() || !FollowsBatch(id)) continue;
        const int64_t rows = ShapeOf(id)[0];
        if (rows != of.bags && rows != of.bags * of.length) return true;
      }
    }
    return false;
  }

  // x[bag of each index]: of each index what its bag has.
  bool TakeOfBags(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    const TensorId x = InputOf(op, 0), index = InputOf(op, 2);
    const int64_t* const dim = op.args.size() > 1 ? op.args[1].AsInt() : nullptr;
    if (op.inputs.size() != 2 || op.outputs.size() != 1 || !x.valid() || !index.valid() ||
        of_[x].region >= 0 || of_[index].step != 0 || dim == nullptr || *dim != 0 ||
        ShapeOf(x).empty() || ShapeOf(x)[0] != of_[index].bags || !FollowsBatch(x)) {
      return false;
    }
    std::optional<OpRule> rule = RuleOf(graph_, id);
    if (!rule || rule->inputs[0][0].size() != 1) return false;
    regions_[static_cast<size_t>(region)].used = true;
    Add(id, region, std::move(*rule));
    return true;
  }

  const Graph& graph_;
  IdVector<TensorId, Numbers> of_;
  std::vector<Region> regions_;
  std::map<OpId, OpRule> rules_;
};

}  // namespace

void AddRegularBags(const Graph& graph, RoutedRows& found) { BagFinder(graph).Find(found); }

}  // namespace placewright
