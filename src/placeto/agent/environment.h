// What Placeto's agent is rewarded by: how long a step takes under a placement of the nodes.
#ifndef PLACEWRIGHT_PLACETO_AGENT_ENVIRONMENT_H_
#define PLACEWRIGHT_PLACETO_AGENT_ENVIRONMENT_H_

#include <cstdint>
#include <span>
#include <vector>

namespace placewright {

struct PlacetoOutcome {
  double time = 0;     // of a step, above 0, in the environment's unit
  double lacking = 0;  // memory beyond what devices have, in 10^9 bytes; 0 where all fits
};

class PlacetoEnvironment {
 public:
  virtual ~PlacetoEnvironment() = default;
  // `device_of` by node, in the numbers in which the graph was given. Fills `starts` with when each
  // node begins, in any unit.
  virtual PlacetoOutcome Evaluate(std::span<const int32_t> device_of,
                                  std::vector<double>& starts) = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_AGENT_ENVIRONMENT_H_
