// Which kind of move a search over layouts draws (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_MOVE_CHANCES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_MOVE_CHANCES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/random.h"

namespace placewright {

// layout_moves.h says what they are.
enum class MoveKind : uint8_t {
  kUnitToDevice,
  kUnitToCopies,
  kUnitToParts,
  kUnitToOther,
  kGroupToDevice,
  kGroupToCopies,
  kGroupToParts,
  kGroupToOther,
  kAlikeToDevice,
  kAlikeToCopies,
  kAlikeToParts,
  kAlikeToOther,
  kAxis,
  kGroupAxis,
  kAlikeAxis,
  kServers,
  kUnitServers,
  kServersAlike,
  kLayout,
  kShares,
  kHow
};

class MoveChances {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(MoveKind::kHow) + 1;
  using Weights = std::array<double, kKinds>;
  // Of kinds that are not named: zero.
  static constexpr Weights WeightsOf(std::initializer_list<std::pair<MoveKind, double>> named) {
    Weights weights{};
    for (const auto& [kind, weight] : named) weights[static_cast<size_t>(kind)] = weight;
    return weights;
  }

  // In proportion to the weights, throughout.
  static MoveChances Fixed(const Weights& weights) { return MoveChances(weights, false); }
  // The same, and never two moves at once.
  static MoveChances OneAtATime(const Weights& weights) {
    MoveChances chances(weights, false);
    chances.one_at_a_time_ = true;
    return chances;
  }
  // Three tenths in proportion to the weights, the rest in proportion to how often a move of the kind has found
  // a better step, at first taken to be one in twenty.
  static MoveChances Learned(const Weights& weights) { return MoveChances(weights, true); }

  bool one_at_a_time() const { return one_at_a_time_; }
  // What was counted before decides. A kind of weight zero is never drawn.
  MoveKind Draw(Random& random) const;
  // One move of the kind that was tried.
  void Count(MoveKind kind, bool better);

 private:
  MoveChances(const Weights& weights, bool learns);

  bool one_at_a_time_ = false;
  const bool learns_;
  Weights fixed_;  // they sum to one
  Weights tried_{}, better_{};
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_MOVE_CHANCES_H_
