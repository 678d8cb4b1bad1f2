// Whether gradients that devices would synchronise are made of gathered factors (search/sfb/sfb_search.h).
#ifndef PLACEWRIGHT_PLAN_SFB_MODE_H_
#define PLACEWRIGHT_PLAN_SFB_MODE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace placewright {

enum class SfbMode : uint8_t {
  kNone,
  kEmbeddings,  // those of embeddings whose rows are fewer bytes than their table (search/sfb/embedding_rows.h)
  kPaper,  // as TAG's program says, whatever becomes of the step
  kCut     // where the step is faster for it
};
std::optional<SfbMode> ParseSfbMode(std::string_view name);  // "none", "embeddings", "paper", "cut"

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_SFB_MODE_H_
