// A network that turns a sequence of embedded units into a distribution over devices for each: what
// the policies' placers have in common.
#ifndef PLACEWRIGHT_LEARN_PLACER_PLACER_NET_H_
#define PLACEWRIGHT_LEARN_PLACER_PLACER_NET_H_

#include <ATen/core/Tensor.h>

namespace placewright {

// Of units 0 .. N-1 in the order of the sequence.
struct PlacerInputs {
  at::Tensor embeddings;  // [B, N, I]: B sequences, which share what follows
  at::Tensor adjacency;   // normalised, for networks that look at it: sparse [N, N] where B is 1,
                          // or [B, N, N]
  at::Tensor forbidden;   // [N, devices]: 0, or minus infinity where a unit may not lie
  at::Tensor devices;     // [devices, features], for networks that score what devices are
};

class PlacerNet {
 public:
  virtual ~PlacerNet() = default;
  // Draws `repeats` placements of each sequence, without gradients: devices [B, repeats, N].
  // `noise` [B, repeats, N, devices] of the Gumbel distribution: the device with the largest sum of
  // logit and noise is a draw from the softmax of the logits.
  virtual at::Tensor Sample(const PlacerInputs& inputs, const at::Tensor& noise) const = 0;
  // Logits [B, repeats, N, devices] under which `devices` [B, repeats, N] was decided, minus
  // infinity where forbidden. With gradients.
  virtual at::Tensor Logits(const PlacerInputs& inputs, const at::Tensor& devices) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLACER_PLACER_NET_H_
