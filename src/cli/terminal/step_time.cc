#include "cli/terminal/step_time.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/text/quantity.h"

namespace placewright {

Result<Nanos> ParseStepTime(std::string_view option, std::string_view text) {
  const Result<Nanos> time = ParseDuration(text);
  if (time.ok() && time.value().count > 0) return time.value();
  const bool number = !text.empty() && text.find_first_not_of("0123456789.,") == text.npos;
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} \"{}\" {}", option, Printable(text, 80),
                               number && !time.ok() ? "has no unit" : "is no time above 0"),
                   "", "Give a number with ns, us, ms, s or min, such as 620ms.");
}

}  // namespace placewright
