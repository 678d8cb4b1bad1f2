// The trained tensors of a policy by name: what optimizers step and checkpoints hold. Their first
// values are drawn by our generator, so that a seed gives the same policy with every LibTorch, or
// are those of a stored policy. Policies of several problems may share them: who asks for a name
// again gets the same tensor.
#ifndef PLACEWRIGHT_LEARN_NN_PARAMETERS_H_
#define PLACEWRIGHT_LEARN_NN_PARAMETERS_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace placewright {

class Parameters {
 public:
  // `random` is that of the first values; `options` says where tensors lie and their type.
  Parameters(Random random, at::TensorOptions options) : random_(random), options_(options) {}
  // First values for the names that it has, on the CPU.
  Parameters(Random random, at::TensorOptions options, std::map<std::string, at::Tensor> stored)
      : random_(random), options_(options), stored_(std::move(stored)) {}

  // Uniform in [-a, a] with a = sqrt(6 / (fan_in + fan_out)), of a matrix [fan_out, fan_in] (Glorot,
  // Bengio 2010).
  at::Tensor Glorot(const std::string& name, int64_t fan_out, int64_t fan_in);
  // Uniform in [-limit, limit].
  at::Tensor Uniform(const std::string& name, at::IntArrayRef sizes, double limit);
  at::Tensor Constant(const std::string& name, at::IntArrayRef sizes, double value);

  const std::vector<std::pair<std::string, at::Tensor>>& named() const { return named_; }
  std::vector<at::Tensor> tensors() const;
  int64_t count() const;  // elements of all
  const at::TensorOptions& options() const { return options_; }
  // What does not agree with the stored values or with an earlier use of a name: "output has 6 x 512
  // numbers, 4 x 512 are wanted"; "" where all does.
  const std::string& mismatch() const { return mismatch_; }

 private:
  at::Tensor Add(const std::string& name, at::IntArrayRef sizes,
                 const std::function<at::Tensor()>& first_values);

  Random random_;
  at::TensorOptions options_;
  std::map<std::string, at::Tensor> stored_;
  std::vector<std::pair<std::string, at::Tensor>> named_;  // in the order of their making
  std::string mismatch_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_PARAMETERS_H_
