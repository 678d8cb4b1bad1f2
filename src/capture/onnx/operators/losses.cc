// Losses that stand in the file.
#include <ATen/ATen.h>
#include <ATen/core/Reduction.h>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

int64_t ReadReduction(const NodeCall& call) {
  const std::string word = call.Text("reduction", "mean");
  if (word == "none") return at::Reduction::None;
  if (word == "mean") return at::Reduction::Mean;
  if (word == "sum") return at::Reduction::Sum;
  call.Invalid("reduction \"" + word + "\"");
}

// -weight[target] * shares[target], classes along dimension 1.
at::Tensor Likelihood(const NodeCall& call, const at::Tensor& shares) {
  if (shares.dim() < 2) call.Invalid("scores without classes");
  c10::optional<at::Tensor> weight;
  if (call.Has(2)) weight = call.In(2).detach();
  return at::nll_loss_nd(shares, call.In(1).to(at::kLong), weight, ReadReduction(call),
                         call.Int("ignore_index", -100));
}

Values NegativeLogLikelihoodLoss(const NodeCall& call) { return {Likelihood(call, call.In(0))}; }

// The second output are the logarithms of the shares.
Values SoftmaxCrossEntropyLoss(const NodeCall& call) {
  const at::Tensor shares = at::log_softmax(call.In(0), 1);
  return {Likelihood(call, shares), shares};
}

}  // namespace

void AddLossOperators(OperatorTable& table) {
  table["NegativeLogLikelihoodLoss"] = NegativeLogLikelihoodLoss;
  table["SoftmaxCrossEntropyLoss"] = SoftmaxCrossEntropyLoss;
}

}  // namespace placewright::lowering
