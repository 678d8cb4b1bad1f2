#include "check_plan/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace placewright::check {
namespace {

constexpr Stamp kNever{Nanos(-1), -1};

}  // namespace

Replay::Replay(const Step& step, const Waits& waits)
    : step_(step),
      waits_(waits),
      servers_(step.cluster().device_count() + step.cluster().link_count()),
      left_(waits.node_count()) {
  if (step.policy() == SchedulingPolicy::kCriticalPath) paths_ = PathsOf(step, waits);
  for (int32_t node = 0; node < waits.node_count(); ++node) {
    left_[node] = waits.WaitCount(node);
    if (EndsWithIts(node)) continue;
    by_start_.push_back(node);
    if (StartOf(node) < EndOf(node)) by_end_.push_back(node);
  }
  if (InProgramOrder()) {
    program_ = ProgramOf(step);
    follows_.assign(program_.before.size(), -1);
    for (const CollectiveId id : step.graph().collectives()) {
      const CollectiveId before = program_.before[id];
      if (!before.valid()) continue;
      follows_[before.index()] = waits.NodeOf(id);
      ++left_[waits.NodeOf(id)];
    }
  }
  if (step.cluster().collectives_share()) {
    std::map<std::vector<DeviceId>, int32_t> servers;
    for (const CollectiveId id : step.graph().collectives()) {
      const auto next = static_cast<int32_t>(servers_.size());
      const auto [it, added] = servers.emplace(CommunicatorOf(step, id), next);
      if (added) servers_.emplace_back();
      communicators_.push_back(it->second);
    }
  }
  std::sort(by_start_.begin(), by_start_.end(), [this](int32_t a, int32_t b) {
    return std::pair(StartOf(a), a) < std::pair(StartOf(b), b);
  });
  std::sort(by_end_.begin(), by_end_.end(), [this](int32_t a, int32_t b) {
    return std::pair(EndOf(a), a) < std::pair(EndOf(b), b);
  });
  stamps_.start.assign(waits.node_count(), kNever);
  stamps_.end.assign(waits.node_count(), kNever);
}

MaybeViolation Replay::Run() {
  now_ = {Nanos(0), 0};
  for (int32_t node = 0; node < waits_.node_count(); ++node) {
    const bool waits =
        waits_.WaitCount(node) > 0 || (InProgramOrder() && waits_.IsCollective(node) &&
                                       program_.before[waits_.CollectiveOf(node)].valid());
    if (!waits) Settle(node);
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(RunInstant(Nanos(0)));
  while (next_start_ < by_start_.size() || next_end_ < by_end_.size()) {
    Nanos next(kMaxQuantity);
    if (next_start_ < by_start_.size()) next = StartOf(by_start_[next_start_]);
    if (next_end_ < by_end_.size()) next = std::min(next, EndOf(by_end_[next_end_]));
    CHECK_PLAN_RETURN_IF_VIOLATED(RunInstant(next));
  }
  return std::nullopt;
}

MaybeViolation Replay::RunInstant(Nanos now) {
  now_ = {now, 0};
  for (; next_end_ < by_end_.size() && EndOf(by_end_[next_end_]) == now; ++next_end_) {
    completing_.push_back(by_end_[next_end_]);
  }
  while (true) {
    for (int32_t node : std::exchange(completing_, {})) Complete(node);
    CHECK_PLAN_RETURN_IF_VIOLATED(StartWhatCan());
    if (completing_.empty()) break;
    ++now_.phase;
  }
  for (; next_start_ < by_start_.size() && StartOf(by_start_[next_start_]) == now; ++next_start_) {
    if (stamps_.start[by_start_[next_start_]] == kNever) {
      return NotStarted(by_start_[next_start_]);
    }
  }
  return std::nullopt;
}

void Replay::Complete(int32_t node) {
  for (int32_t server : ServersOf(node)) {
    servers_[server].running = -1;
    Touch(server);
  }
  // What ends together with what it waits for needs no phase of its own.
  std::vector<int32_t> ended = {node};
  while (!ended.empty()) {
    const int32_t last = ended.back();
    ended.pop_back();
    stamps_.end[last] = now_;
    if (waits_.IsCollective(last) && InProgramOrder()) {
      const int32_t next = follows_[waits_.CollectiveOf(last).index()];
      if (next >= 0 && --left_[next] == 0) Enqueue(next);
    }
    for (int32_t waiter : waits_.WaitersOf(last)) {
      if (--left_[waiter] > 0) continue;
      if (EndsWithIts(waiter)) {
        // A view begins when its content is there, a member with its collective.
        stamps_.start[waiter] = waits_.IsCollective(last) ? stamps_.start[last] : now_;
        ended.push_back(waiter);
      } else {
        Enqueue(waiter);
      }
    }
  }
}

// A node without waits, before the step.
void Replay::Settle(int32_t node) {
  if (!EndsWithIts(node)) {
    Enqueue(node);
    return;
  }
  stamps_.start[node] = now_;
  Complete(node);
}

void Replay::Enqueue(int32_t node) {
  const Waiting waiting = KeyOf(node);
  const std::vector<int32_t> servers = ServersOf(node);
  if (servers.empty()) unserved_.push_back(node);
  for (int32_t server : servers) {
    servers_[server].queue.push(waiting);
    Touch(server);
  }
}

void Replay::Touch(int32_t server) {
  if (std::exchange(servers_[server].touched, true)) return;
  touched_.push_back(server);
}

// One pass is enough: a start frees nothing, and the new head of a queue finds its server taken.
MaybeViolation Replay::StartWhatCan() {
  for (int32_t node : std::exchange(unserved_, {})) {
    if (StartOf(node) != now_.time) return StartsLate(node);
    StartNow(node);
  }
  for (int32_t server : std::exchange(touched_, {})) {
    servers_[server].touched = false;
    const int32_t node = HeadThatCanStart(server);
    if (node < 0) continue;
    if (StartOf(node) != now_.time) return StartsLate(node);
    for (int32_t each : ServersOf(node)) {
      servers_[each].queue.pop();
      ++servers_[each].next_turn;
      servers_[each].running = node;
    }
    StartNow(node);
  }
  return std::nullopt;
}

void Replay::StartNow(int32_t node) {
  stamps_.start[node] = now_;
  if (EndOf(node) == now_.time) completing_.push_back(node);
}

int32_t Replay::HeadThatCanStart(int32_t server) const {
  if (servers_[server].queue.empty()) return -1;
  const int32_t node = servers_[server].queue.top().node;
  if (!HasTurn(server, node)) return -1;
  for (int32_t each : ServersOf(node)) {
    if (servers_[each].running >= 0 || servers_[each].queue.top().node != node) return -1;
  }
  return node;
}

// It is ready (precedence holds) and its servers are not in use by others (exclusivity holds), so
// that only a queue can have stopped it; or something of no duration that runs now.
Violation Replay::NotStarted(int32_t node) const {
  for (int32_t server : ServersOf(node)) {
    const Server& s = servers_[server];
    if (s.running >= 0 || s.queue.empty() || s.queue.top().node == node) continue;
    return {ViolationKind::kQueueOrder,
            fmt::format("starts at {} ns, but {} precedes it in the queue of {}", now_.time.count,
                        NameOf(s.queue.top().node), NameOfServer(server)),
            PlaceOf(node)};
  }
  return {ViolationKind::kQueueOrder,
          fmt::format("starts at {} ns, before its turn", now_.time.count), PlaceOf(node)};
}

Violation Replay::StartsLate(int32_t node) const {
  const std::vector<int32_t> servers = ServersOf(node);
  for (size_t i = next_start_; i < by_start_.size() && StartOf(by_start_[i]) == now_.time; ++i) {
    if (stamps_.start[by_start_[i]] != kNever) continue;
    for (int32_t server : ServersOf(by_start_[i])) {
      if (std::find(servers.begin(), servers.end(), server) == servers.end()) continue;
      return {ViolationKind::kQueueOrder,
              fmt::format("starts at {} ns, but {} precedes it in the queue of {}", now_.time.count,
                          NameOf(node), NameOfServer(server)),
              PlaceOf(by_start_[i])};
    }
  }
  if (servers.empty()) {
    return {ViolationKind::kIdle,
            fmt::format("starts at {} ns, but could at {} ns: it needs no link",
                        StartOf(node).count, now_.time.count),
            PlaceOf(node)};
  }
  return {
      ViolationKind::kIdle,
      fmt::format("starts at {} ns, but could at {} ns: it heads the queue of {}, which is idle",
                  StartOf(node).count, now_.time.count, NameOfServer(servers.front())),
      PlaceOf(node)};
}

bool Replay::HasTurn(int32_t server, int32_t node) const {
  if (!InProgramOrder() || !waits_.IsOp(node)) return true;
  return program_.turn[waits_.OpOf(node)] == servers_[server].next_turn;
}

bool Replay::EndsWithIts(int32_t node) const {
  if (!waits_.IsOp(node)) return false;
  const OpId op = waits_.OpOf(node);
  return step_.graph().op(op).is_view || step_.IsMember(op);
}

std::vector<int32_t> Replay::ServersOf(int32_t node) const {
  if (EndsWithIts(node)) return {};
  if (waits_.IsOp(node)) return {step_.placement()[waits_.OpOf(node)].value()};
  std::vector<int32_t> servers;
  const auto add = [&](const std::vector<LinkId>& links) {
    for (LinkId link : links) {
      servers.push_back(static_cast<int32_t>(step_.cluster().device_count()) + link.value());
    }
  };
  if (waits_.IsCollective(node)) {
    const CollectiveId id = waits_.CollectiveOf(node);
    if (!communicators_.empty()) return {communicators_[id]};
    add(step_.cost(id).links);
  } else {
    const TransferSpan& span = step_.span(step_.crossings()[waits_.CrossingOf(node)]);
    add(step_.cluster().route(span.from, span.to).links);
  }
  return servers;
}

Replay::Waiting Replay::KeyOf(int32_t node) const {
  if (waits_.IsOp(node)) {
    const int64_t first = InProgramOrder() ? program_.turn[waits_.OpOf(node)]
                          : paths_.empty() ? now_.time.count
                                           : -paths_[node].count;
    return {{first, node, 0, 0, 0, 0}, node};
  }
  if (waits_.IsCollective(node)) {
    const auto& members = step_.graph().collective(waits_.CollectiveOf(node)).members;
    const OpId first = *std::min_element(members.begin(), members.end());
    return {{now_.time.count, first.value(), -1, -1, -1, -1}, node};
  }
  const Crossing& crossing = step_.crossings()[waits_.CrossingOf(node)];
  const Slice& slice = step_.slices()[crossing.slice];
  return {{now_.time.count, step_.WriterOf(slice).value(), slice.storage.value(),
           slice.offset.count, slice.length.count, crossing.to.value()},
          node};
}

Nanos Replay::StartOf(int32_t node) const {
  if (waits_.IsCollective(node)) return step_.span(waits_.CollectiveOf(node)).start;
  return waits_.IsOp(node) ? step_.span(waits_.OpOf(node)).start
                           : step_.span(step_.crossings()[waits_.CrossingOf(node)]).start;
}

Nanos Replay::EndOf(int32_t node) const {
  if (waits_.IsCollective(node)) return step_.span(waits_.CollectiveOf(node)).end;
  return waits_.IsOp(node) ? step_.span(waits_.OpOf(node)).end
                           : step_.span(step_.crossings()[waits_.CrossingOf(node)]).end;
}

std::string Replay::NameOf(int32_t node) const {
  if (waits_.IsOp(node)) return step_.Name(waits_.OpOf(node));
  if (waits_.IsCollective(node)) return step_.Name(waits_.CollectiveOf(node));
  return fmt::format("the transfer of {}", step_.Name(step_.crossings()[waits_.CrossingOf(node)]));
}

std::string Replay::PlaceOf(int32_t node) const {
  if (waits_.IsCollective(node)) return step_.Place(waits_.CollectiveOf(node));
  return waits_.IsOp(node) ? step_.Place(waits_.OpOf(node))
                           : step_.Place(step_.crossings()[waits_.CrossingOf(node)]);
}

std::string Replay::NameOfServer(int32_t server) const {
  const auto devices = static_cast<int32_t>(step_.cluster().device_count());
  if (server >= devices + static_cast<int32_t>(step_.cluster().link_count())) {
    return "a communicator";
  }
  return server < devices
             ? step_.cluster().device(DeviceId(server)).name
             : fmt::format("the link {}", step_.cluster().link(LinkId(server - devices)).name);
}

}  // namespace placewright::check
