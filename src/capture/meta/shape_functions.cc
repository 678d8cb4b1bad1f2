#include "capture/meta/shape_functions.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

namespace placewright {
namespace {

const ShapeTable& Table() {
  static const ShapeTable table = [] {
    ShapeTable all;
    AddConvolutionShapes(all);
    AddNormalizationShapes(all);
    AddIndexingShapes(all);
    AddElementwiseShapes(all);
    AddPoolingShapes(all);
    AddResamplingShapes(all);
    AddReductionShapes(all);
    AddLossShapes(all);
    return all;
  }();
  return table;
}

}  // namespace

ShapeFunction FindShapeFunction(const c10::FunctionSchema& schema) {
  const auto it =
      Table().find(schema.overload_name().empty() ? schema.name()
                                                  : schema.name() + "." + schema.overload_name());
  return it == Table().end() ? nullptr : it->second;
}

std::vector<std::string> ShapeFunctionNames() {
  std::vector<std::string> names;
  for (const auto& [name, function] : Table()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

at::Tensor EmptyMeta(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, at::TensorOptions().dtype(type).device(at::kMeta));
}

at::Tensor EmptyContiguous(const at::Tensor& other) {
  return EmptyMeta(other.sizes(), other.scalar_type());
}
at::Tensor EmptyLike(const at::Tensor& other) { return at::empty_like(other); }
at::Tensor EmptyLike(const at::Tensor& other, at::ScalarType type) {
  return at::empty_like(other, other.options().dtype(type));
}

at::Tensor TensorArgument(const TorchCall& call, size_t i) {
  return call.argument(i).isTensor() ? call.argument(i).toTensor() : at::Tensor();
}

}  // namespace placewright
