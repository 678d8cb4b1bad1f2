#include "learn/encoder/infomax.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/optim/adam.h>

namespace placewright {
at::Tensor InfomaxLoss(const at::Tensor& h, const at::Tensor& corrupted,
                       const at::Tensor& discriminator) {
  const at::Tensor summary = at::mv(discriminator, at::sigmoid(h.mean(0)));
  // -log sigmoid(x) = softplus(-x), and -log(1 - sigmoid(x)) = softplus(x).
  const at::Tensor of_graph = at::softplus(-at::mv(h, summary)).sum();
  const at::Tensor of_corrupted = at::softplus(at::mv(corrupted, summary)).sum();
  return (of_graph + of_corrupted) / static_cast<double>(2 * h.size(0));
}

InfomaxResult PretrainByInfomax(const GraphEncoder& encoder, const at::Tensor& structure,
                                const at::Tensor& features, Random random, const Budget& budget,
                                const InfomaxOptions& options) {
  Parameters own(random.Fork(0), features.options());
  const at::Tensor discriminator = own.Glorot("discriminator", encoder.width(), encoder.width());
  std::vector<at::Tensor> trained = encoder.parameters();
  std::vector<at::Tensor> best(trained.size());
  std::vector<at::Tensor> all = trained;
  all.push_back(discriminator);
  torch::optim::Adam adam(all, torch::optim::AdamOptions(options.learning_rate));
  Random permutations = random.Fork(1);
  InfomaxResult result;
  for (int i = 0; i < options.iterations && !budget.Expired(); ++i) {
    const at::Tensor order =
        at::tensor(RandomPermutation(features.size(0), permutations)).to(features.device());
    adam.zero_grad();
    const at::Tensor loss =
        InfomaxLoss(encoder.Encode(structure, features),
                    encoder.Encode(structure, features.index_select(0, order)), discriminator);
    result.losses.push_back(loss.item<double>());
    if (result.best < 0 || result.losses.back() < result.losses[static_cast<size_t>(result.best)]) {
      result.best = i;
      for (size_t p = 0; p < trained.size(); ++p) best[p] = trained[p].detach().clone();
    }
    loss.backward();
    adam.step();
  }
  const at::NoGradGuard no_gradients;
  for (size_t p = 0; p < trained.size() && result.best >= 0; ++p) trained[p].copy_(best[p]);
  return result;
}

}  // namespace placewright
