// Ops in which an element depends on others near it: pooling, interpolation, padding by what is there. Samples and channels are
// split; the dimensions behind them are whole, since their parts overlap.
#include "sharding/rules/rule_maker.h"

namespace placewright {
namespace {

struct PlaneAxes {
  std::vector<RuleAxisId> batch, channel;
  size_t first = 0;  // how many dimensions they are, in front of the places
};

// A tensor of the same samples and channels.
TensorAxes OnPlanes(RuleMaker& maker, const PlaneAxes& planes, const std::vector<int64_t>& shape) {
  TensorAxes axes;
  if (planes.first == 2) axes.push_back(planes.batch);
  axes.push_back(planes.channel);
  for (size_t i = planes.first; i < shape.size(); ++i) {
    axes.push_back({maker.Axis(shape[i], Parts::kWhole)});
  }
  return axes;
}

// Of how many dimensions of places the operator's name says that it is.
size_t PlacesOf(const RuleMaker& maker) {
  const std::string_view type = maker.op().type;
  return type.find("1d") != type.npos ? 1 : type.find("2d") != type.npos ? 2 : 3;
}

// All tensors are planes of the same samples and channels, or only of channels.
void PerPlane(RuleMaker& maker) {
  const size_t places = PlacesOf(maker);
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  if (shape.size() != places + 1 && shape.size() != places + 2) return maker.Fail();
  PlaneAxes planes;
  planes.first = shape.size() - places;
  if (planes.first == 2) planes.batch = {maker.Axis(shape[0])};
  planes.channel = {maker.Axis(shape[planes.first - 1])};
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = OnPlanes(maker, planes, maker.in(i));
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = OnPlanes(maker, planes, maker.out(i));
  }
  // Linear in what is averaged, or in the gradient, which comes first.
  if (maker.op().type.find("max_") == std::string_view::npos ||
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

// grid_sampler_2d(x [n c ...], grid [n ... d], ...), its backward (grad, x, grid, ...) -> (grad x, grad grid): a
// grid is of a sample, whatever the channel; its gradient is a sum over channels.
void GridSampler(RuleMaker& maker) {
  const bool backward = maker.op().type.find("backward") != std::string_view::npos;
  const size_t first = backward ? 1 : 0;
  if (maker.input_count() != first + 2 || maker.output_count() < 1 || maker.in(first).size() < 4) {
    return maker.Fail();
  }
  const RuleAxisId samples = maker.Axis(maker.in(first)[0]);
  const RuleAxisId channels =
      maker.Axis(maker.in(first)[1], backward ? Parts::kSum : Parts::kSplit);
  const auto planes = [&](const std::vector<int64_t>& shape, bool grid) {
    TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
    if (axes.size() < 4) maker.Fail();
    if (maker.failed()) return axes;
    axes[0] = {samples};
    if (!grid) axes[1] = {channels};
    return axes;
  };
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = planes(maker.in(i), i == first + 1);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = planes(maker.out(i), maker.ResultOf(i) == 1);
  }
}

// im2col(x [n c h w]) -> [n (c k) l]; col2im is its inverse. Without samples dimension 0 is that of channels.
void Columns(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1) return maker.Fail();
  const bool to_columns = maker.op().type.find("im2col") != std::string_view::npos;
  const std::vector<int64_t>& image = to_columns ? maker.in(0) : maker.out(0);
  const std::vector<int64_t>& columns = to_columns ? maker.out(0) : maker.in(0);
  if ((image.size() != 3 && image.size() != 4) || columns.size() + 1 != image.size()) {
    return maker.Fail();
  }
  const size_t channel = image.size() - 3;
  if (image[channel] < 1 || columns[channel] % image[channel] != 0) return maker.Fail();
  TensorAxes of_image = maker.AxesOf(image, Parts::kWhole);
  TensorAxes of_columns = maker.AxesOf(columns, Parts::kWhole);
  for (size_t i = 0; i <= channel; ++i) maker.SetParts(of_image[i][0], Parts::kSplit);
  if (channel == 1) of_columns[0] = of_image[0];
  of_columns[channel] = {of_image[channel][0],
                         maker.Axis(columns[channel] / image[channel], Parts::kWhole)};
  maker.input(0) = to_columns ? of_image : of_columns;
  maker.output(0) = to_columns ? of_columns : of_image;
  maker.rule().linear = {{0}};
}

// pixel_shuffle(x "... [c r r] h w") -> "... c [h r] [w r]"; pixel_unshuffle is its inverse.
void Shuffle(RuleMaker& maker) {
  const bool apart = maker.op().type.find("unshuffle") != std::string_view::npos;
  const int64_t r = maker.Integer(1, apart ? "downscale_factor" : "upscale_factor", 0);
  if (maker.input_count() != 1 || maker.output_count() != 1) return maker.Fail();
  const std::vector<int64_t>& dense = apart ? maker.out(0) : maker.in(0);
  const std::vector<int64_t>& plane = apart ? maker.in(0) : maker.out(0);
  const size_t rank = dense.size();
  if (r < 1 || rank < 3 || plane.size() != rank) return maker.Fail();
  TensorAxes of_dense, of_plane;
  for (size_t i = 0; i + 3 < rank; ++i) of_dense.push_back({maker.Axis(dense[i])});
  of_plane = of_dense;
  const RuleAxisId channel = maker.Axis(plane[rank - 3]), height = maker.Axis(dense[rank - 2]),
                   width = maker.Axis(dense[rank - 1]);
  const RuleAxisId down = maker.Axis(r, Parts::kWhole), right = maker.Axis(r, Parts::kWhole);
  of_dense.insert(of_dense.end(), {{channel, down, right}, {height}, {width}});
  of_plane.insert(of_plane.end(), {{channel}, {height, down}, {width, right}});
  maker.input(0) = apart ? of_plane : of_dense;
  maker.output(0) = apart ? of_dense : of_plane;
  maker.rule().linear = {{0}};
}

// channel_shuffle(x [n c ...], groups): channels change places.
void ShuffleChannels(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1 || maker.in(0).size() < 2 ||
      maker.in(0) != maker.out(0)) {
    return maker.Fail();
  }
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  maker.SetParts(maker.input(0)[1][0], Parts::kWhole);
  maker.rule().linear = {{0}};
}

// affine_grid_generator(theta [n ...], size, ...) -> [n ...]: size[0] is n.
void AffineGrid(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1 || maker.in(0).empty() ||
      maker.out(0).empty() || maker.in(0)[0] != maker.out(0)[0]) {
    return maker.Fail();
  }
  maker.input(0) = maker.AxesOf(maker.in(0), Parts::kWhole);
  maker.SetParts(maker.input(0)[0][0], Parts::kSplit);
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
  maker.output(0)[0] = maker.input(0)[0];
  maker.Size(1, "size", 0, maker.output(0)[0]);
  maker.rule().linear = {{0}};
}

}  // namespace

std::vector<RuleRow> NeighbourhoodRules() {
  return {{"_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d "
           "_adaptive_avg_pool3d_backward adaptive_max_pool2d adaptive_max_pool2d_backward "
           "adaptive_max_pool3d adaptive_max_pool3d_backward avg_pool2d avg_pool2d_backward "
           "max_pool2d_with_indices max_pool2d_with_indices_backward avg_pool3d "
           "avg_pool3d_backward max_pool3d_with_indices max_pool3d_with_indices_backward "
           "fractional_max_pool2d fractional_max_pool2d_backward fractional_max_pool3d "
           "fractional_max_pool3d_backward max_unpool2d max_unpool3d reflection_pad1d "
           "reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d "
           "reflection_pad3d_backward replication_pad1d replication_pad1d_backward "
           "replication_pad2d replication_pad2d_backward replication_pad3d "
           "replication_pad3d_backward upsample_nearest1d upsample_nearest2d upsample_nearest3d "
           "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d "
           "upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d "
           "_upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa",
           PerPlane},
          {"upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward "
           "_upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward "
           "_upsample_nearest_exact3d_backward upsample_linear1d_backward "
           "upsample_bilinear2d_backward upsample_bicubic2d_backward upsample_trilinear3d_backward "
           "_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward "
           "_upsample_lanczos2d_aa_backward",
           UpsampleBackward},
          {"grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward",
           GridSampler},
          {"im2col col2im", Columns},
          {"pixel_shuffle pixel_unshuffle", Shuffle},
          {"channel_shuffle", ShuffleChannels},
          {"affine_grid_generator", AffineGrid}};
}

}  // namespace placewright
