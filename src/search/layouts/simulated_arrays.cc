#include "search/layouts/simulated_arrays.h"

#include <algorithm>
#include <utility>

#include "cost/slowest.h"

namespace placewright {
namespace {

bool IsGpu(const Cluster& cluster, DeviceId device) {
  return cluster.kind(device).device_class == DeviceClass::kGpu;
}

template <class Row, class Item>
void Begin(Csr<Row, Item>& rows) {
  rows.offsets.assign(1, 0);
  rows.items.clear();
}
template <class Row, class Item>
void EndRow(Csr<Row, Item>& rows) {
  rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
}

// As compile/step_costs.cc shares it out.
Nanos TimeOfHalf(ArrayHalf half, double share, Nanos whole) {
  const Nanos first(static_cast<int64_t>(static_cast<double>(whole.count) * share));
  return half == ArrayHalf::kFirst ? first : whole - first;
}

// Rows that have been counted in offsets[row + 1] become starts.
void SumUp(std::vector<int32_t>& offsets) {
  for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
}

}  // namespace

ArraySimGraph::ArraySimGraph(const Communication& communication, const PartPrices& prices)
    : communication_(communication), cluster_(communication.cluster()), prices_(prices) {
  AddCluster();
}

void ArraySimGraph::AddCluster() {
  placewright::AddCluster(cluster_, &p_);
  for (const DeviceId from : cluster_.devices()) {
    for (const DeviceId to : cluster_.devices()) {
      all_connected_ = all_connected_ && cluster_.Connected(from, to);
    }
  }
}

Status ArraySimGraph::Fill(const StepArrays& arrays, bool with_paths) {
  PW_RETURN_IF_ERROR(CollectOps(arrays));
  PW_RETURN_IF_ERROR(AddOps());
  NumberVersions(arrays);
  AddStorages(arrays);
  CollectReads(arrays);
  PW_RETURN_IF_ERROR(FindHomesOfInputs(arrays));
  AddSlices(arrays);
  AddVersionRows(arrays);
  PW_RETURN_IF_ERROR(AddCollectives(arrays));
  if (!all_connected_) PW_RETURN_IF_ERROR(CheckRoutes(arrays));
  if (with_paths) AddPaths();
  return Ok();
}

// Ops lie anywhere in their pool: it is gone through once.
Status ArraySimGraph::CollectOps(const StepArrays& arrays) {
  p_.exec_of.assign(arrays.ops.size(), ExecOpId());
  exec_.clear();
  touch_inputs_.clear();
  for (const OpId id : arrays.order) {
    const ArrayOp& op = arrays.ops[id];
    if (op.apart) {
      return MakeError(ErrorCode::kPlanInvalid, "ops on two devices share a storage",
                       cluster_.device(op.device).name, "Give both one layout.");
    }
    if (op.touches_input) touch_inputs_.push_back(id);
    if (op.is_view) continue;
    p_.exec_of[id] = ExecOpId(exec_.size());
    exec_.push_back({id, op.device, op.reads, op.written, op.origin, op.part, op.half, op.share});
  }
  return Ok();
}

// How many GPUs of each kind have an instance of each op.
void ArraySimGraph::CountDevices() {
  size_t origins = 0;
  for (const ExecOp& op : exec_) {
    if (op.origin.valid()) origins = std::max(origins, op.origin.index() + 1);
  }
  const size_t kinds = cluster_.kinds().size();
  gpus_of_.assign(origins * kinds, 0);
  seen_.assign(origins * cluster_.device_count(), 0);
  for (const ExecOp& op : exec_) {
    if (!op.origin.valid()) continue;
    char& seen = seen_[op.origin.index() * cluster_.device_count() + op.device.index()];
    if (seen || !IsGpu(cluster_, op.device)) continue;
    seen = 1;
    ++gpus_of_[op.origin.index() * kinds + static_cast<size_t>(cluster_.device(op.device).kind)];
  }
}

// By what the time of a part is multiplied: as compile/step_costs.cc has it.
double ArraySimGraph::SlowerOf(const ExecOp& op) {
  if (!op.origin.valid()) return 1;
  const size_t count =
      static_cast<size_t>(gpus_of_[op.origin.index() * cluster_.kinds().size() +
                                   static_cast<size_t>(cluster_.device(op.device).kind)]);
  while (slowest_of_.size() <= count) {
    const size_t next = slowest_of_.size();
    slowest_of_.push_back(next < 2 ? 1 : SlowestOf(static_cast<int32_t>(next)));
  }
  return slowest_of_[count];
}

Status ArraySimGraph::AddOps() {
  CountDevices();
  const size_t ops = exec_.size();
  p_.ops = static_cast<int32_t>(ops);
  p_.op_of.resize(ops);
  p_.time.resize(ops);
  p_.only.resize(ops);
  p_.min_time.resize(ops);
  p_.workspace.resize(ops);
  for (size_t i = 0; i < ops; ++i) {
    const ExecOp& op = exec_[i];
    const PartPrice& price = prices_.price(op.part, cluster_.device(op.device).kind);
    if (price.time == CostTable::kUnsupported) {
      return MakeError(ErrorCode::kField, "an op is not supported on the device that it is on",
                       cluster_.device(op.device).name, "Place it on a device that supports it.");
    }
    Nanos time = price.modelled ? ScaledTime(price.time, SlowerOf(op)) : price.time;
    if (op.half != ArrayHalf::kNone) time = TimeOfHalf(op.half, op.share, time);
    const ExecOpId at(i);
    p_.op_of[at] = OpId(i);
    p_.time[i] = time.count;
    p_.min_time[at] = time.count;
    p_.only[at] = op.device;
    p_.workspace[at] = price.workspace.count;
  }
  placement_.raw() = p_.only.raw();
  return Ok();
}

// Numbers storages in the order in which they come to be, and their versions one behind the other.
void ArraySimGraph::NumberVersions(const StepArrays& arrays) {
  storage_of_.resize(arrays.storages.size());
  version_of_.resize(arrays.versions.size());
  storages_.clear();
  all_written_.clear();
  std::vector<int32_t>& offsets = p_.storage_versions.offsets;
  offsets.assign(1, 0);
  const auto add = [&](StorageId id) {
    storage_of_[id] = StorageId(storages_.size());
    storages_.push_back(id);
    offsets.push_back(1);
  };
  for (const StorageId id : arrays.inputs) add(id);
  for (size_t i = 0; i < exec_.size(); ++i) {
    for (const ArrayVersionId version : WrittenBy(arrays, exec_[i])) {
      const StorageId storage = arrays.versions[version].storage;
      if (arrays.storages[storage].first == version) {
        add(storage);
      } else {
        ++offsets[storage_of_[storage].index() + 1];
      }
      all_written_.push_back({version, storage_of_[storage], ExecOpId(i)});
    }
  }
  SumUp(offsets);
  const size_t versions = static_cast<size_t>(offsets.back());
  next_version_.assign(offsets.begin(), offsets.end());
  p_.version_writer.assign(versions, ExecOpId());
  p_.version_storage.resize(versions);
  p_.version_overwriter.assign(versions, ExecOpId());
  p_.storage_versions.items.resize(versions);
  const auto number = [&](ArrayVersionId id, StorageId storage, ExecOpId writer) {
    const VersionId at(next_version_[storage.index()]++);
    version_of_[id] = at;
    p_.storage_versions.items[at.index()] = at;
    p_.version_writer[at] = writer;
    p_.version_storage[at] = storage;
    const bool first = at.value() == offsets[storage.index()];
    if (!first) p_.version_overwriter[VersionId(at.value() - 1)] = writer;
  };
  for (size_t i = 0; i < arrays.inputs.size(); ++i) {
    number(arrays.storages[arrays.inputs[i]].first, StorageId(i), ExecOpId());
  }
  for (const Written& one : all_written_) number(one.version, one.storage, one.writer);
}

void ArraySimGraph::AddStorages(const StepArrays& arrays) {
  const size_t storages = storages_.size();
  p_.storage_class.resize(storages);
  p_.storage_bytes.resize(storages);
  p_.fixed_home.resize(storages);
  p_.home_op.assign(storages, OpId());
  for (const StorageId id : IdRange<StorageId>(storages)) {
    const ArrayStorage& storage = arrays.storages[storages_[id.index()]];
    p_.storage_bytes[id] = RoundUpToGranule(storage.bytes).count;
    p_.fixed_home[id] = storage.device;
    const bool produced = p_.version_writer[p_.VersionOf(id, 0)].valid();
    const bool read_only = storage.input && p_.storage_versions[id].size() == 1;
    p_.storage_class[id] = produced    ? StorageClass::kTransient
                           : read_only ? StorageClass::kInput
                                       : StorageClass::kPersistent;
  }
}

// Home is where the first op is that views or writes it, or else the first that reads it.
Status ArraySimGraph::FindHomesOfInputs(const StepArrays& arrays) {
  for (const OpId id : touch_inputs_) {
    const ArrayOp& op = arrays.ops[id];
    bool apart = false;
    const auto touch = [&](StorageId storage) {
      DeviceId& home = p_.fixed_home[storage_of_[storage]];
      if (!home.valid()) home = op.device;
      apart = apart || home != op.device;
    };
    for (const ArrayVersionId version : arrays.WrittenBy(op)) {
      touch(arrays.versions[version].storage);
    }
    for (const TensorId made : arrays.MadeBy(op)) touch(arrays.tensors[made].storage);
    if (!apart) continue;
    return MakeError(ErrorCode::kPlanInvalid, "ops on two devices share a storage",
                     cluster_.device(op.device).name, "Give both one layout.");
  }
  for (const StorageId id : IdRange<StorageId>(arrays.inputs.size())) {
    DeviceId& home = p_.fixed_home[id];
    const size_t version = p_.VersionOf(id, 0).index();
    if (home.valid() || read_row_[version] == read_row_[version + 1]) continue;
    home = p_.only[reads_[static_cast<size_t>(read_row_[version])].reader];
  }
  return Ok();
}

// Of every version, in the order of the readers.
void ArraySimGraph::CollectReads(const StepArrays& arrays) {
  const size_t versions = p_.version_writer.size();
  read_row_.assign(versions + 1, 0);
  read_.clear();
  for (const ExecOp& op : exec_) {
    for (const ArrayRead& read : ReadsOf(arrays, op)) {
      read_.push_back(version_of_[read.version]);
      ++read_row_[read_.back().index() + 1];
    }
  }
  SumUp(read_row_);
  reads_.resize(static_cast<size_t>(read_row_.back()));
  next_version_.assign(read_row_.begin(), read_row_.end());
  auto version = read_.begin();
  for (size_t i = 0; i < exec_.size(); ++i) {
    for (const ArrayRead& read : ReadsOf(arrays, exec_[i])) {
      const size_t at = static_cast<size_t>(next_version_[(version++)->index()]++);
      reads_[at] = {read.tensor, ExecOpId(i)};
    }
  }
}

void ArraySimGraph::AddSlices(const StepArrays& arrays) {
  p_.slices = 0;
  p_.slice_version.raw().clear();
  p_.slice_storage.raw().clear();
  p_.slice_writer.raw().clear();
  p_.slice_offset.raw().clear();
  p_.slice_length.raw().clear();
  p_.slice_bytes.raw().clear();
  Begin(p_.slice_readers);
  p_.op_slices.offsets.assign(static_cast<size_t>(p_.ops) + 1, 0);
  p_.op_first_slice.clear();
  // Content from before the step first, then by writer.
  for (const VersionId version : p_.version_ids()) {
    if (!p_.version_writer[version].valid()) AddSlicesOf(arrays, version);
  }
  Begin(p_.op_makes);
  for (const ExecOp& op : exec_) {
    p_.op_first_slice.push_back(p_.slices);
    written_.clear();
    for (const ArrayVersionId version : WrittenBy(arrays, op)) {
      written_.push_back(version_of_[version]);
    }
    if (written_.size() > 1) std::sort(written_.begin(), written_.end());
    for (const VersionId version : written_) {
      p_.op_makes.items.push_back(version);
      AddSlicesOf(arrays, version);
    }
    EndRow(p_.op_makes);
  }
  p_.op_first_slice.push_back(p_.slices);
  // By reader, ascending.
  SumUp(p_.op_slices.offsets);
  next_version_.assign(p_.op_slices.offsets.begin(), p_.op_slices.offsets.end());
  p_.op_slices.items.resize(p_.slice_readers.items.size());
  for (const SliceId slice : p_.slice_ids()) {
    for (const ExecOpId reader : p_.slice_readers[slice]) {
      p_.op_slices.items[static_cast<size_t>(next_version_[reader.index()]++)] = slice;
    }
  }
}

void ArraySimGraph::AddSlicesOf(const StepArrays& arrays, VersionId version) {
  const auto begin = reads_.begin() + read_row_[version.index()];
  const auto end = reads_.begin() + read_row_[version.index() + 1];
  const auto range = [&](const RangeRead& read) {
    const ArrayTensor& tensor = arrays.tensors[read.tensor];
    return std::pair(tensor.offset, tensor.length);
  };
  // Nearly always through one tensor on each device.
  const auto same = [&](const RangeRead& a, const RangeRead& b) {
    return a.tensor == b.tensor || range(a) == range(b);
  };
  const auto differs = [&](const RangeRead& read) { return !same(read, *begin); };
  if (begin != end && std::any_of(begin, end, differs)) {
    std::stable_sort(begin, end,
                     [&](const RangeRead& a, const RangeRead& b) { return range(a) < range(b); });
  }
  for (auto read = begin; read != end; ++read) {
    if (read == begin || !same(read[-1], *read)) {
      if (read != begin) EndRow(p_.slice_readers);
      const auto [offset, length] = range(*read);
      ++p_.slices;
      p_.slice_version.push_back(version);
      p_.slice_storage.push_back(p_.version_storage[version]);
      p_.slice_writer.push_back(p_.version_writer[version]);
      p_.slice_offset.push_back(offset.count);
      p_.slice_length.push_back(length.count);
      p_.slice_bytes.push_back(RoundUpToGranule(length).count);
    } else if (read[-1].reader == read->reader) {
      continue;
    }
    p_.slice_readers.items.push_back(read->reader);
    ++p_.op_slices.offsets[read->reader.index() + 1];
  }
  if (begin != end) EndRow(p_.slice_readers);
}

void ArraySimGraph::AddVersionRows(const StepArrays& arrays) {
  const size_t versions = p_.version_writer.size();
  p_.version_slices.offsets.assign(versions + 1, 0);
  for (const VersionId version : p_.slice_version) {
    ++p_.version_slices.offsets[version.index() + 1];
  }
  SumUp(p_.version_slices.offsets);
  next_version_.assign(p_.version_slices.offsets.begin(), p_.version_slices.offsets.end());
  p_.version_slices.items.resize(p_.slice_version.size());
  for (const SliceId slice : p_.slice_ids()) {
    const VersionId version = p_.slice_version[slice];
    p_.version_slices.items[static_cast<size_t>(next_version_[version.index()]++)] = slice;
  }
  p_.explicit_successors.offsets.assign(static_cast<size_t>(p_.ops) + 1, 0);
  p_.explicit_successors.items.clear();
  std::vector<std::pair<ExecOpId, ExecOpId>> after;
  for (const auto& [from, to] : arrays.after) {
    const ExecOpId earlier = p_.exec_of[from], later = p_.exec_of[to];
    if (earlier.valid() && later.valid()) after.emplace_back(earlier, later);
  }
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  for (const auto& [from, to] : after) {
    ++p_.explicit_successors.offsets[from.index() + 1];
    p_.explicit_successors.items.push_back(to);
  }
  SumUp(p_.explicit_successors.offsets);
}

Status ArraySimGraph::AddCollectives(const StepArrays& arrays) {
  p_.collective_of.raw().clear();
  Begin(p_.collective_members);
  Begin(p_.collective_links);
  p_.collective_time.raw().clear();
  if (arrays.joined.empty()) return Ok();
  p_.collective_of.assign(static_cast<size_t>(p_.ops), CollectiveId());
  std::vector<DeviceId> devices;
  for (const CollectiveId joined : arrays.joined) {
    const ArrayCollective& collective = arrays.collectives[joined];
    const CollectiveId id(p_.collective_time.size());
    devices.clear();
    for (const OpId member : arrays.MembersOf(collective)) {
      devices.push_back(arrays.ops[member].device);
      p_.collective_of[p_.exec_of[member]] = id;
      p_.collective_members.items.push_back(p_.exec_of[member]);
    }
    EndRow(p_.collective_members);
    PW_ASSIGN(const CollectiveEstimate estimate,
              communication_.Estimate(collective.request, devices));
    p_.collective_time.push_back(estimate.time.count);
    p_.collective_links.items.insert(p_.collective_links.items.end(), estimate.links.begin(),
                                     estimate.links.end());
    EndRow(p_.collective_links);
  }
  return Ok();
}

Status ArraySimGraph::CheckRoutes(const StepArrays& arrays) const {
  for (const ExecOp& op : exec_) {
    for (const ArrayRead& read : ReadsOf(arrays, op)) {
      const StorageId storage = storage_of_[arrays.tensors[read.tensor].storage];
      if (p_.storage_class[storage] == StorageClass::kInput) continue;
      const VersionId version = version_of_[read.version];
      const ExecOpId writer = p_.version_writer[version];
      const DeviceId home = writer.valid() ? p_.only[writer] : p_.fixed_home[storage];
      if (cluster_.Connected(home, op.device)) continue;
      return MakeError(ErrorCode::kUnreachable,
                       cluster_.device(home).name + " and " + cluster_.device(op.device).name +
                           " have to exchange something, and there is no route",
                       "", "Add a link or a route to the cluster.");
    }
  }
  return Ok();
}

void ArraySimGraph::AddPaths() {
  // The members of a collective where the last of them stands.
  p_.topological_order.clear();
  for (const ExecOpId op : p_.exec_ops()) {
    const CollectiveId collective = p_.CollectiveOf(op);
    if (!collective.valid()) {
      p_.topological_order.push_back(op);
      continue;
    }
    const std::span<const ExecOpId> members = p_.collective_members[collective];
    if (op != *std::max_element(members.begin(), members.end())) continue;
    p_.topological_order.insert(p_.topological_order.end(), members.begin(), members.end());
  }
  FillPaths(p_, &p_.min_path, [this](ExecOpId op) {
    int64_t longest = 0;
    for (const ExecOpId reader : p_.ReadersOf(op)) {
      longest = std::max(longest, p_.min_path[reader]);
    }
    for (const ExecOpId later : p_.explicit_successors[op]) {
      longest = std::max(longest, p_.min_path[later]);
    }
    return longest;
  });
  p_.waits_in_place = false;
  for (const SliceId slice : p_.slice_ids()) {
    const ExecOpId overwriter = p_.version_overwriter[p_.slice_version[slice]];
    if (!overwriter.valid()) continue;
    for (const ExecOpId reader : p_.slice_readers[slice]) {
      p_.waits_in_place |= reader != overwriter;
    }
  }
}

}  // namespace placewright
