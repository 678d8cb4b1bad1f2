#include "check_plan/memory_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace placewright::check {
namespace {

struct Change {
  Stamp at;
  bool allocates = false;
  DeviceId device;
  Bytes bytes;
};

class Sweep {
 public:
  Sweep(const Step& step, const Waits& waits, const Stamps& stamps)
      : step_(step),
        waits_(waits),
        stamps_(stamps),
        used_(step.cluster().device_count()),
        last_use_(step.graph().storage_count()) {}

  IdVector<DeviceId, Bytes> Run() {
    HoldPersistent();
    HoldInputs();
    FindLastUses();
    AddProduced();
    AddCopies();
    return Peaks();
  }

 private:
  Bytes Size(StorageId id) const { return RoundUpToGranule(step_.graph().storage(id).bytes); }

  void Add(DeviceId device, Bytes bytes) {
    used_[device] = Bytes(SaturatingAdd(used_[device].count, bytes.count));
  }

  void HoldPersistent() {
    for (StorageId id : step_.graph().storages()) {
      if (step_.residence(id) == Residence::kHome && step_.home(id).valid()) {
        Add(step_.home(id), Size(id));
      }
    }
  }

  void HoldInputs() {
    std::vector<std::pair<StorageId, DeviceId>> held;
    for (const Slice& slice : step_.slices()) {
      if (step_.residence(slice.storage) != Residence::kEverywhere) continue;
      for (OpId reader : slice.readers) held.emplace_back(slice.storage, step_.placement()[reader]);
    }
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    for (const auto& [storage, device] : held) Add(device, Size(storage));
  }

  // When the last op at home that reads or writes each storage, and the last transfer of it, ends.
  void FindLastUses() {
    const auto use = [this](StorageId id, int32_t node) {
      last_use_[id] = std::max(last_use_[id], stamps_.end[node]);
    };
    for (const Slice& slice : step_.slices()) {
      for (OpId reader : slice.readers) {
        if (step_.placement()[reader] == step_.home(slice.storage)) {
          use(slice.storage, waits_.NodeOf(reader));
        }
      }
    }
    for (StorageId id : step_.graph().storages()) {
      for (const Version& version : step_.graph().storage(id).versions) {
        if (version.writer.valid()) use(id, waits_.NodeOf(version.writer));
      }
    }
    for (size_t i = 0; i < step_.crossings().size(); ++i) {
      use(step_.slices()[step_.crossings()[i].slice].storage,
          waits_.NodeOfCrossing(static_cast<int32_t>(i)));
    }
  }

  void AddProduced() {
    for (StorageId id : step_.graph().storages()) {
      if (step_.residence(id) != Residence::kProduced) continue;
      const OpId maker = step_.graph().storage(id).versions.front().writer;
      changes_.push_back({stamps_.start[waits_.NodeOf(maker)], true, step_.home(id), Size(id)});
      changes_.push_back({last_use_[id], false, step_.home(id), Size(id)});
    }
  }

  void AddCopies() {
    for (size_t i = 0; i < step_.crossings().size(); ++i) {
      const Crossing& crossing = step_.crossings()[i];
      const Slice& slice = step_.slices()[crossing.slice];
      const Bytes size = RoundUpToGranule(slice.length);
      Stamp last;
      for (OpId reader : slice.readers) {
        if (step_.placement()[reader] == crossing.to) {
          last = std::max(last, stamps_.end[waits_.NodeOf(reader)]);
        }
      }
      const int32_t node = waits_.NodeOfCrossing(static_cast<int32_t>(i));
      changes_.push_back({stamps_.start[node], true, crossing.to, size});
      changes_.push_back({last, false, crossing.to, size});
    }
  }

  IdVector<DeviceId, Bytes> Peaks() {
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return std::tie(a.at, a.allocates) < std::tie(b.at, b.allocates);
    });
    IdVector<DeviceId, Bytes> peaks = used_;
    // Within one stamp occupancy only falls and then only rises, so that reading it after every
    // allocation finds the occupancy after all of them.
    for (const Change& change : changes_) {
      Bytes& used = used_[change.device];
      if (change.allocates) {
        Add(change.device, change.bytes);
        peaks[change.device] = std::max(peaks[change.device], used);
      } else {
        used -= change.bytes;
      }
    }
    return peaks;
  }

  const Step& step_;
  const Waits& waits_;
  const Stamps& stamps_;
  IdVector<DeviceId, Bytes> used_;
  IdVector<StorageId, Stamp> last_use_;
  std::vector<Change> changes_;
};

Violation WrongBytes(size_t device, std::string_view field, Bytes stated, Bytes found) {
  return {ViolationKind::kMemory,
          fmt::format("{} bytes are stated, {} are needed", stated.count, found.count),
          fmt::format("devices[{}].{}", device, field)};
}

IdVector<DeviceId, Bytes> LargestWorkspaces(const Step& step) {
  IdVector<DeviceId, Bytes> largest(step.cluster().device_count());
  for (OpId op : step.graph().ops()) {
    if (step.graph().op(op).is_view) continue;
    Bytes& bytes = largest[step.placement()[op]];
    bytes = std::max(bytes, step.costs().workspace(op));
  }
  return largest;
}

}  // namespace

IdVector<DeviceId, Bytes> TensorPeaks(const Step& step, const Waits& waits, const Stamps& stamps) {
  return Sweep(step, waits, stamps).Run();
}

MaybeViolation CheckMemory(const Plan& plan, const Step& step, const Waits& waits,
                           const Stamps& stamps) {
  const IdVector<DeviceId, Bytes> peaks = TensorPeaks(step, waits, stamps);
  const IdVector<DeviceId, Bytes> workspaces = LargestWorkspaces(step);
  bool fits = true;
  for (DeviceId id : step.cluster().devices()) {
    const DeviceUse& use = plan.devices[id.index()];
    const size_t i = id.index();
    const Bytes workspace = workspaces[id];
    const Bytes context = step.cluster().kind(id).runtime_context;
    if (use.tensor_peak != peaks[id]) {
      return WrongBytes(i, "tensor_peak_bytes", use.tensor_peak, peaks[id]);
    }
    if (use.workspace != workspace) {
      return WrongBytes(i, "workspace_bytes", use.workspace, workspace);
    }
    if (use.runtime_context != context) {
      return WrongBytes(i, "runtime_context_bytes", use.runtime_context, context);
    }
    const Bytes all(SaturatingAdd(SaturatingAdd(peaks[id].count, workspace.count), context.count));
    if (use.peak_memory != all) return WrongBytes(i, "peak_memory_bytes", use.peak_memory, all);
    fits = fits && all <= step.cluster().device(id).capacity;
  }
  if (plan.feasible == fits) return std::nullopt;
  return Violation{ViolationKind::kFeasible,
                   fits ? "every device has the memory it needs, but the plan says it does not fit"
                        : "a device needs more memory than it has, but the plan says it fits",
                   "feasible"};
}

}  // namespace placewright::check
