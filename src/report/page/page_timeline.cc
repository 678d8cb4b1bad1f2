#include "report/page/page_timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cost/communication/collective_kind.h"
#include "report/page/alike_devices.h"
#include "report/page/packed_text.h"

namespace placewright {
namespace {

// Parts of the step that a box or a gap must be shorter than to be merged, tried in turn.
constexpr std::array<int64_t, 9> kMergedParts = {0,      1'000'000, 300'000, 100'000, 30'000,
                                                 10'000, 3'000,     1'000,   300};
// Of a device, of more points; where ops are merged, and then to whole MiB.
constexpr int64_t kMemoryPoints = 1500, kFewMemoryPoints = 400;
constexpr int64_t kMemoryUnit = 1 << 20;
// No text shrinks by more than this when it is packed; what is longer need not be tried.
constexpr size_t kMostPacked = 30;

// A box with what its columns say.
struct TimelineBox {
  Nanos start, end;
  Phase phase = Phase::kForward;
  int32_t op = 0;
  int64_t count = 0;
};

std::string JsonText(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonList(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}
std::string JsonList(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) list += (list.size() > 1 ? "," : "") + JsonText(text);
  return list + "]";
}

// Texts, each once.
class Texts {
 public:
  int64_t NumberOf(std::string text) {
    const auto next = static_cast<int64_t>(texts_.size());
    const auto [at, added] = numbers_.emplace(text, next);
    if (added) texts_.push_back(std::move(text));
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, int64_t> numbers_;  // looked up alone
  std::vector<std::string> texts_;
};

class TimelineWriter {
 public:
  explicit TimelineWriter(const PageTimelineInput& input) : in_(input) {
    for (const auto& one : in_.classes) {
      const bool runs = std::any_of(one.begin(), one.end(), [&](DeviceId device) {
        const DeviceResult& result = in_.devices[device.index()];
        return result.ops > 0 || result.tensor_peak.count > 0;
      });
      if (runs) lanes_.push_back(&one);
    }
    ops_.resize(in_.cluster.device_count());
    moves_.resize(in_.cluster.device_count());
    for (const OpId op : in_.step.ops()) {
      const OpSpan& span = in_.schedule.ops[op];
      const bool drawn = !in_.step.op(op).is_view && !in_.step.collective_of(op).valid();
      if (drawn && span.end > span.start) ops_[in_.placement[op].index()].push_back(op);
    }
    for (auto& list : ops_) {
      std::stable_sort(list.begin(), list.end(), [&](OpId a, OpId b) {
        return in_.schedule.ops[a].start < in_.schedule.ops[b].start;
      });
    }
    FindMoves();
  }

  PageTimeline Make() {
    PageTimeline timeline;
    std::vector<DeviceId> first, others;
    size_t longest = 0;
    for (const auto* const lane : lanes_) {
      first.push_back(lane->front());
      longest = std::max(longest, lane->size());
      timeline.busy += lane->size();
    }
    for (size_t k = 1; k < longest; ++k) {
      for (const auto* const lane : lanes_) {
        if (k < lane->size()) others.push_back((*lane)[k]);
      }
    }
    for (const int64_t part : kMergedParts) {
      timeline.merged =
          part == 0 ? Nanos(0) : Nanos(std::max<int64_t>(1, in_.step_time.count / part));
      const std::string json = Json(first, timeline.merged);
      if (json.size() > kMostPacked * in_.limit && part != kMergedParts.back()) continue;
      timeline.packed = PackText(json);
      if (timeline.packed.size() <= in_.limit) break;
    }
    // So many classes that some have no data.
    while (timeline.packed.size() > in_.limit && first.size() > 1) {
      first.resize(first.size() / 2);
      timeline.packed = PackText(Json(first, timeline.merged));
    }
    timeline.shown = first.size();
    // As many others as seem to fit, then fewer.
    const double each = static_cast<double>(timeline.packed.size()) /
                        static_cast<double>(std::max<size_t>(1, first.size()));
    const double left =
        static_cast<double>(in_.limit) - static_cast<double>(timeline.packed.size());
    size_t more =
        left <= 0 || each <= 0 ? 0 : std::min(others.size(), static_cast<size_t>(left / each * 2));
    for (; more > 0; more /= 2) {
      std::vector<DeviceId> shown = first;
      shown.insert(shown.end(), others.begin(), others.begin() + static_cast<ptrdiff_t>(more));
      std::string packed = PackText(Json(shown, timeline.merged));
      if (packed.size() > in_.limit) continue;
      timeline.packed = std::move(packed);
      timeline.shown = shown.size();
      break;
    }
    return timeline;
  }

 private:
  // What a device takes part in: a collective or a transfer.
  struct Move {
    Nanos ready, start, end;
    Bytes bytes;
    std::string kind, what;
  };

  void FindMoves() {
    for (const CollectiveId id : in_.step.collectives()) {
      const Collective& collective = in_.step.collective(id);
      const CollectiveSpan& span = in_.schedule.collectives[id];
      Bytes largest;
      for (const OpId op : collective.members) {
        for (const auto* const tensors : {&in_.step.op(op).inputs, &in_.step.op(op).outputs}) {
          Bytes sum;
          for (const TensorId tensor : *tensors) sum += in_.step.tensor(tensor).bytes;
          largest = std::max(largest, sum);
        }
      }
      const auto kind = CollectiveKindOf(in_.step.op(collective.members.front()).type);
      for (const OpId op : collective.members) {
        moves_[in_.placement[op].index()].push_back(
            {span.ready, span.start, span.end, largest,
             std::string(kind ? ToString(*kind) : "collective"),
             collective.name.substr(0, collective.name.find('@'))});
      }
    }
    for (const TransferSpan& span : in_.schedule.transfers) {
      const std::string& what = in_.step.tensor(in_.step.storage(span.storage).first).name;
      const std::string &from = in_.cluster.device(span.from).name,
                        &to = in_.cluster.device(span.to).name;
      moves_[span.from.index()].push_back(
          {span.ready, span.start, span.end, span.length, "transfer to " + to, what});
      moves_[span.to.index()].push_back(
          {span.ready, span.start, span.end, span.length, "transfer from " + from, what});
    }
    for (auto& list : moves_) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Move& a, const Move& b) { return a.start < b.start; });
    }
  }

  // Texts of one page.
  struct Tables {
    Texts names, types, modules, kinds;
    std::unordered_map<std::string, int32_t> op_of;  // by what the columns say; looked up alone
    std::vector<int64_t> name, type, module, phase;
  };

  int32_t NumberOf(OpId id, DeviceId device, Tables& tables) const {
    const Op& op = in_.step.op(id);
    const int64_t name = tables.names.NumberOf(NameWithoutDevice(op, in_.cluster.device(device)));
    const int64_t type = tables.types.NumberOf(std::string(op.type));
    const int64_t module = tables.modules.NumberOf(in_.step.module_path(op.module));
    const auto phase = static_cast<int64_t>(op.phase);
    const auto next = static_cast<int32_t>(tables.name.size());
    const auto [at, added] =
        tables.op_of.emplace(fmt::format("{} {} {} {}", name, type, module, phase), next);
    if (added) {
      tables.name.push_back(name);
      tables.type.push_back(type);
      tables.module.push_back(module);
      tables.phase.push_back(phase);
    }
    return at->second;
  }

  std::string BoxesOf(DeviceId device, Nanos merged, Tables& tables) const {
    std::vector<TimelineBox> boxes;
    for (const OpId id : ops_[device.index()]) {
      const OpSpan& span = in_.schedule.ops[id];
      const Phase phase = in_.step.op(id).phase;
      const bool joins =
          !boxes.empty() && merged.count > 0 && boxes.back().phase == phase &&
          span.start - boxes.back().end < merged &&
          (span.end - span.start < merged || boxes.back().end - boxes.back().start < merged);
      if (!joins) {
        boxes.push_back({span.start, span.end, phase, NumberOf(id, device, tables), 0});
      }
      boxes.back().end = std::max(boxes.back().end, span.end);
      ++boxes.back().count;
    }
    std::vector<int64_t> gap, time, op, count;
    Nanos end(0);
    int64_t last = 0;
    bool one_each = true;
    for (const TimelineBox& box : boxes) {
      gap.push_back((box.start - end).count);
      time.push_back((box.end - box.start).count);
      op.push_back(box.op - last);
      count.push_back(box.count);
      one_each = one_each && box.count == 1;
      end = box.end;
      last = box.op;
    }
    if (one_each) count.clear();
    return fmt::format(R"("gap":{},"time":{},"op":{},"count":{})", JsonList(gap), JsonList(time),
                       JsonList(op), JsonList(count));
  }

  // Of more points than a screen shows, the largest of each stretch of time.
  std::string MemoryOf(DeviceId device, Nanos merged) const {
    const MemoryCurve& curve = in_.memory[device.index()];
    const int64_t points = merged.count > 0 ? kFewMemoryPoints : kMemoryPoints;
    const int64_t stretch = static_cast<int64_t>(curve.size()) <= 2 * points
                                ? 0
                                : std::max<int64_t>(1, in_.step_time.count / points);
    std::vector<int64_t> gap, bytes;
    int64_t last = 0, before = 0;
    for (size_t i = 0; i < curve.size();) {
      size_t end = i + 1;
      int64_t most = curve[i].bytes.count;
      const int64_t number = stretch > 0 ? curve[i].time.count / stretch : 0;
      while (stretch > 0 && end < curve.size() && curve[end].time.count / stretch == number) {
        most = std::max(most, curve[end++].bytes.count);
      }
      if (merged.count > 0) most = (most + kMemoryUnit - 1) / kMemoryUnit * kMemoryUnit;
      gap.push_back(curve[i].time.count - last);
      bytes.push_back(most - before);
      last = curve[i].time.count;
      before = most;
      i = end;
    }
    return fmt::format(R"("memory":{{"gap":{},"bytes":{}}})", JsonList(gap), JsonList(bytes));
  }

  // Those that are shorter than `merged` and less than it behind one another are one, of the first's kind.
  std::string MovesOf(DeviceId device, Nanos merged, Tables& tables) const {
    std::vector<int64_t> gap, time, wait, what, bytes, kind, count;
    Nanos last(0), end(0);  // begin and end of the last box
    bool one_each = true;
    for (const Move& move : moves_[device.index()]) {
      const bool joins = !gap.empty() && merged.count > 0 && move.start - end < merged &&
                         (move.end - move.start < merged || time.back() < merged.count);
      end = joins ? std::max(end, move.end) : move.end;
      if (joins) {
        time.back() = (end - last).count;
        bytes.back() = SaturatingAdd(bytes.back(), move.bytes.count);
        ++count.back();
        one_each = false;
        continue;
      }
      gap.push_back((move.start - last).count);
      time.push_back((move.end - move.start).count);
      wait.push_back((move.start - move.ready).count);
      what.push_back(tables.names.NumberOf(move.what));
      bytes.push_back(move.bytes.count);
      kind.push_back(tables.kinds.NumberOf(move.kind));
      count.push_back(1);
      last = move.start;
    }
    if (one_each) count.clear();
    return fmt::format(
        R"("moves":{{"gap":{},"time":{},"wait":{},"what":{},"bytes":{},"kind":{},"count":{}}})",
        JsonList(gap), JsonList(time), JsonList(wait), JsonList(what), JsonList(bytes),
        JsonList(kind), JsonList(count));
  }

  std::string LaneOf(const std::vector<DeviceId>& lane, const std::vector<DeviceId>& shown) const {
    const Device& first = in_.cluster.device(lane.front());
    std::vector<std::string> names;
    std::vector<int64_t> numbers;
    for (const DeviceId device : lane) {
      names.push_back(in_.cluster.device(device).name);
      const auto at = std::find(shown.begin(), shown.end(), device);
      numbers.push_back(at == shown.end() ? -1 : at - shown.begin());
    }
    return fmt::format(
        R"({{"name":{},"kind":{},"capacity":{},"reserve":{},"devices":{},"shown":{}}})",
        JsonText(NamesOfDevices(lane, in_.cluster)), JsonText(in_.cluster.kind(lane.front()).name),
        first.capacity.count, first.reserve.count, JsonList(names), JsonList(numbers));
  }

  std::string Json(const std::vector<DeviceId>& shown, Nanos merged) const {
    Tables tables;
    std::string data, lanes;
    for (const DeviceId device : shown) {
      const DeviceResult& result = in_.devices[device.index()];
      data += data.empty() ? "{" : ",{";
      data += BoxesOf(device, merged, tables) + "," + MemoryOf(device, merged) + "," +
              MovesOf(device, merged, tables);
      data += fmt::format(R"(,"fixed":{}}})", (result.runtime_context + result.workspace).count);
    }
    for (const auto* const lane : lanes_) {
      lanes += (lanes.empty() ? "" : ",") + LaneOf(*lane, shown);
    }
    return fmt::format(
        R"({{"step":{},"bound":{},"names":{},"types":{},"modules":{},"kinds":{},)"
        R"("ops":{{"name":{},"type":{},"module":{},"phase":{}}},"lanes":[{}],"data":[{}]}})",
        in_.step_time.count, in_.lower_bound.count, JsonList(tables.names.texts()),
        JsonList(tables.types.texts()), JsonList(tables.modules.texts()),
        JsonList(tables.kinds.texts()), JsonList(tables.name), JsonList(tables.type),
        JsonList(tables.module), JsonList(tables.phase), lanes, data);
  }

  const PageTimelineInput& in_;
  std::vector<const std::vector<DeviceId>*> lanes_;  // classes that run anything
  std::vector<std::vector<OpId>> ops_;               // by device, in the order of their begin
  std::vector<std::vector<Move>> moves_;             // by device
};

}  // namespace

PageTimeline MakePageTimeline(const PageTimelineInput& input) {
  return TimelineWriter(input).Make();
}

}  // namespace placewright
