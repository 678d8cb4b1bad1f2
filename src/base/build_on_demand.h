// What ./run leaves unbuilt until it is needed.
#ifndef PLACEWRIGHT_BASE_BUILD_ON_DEMAND_H_
#define PLACEWRIGHT_BASE_BUILD_ON_DEMAND_H_

#include <string>

namespace placewright {

// Where the environment's PLACEWRIGHT_BUILD_LIBRARY names a command (./run does), runs it with the target
// of the build as its argument, and waits. Whether it succeeded; false without such a command.
bool BuildOnDemand(std::string target);

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_BUILD_ON_DEMAND_H_
