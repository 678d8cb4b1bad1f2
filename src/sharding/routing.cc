#include "sharding/routing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sharding/bags.h"

namespace placewright {
namespace {

// "aten.index_put_.default" -> "index_put"
std::string_view BaseOf(std::string_view type) {
  constexpr std::string_view kPrefix = "aten.";
  if (!type.starts_with(kPrefix)) return "";
  type.remove_prefix(kPrefix.size());
  type = type.substr(0, type.rfind('.'));
  if (type.ends_with('_')) type.remove_suffix(1);
  return type;
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a tensor of a region holds.
enum class RowContent : uint8_t {
  kNothing,    // it is of no region
  kRows,       // in dimension `dim` a row of each key, in the order of the sort
  kKeys,       // the keys themselves, in that order: rows, too
  kPlaces,     // of each sorted row its place among `table` rows
  kSortedRow,  // of each place its row in the order of the sort
  kUnset,      // nothing yet, of as many elements as there are rows
  kNumbers,    // 0, 1, 2, ... of all rows
  kCounts,     // of each key how many rows it has
  kEnds        // of each key where its rows end
};

struct Routed {
  RowContent holds = RowContent::kNothing;
  int32_t region = -1;
  size_t dim = 0;
  int64_t table = 0;
};

constexpr int kComparedOps = 200;

class RoutingFinder {
 public:
  explicit RoutingFinder(const Graph& graph) : graph_(graph), routed_(graph.tensor_count()) {
    for (const OpId op : graph.ops()) {
      for (const TensorId input : graph.op(op).inputs) readers_[input].insert(op);
    }
  }

  RoutedRows Find() {
    for (const OpId op : graph_.ops()) Visit(op);
    for (const TensorId output : graph_.outputs()) {
      if (routed_[output].region >= 0) Fail(routed_[output].region);
    }
    RoutedRows found;
    for (size_t region = 0; region < ops_.size(); ++region) {
      if (failed_[region]) continue;
      SplitByKeys(region);
      found.regions.push_back(ops_[region]);
      std::sort(found.regions.back().begin(), found.regions.back().end());
      for (const OpId op : ops_[region]) found.rules.emplace(op, std::move(rules_.at(op)));
    }
    for (const TensorId id : graph_.tensors()) {
      const Routed& one = routed_[id];
      found.tensors.push_back(one.region >= 0 && !failed_[static_cast<size_t>(one.region)]);
    }
    return found;
  }

 private:
  const std::vector<int64_t>& ShapeOf(TensorId id) const { return graph_.tensor(id).shape; }
  const Routed& Of(TensorId id) const { return routed_[id]; }
  void Fail(int32_t region) { failed_[static_cast<size_t>(region)] = true; }

  // The dimension follows the batch in proportion: so many elements are of each sample.
  bool FollowsBatch(TensorId id, size_t dim) const {
    for (const DimensionLaw& item : graph_.batch_scaling()->dimensions[id]) {
      if (static_cast<size_t>(item.dimension) != dim) continue;
      return item.slope > 0 && ShapeOf(id)[dim] == item.slope * graph_.batch();
    }
    return false;
  }

  // The inputs of the op that an argument names, those of a list in its order.
  std::vector<int32_t> InputsAt(const Op& op, size_t argument) const {
    std::vector<int32_t> inputs;
    if (argument >= op.args.size()) return inputs;
    if (const InputRef* input = op.args[argument].AsInput()) return {input->index};
    const Value::List* const list = op.args[argument].AsList();
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const InputRef* const input = (*list)[i].AsInput();
      inputs.push_back(input == nullptr ? -1 : input->index);
    }
    return inputs;
  }

  void Visit(OpId id) {
    const Op& op = graph_.op(id);
    std::set<int32_t> regions;
    for (const TensorId input : op.inputs) {
      if (Of(input).region >= 0) regions.insert(Of(input).region);
    }
    if (regions.empty()) {
      if (BaseOf(op.type) == "sort") Begin(id);
      return;
    }
    // Only the type and the sizes of what it reads count: it is of no region.
    if (IsOneOf(BaseOf(op.type), {"new_zeros", "new_ones", "new_empty", "new_full"})) return;
    const int32_t region = *regions.begin();
    if (regions.size() > 1 || !Continue(id, region)) {
      for (const int32_t one : regions) Fail(one);
    }
  }

  // sort(x, dim, descending), sort.stable(x, *, stable, dim, descending): the smallest first, as groups are.
  static bool Ascends(const Op& op) {
    const Value* descending =
        op.type.ends_with(".stable") || op.args.size() < 3 ? nullptr : &op.args[2];
    for (const NamedValue& named : op.attributes) {
      if (named.name == "descending") descending = &named.value;
    }
    const bool* const flag = descending == nullptr ? nullptr : descending->AsBool();
    return descending == nullptr || (flag != nullptr && !*flag);
  }

  // Rows: the keys are some.
  static bool IsRows(const Routed& one) {
    return one.holds == RowContent::kRows || one.holds == RowContent::kKeys;
  }

  // A sort of one key a row.
  void Begin(OpId id) {
    const Op& op = graph_.op(id);
    if (op.inputs.size() != 1 || ShapeOf(op.inputs[0]).size() != 1 ||
        !FollowsBatch(op.inputs[0], 0)) {
      return;
    }
    const DType dtype = graph_.tensor(op.inputs[0]).dtype;
    if ((dtype != DType::kI64 && dtype != DType::kI32) || !Ascends(op)) return;
    const int64_t rows = ShapeOf(op.inputs[0])[0];
    // Sorted again for the backward pass, rows are in the same order: they are of the same region.
    const auto before = std::find_if(sorts_.begin(), sorts_.end(), [&](OpId sort) {
      int visits = kComparedOps;
      return AreEqual(id, sort, visits);
    });
    const int32_t region = static_cast<int32_t>(before - sorts_.begin());
    if (before == sorts_.end()) {
      sorts_.push_back(id);
      ops_.emplace_back();
      failed_.push_back(false);
      rows_.push_back(rows);
    }
    AddWithRows(id, region, {});
    for (const TensorId output : op.outputs) {
      const bool places = graph_.tensor(output).output_index == 1;
      routed_[output] = {places ? RowContent::kPlaces : RowContent::kKeys, region, 0, rows};
    }
  }

  // They compute the same of the same, as far as that shows within so many ops.
  bool AreEqual(OpId a, OpId b, int& visits) const {
    if (a == b) return true;
    const Op &one = graph_.op(a), &other = graph_.op(b);
    if (--visits < 0 || one.type != other.type || one.args != other.args ||
        one.attributes != other.attributes || one.inputs.size() != other.inputs.size() ||
        one.inputs.empty() || one.input_versions != other.input_versions || !one.writes.empty() ||
        !other.writes.empty()) {
      return false;
    }
    const auto differ = [&](size_t i) { return one.inputs[i] != other.inputs[i]; };
    // Layers differ by a parameter before they differ by what they are given.
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      if (differ(i) && (!graph_.tensor(one.inputs[i]).producer.valid() ||
                        !graph_.tensor(other.inputs[i]).producer.valid())) {
        return false;
      }
    }
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      const Tensor &x = graph_.tensor(one.inputs[i]), &y = graph_.tensor(other.inputs[i]);
      if (differ(i) &&
          (x.output_index != y.output_index || !AreEqual(x.producer, y.producer, visits))) {
        return false;
      }
    }
    const std::optional<OpRule> rule = RuleOf(graph_, a);
    return rule && !rule->draws_random;
  }

  bool Continue(OpId id, int32_t region) {
    const std::string_view name = BaseOf(graph_.op(id).type);
    if (name == "index") return Index(id, region);
    if (name == "index_put") return IndexPut(id, region);
    if (name == "_grouped_mm") return GroupedMm(id, region);
    if (name == "histc") return Count(id, region);
    if (name == "sort") return SortPlaces(id, region);
    const Op& op = graph_.op(id);
    const bool all_rows = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return Of(input).region < 0 || IsRows(Of(input));
    });
    return all_rows ? RowByRow(id, region) : OnNumbers(id, region, name);
  }

  // Every tensor's dimension 0 that is given follows the batch.
  void AddWithRows(OpId id, int32_t region, const std::vector<bool>& without) {
    const Op& op = graph_.op(id);
    OpRule rule;
    const RuleAxisId batch = rule.axes.push_back({graph_.batch(), Parts::kSplit});
    const auto axes_of = [&](TensorId tensor, bool with) {
      TensorAxes axes;
      for (size_t d = 0; d < ShapeOf(tensor).size(); ++d) {
        const int64_t size = ShapeOf(tensor)[d];
        if (d > 0 || !with || size % graph_.batch() != 0) {
          axes.push_back({rule.axes.push_back({size, Parts::kWhole})});
          continue;
        }
        axes.push_back({batch, rule.axes.push_back({size / graph_.batch(), Parts::kWhole})});
      }
      return axes;
    };
    size_t tensor = 0;
    const auto with = [&] { return tensor >= without.size() || !without[tensor]; };
    for (const TensorId input : op.inputs) {
      rule.inputs.push_back(axes_of(input, with()));
      ++tensor;
    }
    for (const TensorId output : op.outputs) {
      rule.outputs.push_back(axes_of(output, with()));
      ++tensor;
    }
    Add(id, region, std::move(rule));
  }

  void Add(OpId id, int32_t region, OpRule rule) {
    ops_[static_cast<size_t>(region)].push_back(id);
    rules_[id] = std::move(rule);
  }

  // x[places] takes rows in the order of the sort, y[sorted rows] puts them back; x[keys] takes a row of each
  // key's own, as a bias of its expert.
  bool Index(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    const std::vector<int32_t> indices = InputsAt(op, 1);
    if (op.inputs.size() != 2 || op.outputs.size() != 1 || indices != std::vector<int32_t>{1}) {
      return false;
    }
    const Routed &x = Of(op.inputs[0]), &index = Of(op.inputs[1]);
    if (index.holds == RowContent::kKeys && x.region < 0) return RowByRow(id, region);
    const std::vector<int64_t>& shape = ShapeOf(op.inputs[0]);
    if (shape.empty()) return false;
    const bool takes = index.holds == RowContent::kPlaces && x.region < 0 &&
                       shape[0] == index.table && FollowsBatch(op.inputs[0], 0);
    const bool returns = index.holds == RowContent::kSortedRow && IsRows(x) && x.dim == 0;
    if (!takes && !returns) return false;
    AddWithRows(id, region, {});
    if (takes) routed_[op.outputs[0]] = {RowContent::kRows, region, 0, 0};
    return true;
  }

  // What it is filled with before does not count: it is made anew, of zeros or of nothing.
  bool IsFresh(TensorId id) const {
    const OpId maker = graph_.tensor(id).producer;
    return maker.valid() &&
           IsOneOf(BaseOf(graph_.op(maker).type),
                   {"new_zeros", "new_empty", "zeros", "empty", "zeros_like", "empty_like"});
  }

  // zeros[places] += rows adds them up where they came from, zeros[sorted rows] = x brings them into the order of
  // the sort; nothing[places] = 0, 1, 2, ... is the inverse of the order. zeros[keys] += rows sums the rows of each
  // key.
  bool IndexPut(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    const std::vector<int32_t> indices = InputsAt(op, 1), values = InputsAt(op, 2);
    if (op.inputs.size() != 3 || op.outputs.size() != 1 || indices != std::vector<int32_t>{1} ||
        values != std::vector<int32_t>{2} || !IsFresh(op.inputs[0]) ||
        ShapeOf(op.inputs[0]).empty() || ShapeOf(op.inputs[2]).empty()) {
      return false;
    }
    const Routed index = Of(op.inputs[1]), value = Of(op.inputs[2]);
    const int64_t rows = rows_[static_cast<size_t>(region)];
    const int64_t size = ShapeOf(op.inputs[0])[0], given = ShapeOf(op.inputs[2])[0];
    if (given != rows) return false;
    if (index.holds == RowContent::kKeys && IsRows(value)) return RowByRow(id, region);
    Routed& made = routed_[op.outputs[0]];
    if (index.holds == RowContent::kPlaces && size == index.table) {
      const bool numbers = value.region < 0 && size == rows && Number(op.inputs[2], region);
      if (!numbers && (!IsRows(value) || value.dim != 0)) return false;
      made = numbers ? Routed{RowContent::kSortedRow, region, 0, rows} : Routed();
    } else if (index.holds == RowContent::kSortedRow && size == rows && value.region < 0 &&
               FollowsBatch(op.inputs[2], 0)) {
      made = {RowContent::kRows, region, 0, 0};
    } else {
      return false;
    }
    AddWithRows(id, region, {});
    return true;
  }

  // 0, 1, 2, ... of all rows, which nothing else reads: in a part 0, 1, 2, ... of its own.
  bool Number(TensorId id, int32_t region) {
    const OpId maker = graph_.tensor(id).producer;
    if (!maker.valid() || graph_.op(maker).type != "aten.arange.default" ||
        readers_[id].size() != 1 || graph_.op(maker).args.size() != 1) {
      return false;
    }
    const int64_t* const end = graph_.op(maker).args[0].AsInt();
    if (end == nullptr || *end != rows_[static_cast<size_t>(region)]) return false;
    AddWithRows(maker, region, {});
    OpRule& rule = rules_[maker];
    rule.sizes = {{0, 1, rule.outputs[0][0]}};
    routed_[id] = {RowContent::kNumbers, region, 0, 0};
    return true;
  }

  // The inverse of an order is the order that sorts it.
  bool SortPlaces(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    if (op.inputs.size() != 1 || Of(op.inputs[0]).holds != RowContent::kPlaces || !Ascends(op) ||
        Of(op.inputs[0]).table != rows_[static_cast<size_t>(region)]) {
      return false;
    }
    AddWithRows(id, region, {});
    for (const TensorId output : op.outputs) {
      if (graph_.tensor(output).output_index == 1) {
        routed_[output] = {RowContent::kSortedRow, region, 0, Of(op.inputs[0]).table};
      } else if (!readers_[output].empty()) {
        return false;
      }
    }
    return true;
  }

  // How many rows each key has, of a part its own; into bins that are the same in every part.
  bool Count(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    const std::optional<OpRule> rule = RuleOf(graph_, id);
    if (op.inputs.size() != 1 || Of(op.inputs[0]).holds != RowContent::kKeys || !rule ||
        ShapeOf(op.inputs[0]).size() != 1 ||
        rule->axes[rule->inputs[0][0][0]].parts != Parts::kSum) {
      return false;
    }
    AddWithRows(id, region, {false, true});
    for (const TensorId output : op.outputs) routed_[output] = {RowContent::kCounts, region, 0, 0};
    // Counted again, they are as many.
    const auto [at, first] = keys_.try_emplace(region, KeysCounted(op));
    if (!first && at->second != KeysCounted(op)) at->second = 0;
    return true;
  }

  // histc(keys, n, 0, n - 1) has a bin for each of the keys 0 to n - 1; 0 where the bins are others.
  static int64_t KeysCounted(const Op& op) {
    if (op.args.size() != 4) return 0;
    const int64_t *const bins = op.args[1].AsInt(), *const first = op.args[2].AsInt(),
                         *const last = op.args[3].AsInt();
    const bool of_each = bins != nullptr && first != nullptr && last != nullptr && *bins >= 2 &&
                         *first == 0 && *last == *bins - 1;
    return of_each ? *bins : 0;
  }

  // Of places and of counts: what keeps their meaning.
  bool OnNumbers(OpId id, int32_t region, std::string_view name) {
    const Op& op = graph_.op(id);
    if (op.inputs.size() != 1 || op.outputs.size() != 1) return false;
    const Routed input = Of(op.inputs[0]);
    Routed& made = routed_[op.outputs[0]];
    const bool copies = IsOneOf(name, {"_to_copy", "clone", "detach", "alias"});
    if (input.holds == RowContent::kCounts || input.holds == RowContent::kEnds) {
      if (!copies && (name != "cumsum" || input.holds == RowContent::kEnds)) return false;
      AddWithRows(id, region, {true, true});
      // Parts of the batch have counts of their own: the axis is there, though no tensor has it.
      made = input;
      if (!copies) made.holds = RowContent::kEnds;
      return true;
    }
    if (input.holds == RowContent::kSortedRow || input.holds == RowContent::kPlaces) {
      if (IsOneOf(name, {"empty_like", "zeros_like"})) {
        AddWithRows(id, region, {});
        made = {RowContent::kUnset, region, 0, 0};
        return true;
      }
      made = input;
      if (name == "floor_divide" && input.holds == RowContent::kPlaces && op.args.size() == 2) {
        const int64_t* const by = op.args[1].AsInt();
        if (by == nullptr || *by < 1 || input.table % *by != 0 ||
            input.table / *by % graph_.batch() != 0) {
          return false;
        }
        made.table = input.table / *by;
      } else if (!copies) {
        return false;
      }
      AddWithRows(id, region, {});
      return true;
    }
    return false;
  }

  // The axis of its rule that rows are in all of its inputs that have them, and in no other input.
  std::optional<RuleAxisId> RowAxis(const Op& op, const OpRule& rule) const {
    std::optional<RuleAxisId> rows;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Routed& input = Of(op.inputs[i]);
      if (!IsRows(input)) continue;
      const std::vector<RuleAxisId>& factors = rule.inputs[i][input.dim];
      if (factors.size() != 1 || (rows && *rows != factors[0])) return std::nullopt;
      rows = factors[0];
    }
    for (size_t i = 0; rows && i < op.inputs.size(); ++i) {
      if (IsRows(Of(op.inputs[i]))) continue;
      if (Holds(rule.inputs[i], *rows)) return std::nullopt;
    }
    return rows;
  }

  // `rows` of the rule becomes [b r].
  void AddWithAxis(OpId id, int32_t region, OpRule rule, RuleAxisId rows, Parts parts) {
    const RuleAxisId batch = rule.axes.push_back({graph_.batch(), parts});
    rule.axes[rows] = {rule.axes[rows].size / graph_.batch(), Parts::kWhole};
    const auto refine = [&](std::vector<RuleAxisId>& dimension) {
      const auto at = std::find(dimension.begin(), dimension.end(), rows);
      if (at != dimension.end()) dimension.insert(at, batch);
    };
    for (std::vector<TensorAxes>* const tensors : {&rule.inputs, &rule.outputs}) {
      for (TensorAxes& tensor : *tensors) std::for_each(tensor.begin(), tensor.end(), refine);
    }
    for (SizeArgument& size : rule.sizes) refine(size.axes);
    for (auto& [axis, input] : rule.once) {
      if (axis == rows) axis = batch;
    }
    Add(id, region, std::move(rule));
  }

  // By the op's own rule, whose axis of rows can be split, or is summed over.
  bool RowByRow(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    std::optional<OpRule> rule = RuleOf(graph_, id);
    if (!rule || rule->draws_random || rule->form != PartForm::kSameOp) return false;
    const std::optional<RuleAxisId> rows = RowAxis(op, *rule);
    if (!rows || rule->axes[*rows].size != rows_[static_cast<size_t>(region)]) return false;
    const Parts parts = rule->axes[*rows].parts;
    if (parts != Parts::kSplit && parts != Parts::kSum) return false;
    const bool copies = op.inputs.size() == 1 && Of(op.inputs[0]).holds == RowContent::kKeys &&
                        IsOneOf(BaseOf(op.type), {"_to_copy", "clone", "detach", "alias"});
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorAxes& output = rule->outputs[i];
      const auto at = std::find(output.begin(), output.end(), std::vector<RuleAxisId>{*rows});
      if (at != output.end()) {
        routed_[op.outputs[i]] = {copies ? RowContent::kKeys : RowContent::kRows, region,
                                  static_cast<size_t>(at - output.begin()), 0};
      } else if (parts != Parts::kSum || Holds(output, *rows)) {
        return false;
      }
    }
    AddWithAxis(id, region, std::move(*rule), *rows, parts);
    return true;
  }

  // Rows with a matrix for each key, or sums over the rows of each key; with the counts of the same rows.
  bool GroupedMm(OpId id, int32_t region) {
    const Op& op = graph_.op(id);
    std::optional<OpRule> rule = RuleOf(graph_, id);
    const std::vector<int32_t> ends = InputsAt(op, 2);
    if (!rule || op.outputs.size() != 1 || ends != std::vector<int32_t>{2} ||
        op.inputs.size() != 3 || Of(op.inputs[2]).holds != RowContent::kEnds) {
      return false;
    }
    const std::optional<RuleAxisId> rows = RowAxis(op, *rule);
    if (!rows || rule->axes[*rows].size != rows_[static_cast<size_t>(region)]) return false;
    const TensorAxes& output = rule->outputs[0];
    const auto at = std::find(output.begin(), output.end(), std::vector<RuleAxisId>{*rows});
    const bool stays = at != output.end();
    if (stays) {
      routed_[op.outputs[0]] = {RowContent::kRows, region, static_cast<size_t>(at - output.begin()),
                                0};
    }
    AddWithAxis(id, region, std::move(*rule), *rows, stays ? Parts::kSplit : Parts::kSum);
    return true;
  }

  // Rows of a key lie behind one another, so that [from, to) of the keys have an interval of all rows. The region can
  // be computed by its keys, too, if every op of it can: sorted rows are "[b g r]" then.
  void SplitByKeys(size_t region) {
    const int64_t keys = keys_[static_cast<int32_t>(region)];
    if (keys == 0 || rows_[region] % (graph_.batch() * keys) != 0) return;
    std::map<OpId, OpRule> rules;
    for (const OpId op : ops_[region]) {
      std::optional<OpRule> rule = RuleByKeys(op, rules_.at(op), keys);
      if (!rule) return;
      rules.emplace(op, *std::move(rule));
    }
    for (auto& [op, rule] : rules) rules_[op] = std::move(rule);
  }

  // The same rule with the axis of keys; nothing where its parts are not those of the op.
  std::optional<OpRule> RuleByKeys(OpId id, OpRule rule, int64_t keys) const {
    const Op& op = graph_.op(id);
    const bool product = BaseOf(op.type) == "_grouped_mm";
    const RuleAxisId by = product ? AxisOfMatrices(rule) : rule.axes.push_back({keys});
    if (rule.axes[by].size != keys) return std::nullopt;
    if (TakesRowOfKey(op) && !SplitTable(op, by, rule)) return std::nullopt;
    std::set<RuleAxisId> refined;
    const auto refine = [&](const std::vector<TensorId>& ids, std::vector<TensorAxes>& tensors) {
      bool in_all = true;
      for (size_t i = 0; i < ids.size(); ++i) {
        const Routed& one = Of(ids[i]);
        if (one.holds == RowContent::kCounts || one.holds == RowContent::kEnds) {
          if (ShapeOf(ids[i]) != std::vector<int64_t>{keys}) return std::optional<bool>();
          tensors[i][0] = {by};
        } else if (HasSortedRows(one)) {
          std::vector<RuleAxisId>& dimension = tensors[i][one.dim];
          if (dimension.size() != 2) return std::optional<bool>();
          if (refined.insert(dimension[1]).second) rule.axes[dimension[1]].size /= keys;
          dimension.insert(dimension.begin() + 1, by);
        }
        in_all = in_all && Holds(tensors[i], by);
      }
      return std::optional<bool>(in_all);
    };
    const std::optional<bool> inputs = refine(op.inputs, rule.inputs);
    const std::optional<bool> outputs = inputs ? refine(op.outputs, rule.outputs) : std::nullopt;
    if (!outputs || !SetPartOp(op, by, rule)) return std::nullopt;
    // How many rows the keys have is not known before the step runs: no argument may say it. A dimension that is squeezed
    // by its number is another one.
    if (op.type == "aten.squeeze.dim" && rule.outputs[0].size() < rule.inputs[0].size()) {
      rule.part_type.clear();
      rule.part_takes_sizes = false;
    }
    if (rule.part_takes_sizes) return std::nullopt;
    for (const SizeArgument& size : rule.sizes) {
      for (const RuleAxisId axis : size.axes) {
        if (refined.contains(axis) && !CountsItsRows(op)) return std::nullopt;
      }
    }
    const auto has = [&](const TensorAxes& axes) { return Holds(axes, by); };
    if (std::none_of(rule.inputs.begin(), rule.inputs.end(), has) &&
        std::none_of(rule.outputs.begin(), rule.outputs.end(), has)) {
      return rule;
    }
    rule.axes[by].parts = *outputs ? Parts::kSplit : Parts::kSum;
    if (!*outputs && std::any_of(rule.outputs.begin(), rule.outputs.end(), has)) {
      return std::nullopt;
    }
    const auto once = rule.once;
    for (const auto& [axis, input] : once) {
      if (!*outputs && rule.axes[axis].parts == Parts::kSum) rule.once.emplace_back(by, input);
    }
    return rule;
  }

  // Its index is the keys: x[keys] has a row of x for each, zeros[keys] += rows sums those of each.
  bool TakesRowOfKey(const Op& op) const {
    return IsOneOf(BaseOf(op.type), {"index", "index_put"}) && op.inputs.size() > 1 &&
           Of(op.inputs[1]).holds == RowContent::kKeys;
  }

  // A part of the keys has their rows of the table.
  bool SplitTable(const Op& op, RuleAxisId by, OpRule& rule) const {
    const auto split = [&](TensorId table, TensorAxes& axes) {
      if (ShapeOf(table).empty() || ShapeOf(table)[0] != rule.axes[by].size) return false;
      axes[0] = {by};
      return true;
    };
    const bool puts = BaseOf(op.type) == "index_put";
    return split(op.inputs[0], rule.inputs[0]) && (!puts || split(op.outputs[0], rule.outputs[0]));
  }

  // Its part takes as many rows as it is given, whatever is stated.
  bool CountsItsRows(const Op& op) const {
    if (BaseOf(op.type) != "slice_backward" || op.inputs.size() != 1 || op.args.size() != 6) {
      return false;
    }
    const int64_t* const dim = op.args[2].AsInt();
    return dim != nullptr && *dim >= 0 && *dim != static_cast<int64_t>(Of(op.inputs[0]).dim);
  }

  static bool HasSortedRows(const Routed& one) {
    return IsRows(one) || one.holds == RowContent::kPlaces || one.holds == RowContent::kSortedRow ||
           one.holds == RowContent::kUnset;
  }

  // Of a product of groups: that of its matrices, which are in an input or are the output.
  static RuleAxisId AxisOfMatrices(const OpRule& rule) {
    for (const TensorAxes* const axes : {&rule.inputs[0], &rule.inputs[1]}) {
      if (axes->size() == 3) return axes->front()[0];
    }
    return rule.outputs[0][0][0];
  }

  // The operator of a part of the keys, where it is another one (runtime/ops/routing_ops.h). In such a part the inverse
  // of the order is kept as the order itself, which says the same of the part's rows alone.
  bool SetPartOp(const Op& op, RuleAxisId by, OpRule& rule) const {
    const std::string_view name = BaseOf(op.type);
    const bool in_place = !op.writes.empty();
    const auto take = [&](std::string type, int32_t args, bool of_output) {
      rule.axis_parts = {{by, "placewright." + type + ".default", args, of_output}};
      return true;
    };
    if (name == "sort") return Of(op.inputs[0]).region < 0 && take("sort_part", 1, true);
    if (name == "histc") return take("histc_part", 4, true);
    if (name == "index") {
      const RowContent index = Of(op.inputs[1]).holds;
      if (index == RowContent::kSortedRow) return take("unsort_part", 3, false);
      if (index == RowContent::kKeys) return take("rows_of_keys_part", 2, false);
      return index == RowContent::kPlaces;
    }
    if (CountsItsRows(op)) return take("slice_backward_part", 6, true);
    if (name != "index_put") return true;
    if (TakesRowOfKey(op)) {
      const bool* const adds = op.args.size() == 4 ? op.args[3].AsBool() : nullptr;
      return !in_place && adds != nullptr && *adds && take("sum_by_keys_part", 4, true);
    }
    const RowContent base = Of(op.inputs[0]).holds, index = Of(op.inputs[1]).holds,
                     value = Of(op.inputs[2]).holds;
    if (value == RowContent::kNumbers) {
      return in_place && base == RowContent::kUnset && take("order_part_", 3, true);
    }
    if (in_place || base != RowContent::kNothing) return false;
    if (index == RowContent::kSortedRow) return take("sort_rows_part", 3, true);
    const std::string_view made = BaseOf(graph_.op(graph_.tensor(op.inputs[0]).producer).type);
    return index == RowContent::kPlaces && made.find("zeros") != std::string_view::npos;
  }

  const Graph& graph_;
  IdVector<TensorId, Routed> routed_;
  std::map<TensorId, std::set<OpId>> readers_;
  std::vector<OpId> sorts_;  // the first of each region
  std::vector<std::vector<OpId>> ops_;
  std::vector<bool> failed_;
  std::vector<int64_t> rows_;        // of each region
  std::map<int32_t, int64_t> keys_;  // of those that are counted: 0 to keys - 1; 0: not known
  std::map<OpId, OpRule> rules_;
};

}  // namespace

RoutedRows FindRoutedRows(const Graph& graph) {
  const BatchScaling* const scaling = graph.batch_scaling();
  const bool proven = scaling != nullptr && scaling->reason.empty() && graph.batch() >= 2;
  bool sorts = false, has_bags = false;
  for (const OpId op : graph.ops()) {
    sorts = sorts || BaseOf(graph.op(op).type) == "sort";
    has_bags = has_bags || graph.op(op).type.starts_with("aten._embedding_bag");
  }
  RoutedRows found{{}, {}, IdVector<TensorId, bool>(graph.tensor_count(), false)};
  if (!proven || graph.format() != "aten") return found;
  if (sorts) found = RoutingFinder(graph).Find();
  if (has_bags) AddRegularBags(graph, found);
  return found;
}

}  // namespace placewright
