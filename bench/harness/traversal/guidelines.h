// Whether the guidelines of the traversal-order study (Wang et al., sec. IV-C and IV-D) hold on its runs: orders that
// it recommends for some graphs against the other orders, graph by graph.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TRAVERSAL_GUIDELINES_H_
#define PLACEWRIGHT_BENCH_HARNESS_TRAVERSAL_GUIDELINES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/harness/tables/verdict.h"
#include "study/traversal/advice.h"
#include "study/traversal/findings.h"

namespace placewright {

struct Guideline {
  std::string_view text;
  std::vector<TraversalOrder> orders;  // recommended
  std::optional<GraphFamily> family;   // for its graphs alone
  // Groups and directed diameter of the graphs that it is for.
  int64_t more_groups_than = 0, diameter_above = 0, diameter_up_to = kMaxQuantity;

  bool IsFor(const TraversalEvidence& graph) const;
};
std::span<const Guideline> Guidelines();

struct GuidelineFinding {
  size_t graphs = 0;
  // Mean step of the recommended orders over that of the others (geometric means over orders and numbers of devices):
  // the median over graphs.
  double ratio = 1;
  double p = 1;  // of Wilcoxon's signed ranks over graphs, by Holm's method over the guidelines
  // Undecided: with p above 0.05.
  Verdict verdict = Verdict::kUndecided;
};
// [guideline], after 50 episodes, under one of the learned policies.
std::vector<GuidelineFinding> JudgeGuidelines(const TraversalStore& store, TraversalPolicy policy);

// The order that is the best on a family's graphs, which is what `advise` says of graphs like them.
struct FamilyAdvice {
  GraphFamily family = GraphFamily::kCifar10;
  int devices = 0;
  OrderAdvice advice;  // over all of its graphs
  double chance = 1;   // ChanceOf
};
// After 50 episodes, of Placeto's sign; families and numbers of devices without runs are left out.
std::vector<FamilyAdvice> AdviseFamilies(const TraversalStore& store);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TRAVERSAL_GUIDELINES_H_
