#include "capture/zoo/blocks/additive_attention.h"

namespace placewright {
namespace {

constexpr double kMaskedScore = -65504;  // the smallest number of 16 bits

}  // namespace

AdditiveAttention::AdditiveAttention(int64_t width) {
  vector_ = register_parameter("vector", SmallRandom({width}));
  scale_ = register_parameter("scale", at::ones({1}));
  bias_ = register_parameter("bias", SmallRandom({width}));
  query_ = Add<Linear>("query", width, width, false);
  key_ = Add<Linear>("key", width, width, false);
}

AdditiveAttention::Keys AdditiveAttention::Prepare(const at::Tensor& states,
                                                   const at::Tensor& lengths) {
  const ModuleScope scope = Enter();
  const at::Tensor values = states.transpose(0, 1);
  const at::Tensor places = at::arange(states.size(0), at::kLong);
  const at::Tensor masked = places.ge(lengths.unsqueeze(1)).unsqueeze(1);
  return {values, key_->Forward(values), vector_ / vector_.norm() * scale_, masked};
}

at::Tensor AdditiveAttention::Forward(const at::Tensor& query, const Keys& keys) {
  const ModuleScope scope = Enter();
  const at::Tensor hidden =
      query_->Forward(query).unsqueeze(2) + keys.projected.unsqueeze(1) + bias_;
  at::Tensor scores = at::matmul(at::tanh(hidden), keys.vector);
  scores.masked_fill_(keys.masked, kMaskedScore);
  return at::bmm(at::softmax(scores, -1), keys.values);
}

}  // namespace placewright
