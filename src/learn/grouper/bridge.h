// EAGLE's bridge: "an extra RNN that turns the parameters of the grouper into inputs of the placer"
// (sec. III-C), so that gradients of the placer's decisions reach the grouper. The paper has no
// equations; ours: an LSTM over the groups in the placer's order, whose input for a group is
//
//   [ w_g, b_g, G p_g ]
//
// its row and bias of the grouper's output layer, and the mean over all units of the probability of
// being assigned to it, times the number of groups (1 where all are alike). Its outputs join the
// group's embedding.
#ifndef PLACEWRIGHT_LEARN_GROUPER_BRIDGE_H_
#define PLACEWRIGHT_LEARN_GROUPER_BRIDGE_H_

#include <string>

#include "learn/grouper/feed_forward.h"
#include "learn/nn/lstm.h"

namespace placewright {

class GrouperBridge {
 public:
  GrouperBridge(int64_t hidden, int64_t width, const std::string& name, Parameters& parameters);

  int64_t width() const { return lstm_.width(); }
  // [K, G, width] for groups in `order` [K, G]; `logits` [N, G]: the grouper's.
  at::Tensor Outputs(const FeedForwardGrouper& grouper, const at::Tensor& logits,
                     const at::Tensor& order) const;

 private:
  LstmWeights lstm_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_GROUPER_BRIDGE_H_
