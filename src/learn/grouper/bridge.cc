#include "learn/grouper/bridge.h"

#include <ATen/ATen.h>

namespace placewright {

GrouperBridge::GrouperBridge(int64_t hidden, int64_t width, const std::string& name,
                             Parameters& parameters)
    : lstm_(MakeLstm(name, hidden + 2, width, parameters)) {}

at::Tensor GrouperBridge::Outputs(const FeedForwardGrouper& grouper, const at::Tensor& logits,
                                  const at::Tensor& order) const {
  const int64_t samples = order.size(0), groups = order.size(1);
  const at::Tensor share = at::softmax(logits, 1).mean(0).mul(static_cast<double>(groups));
  const at::Tensor rows = at::cat({grouper.OutputWeights(), share.unsqueeze(1)}, 1);
  const at::Tensor steps = rows.index_select(0, order.t().reshape(-1)).view({groups, samples, -1});
  return RunLstm(lstm_, steps, ZeroState(samples, lstm_)).outputs.transpose(0, 1);
}

}  // namespace placewright
