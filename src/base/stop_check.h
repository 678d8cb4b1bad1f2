// Whether long work is to be given up: a deadline has passed, somebody asked for it.
#ifndef PLACEWRIGHT_BASE_STOP_CHECK_H_
#define PLACEWRIGHT_BASE_STOP_CHECK_H_

#include <functional>

namespace placewright {

// Called some hundred times a second at most, from any thread. Empty: never.
using StopCheck = std::function<bool()>;

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_STOP_CHECK_H_
