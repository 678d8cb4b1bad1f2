#include "compile/rewrites/prefetch.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compile/rewrites/fetch_units.h"
#include "graph/ownership/module_path.h"

namespace placewright {
namespace {

class Delayer {
 public:
  Delayer(const Graph& original, StepArrays& arrays)
      : original_(original), arrays_(arrays), units_(original, arrays) {}

  void Delay(int32_t distance) {
    for (size_t i = 0; i < arrays_.order.size(); ++i) Visit(static_cast<int32_t>(i));
    const std::vector<FetchUnits::Unit>& units = units_.units();
    for (size_t unit = static_cast<size_t>(distance); unit < units.size(); ++unit) {
      for (size_t i = units[unit].begin; i < units[unit].end; ++i) {
        WaitFor(units[unit - static_cast<size_t>(distance)], units_.fetches()[i]);
      }
    }
    if (units.empty()) return;  // there is no root where nothing is sharded
    for (const OfRoot& one : of_root_) {
      const auto last = last_backward_.find(one.device);
      if (last == last_backward_.end() || last->second <= one.place) continue;
      arrays_.holds.emplace_back(arrays_.order[static_cast<size_t>(last->second)], one.read);
    }
  }

 private:
  // A parameter or gradient outside of layers, as it is read first.
  struct OfRoot {
    DeviceId device;
    int32_t place;
    ArrayRead read;
  };

  void Visit(int32_t place) {
    const ArrayOp& op = arrays_.ops[arrays_.order[static_cast<size_t>(place)]];
    if (!op.IsInstance()) HoldGradients(op, place);
    if (!IsWork(op)) return;
    for (const ArrayRead& read : arrays_.ReadsOf(op)) {
      if (op.phase == Phase::kOptimizer || !units_.IsOfRoot(read.tensor)) continue;
      HoldForRoot(op.device, place, read);
    }
    work_[op.device].push_back(place);
    if (op.phase == Phase::kBackward) last_backward_[op.device] = place;
  }

  void HoldForRoot(DeviceId device, int32_t place, const ArrayRead& read) {
    if (held_.insert(read.version).second) of_root_.push_back({device, place, read});
  }
  // What is sent away of a gradient outside of layers.
  void HoldGradients(const ArrayOp& op, int32_t place) {
    for (const ArrayRead& read : arrays_.ReadsOf(op)) {
      const StorageId id = arrays_.storages[arrays_.versions[read.version].storage].original;
      if (!id.valid() || original_.storage(id).kind != TensorKind::kGradient) continue;
      const OpId maker = original_.storage(id).versions.front().writer;
      if (!maker.valid()) continue;
      const std::string& module = original_.module_path(original_.op(maker).module);
      if (LayerOf(module).empty()) HoldForRoot(op.device, place, read);
    }
  }

  void WaitFor(const FetchUnits::Unit& unit, const FetchUnits::Fetch& fetch) {
    for (const OpId member : arrays_.MembersOf(arrays_.collectives[fetch.id])) {
      const DeviceId device = arrays_.ops[member].device;
      const auto reader = unit.readers.find(device);
      if (reader == unit.readers.end()) continue;
      const std::vector<int32_t>& work = work_[device];
      const auto at =
          std::lower_bound(work.begin(), work.end(), std::min(reader->second, fetch.at));
      if (at == work.begin()) continue;
      arrays_.after.emplace_back(arrays_.order[static_cast<size_t>(*(at - 1))], member);
    }
  }

  const Graph& original_;
  StepArrays& arrays_;
  const FetchUnits units_;
  std::map<DeviceId, std::vector<int32_t>> work_;  // the places of what a device computes
  std::vector<OfRoot> of_root_;
  std::set<ArrayVersionId> held_;  // of these
  std::map<DeviceId, int32_t> last_backward_;
};

}  // namespace

void DelayFetches(int32_t distance, const Graph& original, ArrayWriter& writer,
                  ArrayChanges& changes) {
  changes.KeepOrder();
  Delayer(original, writer.arrays()).Delay(distance);
}

}  // namespace placewright
