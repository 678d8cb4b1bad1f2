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
};

class TransformerXlPlacer : public IndependentPlacer {
 public:
  TransformerXlPlacer(int64_t inputs, int64_t devices, const TransformerXlOptions& options,
                      const std::string& name, Parameters& parameters);

 protected:
  at::Tensor Scores(const PlacerInputs& inputs) const override;

 private:
  struct Layer {
    at::Tensor query, key, value, joined;  // [heads * head_width, width], the last transposed
    at::Tensor first_scale, first_shift;   // of the layer norms
    Affine inner, outer;
    at::Tensor second_scale, second_shift;
  };

  // One segment [B, L, width] behind `memory` [B, M, width], undefined for the first.
  at::Tensor RunLayer(const Layer& layer, const at::Tensor& x, const at::Tensor& memory) const;

  const TransformerXlOptions options_;
  Affine input_;
  std::vector<Layer> layers_;
  Affine output_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLACER_TRANSFORMER_XL_H_
