#include "check_plan/summary_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cost/communication/collective_kind.h"
#include "cost/cost_model.h"

namespace placewright::check {
namespace {

// The only one there is.
constexpr std::string_view kObjective = "step-time";

// Shares are quotients of exact integers: only the last bits may differ.
bool Near(double a, double b) { return std::fabs(a - b) <= 1e-9; }

double Share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Violation Differs(ViolationKind kind, std::string place, std::string stated, std::string found) {
  return {kind, fmt::format("is stated as {}, but is {}", stated, found), std::move(place)};
}

// What the ops placed on one device add up to.
struct Work {
  Nanos busy;
  int64_t ops = 0;
};

// Precondition: the step time is right.
MaybeViolation CheckDeviceWork(const Plan& plan, const Step& step) {
  IdVector<DeviceId, Work> works(step.cluster().device_count());
  for (OpId op : step.graph().ops()) {
    if (step.graph().op(op).is_view) continue;
    const DeviceId device = step.placement()[op];
    Work& work = works[device];
    // Beside collectives ops take longer than they cost (rule 18); their spans are looked at by then.
    const bool longer = step.cluster().collectives_share() && !step.IsMember(op);
    const Nanos time = longer ? Nanos(step.span(op).end.count - step.span(op).start.count)
                              : step.costs().time(op, device);
    work.busy = Nanos(SaturatingAdd(work.busy.count, time.count));
    ++work.ops;
  }
  for (DeviceId id : step.cluster().devices()) {
    const DeviceUse& use = plan.devices[id.index()];
    const std::string place = fmt::format("devices[{}]", id.value());
    if (use.ops != works[id].ops) {
      return Differs(ViolationKind::kDevices, place + ".ops", std::to_string(use.ops),
                     std::to_string(works[id].ops));
    }
    const double share = Share(works[id].busy.count, plan.step_time.count);
    if (Near(use.busy, share)) continue;
    return Differs(ViolationKind::kDevices, place + ".busy", fmt::format("{}", use.busy),
                   fmt::format("{}", share));
  }
  return std::nullopt;
}

MaybeViolation CheckCostSources(const Plan& plan, const Step& step) {
  std::array<int64_t, 3> time = {}, count = {};
  int64_t all = 0, ops = 0;
  for (OpId op : step.graph().ops()) {
    const DeviceId device = step.placement()[op];
    const auto source = static_cast<size_t>(step.costs().source(op, device));
    if (step.costs().Supports(op, device)) ++count[source], ++ops;
    if (step.graph().op(op).is_view) continue;
    const int64_t cost = step.costs().time(op, device).count;
    time[source] = SaturatingAdd(time[source], cost);
    all = SaturatingAdd(all, cost);
  }
  // Where no op takes time each counts as much as any other.
  const std::array<int64_t, 3>& parts = all > 0 ? time : count;
  const int64_t whole = all > 0 ? all : ops;
  const auto check = [&](std::string_view name, double stated, CostSource source) {
    const double share = Share(parts[static_cast<size_t>(source)], whole);
    if (Near(stated, share)) return MaybeViolation();
    return MaybeViolation(Differs(ViolationKind::kCostSources, fmt::format("cost_sources.{}", name),
                                  fmt::format("{}", stated), fmt::format("{}", share)));
  };
  CHECK_PLAN_RETURN_IF_VIOLATED(check("given", plan.share_given, CostSource::kGiven));
  CHECK_PLAN_RETURN_IF_VIOLATED(check("measured", plan.share_measured, CostSource::kMeasured));
  return check("modelled", plan.share_modelled, CostSource::kModelled);
}

// The longest chain of ops, each with its minimum time over all devices.
Nanos LongestChain(const Step& step) {
  const Graph& graph = step.graph();
  IdVector<OpId, Nanos> end(graph.op_count());
  Nanos longest;
  for (OpId op : graph.topological_order()) {
    Nanos start;
    for (size_t i = 0; i < graph.op(op).inputs.size(); ++i) {
      const auto [storage, version] = ContentRead(graph, op, i);
      const OpId writer = graph.storage(storage).versions[version].writer;
      if (writer.valid()) start = std::max(start, end[writer]);
    }
    Nanos min;
    if (!graph.op(op).is_view) min = std::max(step.costs().MinTime(op), Nanos(0));
    end[op] = Nanos(SaturatingAdd(start.count, min.count));
    longest = std::max(longest, end[op]);
  }
  return longest;
}

// All minimum times, spread evenly over the devices.
Nanos EvenShare(const Step& step) {
  Nanos all;
  for (OpId op : step.graph().ops()) {
    if (step.graph().op(op).is_view) continue;
    all = Nanos(SaturatingAdd(all.count, std::max<int64_t>(step.costs().MinTime(op).count, 0)));
  }
  return Nanos(all.count / static_cast<int64_t>(step.cluster().device_count()));
}

// What moves, added up by kind and way: in what order a plan lists it does not matter.
using Moved = std::map<std::pair<std::string, std::string>, CommunicationUse>;

void AddMove(Moved& moved, std::string kind, std::string algorithm, Bytes bytes, Nanos time) {
  CommunicationUse& use = moved[{kind, algorithm}];
  use.kind = std::move(kind);
  use.algorithm = std::move(algorithm);
  use.bytes = Bytes(SaturatingAdd(use.bytes.count, bytes.count));
  use.time = Nanos(SaturatingAdd(use.time.count, time.count));
  ++use.count;
}

Bytes SumOf(const Graph& graph, const std::vector<TensorId>& tensors) {
  Bytes sum;
  for (const TensorId tensor : tensors) sum += graph.tensor(tensor).bytes;
  return sum;
}

// Of a collective the bytes of the largest share that a member has of it, before or behind it.
Moved MovedIn(const Step& step) {
  Moved moved;
  const Graph& graph = step.graph();
  for (const CollectiveId id : graph.collectives()) {
    const std::vector<OpId>& members = graph.collective(id).members;
    Bytes largest;
    for (const OpId op : members) {
      largest = std::max(
          {largest, SumOf(graph, graph.op(op).inputs), SumOf(graph, graph.op(op).outputs)});
    }
    const auto kind = CollectiveKindOf(graph.op(members.front()).type);
    AddMove(moved, kind ? std::string(ToString(*kind)) : "collective",
            std::string(ToString(step.cost(id).algorithm)), largest,
            Nanos(step.span(id).end.count - step.span(id).start.count));
  }
  for (const TransferSpan& span : step.schedule().transfers) {
    AddMove(moved, "transfer", "", span.length, Nanos(span.end.count - span.start.count));
  }
  return moved;
}

MaybeViolation CheckSamples(const Plan& plan, const Json& document, const Step& step) {
  const int64_t samples = plan.samples, due = step.graph().samples();
  if (samples != due) {
    return Differs(ViolationKind::kSamples, "samples", std::to_string(samples),
                   std::to_string(due));
  }
  const Result<double> rate = GetNumber(document, "samples_per_second", "");
  const double expected = Share(samples, plan.step_time.count) * 1e9;
  const bool known = samples > 0 && plan.step_time.count > 0;
  if (!known || (rate.ok() && std::fabs(rate.value() - expected) <= 1e-9 * expected)) {
    return std::nullopt;
  }
  return Violation{ViolationKind::kSamples,
                   fmt::format("must be samples / step, which is {}", expected),
                   "samples_per_second"};
}

MaybeViolation CheckCommunication(const Plan& plan, const Step& step) {
  Moved moved = MovedIn(step);
  for (size_t i = 0; i < plan.communication.size(); ++i) {
    const CommunicationUse& stated = plan.communication[i];
    const auto found = moved.find({stated.kind, stated.algorithm});
    const std::string place = fmt::format("communication[{}]", i);
    if (found == moved.end()) {
      return Violation{ViolationKind::kCommunication,
                       fmt::format("nothing moves by {} {}", Printable(stated.kind, 80),
                                   Printable(stated.algorithm, 80)),
                       place};
    }
    const CommunicationUse& use = found->second;
    if (!(use == stated)) {
      return Differs(
          ViolationKind::kCommunication, place,
          fmt::format("{} times {} bytes in {} ns", stated.count, stated.bytes.count,
                      stated.time.count),
          fmt::format("{} times {} bytes in {} ns", use.count, use.bytes.count, use.time.count));
    }
    moved.erase(found);
  }
  if (moved.empty()) return std::nullopt;
  return Violation{ViolationKind::kCommunication,
                   fmt::format("{} is left out", moved.begin()->second.kind), "communication"};
}

}  // namespace

MaybeViolation CheckDistributionFigures(const Plan& plan, const Json& document, const Step& step) {
  if (plan.space == PlanSpace::kPlaced) return std::nullopt;
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckCommunication(plan, step));
  return CheckSamples(plan, document, step);
}

MaybeViolation CheckNames(const Plan& plan, const Graph& graph, const Cluster& cluster) {
  if (plan.objective != kObjective) {
    return Differs(ViolationKind::kNames, "objective", Printable(plan.objective, 80),
                   std::string(kObjective));
  }
  if (!IsCostProfile(plan.cost_profile)) {
    return Violation{ViolationKind::kNames,
                     fmt::format("\"{}\" is no cost profile", Printable(plan.cost_profile, 80)),
                     "costs.profile"};
  }
  if (plan.graph_name != graph.name()) {
    return Differs(ViolationKind::kNames, "graph.name", plan.graph_name, graph.name());
  }
  if (plan.cluster_name != cluster.name()) {
    return Differs(ViolationKind::kNames, "cluster.name", plan.cluster_name, cluster.name());
  }
  if (plan.devices.size() != cluster.device_count()) {
    return Differs(ViolationKind::kDevices, "devices",
                   fmt::format("{} devices", plan.devices.size()),
                   fmt::format("{}", cluster.device_count()));
  }
  for (DeviceId id : cluster.devices()) {
    const DeviceUse& use = plan.devices[id.index()];
    const std::string place = fmt::format("devices[{}]", id.value());
    if (use.name != cluster.device(id).name) {
      return Differs(ViolationKind::kDevices, place + ".name", use.name, cluster.device(id).name);
    }
    if (use.kind != cluster.kind(id).name) {
      return Differs(ViolationKind::kDevices, place + ".kind", use.kind, cluster.kind(id).name);
    }
    // Plans of before there was the field have it as "other".
    const DeviceClass device_class = cluster.kind(id).device_class;
    if (use.device_class != DeviceClass::kOther && use.device_class != device_class) {
      return Differs(ViolationKind::kDevices, place + ".class",
                     std::string(ToString(use.device_class)), std::string(ToString(device_class)));
    }
    if (use.capacity != cluster.device(id).capacity) {
      return Differs(ViolationKind::kDevices, place + ".capacity_bytes",
                     std::to_string(use.capacity.count),
                     std::to_string(cluster.device(id).capacity.count));
    }
    if (use.reserve && *use.reserve != cluster.device(id).reserve) {
      return Differs(ViolationKind::kDevices, place + ".reserve_bytes",
                     std::to_string(use.reserve->count),
                     std::to_string(cluster.device(id).reserve.count));
    }
  }
  return std::nullopt;
}

MaybeViolation CheckFigures(const Plan& plan, const Step& step) {
  Nanos end;
  for (OpId op : step.graph().ops()) end = std::max(end, step.span(op).end);
  for (const Crossing& crossing : step.crossings()) end = std::max(end, step.span(crossing).end);
  if (plan.step_time != end) {
    return Differs(ViolationKind::kStepTime, "step_time_ns", std::to_string(plan.step_time.count),
                   std::to_string(end.count));
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckDeviceWork(plan, step));
  return CheckCostSources(plan, step);
}

MaybeViolation CheckBound(const Plan& plan, const Json& document, const Step& step) {
  if (!plan.lower_bound) return std::nullopt;
  const Nanos bound = *plan.lower_bound;
  const auto wrong = [&](std::string message) {
    return Violation{ViolationKind::kBound, std::move(message), "lower_bound_ns"};
  };
  if (bound > plan.step_time) {
    return wrong(
        fmt::format("{} ns is above the step time of {} ns", bound.count, plan.step_time.count));
  }
  // Other layouts make other steps: what this one takes without transfers bounds none of them.
  const bool placed = plan.bound_space == PlanSpace::kPlaced;
  const Nanos chain = placed ? LongestChain(step) : Nanos(),
              even = placed ? EvenShare(step) : Nanos();
  if (bound < chain) {
    return wrong(fmt::format("{} ns is below the longest chain of ops, which takes {} ns",
                             bound.count, chain.count));
  }
  if (bound < even) {
    return wrong(fmt::format("{} ns is below an even share of all work, which is {} ns",
                             bound.count, even.count));
  }
  const Result<double> gap = GetNumber(document, "gap", "");
  const double expected = plan.Gap();
  if (gap.ok() && Near(gap.value(), expected)) return std::nullopt;
  return Violation{ViolationKind::kGap,
                   fmt::format("must be (step - bound) / step, which is {}", expected), "gap"};
}

}  // namespace placewright::check
