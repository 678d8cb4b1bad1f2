// Parts of a sum: what pieces have of the axes that are summed over (internal to the module).
//
// Where a layout's boxes are uneven, devices may have the sum in several ways: one has all of it, two others have a half
// each. Parts that have something in common never both count.
#ifndef PLACEWRIGHT_COMPILE_SUM_PARTS_H_
#define PLACEWRIGHT_COMPILE_SUM_PARTS_H_

#include <vector>

#include "plan/box.h"
#include "sharding/named_axes.h"

namespace placewright {

// Which of these different parts are all of the sum, each of it once, in their order: of several such choices one; of
// none nothing.
std::vector<size_t> ChosenOnce(const NamedAxes& axes, const std::vector<Box>& parts);

// Whether all of them are.
bool AreAllOnce(const NamedAxes& axes, const std::vector<Box>& parts);

// Whether of each box the different parts of the sum are all of it, each once.
bool AreAllOfSums(const NamedAxes& axes, const std::vector<TensorBox>& boxes,
                  const std::vector<Box>& summed);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_SUM_PARTS_H_
