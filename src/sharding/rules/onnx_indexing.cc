// ONNX: ops that look up or put elements by indices.
#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// Gather(table, indices): the indices' dimensions stand where the table's was.
void OnnxGather(RuleMaker& maker) {
  if (!HasOneResult(maker, 2) || maker.in(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", 0), maker.in(0).size());
  if (maker.failed()) return;
  const TensorAxes table = maker.AxesOf(maker.in(0)), indices = maker.AxesOf(maker.in(1));
  maker.SetParts(table[dim][0], Parts::kWhole);
  maker.input(0) = table;
  maker.input(1) = indices;
  maker.output(0) = Without(table, dim);
  maker.output(0).insert(maker.output(0).begin() + static_cast<std::ptrdiff_t>(dim),
                         indices.begin(), indices.end());
  maker.rule().linear = {{0}};
}

// GatherElements(table, indices)
void OnnxGatherElements(RuleMaker& maker) {
  if (!HasOneResult(maker, 2) || maker.in(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", 0), maker.in(0).size());
  const Lookup axes = LookUp(maker, maker.in(0), maker.in(1), dim, Parts::kSplit);
  maker.input(0) = axes.table;
  maker.input(1) = maker.output(0) = axes.index;
}

// ScatterElements(x, indices, updates)
void OnnxScatterElements(RuleMaker& maker) {
  if (!HasOneResult(maker, 3) || maker.in(0).empty()) return maker.Fail();
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", 0), maker.in(0).size());
  const Lookup axes = LookUp(maker, maker.in(0), maker.in(1), dim, Parts::kWhole);
  maker.input(0) = maker.output(0) = axes.table;
  maker.input(1) = maker.input(2) = axes.index;
}

// GatherND(table, indices): the last dimension of the indices says where in the table; what stands
// before it, behind the common dimensions of both, stands there in the result.
void OnnxGatherNd(RuleMaker& maker) {
  if (!HasOneResult(maker, 2) || maker.in(1).empty()) return maker.Fail();
  const int64_t common = maker.Integer(kByName, "batch_dims", 0), depth = maker.in(1).back();
  const auto rank = static_cast<int64_t>(maker.in(0).size());
  const auto index_rank = static_cast<int64_t>(maker.in(1).size());
  if (common < 0 || common >= index_rank || depth < 0 || depth > rank - common) return maker.Fail();
  maker.input(0) = maker.AxesOf(maker.in(0));
  maker.input(1) = maker.AxesOf(maker.in(1));
  maker.SetParts(maker.input(1).back()[0], Parts::kWhole);
  for (int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    if (d < common) maker.input(1)[at] = maker.input(0)[at];
    if (d >= common && d < common + depth) {
      maker.SetParts(maker.input(0)[at][0], Parts::kWhole);
    }
  }
  maker.output(0) = TensorAxes(maker.input(1).begin(), maker.input(1).end() - 1);
  maker.output(0).insert(maker.output(0).end(), maker.input(0).begin() + common + depth,
                         maker.input(0).end());
}

// OneHot(indices, depth, values): a dimension of classes more.
void OnnxOneHot(RuleMaker& maker) {
  if (!HasOneResult(maker, 1) || maker.out(0).size() != maker.in(0).size() + 1) {
    return maker.Fail();
  }
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", -1), maker.out(0).size());
  if (maker.failed()) return;
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  maker.output(0).insert(maker.output(0).begin() + static_cast<std::ptrdiff_t>(dim),
                         {maker.Axis(maker.out(0)[dim], Parts::kWhole)});
  WholeFrom(maker, 1);
}

}  // namespace

std::vector<RuleRow> OnnxIndexingRules() {
  return {{"Gather", OnnxGather},
          {"GatherElements", OnnxGatherElements},
          {"GatherND", OnnxGatherNd},
          {"ScatterElements", OnnxScatterElements},
          {"OneHot", OnnxOneHot}};
}

}  // namespace placewright
