#include "search/tag/features.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/elementary.h"

namespace placewright {
namespace {

constexpr std::array<double, 4> kShares = {1, 0.5, 0.25, 0.125};
// Columns of a unit.
constexpr size_t kTimes = 0, kParameters = 4, kInside = 5, kOption = 6, kUndecided = 13,
                 kMakespan = 14, kIdle = 15, kDecided = 16, kNext = 17, kFollows = 18;
// What feedback fills of a device group, of data, and of two device groups.
constexpr size_t kPeak = 3, kFree = 4, kWait = 1, kLinkFree = 2;

// log2(1 + 64 x) / 6: 0 at 0, 1 near 1.
double Squeezed(double x) { return PortableLog(1 + 64 * std::max(0.0, x)) / PortableLog(2.0) / 6; }

}  // namespace

TagFeatures::TagFeatures(const LayoutProblem& problem, const Strategies& strategies,
                         const StrategyWork& work, TagView view)
    : problem_(problem), strategies_(strategies), work_(work), view_(view) {
  still_.units = strategies.units().size();
  still_.devices = strategies.device_groups().size();
  still_.unit.assign(still_.units * kUnitFeatures, 0);
  still_.device.assign(still_.devices * kDeviceFeatures, 0);
  still_.machine.assign(still_.devices * still_.devices * kMachineFeatures, 0);
  still_.place.assign(still_.units * still_.devices * kPlaceFeatures, 0);
  FindTimes();
  FindMachines();
  FindBytes();
}

// By their work at least: what is fixed, and what the batch shares out.
void TagFeatures::FindTimes() {
  const size_t groups = still_.devices;
  times_.assign(still_.units * groups, {});
  std::vector<double> norms(groups, 0);
  for (size_t unit = 0; unit < still_.units; ++unit) {
    std::array<double, 4> mean = {};
    for (size_t group = 0; group < groups; ++group) {
      const UnitWork& work = work_.Of(unit, strategies_.device_groups()[group].front());
      std::array<double, 4>& times = times_[unit * groups + group];
      for (size_t i = 0; i < kShares.size(); ++i) {
        times[i] = work.fixed + work.update + work.shared * kShares[i];
        mean[i] += times[i] / static_cast<double>(groups);
      }
      norms[group] += times[0] * times[0];
    }
    for (size_t i = 0; i < kShares.size(); ++i) {
      still_.unit[unit * kUnitFeatures + kTimes + i] = static_cast<float>(mean[i]);
    }
  }
  time_ = std::max(1.0, std::sqrt(*std::min_element(norms.begin(), norms.end())));
  for (size_t unit = 0; unit < still_.units; ++unit) {
    for (size_t i = 0; i < kShares.size(); ++i) {
      float& time = still_.unit[unit * kUnitFeatures + kTimes + i];
      time = static_cast<float>(Squeezed(static_cast<double>(time) / time_));
    }
    for (size_t group = 0; group < groups; ++group) {
      for (size_t i = 0; i < kShares.size(); ++i) {
        still_.place[(unit * groups + group) * kPlaceFeatures + 2 + i] =
            static_cast<float>(Squeezed(times_[unit * groups + group][i] / time_));
      }
    }
  }
}

void TagFeatures::FindMachines() {
  const std::vector<std::vector<DeviceId>>& groups = strategies_.device_groups();
  const auto other_of = [&](size_t from, size_t to) {
    if (from != to) return groups[to].front();
    return groups[from].size() > 1 ? groups[from][1] : groups[from][0];
  };
  bandwidth_ = 1e-9;
  for (size_t from = 0; from < groups.size(); ++from) {
    for (size_t to = 0; to < groups.size(); ++to) {
      const DeviceId a = groups[from].front(), b = other_of(from, to);
      if (a != b) bandwidth_ = std::max(bandwidth_, work_.RateBetween(a, b));
    }
  }
  bytes_ = time_ * bandwidth_;
  for (size_t from = 0; from < groups.size(); ++from) {
    for (size_t to = 0; to < groups.size(); ++to) {
      const DeviceId a = groups[from].front(), b = other_of(from, to);
      float* const row = &still_.machine[(from * groups.size() + to) * kMachineFeatures];
      row[0] = a == b ? 1 : static_cast<float>(work_.RateBetween(a, b) / bandwidth_);
      const bool routed = a != b && problem_.cluster.Connected(a, b);
      row[1] = routed ? static_cast<float>(
                            static_cast<double>(problem_.cluster.route(a, b).latency.count) / 1e5)
                      : 0;
    }
    float* const row = &still_.device[from * kDeviceFeatures];
    const DeviceId device = groups[from].front();
    double whole = 0;
    for (size_t unit = 0; unit < still_.units; ++unit) {
      whole += times_[unit * groups.size() + from][0];
    }
    row[0] = static_cast<float>(PortableLog(static_cast<double>(groups[from].size())) /
                                PortableLog(8.0));
    row[1] = static_cast<float>(Squeezed(
        static_cast<double>(problem_.cluster.device(device).capacity.count) / (64 * bytes_)));
    row[2] = still_.machine[(from * groups.size() + from) * kMachineFeatures];
    row[5] = static_cast<float>(whole / (8 * time_));
  }
}

void TagFeatures::FindBytes() {
  const Graph& graph = problem_.graph;
  std::vector<double> parameters(still_.units, 0), inside(still_.units, 0);
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    const bool parameter = tensor.kind == TensorKind::kParameter && !tensor.producer.valid();
    const OpId home = parameter ? graph.home_op(tensor.storage) : tensor.producer;
    if (!home.valid()) continue;
    const int32_t unit = strategies_.unit_of()[graph.group(home)];
    if (unit < 0 || (!parameter && graph.op(home).is_view)) continue;
    (parameter ? parameters : inside)[static_cast<size_t>(unit)] +=
        static_cast<double>(tensor.bytes.count);
  }
  for (size_t unit = 0; unit < still_.units; ++unit) {
    float* const row = &still_.unit[unit * kUnitFeatures];
    row[kParameters] = static_cast<float>(Squeezed(parameters[unit] / bytes_));
    row[kInside] = static_cast<float>(Squeezed(inside[unit] / bytes_));
  }
  for (const WorkEdge& edge : work_.edges()) {
    still_.data.push_back({static_cast<int32_t>(edge.from), static_cast<int32_t>(edge.to)});
    still_.data_features.push_back(static_cast<float>(Squeezed(edge.bytes / bytes_)));
    still_.data_features.push_back(0);
  }
}

TagGraph TagFeatures::Of(std::span<const int32_t> decided, const StrategyFeedback* feedback) const {
  TagGraph graph = still_;
  const std::vector<int32_t> slices = strategies_.SlicesOf(decided);
  for (size_t unit = 0; unit < graph.units; ++unit) {
    float* const row = &graph.unit[unit * kUnitFeatures];
    const Slice& slice = strategies_.slices()[static_cast<size_t>(slices[unit])];
    const bool is_decided = unit < decided.size();
    if (is_decided) row[kOption + static_cast<size_t>(slice.option)] = 1;
    row[kUndecided] = is_decided ? 0 : 1;
    row[kDecided] = is_decided ? 1 : 0;
    row[kNext] = unit == decided.size() ? 1 : 0;
    row[kFollows] = !is_decided && !decided.empty() ? 1 : 0;
    const SliceUse& use = work_.UseOf(slices[unit]);
    for (size_t i = 0; i < slice.groups.size(); ++i) {
      float* const place =
          &graph.place[(unit * graph.devices + static_cast<size_t>(slice.groups[i])) *
                       kPlaceFeatures];
      place[0] = static_cast<float>(use.share[i]);
      place[1] = 1;
    }
  }
  if (feedback == nullptr) return SeenAs(view_, std::move(graph));
  std::vector<double> waits(graph.units, 0);
  std::vector<int> outputs(graph.units, 0);
  for (size_t i = 0; i < graph.data.size(); ++i) {
    const auto from = static_cast<size_t>(graph.data[i].from);
    const auto to = static_cast<size_t>(graph.data[i].to);
    const auto wait = static_cast<double>(
        std::max<int64_t>(0, feedback->units[to].first_start - feedback->units[from].last_end));
    graph.data_features[i * kDataFeatures + kWait] = static_cast<float>(wait / feedback->step);
    waits[from] += wait;
    ++outputs[from];
  }
  for (size_t unit = 0; unit < graph.units; ++unit) {
    float* const row = &graph.unit[unit * kUnitFeatures];
    const StrategyFeedback::Unit& times = feedback->units[unit];
    row[kMakespan] = static_cast<float>(
        Squeezed(static_cast<double>(times.last_end - times.first_start) / time_));
    if (outputs[unit] > 0) {
      row[kIdle] = static_cast<float>(Squeezed(waits[unit] / outputs[unit] / time_));
    }
  }
  for (size_t group = 0; group < graph.devices; ++group) {
    float* const row = &graph.device[group * kDeviceFeatures];
    row[kPeak] = static_cast<float>(std::min(2.0, feedback->peak[group]));
    row[kFree] = static_cast<float>(1 - feedback->busy[group]);
  }
  for (size_t pair = 0; pair < graph.devices * graph.devices; ++pair) {
    graph.machine[pair * kMachineFeatures + kLinkFree] =
        static_cast<float>(1 - feedback->links_busy[pair]);
  }
  return SeenAs(view_, std::move(graph));
}

TagGraph SeenAs(TagView view, TagGraph graph) {
  if (view == TagView::kEdgeless) {
    for (std::vector<float>* numbers : {&graph.data_features, &graph.machine, &graph.place}) {
      std::fill(numbers->begin(), numbers->end(), 0.0F);
    }
  }
  // Numbering is nothing that a network sees: those of the next one are as good as drawn ones.
  if (view == TagView::kShuffled) {
    std::rotate(graph.device.begin(), graph.device.begin() + kDeviceFeatures, graph.device.end());
  }
  return graph;
}

TagGraph WithoutFeedback(TagGraph graph) {
  const auto clear = [](std::vector<float>& rows, size_t columns, size_t column) {
    for (size_t i = column; i < rows.size(); i += columns) rows[i] = 0;
  };
  for (const size_t column : {kMakespan, kIdle}) clear(graph.unit, kUnitFeatures, column);
  for (const size_t column : {kPeak, kFree}) clear(graph.device, kDeviceFeatures, column);
  clear(graph.data_features, kDataFeatures, kWait);
  clear(graph.machine, kMachineFeatures, kLinkFree);
  return graph;
}

}  // namespace placewright
