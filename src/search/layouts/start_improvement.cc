#include "search/layouts/start_improvement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "search/layouts/feeders.h"
#include "search/layouts/gradient_sums.h"
#include "search/sfb/sfb_search.h"

namespace placewright {
namespace {

constexpr size_t kMaxSummands = 64, kMaxSummandTries = 8, kMaxFeeders = 8, kMaxUpdates = 64;

}  // namespace

bool StartImprovement::Improve(LayoutState start, const Score& score) {
  base_ = std::move(start);
  score_ = score;
  TryAxes();
  TryShares();
  TryFactors();
  TrySummands();
  TryFeeders();
  TryUpdates();
  TryAll(LayoutMoves::OtherWaysOf(base_));
  return !ended_;
}

bool StartImprovement::Ended() { return ended_ = ended_ || scorer_.budget().Expired(); }

// What `make` makes of the start by each number below `count`: made ahead as if nothing helped; what follows on what
// does is made again.
template <typename Make>
void StartImprovement::TryAhead(size_t count, const Make& make) {
  if (Ended()) return;
  using Next = LayoutScorer::Next;
  const size_t tried = scorer_.TryAhead(
      count,
      [&](size_t number) -> std::optional<LayoutScorer::Made> {
        LayoutState state = make(number);
        if (state == base_ || !moves_.MayBe(state)) return std::nullopt;
        return LayoutScorer::Made{std::move(state), LayoutScorer::LongestOf(score_)};
      },
      [&](size_t, const LayoutState& state, const LayoutScorer::Scored& scored) {
        if (!scored.ok() || !scored.value()) return Next::kOn;
        const Score& score = *scored.value();
        if (!keep_(state, score)) {
          ended_ = true;
          return Next::kEnd;
        }
        if (!(score < score_)) return Next::kOn;
        base_ = state;
        score_ = score;
        return Next::kAgain;
      });
  ended_ |= tried < count;
}

void StartImprovement::TryAll(const std::vector<LayoutState>& states) {
  TryAhead(states.size(), [&](size_t i) { return states[i]; });
}

// With layers split by their axis, one choice after the other, where it splits nothing itself:
// of one that does, moves make more than of what these choices lead to.
void StartImprovement::TryAxes() {
  if (!IsPlaced(base_, book_)) return;
  TryAhead(moves_.axis_choices(),
           [&](size_t choice) { return moves_.WithAxisChoice(base_, choice); });
}

// With its parts shared out otherwise.
void StartImprovement::TryShares() {
  for (const LayoutId id : std::set<LayoutId>(base_.of_group.begin(), base_.of_group.end())) {
    TryAll(moves_.OtherSharesOf(base_, id));
  }
}

bool StartImprovement::SplitsSamples(LayoutId id) const {
  const NamedAxes& axes = problem_.axes;
  const Layout& layout = book_[id];
  return axes.batch().valid() && layout.shares.size() > 1 && layout.axis() == axes.batch();
}

// With gradients made of gathered factors: what moves would come to one gradient at a time.
void StartImprovement::TryFactors() {
  if (Ended()) return;
  const auto splits = [this](LayoutId id) { return SplitsSamples(id); };
  if (std::none_of(base_.of_group.begin(), base_.of_group.end(), splits)) return;
  const auto feedback = scorer_.FeedbackOf(base_);
  if (!feedback.ok()) return;  // a start that does not compile
  const auto plans = SfbCandidates(problem_, PlanOf(book_, base_), feedback.value().instances);
  if (!plans.ok()) return;
  std::vector<LayoutState> states;
  for (const StepPlan& plan : plans.value()) states.push_back(StateOf(problem_, plan, book_));
  TryAll(states);
}

// With summands of gradients computed by all devices: of a thousand groups moves seldom come to these.
void StartImprovement::TrySummands() {
  if (Ended()) return;
  std::vector<GroupId> groups = GroupsOfSummands(problem_, kMaxSummands);
  std::erase_if(groups, [&](GroupId group) { return !SplitsSamples(base_.of_group[group]); });
  TryAhead(std::min(kMaxSummandTries, groups.size()),
           [&](size_t i) { return WithCopies(groups[i], base_.of_group[groups[i]]); });
}

// With what is read on several devices computed there.
void StartImprovement::TryFeeders() {
  if (Ended()) return;
  const std::vector<Feeder> feeders = FeedersOf(problem_, book_, base_, kMaxFeeders);
  TryAhead(feeders.size(),
           [&](size_t i) { return WithCopies(feeders[i].group, feeders[i].read_by); });
}

// With parameters that are alike on one device each, or with their updates split: all of them, or one or two in three,
// so that their gathers fit beside the forward pass where all would hold it up.
void StartImprovement::TryUpdates() {
  constexpr std::array<LayoutMoves::Some, 3> kSplit = {{{1, 0}, {3, 0}, {3, 1}}};
  constexpr size_t kWays = 1 + kSplit.size();
  TryAhead(kWays * std::min(kMaxUpdates, moves_.update_choices()), [&](size_t i) {
    const size_t choice = i / kWays, way = i % kWays;
    return way == 0 ? moves_.WithServers(base_, choice)
                    : moves_.WithSplitUpdates(base_, choice, kSplit[way - 1]);
  });
}

// With a group computed by every device of a layout.
LayoutState StartImprovement::WithCopies(GroupId group, LayoutId layout) {
  LayoutState state = base_;
  state.of_group[group] = book_.Add(CopiesOn(DevicesOf(book_[layout])));
  return state;
}

}  // namespace placewright
