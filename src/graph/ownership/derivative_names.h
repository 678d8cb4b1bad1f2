// Which ATen operators autograd calls to differentiate another. A part of DifferentiatedOps.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_DERIVATIVE_NAMES_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_DERIVATIVE_NAMES_H_

#include <string_view>

namespace placewright {

// True where the name of a backward op says what it differentiates: gelu_backward and gelu, also
// select_backward and select. Names are without "aten." and overload.
bool NamesForward(std::string_view backward, std::string_view forward);

// True if it may be an op of the derivative of `forward` by its name alone: NamesForward, the same
// operator (transpose, neg, mul), or one of the formulas of autograd (sum for a broadcast addend,
// cat for split). In place or not makes no difference.
bool MayDifferentiate(std::string_view backward, std::string_view forward);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_DERIVATIVE_NAMES_H_
