// A prior that learns nothing: what a step takes by its arithmetic and the bytes that cross, roughly.
//
//   work      of a device group: of every unit there at least (search/floors/part_floors.h), by its share of the batch
//   gradients of a unit with n devices by AllReduce: 2 (n - 1) / n of its parameters' bytes over the narrowest route of
//             its set; by servers what the widest group sends and gets: 2 d (n - d) / n of them for d devices of n
//   crossing  between units: what the reader's device groups need and have not, over the narrowest route
//   step      a third of the busiest group's work, then the rest of it beside the gradients of all units, one behind the
//             other, and what crosses
//
// The prior of a slice is 1 / r, where the step that it comes to is the r-th shortest: what one unit changes is a small
// part of most steps, so that times themselves would make all slices of later units alike.
//
// It is the control of a learned prior: TAG's undecided units follow the first, so that the first decision is a
// strategy of the whole step, which can be judged like this without having learned anything.
#ifndef PLACEWRIGHT_SEARCH_TAG_FLOOR_PRIOR_H_
#define PLACEWRIGHT_SEARCH_TAG_FLOOR_PRIOR_H_

#include <cstddef>
#include <vector>

#include "search/tag/prior.h"
#include "search/tag/strategies.h"
#include "search/tag/strategy_work.h"

namespace placewright {

class FloorPrior : public StrategyPrior {
 public:
  // Both must outlive it.
  FloorPrior(const Strategies& strategies, const StrategyWork& work);
  std::string_view name() const override { return "floor"; }
  void Fill(std::span<const int32_t> decided, const StrategyFeedback*,
            std::span<const int32_t> actions, std::span<double> priors) override;

  // ns of a step with these slices, one for each unit.
  double StepOf(std::span<const int32_t> slices) const;

 private:
  // What a step comes to.
  struct Sums {
    std::vector<double> busy;  // by device group
    double gradients = 0, crossing = 0;
  };

  void AddUnit(size_t unit, int32_t slice, Sums& sums) const;
  void AddEdge(const WorkEdge& edge, int32_t from, int32_t to, Sums& sums) const;
  static double StepOf(const Sums& sums);

  const Strategies& strategies_;
  const StrategyWork& work_;
  std::vector<std::vector<size_t>> edges_of_;  // [unit]: numbers of work_.edges()
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_FLOOR_PRIOR_H_
