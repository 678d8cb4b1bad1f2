#include "torch_api/torch_api.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

constexpr std::array<std::pair<std::string_view, Training>, 3> kTrainings = {
    {{"none", Training::kNone}, {"sgd", Training::kSgd}, {"adam", Training::kAdam}}};

}  // namespace

std::string_view ToString(Training training) {
  for (const auto& [name, value] : kTrainings) {
    if (value == training) return name;
  }
  return "";
}

Result<Training> ParseTraining(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, value] : kTrainings) {
    if (name == text) return value;
    names.emplace_back(name);
  }
  return MakeError(ErrorCode::kUsage,
                   "--train \"" + Printable(text) + "\" is unknown" + DidYouMean(text, names), "",
                   "Give adam, sgd, or none for a forward pass alone.");
}

}  // namespace placewright
