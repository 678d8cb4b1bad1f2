// Ops that look up or put elements by indices, losses of classes among them.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// embedding(weight, indices, ...): "v h, i -> i h", the sum over v of rows where they are asked for: a part
// of the vocabulary gives zeros for the indices of others (Shoeybi et al. 2019, Megatron-LM, section 3).
void Embedding(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.output_count() != 1 || maker.in(0).size() != 2) {
    return maker.Fail();
  }
  const bool by_position = maker.InputAt(0) == 0 && maker.InputAt(1) == 1;
  const RuleAxisId rows = maker.Axis(maker.in(0)[0], by_position ? Parts::kSum : Parts::kWhole);
  if (by_position) {
    maker.rule().axis_parts = {{rows, "placewright.embedding_part.default", 2, false}};
  }
  const RuleAxisId width = maker.Axis(maker.in(0)[1]);
  maker.input(0) = {{rows}, {width}};
  maker.input(1) = maker.AxesOf(maker.in(1));
  maker.output(0) = maker.input(1);
  maker.output(0).push_back({width});
  maker.rule().linear = {{0}};
}

// embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq). A part of the
// vocabulary is the sum of what was asked of its rows; by frequency it is left whole.
void EmbeddingBackward(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.output_count() != 1 || maker.out(0).size() != 2) {
    return maker.Fail();
  }
  const bool by_frequency = maker.Flag(4, "scale_grad_by_freq", false);
  const RuleAxisId width = maker.Axis(maker.out(0)[1]);
  maker.input(1) = maker.AxesOf(maker.in(1), by_frequency ? Parts::kWhole : Parts::kSum);
  maker.input(0) = maker.input(1);
  maker.input(0).push_back({width});
  const bool by_position = maker.InputAt(0) == 0 && maker.InputAt(1) == 1 &&
                           maker.op().args.size() >= 4 && maker.op().args[3].AsInt() != nullptr;
  const bool can_split = by_position && !by_frequency;
  const RuleAxisId rows = maker.Axis(maker.out(0)[0], can_split ? Parts::kSplit : Parts::kWhole);
  maker.output(0) = {{rows}, {width}};
  maker.Size(2, "num_weights", 0, {rows});
  maker.rule().linear = {{0}};
  if (!can_split) return;
  maker.rule().axis_parts = {{rows, "placewright.embedding_dense_backward_part.default", 4, true}};
}

// gather(x, dim, index)
void Gather(RuleMaker& maker) {
  const int32_t index = maker.InputAt(2);
  if (index < 0 || maker.output_count() != 1 || maker.in(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  const Lookup axes =
      LookUp(maker, maker.in(0), maker.in(static_cast<size_t>(index)), dim, Parts::kSplit);
  maker.input(0) = axes.table;
  maker.input(static_cast<size_t>(index)) = axes.index;
  maker.output(0) = axes.index;
}

// scatter(x, dim, index, src or value), scatter_add: parts along the dimension would be written one
// after the other.
void Scatter(RuleMaker& maker) {
  const int32_t index = maker.InputAt(2), source = maker.InputAt(3);
  if (index < 0 || maker.output_count() != 1 || maker.in(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  const Lookup axes =
      LookUp(maker, maker.in(0), maker.in(static_cast<size_t>(index)), dim, Parts::kWhole);
  maker.input(0) = axes.table;
  maker.input(static_cast<size_t>(index)) = axes.index;
  if (source >= 0) {
    if (maker.in(static_cast<size_t>(source)) != maker.in(static_cast<size_t>(index))) {
      return maker.Fail();
    }
    maker.input(static_cast<size_t>(source)) = axes.index;
  }
  maker.output(0) = axes.table;
}

// index_select(x, dim, index)
void IndexSelect(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.output_count() != 1 || maker.in(0).empty() ||
      maker.in(1).size() != 1) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.input(0) = axes;
  maker.input(1) = {{maker.Axis(maker.in(1)[0])}};
  maker.output(0) = axes;
  maker.output(0)[dim] = maker.input(1)[0];
}

// index_add(x, dim, index, source)
void IndexAdd(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.output_count() != 1 || maker.in(0).empty() ||
      maker.in(1).size() != 1) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  const RuleAxisId index = maker.Axis(maker.in(1)[0], Parts::kSum);
  maker.input(0) = maker.output(0) = axes;
  maker.input(1) = {{index}};
  maker.input(2) = axes;
  if (maker.in(2).size() != axes.size()) return maker.Fail();
  maker.input(2)[dim] = {index};
  maker.rule().once.emplace_back(index, 0);
}

// The index tensors of x[indices]: for each dimension of x its input, or -1.
std::vector<int32_t> IndicesOf(const RuleMaker& maker) {
  std::vector<int32_t> indices;
  const Value* const value = maker.Argument(1, "indices");
  const Value::List* const list = value == nullptr ? nullptr : value->AsList();
  if (list == nullptr) return indices;
  for (const Value& item : *list) {
    const InputRef* const input = item.AsInput();
    indices.push_back(input == nullptr ? -1 : input->index);
  }
  return indices;
}

// x[indices], where index tensors stand in a run: their common shape takes the run's place.
struct Indexed {
  TensorAxes table, result;
};

std::optional<Indexed> Index(RuleMaker& maker, const std::vector<int64_t>& table, Parts found) {
  const std::vector<int32_t> indices = IndicesOf(maker);
  size_t first = indices.size(), last = 0, count = 0, rank = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0) continue;
    if (static_cast<size_t>(indices[i]) >= maker.input_count()) return std::nullopt;
    // A mask picks as many as it has, over as many dimensions as it has.
    const DType dtype = maker.dtype(static_cast<size_t>(indices[i]));
    if (dtype != DType::kI64 && dtype != DType::kI32) return std::nullopt;
    first = std::min(first, i);
    last = i;
    ++count;
    rank = std::max(rank, maker.in(static_cast<size_t>(indices[i])).size());
  }
  if (count == 0 || last - first + 1 != count || indices.size() > table.size()) return std::nullopt;
  std::vector<int64_t> common(rank, 1);
  for (size_t i = first; i <= last; ++i) {
    const std::vector<int64_t>& shape = maker.in(static_cast<size_t>(indices[i]));
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t& size = common[rank - shape.size() + d];
      size = std::max(size, shape[d]);
    }
  }
  const TensorAxes looked_up = maker.AxesOf(common, found);
  Indexed axes;
  for (size_t i = 0; i < table.size(); ++i) {
    const bool by_index = i >= first && i <= last;
    axes.table.push_back({maker.Axis(table[i], by_index ? Parts::kWhole : Parts::kSplit)});
    if (i == first) axes.result.insert(axes.result.end(), looked_up.begin(), looked_up.end());
    if (!by_index) axes.result.push_back(axes.table.back());
  }
  for (size_t i = first; i <= last; ++i) {
    const size_t input = static_cast<size_t>(indices[i]);
    maker.input(input) = maker.Broadcast(maker.in(input), looked_up, common);
  }
  return axes;
}

// index.Tensor(x, indices)
void IndexTensor(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1) return maker.Fail();
  const auto axes = Index(maker, maker.in(0), Parts::kSplit);
  if (!axes) return maker.Fail();
  maker.input(0) = axes->table;
  maker.output(0) = axes->result;
}

// index_put(x, indices, values, accumulate): what accumulates is a sum over the indices, and x is in it
// once.
void IndexPut(RuleMaker& maker) {
  const int32_t values = maker.InputAt(2);
  if (values < 0 || maker.output_count() != 1) return maker.Fail();
  const bool accumulate = maker.Flag(3, "accumulate", false);
  const auto axes = Index(maker, maker.in(0), accumulate ? Parts::kSum : Parts::kWhole);
  if (!axes) return maker.Fail();
  std::vector<int64_t> full;
  for (const std::vector<RuleAxisId>& dim : axes->result) {
    full.push_back(maker.rule().axes[dim[0]].size);
  }
  maker.input(0) = maker.output(0) = axes->table;
  const size_t input = static_cast<size_t>(values);
  maker.input(input) = maker.Broadcast(maker.in(input), axes->result, full);
  for (const RuleAxisId axis : IdRange<RuleAxisId>(maker.rule().axes.size())) {
    if (maker.parts(axis) == Parts::kSum) maker.rule().once.emplace_back(axis, 0);
  }
}

// topk(x, k, dim, ...), sort(x, dim, ...) -> (values, indices): the dimension is whole.
void Ordered(RuleMaker& maker, size_t dim_at) {
  if (maker.input_count() != 1 || maker.output_count() < 1) return maker.Fail();
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.input(0) = axes;
  size_t dim = 0;
  if (!axes.empty()) {
    dim = maker.Dimension(maker.Integer(dim_at, "dim", -1), axes.size());
    if (maker.failed()) return;
    maker.SetParts(axes[dim][0], Parts::kWhole);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = axes;
    if (maker.out(i).size() != axes.size()) return maker.Fail();
    if (!axes.empty()) maker.output(i)[dim] = {maker.Axis(maker.out(i)[dim], Parts::kWhole)};
  }
}
void TopK(RuleMaker& maker) { Ordered(maker, 2); }
void Sort(RuleMaker& maker) { Ordered(maker, 1); }

// one_hot's and bincount's kin have no rule: their sizes depend on data.

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// "b c ..." with a class for each "b ...".
struct ClassAxes {
  TensorAxes scores, targets;
  RuleAxisId classes;
};

ClassAxes Classes(RuleMaker& maker, const std::vector<int64_t>& scores, Parts samples) {
  ClassAxes axes;
  if (scores.empty()) {
    maker.Fail();
    return axes;
  }
  const size_t class_at = scores.size() == 1 ? 0 : 1;
  for (size_t i = 0; i < scores.size(); ++i) {
    const RuleAxisId axis = maker.Axis(scores[i], i == class_at ? Parts::kWhole : samples);
    axes.scores.push_back({axis});
    if (i != class_at) axes.targets.push_back({axis});
    if (i == class_at) axes.classes = axis;
  }
  return axes;
}

// nll_loss_forward(x, target, weight?, reduction, ignore_index) -> (loss, total_weight)
void NllLoss(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() < 1) return maker.Fail();
  // The compiler gives the reduction another value.
  if (maker.op().args.size() < 4 || maker.op().args[3].AsInt() == nullptr) return maker.Fail();
  const int64_t reduction = maker.Integer(3, "reduction", kMean);
  const ClassAxes axes =
      Classes(maker, maker.in(0), reduction == kNone ? Parts::kSplit : Parts::kSum);
  if (maker.failed()) return;
  if (reduction == kMean) maker.rule().form = PartForm::kWeightedMean;
  maker.input(0) = axes.scores;
  maker.input(1) = axes.targets;
  if (maker.input_count() > 2) maker.input(2) = {{axes.classes}};
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 && reduction == kNone ? axes.targets : TensorAxes();
  }
}

// nll_loss_backward(grad, x, target, weight?, reduction, ignore_index, total_weight) -> grad x. The
// total weight is that of the whole.
void NllLossBackward(RuleMaker& maker) {
  if (maker.input_count() < 4 || maker.output_count() != 1) return maker.Fail();
  const int64_t reduction = maker.Integer(4, "reduction", kMean);
  const ClassAxes axes = Classes(maker, maker.in(1), Parts::kSplit);
  if (maker.failed()) return;
  maker.input(0) = reduction == kNone ? axes.targets : TensorAxes();
  maker.input(1) = maker.output(0) = axes.scores;
  maker.input(2) = axes.targets;
  if (const int32_t weight = maker.InputAt(3); weight >= 0) {
    maker.input(static_cast<size_t>(weight)) = {{axes.classes}};
  }
}

}  // namespace

std::vector<RuleRow> IndexingRules() {
  return {{"embedding", Embedding},
          {"embedding_dense_backward", EmbeddingBackward},
          {"gather", Gather},
          {"scatter", Scatter},
          {"scatter_add", Scatter},
          {"index_select", IndexSelect},
          {"index_add", IndexAdd},
          {"index", IndexTensor},
          {"index_put", IndexPut},
          {"_index_put_impl", IndexPut},
          {"topk", TopK},
          {"sort", Sort},
          {"nll_loss_forward", NllLoss},
          {"nll_loss2d_forward", NllLoss},
          {"nll_loss_backward", NllLossBackward},
          {"nll_loss2d_backward", NllLossBackward}};
}

}  // namespace placewright
