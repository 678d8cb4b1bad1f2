// mcmc and annealing: searches over single groups as the literature has them, on the same
// incremental evaluation as local-search. They are opponents; `auto` does not run them, since
// local-search makes all their moves.
//
// mcmc: FlexFlow's search (Jia, Zaharia and Aiken, "Beyond Data and Model Parallelism for Deep
// Neural Networks", MLSys 2019, sec. 6.2), reduced to placements. A Metropolis-Hastings chain
// proposes for an op, drawn uniformly, an accelerator, drawn uniformly of those that it may use
// (FlexFlow draws GPUs; where an op may use none, here of all its devices), and accepts with
// probability
//   min(1, exp(beta * (cost(S) - cost(S*))))
// It ends with its budget or when half of the search has brought nothing better.
// Chains start from existing strategies and from random ones: here --init, --expert or the expert
// rules, the placement of the file, everything on one device, and random plans.
//   Deviations: groups in place of ops; beta, of which the paper says only that it is a constant,
//   is 1 / (0.2% of cost(S)), so that one setting holds for plans many times apart; plans that do
//   not fit pay the penalty of local-search instead of being refused.
//
// annealing: Kirkpatrick, Gelatt and Vecchi 1983 with restarts. T falls geometrically to a
// thousandth within 20 moves per group (10,000 at most), from a share of the cost that is 1 /
// groups (between 0.5% and a fifth); the next epoch starts from a random plan, the one after it
// from the best. Moves: a group to another device, or two groups trade places. Chains start from
// --init, the placement of the file, `layered`, `heft` and random plans.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_PLAIN_CHAINS_H_
#define PLACEWRIGHT_SEARCH_LOCAL_PLAIN_CHAINS_H_

#include "search/layouts/layout_search.h"

namespace placewright {

class McmcPlanner : public SearchOfEitherSpace {
 public:
  // `expert`: a plan that a user gave as the expert's (--expert); it starts from it, too.
  explicit McmcPlanner(std::optional<Placement> expert = std::nullopt)
      : expert_(std::move(expert)) {}
  std::string_view name() const override { return "mcmc"; }
  std::string_view description() const override {
    return "Metropolis-Hastings over single groups (FlexFlow, MLSys 2019)";
  }
  bool in_auto() const override { return false; }
  LayoutRule layout_rule() const override { return LayoutRule::kMcmc; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  std::optional<Placement> expert_;
};

class AnnealingPlanner : public SearchOfEitherSpace {
 public:
  std::string_view name() const override { return "annealing"; }
  std::string_view description() const override {
    return "simulated annealing over single groups, with restarts (Kirkpatrick et al. 1983)";
  }
  bool in_auto() const override { return false; }
  LayoutRule layout_rule() const override { return LayoutRule::kAnnealing; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_PLAIN_CHAINS_H_
