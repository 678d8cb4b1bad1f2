#include "cost/measured_costs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cost/signature.h"
#include "cost/work.h"

namespace placewright {
namespace {

// The times of one family, as a line over the batch.
struct Line {
  double offset = 0, slope = 0;
  int64_t from = 0, to = 0;  // batches between which it was measured
};

struct Point {
  int64_t batch;
  double time;
};

std::optional<Line> LineThrough(const std::vector<Point>& points) {
  Line line{0, 0, points.front().batch, points.front().batch};
  double batch = 0, time = 0;
  for (const Point& point : points) {
    batch += static_cast<double>(point.batch);
    time += point.time;
    line.from = std::min(line.from, point.batch);
    line.to = std::max(line.to, point.batch);
  }
  if (line.from == line.to) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  batch /= count;
  time /= count;
  double across = 0, along = 0;
  for (const Point& point : points) {
    const double away = static_cast<double>(point.batch) - batch;
    across += away * away;
    along += away * (point.time - time);
  }
  // Noise may make small ops seem faster at larger batches.
  line.slope = std::max(0.0, along / across);
  line.offset = time - line.slope * batch;
  return line;
}

struct Found {
  Nanos time;
  Bytes workspace;
  CostSource source;
};

// The rows of one table that costs of a graph come from.
class RowsInUse {
 public:
  explicit RowsInUse(const MeasuredIndex::Rows& rows) : rows_(rows) {}

  // By its signature, or with `line` by its family.
  std::optional<Found> Find(const Signature& signature, int64_t batch, const Work& work,
                            bool line) {
    const MeasuredDevice& of = *rows_.of;
    const auto time_now = [&](const MeasuredOp& row) {
      return static_cast<double>(row.time.count) * Slowdown(work, row.state, of.now);
    };
    const auto whole = [](double value) {
      constexpr auto kLargest = static_cast<double>(kMaxQuantity - 1024);
      return static_cast<int64_t>(std::ceil(std::clamp(value, 0.0, kLargest)));
    };
    const auto exact = rows_.by_signature.find(signature.text);
    if (exact != rows_.by_signature.end()) {
      const MeasuredOp& row = of.ops[exact->second];
      used_.insert(exact->second);
      return Found{Nanos(whole(time_now(row))), row.workspace, CostSource::kMeasured};
    }
    if (!line) return std::nullopt;
    const auto family = rows_.by_family.find(signature.family);
    if (family == rows_.by_family.end() || batch <= 0) return std::nullopt;
    std::vector<Point> points;
    for (const size_t row : family->second) {
      points.push_back({of.ops[row].batch, time_now(of.ops[row])});
    }
    const std::optional<Line> through = LineThrough(points);
    if (!through) return std::nullopt;
    const auto line_at = [&](double of_batch) {
      return through->offset + through->slope * of_batch;
    };
    const auto asked = static_cast<double>(batch), smallest = static_cast<double>(through->from);
    const auto first =
        std::min_element(points.begin(), points.end(),
                         [](const Point& a, const Point& b) { return a.batch < b.batch; });
    double at = line_at(asked);
    // Below what was measured a steep line would soon take no time at all: a share of the smallest does.
    if (batch < through->from) at = std::max(at, first->time * asked / smallest);
    double most = 0;  // workspace for one of the batch
    for (const size_t row : family->second) {
      used_.insert(row);
      most = std::max(most, static_cast<double>(of.ops[row].workspace.count) /
                                static_cast<double>(of.ops[row].batch));
    }
    const bool between = batch >= through->from && batch <= through->to;
    return Found{Nanos(whole(at)), Bytes(whole(most * static_cast<double>(batch))),
                 between ? CostSource::kMeasured : CostSource::kModelled};
  }

  bool any() const { return !used_.empty(); }
  MeasuredUse::Environment Environment() const {
    return {rows_.of->on, static_cast<int64_t>(used_.size()), Lines()};
  }

 private:
  std::string Lines() const {
    std::vector<std::string> lines;
    for (const size_t row : used_) {
      const MeasuredOp& op = rows_.of->ops[row];
      lines.push_back(op.signature + "\t" + std::to_string(op.batch) + "\t" +
                      std::to_string(op.time.count) + "\n");
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
  }

  const MeasuredIndex::Rows& rows_;
  std::set<size_t> used_;
};

}  // namespace

MeasuredIndex::Rows::Rows(const MeasuredDevice& device) : of(&device) {
  for (size_t i = 0; i < device.ops.size(); ++i) {
    const MeasuredOp& op = device.ops[i];
    by_signature.emplace(op.signature, i);
    if (!op.family.empty() && op.batch > 0) by_family[op.family].push_back(i);
  }
}

MeasuredIndex::MeasuredIndex(const std::vector<MeasuredDevice>& measured, const Cluster& cluster)
    : tables_of(cluster.device_count()) {
  for (const MeasuredDevice& device : measured) {
    follows_state = follows_state || device.now.known();
    bool indexed = false;
    for (const DeviceId id : cluster.devices()) {
      const DeviceKind& kind = cluster.kind(id);
      if (device.on.kind != kind.name || device.on.cores != kind.cores) continue;
      if (!std::exchange(indexed, true)) tables.emplace_back(device);
      tables_of[id].push_back(tables.size() - 1);
    }
  }
}

MeasuredUse ApplyMeasured(const Graph& graph, const MeasuredIndex& index, CostTable& costs,
                          const IdVector<OpId, const Op*>* wholes) {
  MeasuredUse use;
  if (index.tables.empty()) return use;
  std::vector<RowsInUse> tables(index.tables.begin(), index.tables.end());
  std::set<std::string> missing;
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view) continue;
    const bool stands_for = wholes != nullptr && (*wholes)[op] != nullptr;
    const Op& as = stands_for ? *(*wholes)[op] : graph.op(op);
    const Signature signature = SignatureOf(graph, op, as);
    const Work work = index.follows_state ? WorkOf(graph, as) : Work();
    Bytes workspace(-1);
    for (const DeviceId device : IdRange<DeviceId>(index.tables_of.size())) {
      if (index.tables_of[device].empty() || !costs.Supports(op, device)) continue;
      std::optional<Found> found;
      // What was measured goes before what follows from other batches.
      for (const bool line : {false, true}) {
        for (const size_t table : index.tables_of[device]) {
          if (!found) found = tables[table].Find(signature, graph.batch(), work, line);
        }
      }
      if (!found) {
        missing.emplace(graph.op(op).type);
        continue;
      }
      costs.SetTime(op, device, found->time);
      costs.SetSource(op, device, found->source);
      workspace = std::max(workspace, found->workspace);
    }
    if (workspace >= Bytes(0)) costs.SetWorkspace(op, workspace);
  }
  for (const RowsInUse& table : tables) {
    if (table.any()) use.environments.push_back(table.Environment());
  }
  use.missing.assign(missing.begin(), missing.end());
  return use;
}

}  // namespace placewright
