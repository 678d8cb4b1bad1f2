// The layers that most models share. Weights start as small random numbers: plans depend on shapes
// only, and replays compare like with like.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_BASIC_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_BASIC_H_

#include "capture/zoo/module.h"

namespace placewright {

// A parameter of normal deviates with deviation 0.02.
at::Tensor SmallRandom(at::IntArrayRef sizes);

// y = x W^T + b over the last dimension.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, bool bias = true);
  at::Tensor Forward(const at::Tensor& x);

 private:
  at::Tensor weight_, bias_;
};

// Row i of a [count, width] matrix for every index i.
class Embedding : public Module {
 public:
  Embedding(int64_t count, int64_t width);
  at::Tensor Forward(const at::Tensor& indices);
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;
};

// Over the last dimension (Ba et al. 2016).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t width, double epsilon = 1e-5);
  at::Tensor Forward(const at::Tensor& x);

 private:
  int64_t width_;
  double epsilon_;
  at::Tensor weight_, bias_;
};

// Zeroes a share of the elements in training.
class Dropout : public Module {
 public:
  explicit Dropout(double share) : share_(share) {}
  at::Tensor Forward(const at::Tensor& x);

 private:
  double share_;
};

// Cross entropy between rows of scores and class indices, mean over the rows. A share `smoothing`
// of it is against all classes alike (Szegedy et al. 2015, section 7).
at::Tensor CrossEntropy(const at::Tensor& scores, const at::Tensor& classes, double smoothing = 0);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_BASIC_H_
