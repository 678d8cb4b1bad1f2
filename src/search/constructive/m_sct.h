// m-SCT: memory-constrained small communication time scheduling (Baechi, Jeon et al., SoCC 2020,
// sec. 3.2): m-ETF that keeps a device waiting for the favourite child of what it has just run.
//
// Favourites come from the linear program of sct_program.h over the groups that m-ETF places itself
// (forward ops with their parameters; the rest is co-placed): p is a group's minimum time, c the
// mean transfer time of the bytes between two groups over all pairs of accelerators.
//
// Deviations: groups that lie on a common cycle (a group before and after another) are one node of
// the program and have no favourites among themselves; the program has an iteration limit, and the
// result's notes say so when it binds; of a waiting device's queue, only the first op is asked
// whether it is urgent; rounding at 1/2 as Hanen and Munier prove it. Deviations of m-ETF: m_etf.h.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_SCT_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_SCT_H_

#include "search/constructive/m_etf.h"
#include "search/constructive/placer.h"

namespace placewright {

// Simplex iterations; some seconds at most.
inline constexpr int64_t kSctIterationLimit = 20'000;

// Where the program has no optimum, as at its iteration limit, a note of `input` says so.
Favourites FavouriteChildren(const PlacerInput& input, int64_t iteration_limit);

class MSctPlanner : public Planner {
 public:
  explicit MSctPlanner(int64_t iteration_limit = kSctIterationLimit)
      : iteration_limit_(iteration_limit) {}
  std::string_view name() const override { return "m-sct"; }
  std::string_view description() const override {
    return "memory-constrained small communication times (Baechi, SoCC 2020)";
  }
  bool iterative() const override { return false; }
  // Its linear program takes seconds there (GNMT-8: 2.2 s), and the searches of bench/records end
  // with the same plans without it.
  bool RunsLast(const Problem& problem) const override {
    return problem.sim_graph.ops > kOpsOfLongPrograms;
  }
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  static constexpr int32_t kOpsOfLongPrograms = 10'000;
  int64_t iteration_limit_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_SCT_H_
