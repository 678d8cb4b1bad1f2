#include "sim/communication_use.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cost/communication/collective_kind.h"

namespace placewright {
namespace {

using Stretch = std::pair<int64_t, int64_t>;

// Sorted, and no two of them touch.
std::vector<Stretch> Union(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end());
  std::vector<Stretch> joined;
  for (const Stretch& one : stretches) {
    if (one.first >= one.second) continue;
    if (!joined.empty() && one.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, one.second);
    } else {
      joined.push_back(one);
    }
  }
  return joined;
}

int64_t Length(const std::vector<Stretch>& stretches) {
  int64_t sum = 0;
  for (const auto& [from, to] : stretches) sum += to - from;
  return sum;
}

int64_t Overlap(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  int64_t sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum +=
        std::max<int64_t>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    (a[i].second < b[j].second ? i : j) += 1;
  }
  return sum;
}

}  // namespace

std::vector<CommunicationUse> UseOfCommunication(const Graph& graph, const CostTable& costs,
                                                 const Schedule& schedule, const StepLanes* lanes) {
  std::map<std::pair<CollectiveKind, CollectiveAlgorithm>, CommunicationUse> by_way;
  for (const CollectiveId id : graph.collectives()) {
    const Op& member = graph.op(graph.collective(id).members.front());
    const auto kind = CollectiveKindOf(member.type);
    const CollectiveAlgorithm algorithm = costs.collectives()[id].algorithm;
    CommunicationUse& use = by_way[{kind.value_or(CollectiveKind::kBroadcast), algorithm}];
    use.kind = kind ? ToString(*kind) : "collective";
    use.algorithm = ToString(algorithm);
    Bytes largest;
    for (const OpId op : graph.collective(id).members) {
      // Of all that a member has of it: before, or behind the collective.
      for (const auto* const tensors : {&graph.op(op).inputs, &graph.op(op).outputs}) {
        Bytes sum;
        for (const TensorId tensor : *tensors) sum += graph.tensor(tensor).bytes;
        largest = std::max(largest, sum);
      }
    }
    const int64_t stands_for = lanes == nullptr ? 1 : lanes->stands_for[id];
    const Nanos time = schedule.collectives[id].end - schedule.collectives[id].start;
    use.bytes += Bytes(largest.count * stands_for);
    use.time += Nanos(time.count * stands_for);
    use.count += stands_for;
  }
  std::vector<CommunicationUse> uses;
  for (auto& [way, use] : by_way) uses.push_back(std::move(use));
  CommunicationUse transfers{"transfer", "", Bytes(), Nanos(), 0};
  for (const TransferSpan& span : schedule.transfers) {
    const int64_t stands_for = DevicesLike(lanes, span.from);
    transfers.bytes += Bytes(span.length.count * stands_for);
    transfers.time += Nanos((span.end - span.start).count * stands_for);
    transfers.count += stands_for;
  }
  if (transfers.count > 0) uses.push_back(std::move(transfers));
  return uses;
}

CommunicationTime TimeOfCommunication(const Graph& graph, const Schedule& schedule) {
  std::vector<Stretch> moving, computing;
  for (const TransferSpan& span : schedule.transfers) {
    moving.emplace_back(span.start.count, span.end.count);
  }
  for (const CollectiveSpan& span : schedule.collectives) {
    moving.emplace_back(span.start.count, span.end.count);
  }
  for (const OpId op : graph.ops()) {
    const bool computes = !graph.op(op).is_view && !graph.collective_of(op).valid();
    if (computes) computing.emplace_back(schedule.ops[op].start.count, schedule.ops[op].end.count);
  }
  moving = Union(std::move(moving));
  computing = Union(std::move(computing));
  const int64_t any = Length(moving);
  return {Nanos(any), Nanos(any - Overlap(moving, computing))};
}

}  // namespace placewright
