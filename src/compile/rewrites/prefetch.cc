#include "compile/rewrites/prefetch.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ownership/module_path.h"
#include "transforms/precision.h"

namespace placewright {
namespace {

class Delayer {
 public:
  Delayer(const Graph& original, StepArrays& arrays)
      : original_(original),
        arrays_(arrays),
        number_(arrays.collectives.size(), -1),
        fetch_of_(arrays.tensors.size(), -1) {}

  void Delay(int32_t distance) {
    for (size_t i = 0; i < arrays_.order.size(); ++i) Visit(static_cast<int32_t>(i));
    std::erase_if(fetches_, [](const Fetch& fetch) { return fetch.readers.empty(); });
    std::stable_sort(fetches_.begin(), fetches_.end(),
                     [](const Fetch& a, const Fetch& b) { return a.first < b.first; });
    FindUnits();
    for (size_t unit = static_cast<size_t>(distance); unit < units_.size(); ++unit) {
      for (size_t i = units_[unit].begin; i < units_[unit].end; ++i) {
        WaitFor(units_[unit - static_cast<size_t>(distance)], fetches_[i]);
      }
    }
    if (fetches_.empty()) return;  // there is no root where nothing is sharded
    for (const OfRoot& one : of_root_) {
      const auto last = last_backward_.find(one.device);
      if (last == last_backward_.end() || last->second <= one.place) continue;
      arrays_.holds.emplace_back(arrays_.order[static_cast<size_t>(last->second)], one.read);
    }
  }

 private:
  // Places count the step's ops in its order.
  using FirstReaders = std::map<DeviceId, int32_t>;
  struct Fetch {
    CollectiveId id;
    StorageId parameter;
    std::string_view layer;
    int32_t at = 0;     // of its first member
    int32_t first = 0;  // of the first reader of all
    FirstReaders readers;
  };
  struct Unit {
    size_t begin, end;  // its fetches
    FirstReaders readers;
  };
  // A parameter or gradient outside of layers, as it is read first.
  struct OfRoot {
    DeviceId device;
    int32_t place;
    ArrayRead read;
  };

  void Visit(int32_t place) {
    const OpId id = arrays_.order[static_cast<size_t>(place)];
    const ArrayOp& op = arrays_.ops[id];
    int32_t fetch = FetchBy(op, place);
    for (const ArrayRead& read : arrays_.ReadsOf(op)) {
      const int32_t of = fetch_of_[read.tensor];
      if (of < 0) continue;
      if (fetch < 0) fetch = of;
      if (!IsWork(op)) continue;
      Note(fetches_[static_cast<size_t>(of)], op.device, place);
      const bool of_root = fetches_[static_cast<size_t>(of)].layer.empty();
      if (of_root && op.phase != Phase::kOptimizer) HoldForRoot(op.device, place, read);
    }
    if (!op.IsInstance()) HoldGradients(op, place);
    if (IsWork(op)) {
      work_[op.device].push_back(place);
      if (op.phase == Phase::kBackward) last_backward_[op.device] = place;
    } else {
      for (const TensorId made : arrays_.MadeBy(op)) fetch_of_[made] = fetch;
    }
  }

  // Views and what moves pieces hand on what was fetched.
  static bool IsWork(const ArrayOp& op) { return op.IsInstance() && !op.is_view; }

  static void Note(Fetch& fetch, DeviceId device, int32_t place) {
    if (fetch.readers.empty()) fetch.first = place;
    fetch.readers.emplace(device, place);
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

  // The fetch that the op is a member of, or -1.
  int32_t FetchBy(const ArrayOp& op, int32_t place) {
    if (!op.collective.valid()) return -1;
    if (op.reads.begin == op.reads.end) return number_[op.collective];  // of a broadcast to it
    const ArrayVersion& content = arrays_.versions[arrays_.ReadsOf(op).front().version];
    StorageId storage = arrays_.storages[content.storage].original;
    if (!storage.valid()) return -1;
    if (const StorageId cast = CastParameter(original_, storage); cast.valid()) {
      storage = cast;
    } else if (content.writer.valid() ||
               original_.storage(storage).kind != TensorKind::kParameter) {
      return -1;
    }
    int32_t& number = number_[op.collective];
    if (number < 0) {
      number = static_cast<int32_t>(fetches_.size());
      const std::string& name = original_.tensor(original_.storage(storage).first).name;
      fetches_.push_back({op.collective, storage, LayerOf(ModuleOfParameter(name)), place, 0, {}});
    }
    return number;
  }

  // What fetches a parameter again, on one of the same devices, is of the next unit.
  void FindUnits() {
    std::set<std::pair<StorageId, DeviceId>> fetched;
    for (size_t i = 0; i < fetches_.size(); ++i) {
      const OpId member = arrays_.MembersOf(arrays_.collectives[fetches_[i].id]).front();
      const std::pair what(fetches_[i].parameter, arrays_.ops[member].device);
      if (i == 0 || fetches_[i].layer != fetches_[i - 1].layer || fetched.contains(what)) {
        units_.push_back({i, i, {}});
        fetched.clear();
      }
      fetched.insert(what);
      units_.back().end = i + 1;
      for (const auto& [device, place] : fetches_[i].readers) {
        const auto at = units_.back().readers.emplace(device, place).first;
        at->second = std::min(at->second, place);
      }
    }
  }

  void WaitFor(const Unit& unit, const Fetch& fetch) {
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
  IdVector<CollectiveId, int32_t> number_;  // of fetches_, or -1
  IdVector<TensorId, int32_t> fetch_of_;    // by tensor: what brought it, or -1
  std::vector<Fetch> fetches_;
  std::vector<Unit> units_;
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
