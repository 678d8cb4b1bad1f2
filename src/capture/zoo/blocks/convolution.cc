#include "capture/zoo/blocks/convolution.h"

#include "capture/zoo/blocks/basic.h"

namespace placewright {

ConvolutionShape Square(int64_t kernel, int64_t stride, int64_t padding, bool bias) {
  return {{kernel, kernel}, {stride, stride}, {padding, padding}, 1, bias};
}

Conv2d::Conv2d(int64_t in, int64_t out, const ConvolutionShape& shape) : shape_(shape) {
  weight_ = register_parameter(
      "weight", SmallRandom({out, in / shape.groups, shape.kernel[0], shape.kernel[1]}));
  if (shape.bias) bias_ = register_parameter("bias", SmallRandom({out}));
}

at::Tensor Conv2d::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  return at::conv2d(x, weight_, bias_, shape_.stride, shape_.padding, at::IntArrayRef(1),
                    shape_.groups);
}

BatchNorm2d::BatchNorm2d(int64_t channels, double epsilon, double momentum)
    : epsilon_(epsilon), momentum_(momentum) {
  weight_ = register_parameter("weight", at::ones({channels}));
  bias_ = register_parameter("bias", at::zeros({channels}));
  mean_ = register_buffer("running_mean", at::zeros({channels}));
  variance_ = register_buffer("running_var", at::ones({channels}));
}

at::Tensor BatchNorm2d::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  constexpr bool kCudnn = false;  // one operator on all devices
  return at::batch_norm(x, weight_, bias_, mean_, variance_, is_training(), momentum_, epsilon_,
                        kCudnn);
}

ConvBnRelu::ConvBnRelu(int64_t in, int64_t out, ConvolutionShape shape, double epsilon,
                       bool normalized) {
  shape.bias = !normalized;
  convolution_ = Add<Conv2d>("conv", in, out, shape);
  if (normalized) norm_ = Add<BatchNorm2d>("bn", out, epsilon);
}

at::Tensor ConvBnRelu::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  at::Tensor y = convolution_->Forward(x);
  if (norm_) y = norm_->Forward(y);
  return at::relu_(y);
}

at::Tensor RandomImages(int64_t batch, int64_t size) { return at::randn({batch, 3, size, size}); }
at::Tensor RandomClasses(int64_t batch, int64_t classes) {
  return at::randint(classes, {batch}, at::kLong);
}

}  // namespace placewright
