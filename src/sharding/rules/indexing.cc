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

// _embedding_bag(weight [v h], indices, offsets [bags], ...) -> (y [bags h], ...), of the largest also places; its
// backward (grad [bags h], indices, ...) -> grad weight [v h]. Where a bag ends follows from values.
// Bags that all have the same length are split by the batch in sharding/bags.h.
void EmbeddingBag(RuleMaker& maker) {
  const bool backward = maker.op().type.find("backward") != std::string_view::npos;
  const std::vector<int64_t>& table = backward ? maker.out(0) : maker.in(0);
  if (maker.input_count() < 2 || maker.output_count() < 1 || table.size() != 2) return maker.Fail();
  const RuleAxisId width = maker.Axis(table[1]);
  const auto axes_of = [&](const std::vector<int64_t>& shape, bool wide) {
    TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
    if (wide && shape.size() == 2 && shape[1] == table[1]) axes[1] = {width};
    return axes;
  };
  // Rows: of the table and of bags, of places of the largest elements.
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = axes_of(maker.in(i), i == 0 || maker.in(i).size() == 2);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes_of(maker.out(i), true);
  constexpr int64_t kLargest = 2;
  if (backward || maker.Integer(4, "mode", 0) != kLargest) maker.rule().linear = {{0}};
}

// _embedding_bag_per_sample_weights_backward(grad [bags h], weight [v h], indices, ...) -> [indices]
void EmbeddingBagWeights(RuleMaker& maker) {
  if (maker.input_count() < 4 || maker.output_count() != 1) return maker.Fail();
  WholeFrom(maker, 0);
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
  maker.rule().linear = {{0}};
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

// index_fill(x, dim, index, value), index_copy(x, dim, index, source), index_reduce(x, dim, index, source, ...):
// what is written where follows from all of the index.
void IndexWrite(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1 || maker.in(0).empty() ||
      maker.in(1).size() != 1) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(1, "dim", 0), maker.in(0).size());
  if (maker.failed()) return;
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  maker.SetParts(axes[dim][0], Parts::kWhole);
  maker.input(0) = maker.output(0) = axes;
  const std::vector<RuleAxisId> index = {maker.Axis(maker.in(1)[0], Parts::kWhole)};
  maker.input(1) = {index};
  if (maker.input_count() < 3 || maker.in(2).empty()) return;  // a number
  if (maker.in(2).size() != axes.size()) return maker.Fail();
  maker.input(2) = axes;
  maker.input(2)[dim] = index;
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
// sort.stable(x, *, stable, dim, descending)
void SortStable(RuleMaker& maker) { Ordered(maker, kByName); }

// take(x, index): of the elements in a row.
void Take(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.output_count() != 1 || maker.in(1) != maker.out(0)) {
    return maker.Fail();
  }
  maker.input(0) = maker.AxesOf(maker.in(0), Parts::kWhole);
  maker.input(1) = maker.output(0) = maker.AxesOf(maker.in(1));
}

// searchsorted(sorted "... n", x "... m", *, sorter "... n"): rows in front are split, and what is looked up.
void SearchSorted(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() != 1 || maker.in(0).empty() ||
      maker.InputAt(0) != 0 || maker.in(1) != maker.out(0)) {
    return maker.Fail();
  }
  const std::vector<int64_t>& sorted = maker.in(0);
  TensorAxes axes = maker.AxesOf(maker.in(1));
  maker.input(1) = maker.output(0) = axes;
  if (sorted.size() == 1) {
    axes = maker.AxesOf(sorted, Parts::kWhole);
  } else {
    if (sorted.size() != axes.size()) return maker.Fail();
    axes.back() = {maker.Axis(sorted.back(), Parts::kWhole)};
  }
  maker.input(0) = axes;
  for (size_t i = 2; i < maker.input_count(); ++i) maker.input(i) = axes;
}

// multinomial(p "... n", samples): drawn row by row.
void Multinomial(RuleMaker& maker) {
  if (!IsUnary(maker) || maker.in(0).empty() || maker.in(0).size() != maker.out(0).size()) {
    return maker.Fail();
  }
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  maker.SetParts(maker.input(0).back()[0], Parts::kWhole);
  maker.output(0).back() = {maker.Axis(maker.out(0).back(), Parts::kWhole)};
  maker.rule().draws_random = true;
}

}  // namespace

std::vector<RuleRow> IndexingRules() {
  return {{"argsort sort", SortStable, "stable"},
          {"embedding", Embedding},
          {"embedding_dense_backward", EmbeddingBackward},
          {"_embedding_bag _embedding_bag_backward _embedding_bag_dense_backward "
           "_embedding_bag_forward_only",
           EmbeddingBag},
          {"_embedding_bag_per_sample_weights_backward", EmbeddingBagWeights},
          {"gather", Gather},
          {"scatter scatter_add scatter_reduce", Scatter},
          {"index_select", IndexSelect},
          {"index_add", IndexAdd},
          {"index _unsafe_index", IndexTensor},
          {"index_put _index_put_impl _unsafe_index_put", IndexPut},
          {"index_fill index_copy index_reduce", IndexWrite},
          {"take", Take},
          {"searchsorted", SearchSorted},
          {"multinomial", Multinomial},
          {"topk", TopK},
          {"sort", Sort}};
}

}  // namespace placewright
