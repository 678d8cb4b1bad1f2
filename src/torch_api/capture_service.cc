#include "torch_api/capture_service.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

constexpr std::array<std::pair<std::string_view, Training>, 3> kTrainings = {
    {{"none", Training::kNone}, {"sgd", Training::kSgd}, {"adam", Training::kAdam}}};

constexpr std::array<std::pair<std::string_view, LossKind>, 4> kLosses = {
    {{"cross-entropy", LossKind::kCrossEntropy},
     {"mean-squared", LossKind::kMeanSquared},
     {"mean", LossKind::kMean},
     {"output", LossKind::kOutput}}};

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

Result<CapturePrecision> ParseAmp(std::string_view text) {
  if (text == "f16") return CapturePrecision::kF16;
  if (text == "bf16") return CapturePrecision::kBf16;
  return MakeError(
      ErrorCode::kUsage,
      "--amp \"" + Printable(text) + "\" is unknown" + DidYouMean(text, {"f16", "bf16"}), "",
      "Give f16 or bf16.");
}

std::string_view ToString(LossKind loss) {
  for (const auto& [name, value] : kLosses) {
    if (value == loss) return name;
  }
  return "";
}

Result<LossKind> ParseLoss(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, value] : kLosses) {
    if (name == text) return value;
    names.emplace_back(name);
  }
  return MakeError(ErrorCode::kUsage,
                   "--loss \"" + Printable(text) + "\" is unknown" + DidYouMean(text, names), "",
                   "Give cross-entropy, mean-squared, mean, or output where the model computes its "
                   "loss itself.");
}

}  // namespace placewright
