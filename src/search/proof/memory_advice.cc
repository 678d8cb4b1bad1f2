#include "search/proof/memory_advice.h"

#include <algorithm>
#include <utility>

#include "search/proof/minimal_memory.h"
#include "sim/order_advice.h"

namespace placewright {
namespace {

constexpr int64_t kMebi = 1 << 20;
constexpr int32_t kLarge = 10'000;  // ops: above, each simulation is worth saving

// What is put into a cluster file: whole MiB where that adds little.
int64_t RoundUp(int64_t bytes) {
  return bytes < kMebi ? bytes : (bytes + kMebi - 1) / kMebi * kMebi;
}

std::string FormatAmount(int64_t bytes) {
  if (bytes < kMebi || bytes % kMebi != 0) return FormatCount(bytes) + " B";
  return FormatCount(bytes / kMebi) + " MiB";
}

int64_t Total(const MemoryAdvice& advice) {
  int64_t total = 0;
  for (const MoreMemory& more : advice.more) total = SaturatingAdd(total, more.bytes);
  return total;
}

// What the devices lack for a plan; nothing where a device would need more than can be stated.
std::optional<MemoryAdvice> Lacking(const Problem& problem, Evaluator& evaluator,
                                    const Placement& placement) {
  const Evaluation result = evaluator.EvaluateOne(placement);
  MemoryAdvice lacking;
  for (size_t d = 0; d < result.devices.size(); ++d) {
    const Evaluation::Device& device = result.devices[d];
    if (device.over.count <= 0) continue;
    const int64_t more = RoundUp(device.over.count);
    if (device.peak.count >= kMaxQuantity ||
        problem.sim_graph.capacity[DeviceId(d)] + more > kMaxQuantity) {
      return std::nullopt;
    }
    lacking.more.push_back({DeviceId(d), more});
  }
  return lacking;
}

// The planner that makes a plan which fits, once `more` is added; empty: none does.
std::string WhoFits(const Problem& problem, const Evaluator& evaluator, const PlanSource& plans,
                    const std::vector<MoreMemory>& more) {
  Problem larger = problem;
  for (const MoreMemory& m : more) larger.sim_graph.capacity[m.device] += m.bytes;
  const std::unique_ptr<Evaluator> evaluator_of_larger = evaluator.ForProblem(larger, 1);
  std::string who;
  plans(larger, *evaluator_of_larger,
        [&](std::string_view planner, const Placement&, bool feasible) {
          if (feasible) who = planner;
          return feasible;
        });
  return who;
}

// What each plan lacks, the smallest amount first.
std::vector<MemoryAdvice> Candidates(const Problem& problem, Evaluator& evaluator,
                                     const PlanSource& plans, const Placement* plan) {
  std::vector<MemoryAdvice> candidates;
  const auto add = [&](const Placement& placement) {
    auto lacking = Lacking(problem, evaluator, placement);
    if (lacking) candidates.push_back(*std::move(lacking));
  };
  plans(problem, evaluator, [&](std::string_view, const Placement& placement, bool) {
    add(placement);
    return false;
  });
  if (plan != nullptr) add(*plan);
  std::stable_sort(
      candidates.begin(), candidates.end(), [](const MemoryAdvice& a, const MemoryAdvice& b) {
        return std::make_pair(Total(a), a.more.size()) < std::make_pair(Total(b), b.more.size());
      });
  return candidates;
}

// The device to enlarge alone: the one with the largest lack, of equals the one with the most
// memory.
DeviceId DeviceToEnlarge(const Problem& problem, const MemoryAdvice& advice) {
  return std::max_element(advice.more.begin(), advice.more.end(),
                          [&](const MoreMemory& a, const MoreMemory& b) {
                            const auto& capacity = problem.sim_graph.capacity;
                            return std::make_pair(a.bytes, capacity[a.device]) <
                                   std::make_pair(b.bytes, capacity[b.device]);
                          })
      ->device;
}

// Less than `advice` on one device alone, by bisection; each round runs all planners.
void Shrink(const Problem& problem, const Evaluator& evaluator, const PlanSource& plans,
            int64_t at_least, MemoryAdvice* advice) {
  if (advice->more.empty()) return;
  const DeviceId device = DeviceToEnlarge(problem, *advice);
  const int64_t room = kMaxQuantity - problem.sim_graph.capacity[device];
  int64_t low = at_least - 1, high = Total(*advice);  // low is not enough
  const int rounds = problem.sim_graph.ops <= kLarge ? 6 : 0;
  for (int round = 0; round < rounds; ++round) {
    // The smallest possible amount first: often it is enough.
    const int64_t middle = RoundUp(round == 0 && at_least > 1 ? at_least : low + (high - low) / 2);
    if (middle <= 0 || middle >= high || middle > room) return;
    const std::string who = WhoFits(problem, evaluator, plans, {{device, middle}});
    if (who.empty()) {
      low = middle;
    } else {
      high = middle;
      *advice = {{{device, middle}}, who};
    }
  }
}

std::string List(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ";
    text += parts[i];
  }
  return text;
}

}  // namespace

std::optional<MemoryAdvice> FindMemoryAdvice(const Problem& problem, Evaluator& evaluator,
                                             const PlanSource& plans, int64_t at_least,
                                             const Placement* plan) {
  const std::vector<MemoryAdvice> candidates = Candidates(problem, evaluator, plans, plan);
  if (candidates.empty()) return std::nullopt;
  const size_t checked = problem.sim_graph.ops <= kLarge ? candidates.size() : 1;
  // A larger change by which a planner finds its plan is worth more than a smaller one by which a
  // plan exists. Where none does, that one is what there is.
  std::optional<MemoryAdvice> found;
  for (size_t i = 0; i < std::min(checked, candidates.size()) && !found; ++i) {
    const std::string who = WhoFits(problem, evaluator, plans, candidates[i].more);
    if (!who.empty()) found = {candidates[i].more, who};
  }
  if (!found) return candidates.front();
  Shrink(problem, evaluator, plans, at_least, &*found);
  return found;
}

std::string DescribeMemoryAdvice(const Problem& problem,
                                 const std::optional<MemoryAdvice>& advice) {
  constexpr size_t kNamed = 8;
  if (!advice) return "no amount is known to be enough";
  if (advice->more.empty())
    return "another algorithm: --algo " + advice->algorithm + " finds a plan that fits";
  if (advice->more.size() > kNamed) {
    int64_t max = 0;
    for (const MoreMemory& more : advice->more) max = std::max(max, more.bytes);
    return FormatAmount(max) + " more on each device is enough: checked by simulation";
  }
  std::vector<std::string> parts;
  for (const MoreMemory& more : advice->more) {
    const int64_t all = problem.sim_graph.capacity[more.device] + more.bytes;
    parts.push_back(FormatAmount(more.bytes) + " more on " +
                    problem.cluster->device(more.device).name + " (" + FormatAmount(all) +
                    " usable in all)");
  }
  return List(parts) + (parts.size() == 1 ? " is" : " are") + " enough: checked by simulation";
}

std::string ReserveAdvice(const Problem& problem, int64_t missing) {
  int64_t kept = 0;
  for (const DeviceId id : problem.cluster->devices()) {
    kept = SaturatingAdd(kept, problem.cluster->device(id).reserve.count);
  }
  if (kept == 0 || missing > kept) return "";
  return "; or keep less memory in reserve (--memory-reserve): it is " + FormatSize(kept) +
         " in all";
}

std::string ConstraintAdvice(const Problem& problem) {
  return problem.constraints.Empty() ? "" : "; or loosen --pin, --forbid and --colocate";
}

std::string DescribeOverflow(const Problem& problem, const Evaluation& result) {
  size_t worst = 0, lacking = 0;
  for (size_t d = 0; d < result.devices.size(); ++d) {
    lacking += result.devices[d].over.count > 0;
    if (result.devices[d].over.count > result.devices[worst].over.count) worst = d;
  }
  if (lacking == 0) return "fits";
  std::string text = "needs " + FormatSize(result.devices[worst].peak.count) + " on " +
                     problem.cluster->device(DeviceId(worst)).name + ", which has " +
                     FormatSize(problem.sim_graph.capacity[DeviceId(worst)]) +
                     KeptInReserve(problem, DeviceId(worst));
  if (lacking > 1) {
    text += ", and too much on " + FormatCount(static_cast<int64_t>(lacking) - 1) +
            (lacking == 2 ? " other device" : " other devices");
  }
  return text;
}

// Another order that takes less memory, with its figure.
std::string OrderAdvice(const Problem& problem, const Placement& plan) {
  const auto order = FindCheaperOrder(problem.sim_graph, plan, problem.policy);
  return order ? "; or " + Describe(*order, *problem.cluster) : "";
}

Error NothingFits(const Problem& problem, Evaluator& evaluator, const PlanSource& plans,
                  std::string_view algorithm, const Placement& plan) {
  const Evaluation result = evaluator.EvaluateOne(plan);
  const std::optional<MemoryAdvice> advice = FindMemoryAdvice(problem, evaluator, plans, 1, &plan);
  const bool as_it_is = advice && advice->more.empty();
  return MakeError(ErrorCode::kNothingFound,
                   "the best placement that " + std::string(algorithm) +
                       " found does not fit: it " + DescribeOverflow(problem, result) +
                       LargestGroup(problem, MinMemoryOfGroups(problem)) + "; nothing was written",
                   "",
                   "Give more time (--time), or " + std::string(as_it_is ? "" : "more memory: ") +
                       DescribeMemoryAdvice(problem, advice) +
                       ReserveAdvice(problem, result.TotalOver().count) +
                       OrderAdvice(problem, plan) + ConstraintAdvice(problem));
}

}  // namespace placewright
