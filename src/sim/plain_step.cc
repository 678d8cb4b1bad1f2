#include "sim/plain_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

// Names that no tensor, or no op, has yet.
class FreshNames {
 public:
  std::string Take(std::string name) {
    while (!taken_.insert(name).second) name += "'";
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
};

class PlainStepMaker {
 public:
  PlainStepMaker(const SimGraph& sim_graph, const Graph& graph, const CostTable& costs,
                 const Placement& placement)
      : p_(sim_graph),
        graph_(graph),
        costs_(costs),
        placement_(placement),
        builder_(graph.name(), "costgraph"),
        at_home_(graph.storage_count()),
        tensor_of_(static_cast<size_t>(sim_graph.slices)),
        arrivals_of_(sim_graph.version_writer.size()),
        before_(static_cast<size_t>(sim_graph.ops)) {}

  Result<PlainStep> Make() && {
    NameOps();
    for (StorageId storage : p_.storage_ids()) PW_RETURN_IF_ERROR(AddStorage(storage));
    AddArrivals();
    for (ExecOpId op : p_.exec_ops()) {
      for (ExecOpId later : p_.explicit_successors[op]) before_[later].push_back(NameOf(op));
    }
    for (ExecOpId op : p_.exec_ops()) PW_RETURN_IF_ERROR(AddOp(op));
    for (const Arrival& arrival : arrivals_) PW_RETURN_IF_ERROR(AddArrivalOp(arrival));
    PW_RETURN_IF_ERROR(AddCollectives());
    PW_ASSIGN(step_.graph, std::move(builder_).Build());
    FillCosts();
    return std::move(step_);
  }

 private:
  // That everything that crosses of a version to a device is there.
  struct Arrival {
    std::string name;
    DeviceId device;
    std::vector<TensorId> copies;
  };

  DeviceId DeviceOf(ExecOpId op) const { return placement_[p_.op_of[op]]; }
  const std::string& NameOf(ExecOpId op) const { return graph_.op(p_.op_of[op]).name; }

  DeviceId HomeOf(StorageId storage) const {
    if (p_.fixed_home[storage].valid()) return p_.fixed_home[storage];
    const OpId op = p_.home_op[storage];
    return op.valid() ? placement_[op] : DeviceId();
  }

  void NameOps() {
    for (ExecOpId op : p_.exec_ops()) op_names_.Take(NameOf(op));
    for (StorageId storage : p_.storage_ids()) tensor_names_.Take(NameOf(storage));
  }
  const std::string& NameOf(StorageId storage) const {
    return graph_.tensor(graph_.storage(storage).first).name;
  }

  bool Crosses(SliceId slice) const {
    const StorageId storage = p_.slice_storage[slice];
    if (p_.storage_class[storage] == StorageClass::kInput) return false;
    const DeviceId home = HomeOf(storage);
    return std::any_of(p_.slice_readers[slice].begin(), p_.slice_readers[slice].end(),
                       [&](ExecOpId reader) { return DeviceOf(reader) != home; });
  }

  // Slices of a version that cross, in the order of their ids: links serve equals by these.
  std::vector<SliceId> CrossingSlices(VersionId version) const {
    std::vector<SliceId> crossing;
    for (SliceId slice : p_.version_slices[version]) {
      if (Crosses(slice)) crossing.push_back(slice);
    }
    return crossing;
  }

  // Tensors in the order of (storage, version, range): those of one op are served by a link in this
  // order.
  Status AddStorage(StorageId storage) {
    const std::vector<SliceId> first = CrossingSlices(p_.VersionOf(storage, 0));
    PW_RETURN_IF_ERROR(AddFirstVersion(storage, first));
    const int32_t versions = static_cast<int32_t>(p_.storage_versions[storage].size());
    step_.writes += versions - 1;
    for (int32_t number = 1; number < versions; ++number) {
      for (SliceId slice : CrossingSlices(p_.VersionOf(storage, number))) {
        PW_ASSIGN(tensor_of_[slice], builder_.DeclareTensor(NameOf(slice), DType::kOpaque, {},
                                                            Bytes(p_.slice_length[slice])));
        ++step_.new_versions;
      }
    }
    return Ok();
  }

  bool IsWhole(SliceId slice) const {
    return p_.slice_offset[slice] == 0 &&
           p_.slice_length[slice] == graph_.storage(p_.slice_storage[slice]).bytes.count;
  }

  std::string NameOf(SliceId slice) {
    const int32_t version = p_.NumberOf(p_.slice_version[slice]);
    std::string name = NameOf(p_.slice_storage[slice]);
    if (version > 0) name += fmt::format("@{}", version);
    if (!IsWhole(slice)) {
      name += fmt::format("[{}:{}]", p_.slice_offset[slice],
                          p_.slice_offset[slice] + p_.slice_length[slice]);
    }
    return tensor_names_.Take(std::move(name));
  }

  // What lies at home from the first: all of the storage where all of it crosses or nothing, else
  // the parts that cross and what they leave.
  Status AddFirstVersion(StorageId storage, const std::vector<SliceId>& crossing) {
    Bytes rest = graph_.storage(storage).bytes;
    const bool whole = crossing.empty() || std::any_of(crossing.begin(), crossing.end(),
                                                       [&](SliceId s) { return IsWhole(s); });
    if (!whole) {
      rest = RoundUpToGranule(rest);
      for (SliceId slice : crossing) {
        rest = Bytes(std::max<int64_t>(0, rest.count - p_.slice_bytes[slice]));
      }
    }
    if (crossing.empty() || !whole) {
      PW_RETURN_IF_ERROR(AddAtHome(storage, NameOf(storage), rest));
    }
    for (SliceId slice : crossing) {
      if (IsWhole(slice)) {
        PW_RETURN_IF_ERROR(AddAtHome(storage, NameOf(storage), rest));
      } else {
        PW_RETURN_IF_ERROR(AddAtHome(storage, NameOf(slice), Bytes(p_.slice_length[slice])));
        ++step_.parts;
      }
      tensor_of_[slice] = at_home_[storage].back();
    }
    return Ok();
  }

  Status AddAtHome(StorageId storage, std::string name, Bytes bytes) {
    const StorageClass storage_class = p_.storage_class[storage];
    auto added =
        storage_class == StorageClass::kTransient
            ? builder_.DeclareTensor(std::move(name), DType::kOpaque, {}, bytes)
        : storage_class == StorageClass::kInput
            ? builder_.AddInput(std::move(name), TensorKind::kInput, DType::kOpaque, {}, bytes)
            : builder_.AddInput(std::move(name), TensorKind::kParameter, DType::kOpaque, {}, bytes,
                                HomeOf(storage));
    if (!added.ok()) return std::move(added.error());
    at_home_[storage].push_back(added.value());
    return Ok();
  }

  // Of the versions that are written over.
  void AddArrivals() {
    for (VersionId version : p_.version_ids()) {
      if (!p_.version_overwriter[version].valid()) continue;
      const DeviceId home = HomeOf(p_.version_storage[version]);
      std::vector<std::pair<DeviceId, TensorId>> copies;
      for (SliceId slice : CrossingSlices(version)) {
        for (ExecOpId reader : p_.slice_readers[slice]) {
          if (DeviceOf(reader) != home) copies.emplace_back(DeviceOf(reader), tensor_of_[slice]);
        }
      }
      std::sort(copies.begin(), copies.end());
      copies.erase(std::unique(copies.begin(), copies.end()), copies.end());
      for (size_t i = 0; i < copies.size(); ++i) {
        if (i == 0 || copies[i].first != copies[i - 1].first) {
          const std::string name = fmt::format(
              "arrival of {}@{}", NameOf(p_.version_storage[version]), p_.NumberOf(version));
          arrivals_.push_back({op_names_.Take(name), copies[i].first, {}});
          arrivals_of_[version].push_back(arrivals_.back().name);
        }
        arrivals_.back().copies.push_back(copies[i].second);
      }
    }
    step_.arrivals = static_cast<int64_t>(arrivals_.size());
  }

  void ReadAtHome(StorageId storage, OpSpec& spec) const {
    const std::vector<TensorId>& tensors = at_home_[storage];
    spec.inputs.insert(spec.inputs.end(), tensors.begin(), tensors.end());
  }

  // Comes after the write that made the version, if one did.
  void ComeAfterWriter(VersionId version, ExecOpId op, OpSpec& spec) const {
    const ExecOpId writer = p_.version_writer[version];
    if (p_.NumberOf(version) > 0 && writer != op) spec.after.push_back(NameOf(writer));
  }

  void AddReads(ExecOpId op, OpSpec& spec) const {
    for (SliceId slice : p_.op_slices[op]) {
      const StorageId storage = p_.slice_storage[slice];
      if (p_.storage_class[storage] != StorageClass::kInput && DeviceOf(op) != HomeOf(storage)) {
        spec.inputs.push_back(tensor_of_[slice]);
        continue;
      }
      ReadAtHome(storage, spec);
      ComeAfterWriter(p_.slice_version[slice], op, spec);
    }
  }

  void AddWrite(VersionId old, ExecOpId op, OpSpec& spec) const {
    const StorageId storage = p_.version_storage[old];
    ReadAtHome(storage, spec);
    ComeAfterWriter(old, op, spec);
    for (SliceId slice : p_.version_slices[old]) {
      for (ExecOpId reader : p_.slice_readers[slice]) {
        if (reader != op && DeviceOf(reader) == DeviceOf(op)) spec.after.push_back(NameOf(reader));
      }
    }
    spec.after.insert(spec.after.end(), arrivals_of_[old].begin(), arrivals_of_[old].end());
  }

  Status AddOp(ExecOpId op) {
    OpSpec spec;
    spec.name = NameOf(op);
    spec.type = "op";
    spec.after = std::move(before_[op]);
    std::vector<TensorId> outputs;
    AddReads(op, spec);
    for (VersionId version : p_.op_makes[op]) {
      if (p_.NumberOf(version) == 0) {
        const std::vector<TensorId>& made = at_home_[p_.version_storage[version]];
        outputs.insert(outputs.end(), made.begin(), made.end());
        continue;
      }
      AddWrite(VersionId(version.value() - 1), op, spec);
      for (SliceId slice : p_.version_slices[version]) {
        if (tensor_of_[slice].valid()) outputs.push_back(tensor_of_[slice]);
      }
    }
    std::sort(spec.inputs.begin(), spec.inputs.end());
    spec.inputs.erase(std::unique(spec.inputs.begin(), spec.inputs.end()), spec.inputs.end());
    std::sort(spec.after.begin(), spec.after.end());
    spec.after.erase(std::unique(spec.after.begin(), spec.after.end()), spec.after.end());
    step_.placement.push_back(DeviceOf(op));
    return builder_.AddOpWithDeclaredOutputs(std::move(spec), std::move(outputs));
  }

  Status AddArrivalOp(const Arrival& arrival) {
    OpSpec spec;
    spec.name = arrival.name;
    spec.type = "op";
    spec.inputs = arrival.copies;
    step_.placement.push_back(arrival.device);
    return builder_.AddOpWithDeclaredOutputs(std::move(spec), {});
  }

  Status AddCollectives() {
    for (CollectiveId id : graph_.collectives()) {
      std::vector<OpId> members;
      for (ExecOpId member : p_.collective_members[id]) members.push_back(OpId(member.value()));
      PW_RETURN_IF_ERROR(builder_.AddCollective(graph_.collective(id).name, std::move(members)));
    }
    FreshNames names;
    for (CollectiveId id : graph_.collectives()) names.Take(graph_.collective(id).name);
    for (size_t i = 0; i < arrivals_.size(); ++i) {
      PW_RETURN_IF_ERROR(builder_.AddCollective(names.Take(arrivals_[i].name),
                                                {OpId(static_cast<size_t>(p_.ops) + i)}));
    }
    return Ok();
  }

  void FillCosts() {
    step_.costs = CostTable(step_.graph.op_count(), costs_.device_count());
    for (ExecOpId op : p_.exec_ops()) {
      for (DeviceId device : p_.device_ids()) {
        step_.costs.SetTime(OpId(op.value()), device, Nanos(p_.Time(op, device)));
        step_.costs.SetSource(OpId(op.value()), device, costs_.source(p_.op_of[op], device));
      }
    }
    IdVector<CollectiveId, CostTable::CollectiveCost> collectives = costs_.collectives();
    for (size_t i = 0; i < arrivals_.size(); ++i) {
      const OpId op(static_cast<size_t>(p_.ops) + i);
      step_.costs.SetSource(op, CostSource::kGiven);
      step_.costs.SetTime(op, arrivals_[i].device, Nanos(0));
      collectives.push_back({Nanos(0), {}});
    }
    step_.costs.SetCollectives(std::move(collectives));
  }

  const SimGraph& p_;
  const Graph& graph_;
  const CostTable& costs_;
  const Placement& placement_;
  GraphBuilder builder_;
  PlainStep step_{};
  FreshNames op_names_, tensor_names_;
  IdVector<StorageId, std::vector<TensorId>> at_home_;
  IdVector<SliceId, TensorId> tensor_of_;  // that crosses, of the slices that do
  std::vector<Arrival> arrivals_;
  IdVector<VersionId, std::vector<std::string>> arrivals_of_;
  IdVector<ExecOpId, std::vector<std::string>> before_;  // names in `after`
};

}  // namespace

Result<PlainStep> MakePlainStep(const SimGraph& sim_graph, const Graph& graph,
                                const CostTable& costs, const Placement& placement) {
  return PlainStepMaker(sim_graph, graph, costs, placement).Make();
}

}  // namespace placewright
