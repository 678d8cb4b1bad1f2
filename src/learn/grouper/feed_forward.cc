#include "learn/grouper/feed_forward.h"

#include <ATen/ATen.h>

namespace placewright {

FeedForwardGrouper::FeedForwardGrouper(int64_t features, int64_t hidden, int64_t groups,
                                       const std::string& name, Parameters& parameters)
    : hidden_(parameters.Glorot(name + ".hidden", hidden, features)),
      hidden_bias_(parameters.Constant(name + ".hidden_bias", {hidden}, 0)),
      output_(parameters.Glorot(name + ".output", groups, hidden)),
      output_bias_(parameters.Constant(name + ".output_bias", {groups}, 0)) {}

at::Tensor FeedForwardGrouper::Logits(const at::Tensor& features) const {
  return at::linear(at::relu(at::linear(features, hidden_, hidden_bias_)), output_, output_bias_);
}

at::Tensor FeedForwardGrouper::OutputWeights() const {
  return at::cat({output_, output_bias_.unsqueeze(1)}, 1);
}

}  // namespace placewright
