// A step whose strategies differ by much: its activations are large beside its weights, and the other way round.
#ifndef PLACEWRIGHT_PLANNING_TEST_PERCEPTRON_H_
#define PLACEWRIGHT_PLANNING_TEST_PERCEPTRON_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/cluster/cluster_reader.h"
#include "search/layouts/test_layer_writer.h"

namespace placewright {

// Six layers, each a product with a square weight, what is kept of it, and a head; updated with a momentum. A tensor of one
// sample has 32 KiB, a weight 256 MiB: with momentum and gradient 5.3 GiB in all, of 11.4 GiB that a P100 offers.
inline constexpr int64_t kPerceptronWidth = 8192;

class PerceptronWriter : private LayerWriter {
 public:
  // `draws`: the input is multiplied with zeros and ones that are drawn.
  explicit PerceptronWriter(int64_t samples, bool draws = false)
      : samples_(samples), draws_(draws) {
    builder_.set_batch(samples);
  }

  Graph Write() {
    TensorId x = Input("input:x", TensorKind::kInput, rows_);
    if (draws_) x = Add("aten.mul.Tensor", {x, Add("aten.bernoulli.default", {x}, rows_)}, rows_);
    std::vector<TensorId> weights, read, made;
    for (int i = 0; i < 7; ++i) {
      module_ = i < 6 ? "layers." + std::to_string(i) + ".up" : "head";
      read.push_back(x);
      weights.push_back(Input("param:" + module_ + ".weight", TensorKind::kParameter, square_));
      made.push_back(Add("aten.mm.default", {x, weights.back()}, rows_));
      x = Add("aten.tanh.default", {made.back()}, rows_);
    }
    phase_ = Phase::kBackward;
    TensorId g = x;
    std::vector<TensorId> gradients(weights.size());
    for (size_t i = weights.size(); i-- > 0;) {
      module_ = i < 6 ? "layers." + std::to_string(i) + ".up" : "head";
      g = Add("aten.mul.Tensor", {g, made[i]}, rows_);
      const TensorId across =
          Add("aten.t.default", {read[i]}, {kPerceptronWidth, samples_}, AliasKind::kView);
      gradients[i] = Add("aten.mm.default", {across, g}, square_);
      const TensorId turned = Add("aten.t.default", {weights[i]}, square_, AliasKind::kView);
      g = Add("aten.mm.default", {g, turned}, rows_);
    }
    phase_ = Phase::kOptimizer;
    std::vector<TensorId> outputs;
    for (size_t i = 0; i < weights.size(); ++i) {
      module_ = i < 6 ? "layers." + std::to_string(i) + ".up" : "head";
      const TensorId momentum =
          Input("opt_state:" + module_ + ".weight.m", TensorKind::kOptimizerState, square_);
      const TensorId sum =
          Add("aten.add_.Tensor", {momentum, gradients[i]}, square_, AliasKind::kInPlace);
      outputs.push_back(Add("aten.sub_.Tensor", {weights[i], sum}, square_, AliasKind::kInPlace));
    }
    builder_.SetOutputs(outputs);
    return Scaled(std::move(builder_).Build().Take(), samples_);
  }

 private:
  const int64_t samples_;
  const bool draws_;
  const std::vector<int64_t> rows_ = {samples_, kPerceptronWidth};
  const std::vector<int64_t> square_ = {kPerceptronWidth, kPerceptronWidth};
};

// Eight times a prime: micro-batches are halves, quarters, eighths, or next to nothing. 15 GiB of activations on each of
// four GPUs.
inline constexpr int64_t kMany = 8 * 16381;
inline constexpr int64_t kFew = 4 * 1021;

inline const Cluster& FourGpus() {
  static const Cluster cluster = ReadCluster("4xP100").Take();
  return cluster;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_TEST_PERCEPTRON_H_
