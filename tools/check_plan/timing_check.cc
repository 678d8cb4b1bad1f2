#include "check_plan/timing_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check_plan/program.h"

namespace placewright::check {
namespace {

Nanos After(Nanos start, Nanos duration) {
  return Nanos(SaturatingAdd(start.count, duration.count));
}

// One user of a device or link.
struct Use {
  int32_t resource = 0;
  Nanos start, end;
  int32_t index = 0;  // op id or crossing
};

// The first pair in which a use begins before the one before it has ended.
const Use* FindOverlap(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::tie(a.resource, a.start, a.end, a.index) <
           std::tie(b.resource, b.start, b.end, b.index);
  });
  for (size_t i = 1; i < uses.size(); ++i) {
    if (uses[i].resource == uses[i - 1].resource && uses[i].start < uses[i - 1].end) {
      return &uses[i];
    }
  }
  return nullptr;
}

Violation WrongDuration(std::string place, Nanos start, Nanos end, Nanos duration) {
  return {
      ViolationKind::kDuration,
      fmt::format("runs from {} to {} ns, but takes {} ns", start.count, end.count, duration.count),
      std::move(place)};
}

std::string NodeName(const Step& step, const Waits& waits, int32_t node) {
  if (waits.IsOp(node)) return step.Name(waits.OpOf(node));
  if (waits.IsCollective(node)) return step.Name(waits.CollectiveOf(node));
  return fmt::format("the transfer of {}", step.Name(step.crossings()[waits.CrossingOf(node)]));
}

Nanos EndOf(const Step& step, const Waits& waits, int32_t node) {
  if (waits.IsOp(node)) return step.span(waits.OpOf(node)).end;
  if (waits.IsCollective(node)) return step.span(waits.CollectiveOf(node)).end;
  return step.span(step.crossings()[waits.CrossingOf(node)]).end;
}

// When collectives end that began as the schedule has it. Rule 18: where they share links, each does 720720 / k
// of its work a ns, k being how many there are on its fullest link.
IdVector<CollectiveId, Nanos> EndsOfCollectives(const Step& step) {
  IdVector<CollectiveId, Nanos> ends(step.graph().collective_count());
  if (!step.cluster().collectives_share()) {
    for (const CollectiveId id : step.graph().collectives()) {
      ends[id] = After(step.span(id).start, step.cost(id).time);
    }
    return ends;
  }
  constexpr int64_t kUnits = 720720;
  struct Running {
    CollectiveId id;
    __int128 left;
    int64_t speed = 1;
  };
  std::vector<CollectiveId> starts;
  for (const CollectiveId id : step.graph().collectives()) starts.push_back(id);
  std::sort(starts.begin(), starts.end(), [&](CollectiveId a, CollectiveId b) {
    return step.span(a).start > step.span(b).start;
  });
  std::vector<Running> running;
  std::map<LinkId, int64_t> on_link;
  int64_t now = 0;
  while (!starts.empty() || !running.empty()) {
    const auto end_of = [&](const Running& each) {
      const __int128 needs = (each.left + each.speed - 1) / each.speed;
      return SaturatingAdd(now,
                           static_cast<int64_t>(std::min<__int128>(needs, __int128{kMaxQuantity})));
    };
    int64_t next = starts.empty() ? kMaxQuantity : step.span(starts.back()).start.count;
    for (const Running& each : running) next = std::min(next, end_of(each));
    for (Running& each : running) {
      if (end_of(each) > next) continue;
      ends[each.id] = Nanos(next);
      for (const LinkId link : step.cost(each.id).links) --on_link[link];
    }
    std::erase_if(running, [&](const Running& each) { return end_of(each) <= next; });
    for (Running& each : running) each.left -= __int128{next - now} * each.speed;
    now = next;
    while (!starts.empty() && step.span(starts.back()).start.count <= now) {
      running.push_back({starts.back(), __int128{step.cost(starts.back()).time.count} * kUnits});
      for (const LinkId link : step.cost(starts.back()).links) ++on_link[link];
      starts.pop_back();
    }
    for (Running& each : running) {
      int64_t among = 1;
      for (const LinkId link : step.cost(each.id).links) among = std::max(among, on_link[link]);
      each.speed = kUnits / among;
    }
  }
  return ends;
}

// Rule 18: when collectives run that have a member on a device, by their start, and when the last of those ends that have
// begun up to each.
struct Beside {
  std::vector<OpSpan> spans;
  std::vector<Nanos> latest_end;

  void Sort() {
    std::sort(spans.begin(), spans.end(),
              [](const OpSpan& a, const OpSpan& b) { return a.start < b.start; });
    Nanos latest;
    for (const OpSpan& span : spans) {
      latest = std::max(latest, span.end);
      latest_end.push_back(latest);
    }
  }
  // Where those are that begin at `time` or later.
  size_t From(Nanos time) const {
    const auto at = std::lower_bound(spans.begin(), spans.end(), time,
                                     [](const OpSpan& span, Nanos t) { return span.start < t; });
    return static_cast<size_t>(at - spans.begin());
  }
};

// None where they do not share links.
IdVector<DeviceId, Beside> CollectivesBeside(const Step& step) {
  IdVector<DeviceId, Beside> beside(step.cluster().device_count());
  if (!step.cluster().collectives_share()) return beside;
  for (const CollectiveId id : step.graph().collectives()) {
    if (!CommunicatorOf(step, id).back().valid()) continue;  // a copy
    for (const OpId member : step.graph().collective(id).members) {
      beside[step.placement()[member]].spans.push_back(step.span(id));
    }
  }
  for (Beside& each : beside) each.Sort();
  return beside;
}

// Whether the op may take so long: its cost, or more by a factor if a collective runs beside it as it begins. One that
// begins in the same instant may have done so in an earlier phase.
bool MayTake(const Step& step, const Beside& beside, DeviceId device, const OpSpan& span,
             Nanos cost) {
  const size_t from = beside.From(span.start);
  const bool runs = from > 0 && beside.latest_end[from - 1] > span.start;
  const bool may_run = from < beside.spans.size() && beside.spans[from].start == span.start;
  if (span.end == After(span.start, cost) && !runs) return true;
  if (!runs && !may_run) return false;
  const DeviceKind& kind = step.cluster().kind(device);
  const __int128 left = kind.multiprocessors - kind.channels;
  const __int128 slower = kind.channels == 0
                              ? cost.count
                              : (__int128{cost.count} * kind.multiprocessors + left - 1) / left;
  return span.end ==
         After(span.start,
               Nanos(static_cast<int64_t>(std::min<__int128>(slower, __int128{kMaxQuantity}))));
}

// Members begin and end together, and take the time of their collective.
MaybeViolation CheckMembers(const Step& step) {
  const IdVector<CollectiveId, Nanos> ends = EndsOfCollectives(step);
  for (const CollectiveId id : step.graph().collectives()) {
    const OpSpan& first = step.span(id);
    for (const OpId member : step.graph().collective(id).members) {
      const OpSpan& span = step.span(member);
      if (span.end != ends[id]) {
        const Nanos duration(ends[id].count - step.span(id).start.count);
        return WrongDuration(step.Place(member), span.start, span.end, duration);
      }
      if (span.start == first.start) continue;
      return Violation{ViolationKind::kPrecedence,
                       fmt::format("starts at {} ns, other members of {} at {} ns",
                                   span.start.count, step.Name(id), first.start.count),
                       step.Place(member)};
    }
  }
  return std::nullopt;
}

// The ends of all nodes, and the latest end among those that each node waits for.
struct Ends {
  std::vector<Nanos> latest;
  std::vector<int32_t> cause;  // -1: it waits for nothing
};

Ends LatestEnds(const Step& step, const Waits& waits) {
  Ends ends{std::vector<Nanos>(waits.node_count()), std::vector<int32_t>(waits.node_count(), -1)};
  for (int32_t node = 0; node < waits.node_count(); ++node) {
    const Nanos end = EndOf(step, waits, node);
    for (int32_t waiter : waits.WaitersOf(node)) {
      if (ends.cause[waiter] >= 0 && ends.latest[waiter] >= end) continue;
      ends.latest[waiter] = end;
      ends.cause[waiter] = node;
    }
  }
  return ends;
}

MaybeViolation CheckStart(const Step& step, const Waits& waits, const Ends& ends, int32_t node,
                          Nanos start, std::string place) {
  if (start >= ends.latest[node]) return std::nullopt;
  if (ends.cause[node] < 0) {
    return Violation{ViolationKind::kPrecedence,
                     fmt::format("starts at {} ns, before the step", start.count),
                     std::move(place)};
  }
  return Violation{
      ViolationKind::kPrecedence,
      fmt::format("starts at {} ns, but {}, for which it waits, ends at {} ns", start.count,
                  NodeName(step, waits, ends.cause[node]), ends.latest[node].count),
      std::move(place)};
}

}  // namespace

MaybeViolation CheckDurations(const Step& step) {
  const IdVector<DeviceId, Beside> beside = CollectivesBeside(step);
  for (OpId op : step.graph().ops()) {
    if (step.IsMember(op)) continue;
    const OpSpan& span = step.span(op);
    const Nanos cost =
        step.graph().op(op).is_view ? Nanos(0) : step.costs().time(op, step.placement()[op]);
    const DeviceId device = step.placement()[op];
    const bool view = step.graph().op(op).is_view;
    if (view ? span.end != span.start : !MayTake(step, beside[device], device, span, cost)) {
      return WrongDuration(step.Place(op), span.start, span.end, cost);
    }
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckMembers(step));
  for (const Crossing& crossing : step.crossings()) {
    const TransferSpan& span = step.span(crossing);
    const Route& route = step.cluster().route(span.from, span.to);
    Nanos latency, cost;
    BytesPerSecond min = step.cluster().link(route.links.front()).bandwidth;
    for (LinkId id : route.links) {
      latency = After(latency, step.cluster().link(id).latency);
      min = std::min(min, step.cluster().link(id).bandwidth);
    }
    cost = After(latency, TransferTime(span.length, min));
    if (span.end != After(span.start, cost)) {
      return WrongDuration(step.Place(crossing), span.start, span.end, cost);
    }
  }
  return std::nullopt;
}

MaybeViolation CheckPrecedence(const Step& step, const Waits& waits) {
  if (static_cast<int32_t>(waits.TopologicalOrder().size()) != waits.node_count()) {
    return Violation{ViolationKind::kPrecedence, "the ops wait for each other in a cycle", ""};
  }
  const Ends ends = LatestEnds(step, waits);
  for (OpId op : step.graph().ops()) {
    if (step.IsMember(op)) continue;  // its collective is looked at
    const Nanos start = step.span(op).start;
    const int32_t node = waits.NodeOf(op);
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckStart(step, waits, ends, node, start, step.Place(op)));
    if (step.graph().op(op).is_view && start != ends.latest[node]) {
      return Violation{ViolationKind::kReadyTime,
                       fmt::format("the view is said to exist from {} ns, its content does from {}",
                                   start.count, ends.latest[node].count),
                       step.Place(op)};
    }
  }
  for (const CollectiveId id : step.graph().collectives()) {
    CHECK_PLAN_RETURN_IF_VIOLATED(
        CheckStart(step, waits, ends, waits.NodeOf(id), step.span(id).start, step.Place(id)));
  }
  for (size_t i = 0; i < step.crossings().size(); ++i) {
    const Crossing& crossing = step.crossings()[i];
    const TransferSpan& span = step.span(crossing);
    const int32_t node = waits.NodeOfCrossing(static_cast<int32_t>(i));
    CHECK_PLAN_RETURN_IF_VIOLATED(
        CheckStart(step, waits, ends, node, span.start, step.Place(crossing)));
    if (span.ready != ends.latest[node]) {
      return Violation{ViolationKind::kReadyTime,
                       fmt::format("is said to be ready at {} ns, its content is at {}",
                                   span.ready.count, ends.latest[node].count),
                       step.Place(crossing)};
    }
  }
  return std::nullopt;
}

MaybeViolation CheckExclusivity(const Step& step) {
  std::vector<Use> uses;
  for (OpId op : step.graph().ops()) {
    if (step.graph().op(op).is_view || step.IsMember(op)) continue;
    uses.push_back(
        {step.placement()[op].value(), step.span(op).start, step.span(op).end, op.value()});
  }
  if (const Use* use = FindOverlap(uses)) {
    return Violation{
        ViolationKind::kExclusivity,
        fmt::format("starts at {} ns on {}, on which {} runs until {}", use->start.count,
                    step.cluster().device(DeviceId(use->resource)).name,
                    step.Name(OpId((use - 1)->index)), (use - 1)->end.count),
        step.Place(OpId(use->index))};
  }
  uses.clear();
  for (size_t i = 0; i < step.crossings().size(); ++i) {
    const TransferSpan& span = step.span(step.crossings()[i]);
    for (LinkId link : step.cluster().route(span.from, span.to).links) {
      uses.push_back({link.value(), span.start, span.end, static_cast<int32_t>(i)});
    }
  }
  // Behind the crossings: collectives.
  const auto crossings = static_cast<int32_t>(step.crossings().size());
  for (const CollectiveId id : step.graph().collectives()) {
    if (step.cluster().collectives_share()) break;  // Replay looks at their communicators
    for (LinkId link : step.cost(id).links) {
      uses.push_back(
          {link.value(), step.span(id).start, step.span(id).end, crossings + id.value()});
    }
  }
  if (const Use* use = FindOverlap(uses)) {
    const int32_t before = (use - 1)->index, after = use->index;
    return Violation{ViolationKind::kExclusivity,
                     fmt::format("starts at {} ns on the link {}, which carries {} until {}",
                                 use->start.count, step.cluster().link(LinkId(use->resource)).name,
                                 before < crossings ? step.Name(step.crossings()[before])
                                                    : step.Name(CollectiveId(before - crossings)),
                                 (use - 1)->end.count),
                     after < crossings ? step.Place(step.crossings()[after])
                                       : step.Place(CollectiveId(after - crossings))};
  }
  return std::nullopt;
}

}  // namespace placewright::check
