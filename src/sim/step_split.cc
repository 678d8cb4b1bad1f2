#include "sim/step_split.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "cost/communication/collective_kind.h"

namespace placewright {
namespace {

constexpr std::string_view kTransfer = "transfer";

// From `start` to `end`, in nanoseconds.
struct Stretch {
  int64_t start = 0, end = 0;
  std::string_view kind;  // of what moves
};

// What one device does.
struct DeviceLine {
  std::vector<Stretch> computing, moving;
};

using Sums = std::map<std::string_view, double>;

// What moves while a device waits, from `gap.start` to `gap.end`, when it goes on. `moving`: that overlaps it.
void SplitGap(const Stretch& gap, std::vector<Stretch> moving, Sums& sums) {
  // What has ended by then, the last first; then what goes on beside the ops that follow.
  const auto goes_on = [&](const Stretch& one) { return one.end > gap.end; };
  std::sort(moving.begin(), moving.end(), [&](const Stretch& a, const Stretch& b) {
    return std::tuple(goes_on(a), -a.end, a.start) < std::tuple(goes_on(b), -b.end, b.start);
  });
  std::vector<Stretch> open = {gap};  // that nothing accounts for so far
  for (const Stretch& one : moving) {
    std::vector<Stretch> left;
    for (const Stretch& part : open) {
      const int64_t from = std::max(part.start, one.start), to = std::min(part.end, one.end);
      if (from >= to) {
        left.push_back(part);
        continue;
      }
      sums[one.kind] += static_cast<double>(to - from);
      if (part.start < from) left.push_back({part.start, from, {}});
      if (to < part.end) left.push_back({to, part.end, {}});
    }
    open = std::move(left);
    if (open.empty()) return;
  }
}

// `line` is sorted by start.
void SplitLine(const DeviceLine& line, int64_t step, Sums& sums) {
  std::vector<Stretch> moving;  // that may overlap what comes
  size_t next = 0;
  int64_t done = 0;
  const auto wait_until = [&](int64_t end) {
    if (end <= done) return;
    for (; next < line.moving.size() && line.moving[next].start < end; ++next) {
      moving.push_back(line.moving[next]);
    }
    std::erase_if(moving, [&](const Stretch& one) { return one.end <= done; });
    SplitGap({done, end, {}}, moving, sums);
  };
  for (const Stretch& op : line.computing) {
    wait_until(op.start);
    done = std::max(done, op.end);
  }
  wait_until(step);
}

std::vector<std::pair<std::string, double>> Ranked(const Sums& sums, double whole) {
  std::vector<std::pair<std::string, double>> ranked;
  for (const auto& [name, sum] : sums) ranked.emplace_back(name, sum / whole);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return ranked;
}

double SumOf(const std::vector<std::pair<std::string, double>>& shares) {
  double sum = 0;
  for (const auto& [name, share] : shares) sum += share;
  return sum;
}

}  // namespace

StepSplit SplitOfStep(const Graph& step, const Placement& placement, const Schedule& schedule,
                      size_t devices, Nanos step_time, const StepLanes* lanes) {
  std::vector<DeviceLine> lines(devices);
  Sums types, kinds;
  const auto move = [&](DeviceId device, Nanos start, Nanos end, std::string_view kind) {
    if (start < end) lines[device.index()].moving.push_back({start.count, end.count, kind});
  };
  for (const OpId op : step.ops()) {
    if (step.op(op).is_view) continue;
    const CollectiveId collective = step.collective_of(op);
    if (collective.valid()) {
      const CollectiveSpan& span = schedule.collectives[collective];
      const auto kind = CollectiveKindOf(step.op(op).type);
      move(placement[op], span.start, span.end, kind ? ToString(*kind) : "collective");
      continue;
    }
    const OpSpan& span = schedule.ops[op];
    lines[placement[op].index()].computing.push_back({span.start.count, span.end.count, {}});
    types[step.op(op).type] += static_cast<double>(DevicesLike(lanes, placement[op])) *
                               static_cast<double>((span.end - span.start).count);
  }
  for (const TransferSpan& span : schedule.transfers) {
    move(span.from, span.start, span.end, kTransfer);
    move(span.to, span.start, span.end, kTransfer);
  }
  double whole = 0;
  for (size_t i = 0; i < devices; ++i) {
    DeviceLine& line = lines[i];
    if (line.computing.empty()) continue;
    const auto alike = static_cast<double>(DevicesLike(lanes, DeviceId(static_cast<int32_t>(i))));
    whole += alike * static_cast<double>(step_time.count);
    const auto earlier = [](const Stretch& a, const Stretch& b) { return a.start < b.start; };
    std::stable_sort(line.computing.begin(), line.computing.end(), earlier);
    std::stable_sort(line.moving.begin(), line.moving.end(), earlier);
    Sums own;
    SplitLine(line, step_time.count, own);
    for (const auto& [kind, sum] : own) kinds[kind] += alike * sum;
  }
  StepSplit split;
  if (whole <= 0) return split;
  split.op_types = Ranked(types, whole);
  split.kinds = Ranked(kinds, whole);
  split.compute = SumOf(split.op_types);
  split.communication = SumOf(split.kinds);
  split.idle = std::max(0.0, 1 - split.compute - split.communication);  // rounded off below
  return split;
}

}  // namespace placewright
