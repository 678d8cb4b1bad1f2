// Deep Graph Infomax (Velickovic et al. 2019), Mars's contrastive pre-training of its encoder
// (Mars sec. 3.2). With h_i the representations of the graph, h~_j those of the graph whose nodes
// have swapped their features, and W a matrix of the discriminator:
//
//   s = sigmoid(1/N sum_i h_i)                                                       (eq. 4)
//   D(h, s) = sigmoid(h^T W s)                                                       (eq. 5)
//   loss = -1/(2N) (sum_i log D(h_i, s) + sum_j log(1 - D(h~_j, s)))                 (eq. 6)
//
// Deviation: the paper prints eq. 6 without the minus and with log D in both sums, which has no
// minimum; this is the loss of the work that it cites.
#ifndef PLACEWRIGHT_LEARN_ENCODER_INFOMAX_H_
#define PLACEWRIGHT_LEARN_ENCODER_INFOMAX_H_

#include "base/random.h"
#include "base/stop.h"
#include "learn/encoder/graph_encoder.h"

namespace placewright {

// Eq. 4 to 6 of representations [N, width] and those of the corrupted graph.
at::Tensor InfomaxLoss(const at::Tensor& h, const at::Tensor& corrupted,
                       const at::Tensor& discriminator);

struct InfomaxOptions {
  int iterations = 1000;
  double learning_rate = 1e-3;  // of Adam; unpublished, as in Deep Graph Infomax
};

struct InfomaxResult {
  std::vector<double> losses;  // one per iteration done
  int best = -1;               // the iteration whose parameters the encoder now has
};

// Trains the encoder and keeps the parameters of the lowest loss. Ends early where the budget does.
InfomaxResult PretrainByInfomax(const GraphEncoder& encoder, const at::Tensor& structure,
                                const at::Tensor& features, Random random, const Budget& budget,
                                const InfomaxOptions& options = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_ENCODER_INFOMAX_H_
