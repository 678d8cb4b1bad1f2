#include "formats/accelerate/refusals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kMostOptions = 8;

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

void Refusals::Add(std::string_view about, std::string reason, std::string options) {
  if (!about_.emplace(about).second) return;
  if (first_.empty()) first_ = std::move(reason);
  const bool known = std::find(options_.begin(), options_.end(), options) != options_.end();
  if (!options.empty() && !known) options_.push_back(std::move(options));
}

Error Refusals::ToError() const {
  std::string message = "the plan cannot be expressed as a device_map: " + first_;
  if (about_.size() > 1) message += fmt::format(" (and {} more such modules)", about_.size() - 1);
  std::string remedy;
  for (size_t i = 0; i < std::min(options_.size(), kMostOptions); ++i) remedy += " " + options_[i];
  remedy = remedy.empty() ? "Export to another format." : "Plan again with" + remedy + ".";
  return MakeError(ErrorCode::kNotExpressible, std::move(message), "", std::move(remedy));
}

}  // namespace placewright
