// The figures of a model that follow from its dimensions.
#ifndef PLACEWRIGHT_TESTS_CAPTURE_FIGURE_H_
#define PLACEWRIGHT_TESTS_CAPTURE_FIGURE_H_

#include <cstdint>

namespace placewright {

struct Figure {
  int64_t parameters = 0, forward_macs = 0;
  // Every product of the forward pass has two in the backward pass, one for each factor; but the
  // input of the first layer has no gradient, nor has the places matrix of a mixture of experts.
  int64_t first_layer_macs = 0;
  constexpr void AddConvolution(int64_t results, int64_t in, int64_t out, int64_t taps) {
    parameters += in * out * taps;
    forward_macs += results * in * out * taps;
  }
  // With two parameters a channel of the batch normalisation behind it.
  constexpr void AddNormalized(int64_t results, int64_t in, int64_t out, int64_t taps) {
    AddConvolution(results, in, out, taps);
    parameters += 2 * out;
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_CAPTURE_FIGURE_H_
