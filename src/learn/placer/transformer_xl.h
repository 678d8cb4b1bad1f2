// A placer of Transformer-XL's layers (Dai et al. 2019; GDP sec. 3.2; Mars's rival): the sequence
// goes through in segments, and attention of a layer looks at its segment and at what entered the
// layer for the segment before, through which no gradient passes.
//
//   y = LN(x + W_o attention(W_q x; W_k [m, x], W_v [m, x]))
//   z = LN(y + W_2 relu(W_1 y + b_1) + b_2)
//
// without positional embeddings (GDP: the embeddings of the graph hold what order there is). Units
// are independent of each other given the logits (GDP eq. 4). The length of segments and memory is
// unpublished: both are `segment`.
//
// With superposition the dense layers are conditioned on the graph (GDP eq. 5): x' = g(c(x0) * x),
// where x0 are the units' representations, brought to d_model, and c goes through one transformer layer of its own.
// Deviation: the layer that brings them there, from which c begins, is not conditioned, nor what describes devices.
// Deviation: what that gives, 128 wide, is brought to the width of each dense layer's input by a matrix
// whose first values are 0, and added to 1: g begins as if there were no conditioning. Without
// attention (GDP's ablation, sec. 4.4) y = LN(x).
//
// Described, devices are kept apart by their features f_d, not by their numbers, so that a policy serves
// any number of them: the score of unit u on d is (W x_u + b) . k(f_d) / sqrt(width), where k has one
// hidden layer, and the preference is a sum of d's features. Not in the papers, whose policies have as
// many outputs as the cluster has devices.
#ifndef PLACEWRIGHT_LEARN_PLACER_TRANSFORMER_XL_H_
#define PLACEWRIGHT_LEARN_PLACER_TRANSFORMER_XL_H_

#include <string>
#include <vector>

#include "learn/placer/independent.h"

namespace placewright {

struct TransformerXlOptions {  // the defaults are GDP's
  int64_t width = 128;         // d_model
  int layers = 2;
  int64_t heads = 5, head_width = 25;
  int64_t inner = 256;
  int64_t segment = 128;  // units; 0: all
  bool attention = true, superposition = false, centred = false;
  int64_t device_features = 0;  // 0: devices are numbers
};

class TransformerXlPlacer : public IndependentPlacer {
 public:
  TransformerXlPlacer(int64_t inputs, int64_t devices, const TransformerXlOptions& options,
                      const std::string& name, Parameters& parameters);

 protected:
  at::Tensor Scores(const PlacerInputs& inputs) const override;
  at::Tensor Preference(const PlacerInputs& inputs) const override;

 private:
  // What multiplies the input of a dense layer, from the conditioning [B, L, width]: a matrix
  // [inputs, width], undefined without superposition.
  struct Condition {
    at::Tensor weight;
    at::Tensor operator()(const at::Tensor& x, const at::Tensor& conditioning) const;
  };
  struct Layer {
    at::Tensor query, key, value, joined;  // [heads * head_width, width], the last transposed
    at::Tensor first_scale, first_shift;   // of the layer norms
    Affine inner, outer;
    at::Tensor second_scale, second_shift;
    Condition before_heads, before_joined, before_inner, before_outer;
  };

  Layer MakeLayer(const std::string& name, bool conditioned, Parameters& parameters) const;
  Condition MakeCondition(const std::string& name, int64_t inputs, Parameters& parameters) const;
  // Of the segment before: what entered the layer, its conditioning, and its keys and values.
  struct Memory {
    at::Tensor entered, conditioning, key, value;
  };

  // One segment [B, L, width] behind `memory`, which is empty for the first and then holds this one.
  // The conditioning is undefined without superposition.
  at::Tensor RunLayer(const Layer& layer, const at::Tensor& x, const at::Tensor& conditioning,
                      Memory& memory) const;
  at::Tensor ScoresOf(const at::Tensor& x, const at::Tensor& devices) const;

  const TransformerXlOptions options_;
  Affine input_;
  std::vector<Layer> layers_;
  std::vector<Layer> conditioning_;  // one, with superposition
  Condition before_output_;
  Affine output_;            // to devices, or where they are described, to keys
  std::vector<Affine> key_;  // the two layers of k
  at::Tensor preference_;    // of centred scores: [devices], or [device_features]
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLACER_TRANSFORMER_XL_H_
