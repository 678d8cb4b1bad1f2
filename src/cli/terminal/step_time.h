// How long a step takes, or shall take, as options state it.
#ifndef PLACEWRIGHT_CLI_TERMINAL_STEP_TIME_H_
#define PLACEWRIGHT_CLI_TERMINAL_STEP_TIME_H_

#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace placewright {

// "620ms", "1.5 s": a number above 0 with its unit (ParseDuration). `option`: that it is of. Errors: kUsage.
Result<Nanos> ParseStepTime(std::string_view option, std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_STEP_TIME_H_
