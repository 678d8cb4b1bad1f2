#include "check_plan/distributed/collective_check.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/text.h"

namespace placewright::check {

MaybeViolation CheckCollectiveOrder(const DistributedStep& step) {
  // Which collective comes next on some device.
  IdVector<CollectiveId, std::vector<CollectiveId>> next(step.graph.collective_count());
  IdVector<CollectiveId, int32_t> waits(step.graph.collective_count(), 0);
  std::map<DeviceId, CollectiveId> last;
  for (const OpId op : step.graph.ops()) {
    const CollectiveId id = step.graph.collective_of(op);
    if (!id.valid()) continue;
    const auto [before, first] = last.try_emplace(step.placement[op], id);
    if (first) continue;
    next[before->second].push_back(id);
    ++waits[id];
    before->second = id;
  }
  std::vector<CollectiveId> done;
  for (const CollectiveId id : step.graph.collectives()) {
    if (waits[id] == 0) done.push_back(id);
  }
  for (size_t i = 0; i < done.size(); ++i) {
    for (const CollectiveId id : next[done[i]]) {
      if (--waits[id] == 0) done.push_back(id);
    }
  }
  if (done.size() == step.graph.collective_count()) return std::nullopt;
  for (const CollectiveId id : step.graph.collectives()) {
    if (waits[id] == 0) continue;
    const Collective& collective = step.graph.collective(id);
    return Violation{
        ViolationKind::kReorderedCollective,
        fmt::format("devices come to the collective \"{}\" and to others in different orders, so "
                    "that they wait for one another",
                    Printable(collective.name, 80)),
        fmt::format("step: ops[{}] ({})", collective.members.front().value(),
                    Printable(step.graph.op(collective.members.front()).name, 80))};
  }
  return std::nullopt;
}

}  // namespace placewright::check
