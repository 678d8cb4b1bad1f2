// EAGLE's grouper: a feed-forward network of two layers that gives each unit a distribution over
// groups (sec. III-B): softmax(W2 relu(W1 x + b1) + b2), 64 hidden units.
#ifndef PLACEWRIGHT_LEARN_GROUPER_FEED_FORWARD_H_
#define PLACEWRIGHT_LEARN_GROUPER_FEED_FORWARD_H_

#include <string>

#include "learn/nn/parameters.h"

namespace placewright {

class FeedForwardGrouper {
 public:
  FeedForwardGrouper(int64_t features, int64_t hidden, int64_t groups, const std::string& name,
                     Parameters& parameters);

  int64_t groups() const { return output_.size(0); }
  int64_t hidden() const { return output_.size(1); }
  // Logits [N, groups] of units with features [N, F].
  at::Tensor Logits(const at::Tensor& features) const;
  // The output layer's weights of each group, and its bias: [groups, hidden + 1].
  at::Tensor OutputWeights() const;

 private:
  at::Tensor hidden_, hidden_bias_;  // [hidden, F], [hidden]
  at::Tensor output_, output_bias_;  // [groups, hidden], [groups]
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_GROUPER_FEED_FORWARD_H_
