#include "plan/sfb_mode.h"

namespace placewright {

std::optional<SfbMode> ParseSfbMode(std::string_view name) {
  if (name == "none") return SfbMode::kNone;
  if (name == "embeddings") return SfbMode::kEmbeddings;
  if (name == "paper") return SfbMode::kPaper;
  if (name == "cut") return SfbMode::kCut;
  return std::nullopt;
}

}  // namespace placewright
