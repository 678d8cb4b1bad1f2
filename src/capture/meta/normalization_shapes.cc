// Batch, layer and group normalisation, and their gradients.
#include <algorithm>

#include "capture/meta/shape_functions.h"

namespace placewright {
namespace {

at::ScalarType TypeOfParameters(const TorchCall& call, size_t weight, const at::Tensor& input) {
  const c10::IValue& given = call.argument(weight);
  return given.isTensor() && given.toTensor().defined() ? given.toTensor().scalar_type()
                                                        : input.scalar_type();
}

// native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
// -> (output, mean, inverse deviation); the last two are empty where nothing is trained. The input may
// be narrower than the parameters, whose type the statistics have.
std::vector<c10::IValue> BatchNorm(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0);
  const int64_t saved = call.argument(5).toBool() ? input.size(1) : 0;
  const at::ScalarType type = TypeOfParameters(call, 1, input);
  return {EmptyLike(input), EmptyMeta({saved}, type), EmptyMeta({saved}, type)};
}

// native_batch_norm_backward(grad_out, input, weight, ..., train = 7, eps, output_mask = 9)
std::vector<c10::IValue> BatchNormBackward(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 1), none;
  const c10::List<bool> wanted = call.argument(9).toBoolList();
  const at::ScalarType type = TypeOfParameters(call, 2, input);
  const auto of_channels = [&] { return EmptyMeta({input.size(1)}, type); };
  return {wanted[0] ? EmptyLike(input) : none, wanted[1] ? of_channels() : none,
          wanted[2] ? of_channels() : none};
}

// native_layer_norm(input, normalized_shape, weight, bias, eps) -> (output, mean, 1/deviation);
// the last two have size 1 in the normalised dimensions.
std::vector<c10::IValue> LayerNorm(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0);
  const std::vector<int64_t> normalized = call.argument(1).toIntVector();
  std::vector<int64_t> saved = input.sizes().vec();
  TORCH_CHECK(normalized.size() <= saved.size() &&
                  std::equal(normalized.rbegin(), normalized.rend(), saved.rbegin()),
              "a norm over ", at::IntArrayRef(normalized), " is given ", input.sizes());
  std::fill(saved.end() - static_cast<std::ptrdiff_t>(normalized.size()), saved.end(), 1);
  return {EmptyContiguous(input), EmptyMeta(saved, input.scalar_type()),
          EmptyMeta(saved, input.scalar_type())};
}

// native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, mask)
std::vector<c10::IValue> LayerNormBackward(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 1), none;
  const std::vector<int64_t> normalized = call.argument(2).toIntVector();
  const c10::List<bool> wanted = call.argument(7).toBoolList();
  const auto of_shape = [&] { return EmptyMeta(normalized, input.scalar_type()); };
  return {wanted[0] ? EmptyContiguous(input) : none, wanted[1] ? of_shape() : none,
          wanted[2] ? of_shape() : none};
}

// native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> (output, mean, 1/deviation)
std::vector<c10::IValue> GroupNorm(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 0);
  const int64_t batch = call.argument(3).toInt(), groups = call.argument(6).toInt();
  return {EmptyContiguous(input), EmptyMeta({batch, groups}, input.scalar_type()),
          EmptyMeta({batch, groups}, input.scalar_type())};
}

// native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
std::vector<c10::IValue> GroupNormBackward(const TorchCall& call) {
  const at::Tensor input = TensorArgument(call, 1), none;
  const int64_t channels = call.argument(6).toInt();
  const c10::List<bool> wanted = call.argument(9).toBoolList();
  const auto of_channels = [&] { return EmptyMeta({channels}, input.scalar_type()); };
  return {wanted[0] ? EmptyContiguous(input) : none, wanted[1] ? of_channels() : none,
          wanted[2] ? of_channels() : none};
}

}  // namespace

void AddNormalizationShapes(ShapeTable& table) {
  table["aten::native_batch_norm"] = BatchNorm;
  table["aten::native_batch_norm_backward"] = BatchNormBackward;
  table["aten::native_layer_norm"] = LayerNorm;
  table["aten::native_layer_norm_backward"] = LayerNormBackward;
  table["aten::native_group_norm"] = GroupNorm;
  table["aten::native_group_norm_backward"] = GroupNormBackward;
}

}  // namespace placewright
