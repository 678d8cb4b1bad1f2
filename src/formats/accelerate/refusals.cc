#include "formats/accelerate/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace placewright {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::string KeepWhole(std::string_view path) {
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (IsNumber(path.substr(begin, end - begin))) {
      return fmt::format("--colocate-each '{}*'", Printable(path.substr(0, begin), 120));
    }
    begin = end + 1;
  }
  return path.empty() ? "" : fmt::format("--colocate '{}'", Printable(path, 120));
}

void Refusals::Add(std::string_view about, std::string reason, std::string options, Weight weight) {
  Reasons& to = weight == Weight::kGreat ? great_ : small_;
  if (!to.about.emplace(about).second) return;
  if (to.first.empty()) to.first = std::move(reason);
  const bool known = std::find(to.options.begin(), to.options.end(), options) != to.options.end();
  if (!options.empty() && !known) to.options.push_back(std::move(options));
}

std::string Refusals::Options() const {
  std::vector<std::string> all = great_.options;
  for (const std::string& option : small_.options) {
    if (std::find(all.begin(), all.end(), option) == all.end()) all.push_back(option);
  }
  return fmt::format("{}", fmt::join(all, " "));
}

Error Refusals::ToError() const {
  const Reasons& reasons = any_great() ? great_ : small_;
  std::string message = "the plan cannot be expressed as a device_map: " + reasons.first;
  if (reasons.about.size() > 1) {
    message += fmt::format(" (and {} more such modules)", reasons.about.size() - 1);
  }
  return MakeError(ErrorCode::kNotExpressible, std::move(message), "",
                   reasons.options.empty()
                       ? "Export to another format."
                       : fmt::format("Plan again with {}, besides the options given.",
                                     fmt::join(reasons.options, " ")));
}

}  // namespace placewright
