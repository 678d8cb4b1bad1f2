#include "search/proof/enough.h"

#include <algorithm>
#include <utility>

#include "search/planner.h"
#include "search/proof/needs.h"

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

int64_t Total(const EnoughMemory& enough) {
  int64_t total = 0;
  for (const MoreMemory& more : enough.more) total = SaturatingAdd(total, more.bytes);
  return total;
}

SimResult Simulate(const Problem& problem, const Placement& placement) {
  Simulator simulator(problem.program);
  SimOptions options;
  options.order = problem.order;
  return simulator.Run(placement, options);
}

// What the devices lack for a plan; nothing where a device would need more than can be stated.
std::optional<EnoughMemory> Lacking(const Problem& problem, const Placement& placement) {
  const SimResult result = Simulate(problem, placement);
  EnoughMemory lacking;
  for (size_t d = 0; d < result.devices.size(); ++d) {
    const DeviceResult& device = result.devices[d];
    if (device.over.count <= 0) continue;
    const int64_t more = RoundUp(device.over.count);
    if (device.peak.count >= kMaxQuantity || problem.program.capacity[d] + more > kMaxQuantity) {
      return std::nullopt;
    }
    lacking.more.push_back({DeviceId(static_cast<int32_t>(d)), more});
  }
  return lacking;
}

// The planner that makes a plan which fits, once `more` is added; empty: none does.
std::string WhoFits(const Problem& problem, const std::vector<MoreMemory>& more) {
  Problem larger = problem;
  for (const MoreMemory& m : more) larger.program.capacity[m.device.index()] += m.bytes;
  for (const Planner* planner : SearchPlanners()) {
    if (planner->iterative()) continue;
    const Result<PlannerResult> planned = planner->Plan(larger, {});
    if (planned.ok() && planned.value().feasible) return std::string(planner->name());
  }
  return "";
}

// What each plan lacks, the least first.
std::vector<EnoughMemory> Candidates(const Problem& problem, const Placement* plan) {
  std::vector<EnoughMemory> candidates;
  const auto add = [&](const Placement& placement) {
    if (auto lacking = Lacking(problem, placement)) candidates.push_back(*std::move(lacking));
  };
  for (const Planner* planner : SearchPlanners()) {
    if (planner->iterative()) continue;
    const Result<PlannerResult> planned = planner->Plan(problem, {});
    if (planned.ok()) add(planned.value().placement);
  }
  if (plan != nullptr) add(*plan);
  std::stable_sort(
      candidates.begin(), candidates.end(), [](const EnoughMemory& a, const EnoughMemory& b) {
        return std::make_pair(Total(a), a.more.size()) < std::make_pair(Total(b), b.more.size());
      });
  return candidates;
}

// The device to enlarge alone: the one that lacks most, of equals the one that has most.
DeviceId DeviceToEnlarge(const Problem& problem, const EnoughMemory& enough) {
  return std::max_element(enough.more.begin(), enough.more.end(),
                          [&](const MoreMemory& a, const MoreMemory& b) {
                            const auto& capacity = problem.program.capacity;
                            return std::make_pair(a.bytes, capacity[a.device.index()]) <
                                   std::make_pair(b.bytes, capacity[b.device.index()]);
                          })
      ->device;
}

// Less than `enough` on one device alone, by bisection; each round runs all planners.
void Shrink(const Problem& problem, int64_t at_least, EnoughMemory* enough) {
  if (enough->more.empty()) return;
  const DeviceId device = DeviceToEnlarge(problem, *enough);
  const int64_t room = kMaxQuantity - problem.program.capacity[device.index()];
  int64_t low = at_least - 1, high = Total(*enough);  // low is not enough
  const int rounds = problem.program.ops <= kLarge ? 6 : 0;
  for (int round = 0; round < rounds; ++round) {
    // The least that is possible first: often it is enough.
    const int64_t middle = RoundUp(round == 0 && at_least > 1 ? at_least : low + (high - low) / 2);
    if (middle <= 0 || middle >= high || middle > room) return;
    const std::string who = WhoFits(problem, {{device, middle}});
    if (who.empty()) {
      low = middle;
    } else {
      high = middle;
      *enough = {{{device, middle}}, who};
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

std::optional<EnoughMemory> FindEnoughMemory(const Problem& problem, int64_t at_least,
                                             const Placement* plan) {
  const std::vector<EnoughMemory> candidates = Candidates(problem, plan);
  if (candidates.empty()) return std::nullopt;
  const size_t checked = problem.program.ops <= kLarge ? candidates.size() : 1;
  // A larger change by which a planner finds its plan is worth more than a smaller one by which a
  // plan exists. Where none does, that one is what there is.
  std::optional<EnoughMemory> found;
  for (size_t i = 0; i < std::min(checked, candidates.size()) && !found; ++i) {
    const std::string who = WhoFits(problem, candidates[i].more);
    if (!who.empty()) found = {candidates[i].more, who};
  }
  if (!found) return candidates.front();
  Shrink(problem, at_least, &*found);
  return found;
}

std::string DescribeEnough(const Problem& problem, const std::optional<EnoughMemory>& enough) {
  constexpr size_t kNamed = 8;
  if (!enough) return "no amount is known to be enough";
  if (enough->more.empty())
    return "another algorithm: --algo " + enough->algorithm + " finds a plan that fits";
  if (enough->more.size() > kNamed) {
    int64_t most = 0;
    for (const MoreMemory& more : enough->more) most = std::max(most, more.bytes);
    return FormatAmount(most) + " more on each device is enough: checked by simulation";
  }
  std::vector<std::string> parts;
  for (const MoreMemory& more : enough->more) {
    const int64_t all = problem.program.capacity[more.device.index()] + more.bytes;
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

std::string DescribeOverflow(const Problem& problem, const SimResult& result) {
  size_t worst = 0, lacking = 0;
  for (size_t d = 0; d < result.devices.size(); ++d) {
    lacking += result.devices[d].over.count > 0;
    if (result.devices[d].over.count > result.devices[worst].over.count) worst = d;
  }
  if (lacking == 0) return "fits";
  std::string text = "needs " + FormatSize(result.devices[worst].peak.count) + " on " +
                     problem.cluster->device(DeviceId(static_cast<int32_t>(worst))).name +
                     ", which has " + FormatSize(problem.program.capacity[worst]) +
                     KeptInReserve(problem, DeviceId(static_cast<int32_t>(worst)));
  if (lacking > 1) {
    text += ", and too much on " + FormatCount(static_cast<int64_t>(lacking) - 1) +
            (lacking == 2 ? " other device" : " other devices");
  }
  return text;
}

Error NothingFits(const Problem& problem, std::string_view algorithm, const Placement& plan) {
  const SimResult result = Simulate(problem, plan);
  const std::optional<EnoughMemory> enough = FindEnoughMemory(problem, 1, &plan);
  const bool as_it_is = enough && enough->more.empty();
  return MakeError(ErrorCode::kNothingFound,
                   "the best placement that " + std::string(algorithm) +
                       " found does not fit: it " + DescribeOverflow(problem, result) +
                       LargestGroup(problem, UnitNeeds(problem)) + "; nothing was written",
                   "",
                   "Give more time (--time), or " + std::string(as_it_is ? "" : "more memory: ") +
                       DescribeEnough(problem, enough) +
                       ReserveAdvice(problem, result.TotalOver().count) +
                       ConstraintAdvice(problem));
}

}  // namespace placewright
