// The learned planners by name, with the settings of each: what help texts and `--set` know without
// opening LibTorch. The algorithms themselves are in `learn`.
#ifndef PLACEWRIGHT_TORCH_API_LEARNED_ALGORITHMS_H_
#define PLACEWRIGHT_TORCH_API_LEARNED_ALGORITHMS_H_

#include <string_view>
#include <vector>

#include "search/agent_settings.h"

namespace placewright {

struct LearnedAlgorithm : SettableAlgorithm {
  bool torch = true;           // whether its planner lives in the library of LibTorch (`learn`)
  bool torch_training = true;  // whether its training does
  // Whether it plans strategies (search/tag): of steps that may be split, with policies for any devices.
  bool strategies = false;
};

// In the order of tables.
const std::vector<LearnedAlgorithm>& LearnedAlgorithms();
// Those that need LibTorch and place whole ops, of the same order.
std::vector<LearnedAlgorithm> TorchPlacers();
// nullptr where no learned planner has the name.
const LearnedAlgorithm* FindLearnedAlgorithm(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_LEARNED_ALGORITHMS_H_
