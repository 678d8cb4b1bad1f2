#include "capture/zoo/blocks/basic.h"

namespace placewright {

at::Tensor SmallRandom(at::IntArrayRef sizes) { return at::randn(sizes).mul_(0.02); }

Linear::Linear(int64_t in, int64_t out, bool bias) {
  weight_ = register_parameter("weight", SmallRandom({out, in}));
  if (bias) bias_ = register_parameter("bias", SmallRandom({out}));
}

at::Tensor Linear::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  return bias_.defined() ? at::linear(x, weight_, bias_) : at::linear(x, weight_);
}

Embedding::Embedding(int64_t count, int64_t width)
    : weight_(register_parameter("weight", SmallRandom({count, width}))) {}

at::Tensor Embedding::Forward(const at::Tensor& indices) {
  const ModuleScope scope = Enter();
  return at::embedding(weight_, indices);
}

LayerNorm::LayerNorm(int64_t width, double epsilon) : width_(width), epsilon_(epsilon) {
  weight_ = register_parameter("weight", at::ones({width}));
  bias_ = register_parameter("bias", at::zeros({width}));
}

at::Tensor LayerNorm::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  return at::layer_norm(x, {width_}, weight_, bias_, epsilon_);
}

at::Tensor Dropout::Forward(const at::Tensor& x) {
  const ModuleScope scope = Enter();
  return at::dropout(x, share_, is_training());
}

at::Tensor CrossEntropy(const at::Tensor& scores, const at::Tensor& classes, double smoothing) {
  if (smoothing == 0) return at::cross_entropy_loss(scores, classes);
  // LibTorch's own label smoothing looks which targets are to be ignored: it reads data.
  const at::Tensor logs = at::log_softmax(scores, -1);
  return at::nll_loss(logs, classes) * (1 - smoothing) - logs.mean() * smoothing;
}

}  // namespace placewright
