// Operators of ATen that no rule can split by the batch, and why: what a table of coverage leaves out.
#ifndef PLACEWRIGHT_SHARDING_WHOLE_BY_NATURE_H_
#define PLACEWRIGHT_SHARDING_WHOLE_BY_NATURE_H_

#include <string_view>

namespace placewright {

// `type`: as Op::type ("aten.nonzero.default"). A reason in words that a user reads behind "whole:"; "" for an
// operator that has a rule, or of which nothing is known.
std::string_view WhyWholeByNature(std::string_view type);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_WHOLE_BY_NATURE_H_
