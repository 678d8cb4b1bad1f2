#include "planning/quick_fit.h"

#include <memory>
#include <utility>
#include <vector>

#include "planning/all_peaks.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/layout_search.h"
#include "search/planner_table.h"
#include "search/proof/infeasibility.h"
#include "search/proof/routes.h"

namespace placewright {
namespace {

class FitFinder {
 public:
  FitFinder(const Problem& problem, const PlannerOptions& options, bool fastest)
      : problem_(problem),
        fastest_(fastest),
        on_gpus_(OnGpusAlone(problem)),
        options_(options),
        evaluator_(MakeSimulatedEvaluator(on_gpus_, options.threads)) {}

  Result<QuickFit> Find(const Planner* asked) {
    PW_RETURN_IF_ERROR(CheckNotProvenDisconnected(problem_));
    const PlanSource none = [](const Problem&, Evaluator&, const PlanVisitor&) {};
    const bool replicated = on_gpus_.layouts != nullptr;
    Status proof = CheckNotProvenInfeasible(on_gpus_, *evaluator_, none);
    if (!proof.ok() && !replicated) return QuickFit{false, true, proof.error().message, {}};
    QuickFit found;
    if (asked != nullptr && !asked->iterative()) {
      PW_ASSIGN(found.plan, asked->Plan(on_gpus_, *evaluator_, options_));
      const Status fits = CheckPeaks(found.plan);
      if (!fits.ok()) found.reason = fits.error().message;
      found.fits = found.plan.feasible && fits.ok();
      return found;
    }
    if (replicated) {
      for (const std::shared_ptr<const Planner>& planner : MakeLayoutPlanners()) {
        if (planner->iterative() || !planner->finds_what_fits()) continue;
        if (Fits(*planner, found)) return found;
      }
    }
    if (proof.ok() && PlacementFits(found)) return found;
    if (found.fits) return found;
    if (replicated) PW_RETURN_IF_ERROR(LayoutsFit(found));
    return found;
  }

 private:
  // Whether that is enough. A planner that cannot plan such a problem says nothing about what fits.
  bool Fits(const Planner& planner, QuickFit& found) {
    if (options_.budget.Stopped()) return false;
    Result<PlannerResult> planned = planner.Plan(on_gpus_, *evaluator_, options_);
    if (!planned.ok() || !planned.value().feasible) return false;
    if (found.fits && found.plan.step_time <= planned.value().step_time) return false;
    if (!CheckPeaks(planned.value()).ok()) return false;
    found.fits = true;
    found.plan = planned.Take();
    return !fastest_;
  }

  // Of a plan whose tensors fit; of any other one nothing is asked.
  Status CheckPeaks(const PlannerResult& plan) const {
    if (!plan.feasible) return Ok();
    return CheckAllPeaks(on_gpus_, *evaluator_, *on_gpus_.graph, plan);
  }

  bool PlacementFits(QuickFit& found) {
    const PlannerTable table = MakeSearchPlanners();
    for (const std::shared_ptr<const Planner>& planner : table) {
      if (planner->iterative() || !planner->in_auto() || planner->RunsLast(on_gpus_)) continue;
      if (Fits(*planner, found)) return true;
    }
    if (found.fits) return true;
    for (const std::shared_ptr<const Planner>& planner : table) {
      const IterativePlanner* const search = planner->AsIterative();
      if (search != nullptr && search->finds_what_fits()) return SearchFits(*search, found);
    }
    return false;
  }

  Status LayoutsFit(QuickFit& found) {
    PlannerOptions options = options_;
    options.budget.iterations = kFitMoves;
    options.first_fit = true;
    const LayoutSearchPlanner search;
    const Result<std::unique_ptr<PlannerRun>> run = search.Start(on_gpus_, *evaluator_, options);
    if (!run.ok()) return Ok();  // says nothing about what fits
    while (!options_.budget.Stopped() && run.value()->Advance(kFitMoves)) {
    }
    if (!run.value()->result().feasible) return Ok();
    PW_RETURN_IF_ERROR(run.value()->Finish());
    found.plan = run.value()->result();
    found.fits = found.plan.feasible && CheckPeaks(found.plan).ok();
    return Ok();
  }

  bool SearchFits(const IterativePlanner& search, QuickFit& found) {
    const Result<std::unique_ptr<PlannerRun>> run = search.Start(on_gpus_, *evaluator_, options_);
    if (!run.ok()) return false;
    constexpr int64_t kAnyMoves = int64_t{1} << 40;
    for (int slice = 0; slice < kFitSlices && !options_.budget.Stopped(); ++slice) {
      if (run.value()->result().feasible || !run.value()->Advance(kAnyMoves)) break;
    }
    found.plan = run.value()->result();
    found.fits = found.plan.feasible && CheckPeaks(found.plan).ok();
    return found.fits;
  }

  const Problem& problem_;
  const bool fastest_;  // of all that are tried, not the first that fits
  const Problem on_gpus_;
  const PlannerOptions& options_;
  const std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace

Problem OnGpusAlone(Problem problem) {
  for (ColocationGroup& group : problem.groups) {
    std::vector<DeviceId> gpus;
    for (const DeviceId device : group.allowed) {
      if (problem.cluster->kind(device).device_class == DeviceClass::kGpu) gpus.push_back(device);
    }
    if (!gpus.empty()) group.allowed = std::move(gpus);
  }
  return problem;
}

Result<QuickFit> FindFit(const Problem& problem, const Planner* asked,
                         const PlannerOptions& options) {
  return FitFinder(problem, options, false).Find(asked);
}

Result<QuickFit> FindFastest(const Problem& problem, const Planner* asked,
                             const PlannerOptions& options) {
  return FitFinder(problem, options, true).Find(asked);
}

}  // namespace placewright
