// Ops in which an element depends on others near it: pooling, interpolation. Samples and channels are
// split; the dimensions behind them are whole, since their parts overlap.
#include "sharding/rules/rule_maker.h"

namespace placewright {
namespace {

struct PlaneAxes {
  RuleAxisId batch, channel;
};

// A tensor of the same samples and channels.
TensorAxes OnPlanes(RuleMaker& maker, const PlaneAxes& planes, const std::vector<int64_t>& shape) {
  TensorAxes axes = {{planes.batch}, {planes.channel}};
  for (size_t i = 2; i < shape.size(); ++i) {
    axes.push_back({maker.Axis(shape[i], Parts::kWhole)});
  }
  return axes;
}

void PerPlane(RuleMaker& maker) {
  // Without a dimension of samples there is none of channels where we would look for it.
  const std::string_view type = maker.op().type;
  const size_t rank = type.find("1d") != type.npos ? 3 : type.find("2d") != type.npos ? 4 : 5;
  if (maker.input_count() < 1 || maker.output_count() < 1 || maker.in(0).size() != rank) {
    return maker.Fail();
  }
  const PlaneAxes planes = {maker.Axis(maker.in(0)[0]), maker.Axis(maker.in(0)[1])};
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = OnPlanes(maker, planes, maker.in(i));
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = OnPlanes(maker, planes, maker.out(i));
  }
  // Linear in what is averaged, or in the gradient, which comes first.
  if (maker.op().type.find("max_pool") == std::string_view::npos ||
      maker.op().type.find("backward") != std::string_view::npos) {
    maker.rule().linear = {{0}};
  }
}

// upsample...(x, output_size, ...), its backward (grad, output_size, input_size, ...): the sizes of
// samples and channels are among the latter.
void UpsampleBackward(RuleMaker& maker) {
  PerPlane(maker);
  if (!maker.failed()) maker.Sizes(2, "input_size", maker.output(0));
}

}  // namespace

std::vector<RuleRow> NeighbourhoodRules() {
  std::vector<RuleRow> rows;
  for (const std::string_view name :
       {"_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "adaptive_max_pool2d",
        "adaptive_max_pool2d_backward", "avg_pool2d", "avg_pool2d_backward",
        "max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool3d",
        "avg_pool3d_backward", "max_pool3d_with_indices", "max_pool3d_with_indices_backward",
        "upsample_nearest2d", "upsample_bilinear2d", "upsample_nearest1d"}) {
    rows.push_back({name, PerPlane});
  }
  for (const std::string_view name : {"upsample_nearest2d_backward", "upsample_bilinear2d_backward",
                                      "upsample_nearest1d_backward"}) {
    rows.push_back({name, UpsampleBackward});
  }
  return rows;
}

}  // namespace placewright
