// The update of a training step, written so that every step runs the same ops with the same
// numbers: bias corrections are computed from state, not baked in, and every parameter is updated
// by ops of its own (no lists of tensors), so that parameters stay free to lie on different
// devices.
#ifndef PLACEWRIGHT_CAPTURE_OPTIMIZER_OPTIMIZER_H_
#define PLACEWRIGHT_CAPTURE_OPTIMIZER_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace placewright {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // "PATH.SLOT" of every parameter, and state of no parameter, in a fixed order.
  virtual std::vector<NamedTensor> State() const = 0;
  // Updates all parameters that have a gradient.
  virtual void Step() = 0;
};

// Stochastic gradient descent with momentum (Polyak 1964), as torch.optim.SGD writes it:
//   b = momentum b + g,  p = p - rate b
struct SgdOptions {
  double rate = 0.01, momentum = 0.9;
};
std::unique_ptr<Optimizer> MakeSgd(std::vector<NamedTensor> parameters,
                                   const SgdOptions& options = {});

// Adam (Kingma, Ba 2015, algorithm 1):
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   p = p - rate (m / c1) / (sqrt(v / c2) + epsilon),  ci = 1 - betai^t
// The powers beta^t are state of the step as a whole. Multiplied by c1, the quotient is
//   m / (sqrt(v) / s + e)  with  s = sqrt(c2) / c1,  e = epsilon c1
// so that every parameter takes the same eight ops as torch.optim.Adam's; s and e are computed
// once.
struct AdamOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
std::unique_ptr<Optimizer> MakeAdam(std::vector<NamedTensor> parameters,
                                    const AdamOptions& options = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_OPTIMIZER_OPTIMIZER_H_
