#include "learn/grouper/group_embedding.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "learn/features/op_features.h"
#include "learn/features/vocabulary.h"

namespace placewright {

UnitTotals TotalsOfUnits(const Problem& problem, const PlacementUnits& units,
                         const at::TensorOptions& options) {
  const IdVector<OpId, OpFeatures> of_ops = FeaturesOfOps(*problem.graph);
  const size_t types = vocabulary::Size(), width = types + kShapeDimensions;
  const at::Tensor totals =
      at::zeros({units.size(), static_cast<int64_t>(width)}, at::TensorOptions().dtype(at::kFloat));
  auto* row = totals.data_ptr<float>();
  for (const std::vector<OpId>& ops : units.ops) {
    for (const OpId op : ops) {
      ++row[of_ops[op].type];
      for (size_t i = 0; i < kShapeDimensions; ++i) row[types + i] += of_ops[op].output[i];
    }
    row += width;
  }
  const auto edges = static_cast<int64_t>(units.edges.size());
  const at::Tensor ends = at::empty({2, edges}, at::kLong);
  auto* const end = ends.data_ptr<int64_t>();
  for (int64_t i = 0; i < edges; ++i) {
    std::tie(end[i], end[edges + i]) = units.edges[static_cast<size_t>(i)];
  }
  const at::Tensor there = ends.to(options.device());
  return {totals.to(options), there[0], there[1]};
}

EmbeddedGroups EmbedGroups(const UnitTotals& units, const at::Tensor& group_of, int64_t groups) {
  const at::NoGradGuard no_gradients;
  const int64_t samples = group_of.size(0), n = units.units(), width = units.totals.size(1);
  const at::TensorOptions numbers = units.totals.options();
  // Rows of all samples side by side: group g of sample k is row k G + g.
  const at::Tensor first = at::arange(samples, group_of.options()).mul_(groups).unsqueeze(1);
  const at::Tensor row_of = (group_of + first).reshape(-1);
  const at::Tensor size = at::zeros({samples * groups}, numbers)
                              .index_add_(0, row_of, at::ones({samples * n}, numbers));
  const at::Tensor place = at::arange(n, numbers).expand({samples, n}).reshape(-1);
  const at::Tensor places = at::zeros({samples * groups}, numbers).index_add_(0, row_of, place);
  const at::Tensor mean = at::where(size > 0, places / size.clamp_min(1),
                                    at::full({}, static_cast<double>(n), numbers));
  const at::Tensor order =
      std::get<1>(mean.view({samples, groups}).sort(/*stable=*/true, 1, false));
  const at::Tensor rows = (order + first).reshape(-1);  // of each place in the order

  at::Tensor totals = at::zeros({samples * groups, width}, numbers);
  totals.index_add_(0, row_of,
                    units.totals.unsqueeze(0).expand({samples, n, width}).reshape({-1, width}));
  at::Tensor position = at::empty({samples * groups}, order.options());
  position.index_copy_(0, rows, at::arange(groups, order.options()).repeat({samples}));
  const at::Tensor place_of = position.index_select(0, row_of).reshape({samples, n});
  const at::Tensor from = place_of.index_select(1, units.from),
                   to = place_of.index_select(1, units.to);
  at::Tensor adjacency = at::zeros({samples, groups * groups}, numbers);
  adjacency.scatter_(1, from * groups + to, 1);
  adjacency.scatter_(1, to * groups + from, 1);
  adjacency = adjacency.view({samples, groups, groups});
  adjacency.diagonal(0, 1, 2).zero_();
  return {order, size.index_select(0, rows).view({samples, groups}) > 0,
          totals.index_select(0, rows).view({samples, groups, width}).log1p_(), adjacency};
}

}  // namespace placewright
