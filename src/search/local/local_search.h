// local-search: several annealing chains in rounds.
//
// kChains chains with random streams of their own run a fixed number of moves a round; between
// rounds the best plan is recorded and handed to all chains, and budgets are looked at. Nothing
// depends on the number of threads, and the recorded number of moves repeats a run that a time
// limit ended.
//
// Where all placements can be enumerated (enumeration.h), the best of them is the result, without a
// move. Else it ends with its budget, or when the best plan reaches the lower bound. It starts from
// --init if given, from the placement of the graph's file, from the plans it is offered (else from
// `layered`, `m-topo` and `heft`), and from the plans on parts of the machines
// (initial_placements.h): the best of all, and those nearly as good that cut fewest pairs of
// groups.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_LOCAL_SEARCH_H_
#define PLACEWRIGHT_SEARCH_LOCAL_LOCAL_SEARCH_H_

#include "search/layouts/layout_search.h"

namespace placewright {

class LocalSearchPlanner : public SearchOfEitherSpace {
 public:
  // Tests of the search itself do without enumeration.
  explicit LocalSearchPlanner(bool enumerates = true) : enumerates_(enumerates) {}

  std::string_view name() const override { return "local-search"; }
  std::string_view description() const override {
    return "simulated annealing over groups and sets of groups on re-simulation";
  }
  bool finds_what_fits() const override { return true; }
  LayoutRule layout_rule() const override { return LayoutRule::kLocalSearch; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  bool enumerates_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_LOCAL_SEARCH_H_
