#include "search/evaluation/step_packer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/prefetch.h"
#include "compile/lane_links.h"
#include "compile/step_costs.h"

namespace placewright {
namespace {

template <class Row, class Item>
void Begin(Csr<Row, Item>& rows) {
  rows.offsets.assign(1, 0);
  rows.items.clear();
}
template <class Row, class Item>
void EndRow(Csr<Row, Item>& rows) {
  rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
}

// Of an op that makes its gradients beside another one: the input's, or the rest.
Nanos TimeOfHalf(ArrayHalf half, bool of_input, const PartFlops& flops, Nanos whole) {
  const bool input_first = of_input == (half == ArrayHalf::kFirst);
  const Nanos first = TimeOfFirst(whole, input_first ? ShareOfFirst(flops.input, flops.rest)
                                                     : ShareOfFirst(flops.rest, flops.input));
  return half == ArrayHalf::kFirst ? first : whole - first;
}

std::pair<int64_t, int64_t> RangeOf(const ArrayTensor& tensor) {
  return {tensor.offset.count, tensor.length.count};
}

// How many ops earlier what lies anywhere in its pool is asked for; what says where that is, twice as many.
constexpr size_t kAhead = 16;

// Memory that is filled anew for each step only grows: what lies behind a step's end is of no meaning.
template <class Items>
auto* Room(Items& items, size_t count) {
  if (items.size() < count) items.resize(count + count / 8);
  return items.data();
}
template <class Index, class Item>
auto* Room(IdVector<Index, Item>& items, size_t count) {
  return Room(items.raw(), count);
}

}  // namespace

StepPacker::StepPacker(const Communication& communication, const PartPrices& prices, size_t ops)
    : communication_(communication), cluster_(communication.cluster()), prices_(prices) {
  AddCluster();
  gpus_of_.resize(ops * cluster_.kinds().size());
  seen_.resize(ops * cluster_.device_count());
  for (const DeviceId device : cluster_.devices()) {
    kind_of_.push_back(cluster_.device(device).kind);
    is_gpu_.push_back(cluster_.kind(device).device_class == DeviceClass::kGpu);
  }
}

void StepPacker::AddCluster() {
  placewright::AddCluster(cluster_, &p_);
  for (const DeviceId from : cluster_.devices()) {
    for (const DeviceId to : cluster_.devices()) {
      all_connected_ = all_connected_ && cluster_.Connected(from, to);
    }
  }
}

Status StepPacker::Pack(const StepArrays& arrays, bool with_paths, bool with_order) {
  AddStorages(arrays);
  PW_RETURN_IF_ERROR(CollectOps(arrays));
  AddHeld(arrays);
  PW_RETURN_IF_ERROR(AddTimes());
  CollectReads(arrays);
  AddSlices(arrays);
  AddEdges(arrays);
  AddWaits(arrays);
  PW_RETURN_IF_ERROR(AddCollectives(arrays));
  packed_.AddRoutes(p_);
  if (!all_connected_) {
    // Who has no route is said by name.
    if (arrays.lanes != nullptr) return MakeError(ErrorCode::kPlanInvalid, "not all are connected");
    PW_RETURN_IF_ERROR(CheckRoutes(arrays));
  }
  if (with_paths || with_order) AddOrder();
  if (with_order) AddMoving();
  if (with_paths) AddPaths();
  if (with_order && arrays.lanes != nullptr) return CheckLaneOrder(arrays);
  return Ok();
}

// Those that no op makes, and room for all others.
void StepPacker::AddStorages(const StepArrays& arrays) {
  const size_t inputs = arrays.inputs.size();
  Room(p_.storage_bytes, inputs);
  Room(p_.fixed_home, arrays.storages.size());
  Room(packed_.storage_bytes, arrays.storages.size());
  Room(storages_, arrays.storages.size());
  Room(number_of_, arrays.storages.size());
  Room(versions_, arrays.versions.size());
  Room(slice_of_, arrays.versions.size());
  p_.home_op.assign(inputs, OpId());
  for (size_t i = 0; i < inputs; ++i) {
    const StorageId number(i);
    const ArrayStorage& storage = arrays.storages[arrays.inputs[i]];
    p_.storage_bytes[number] = RoundUpToGranule(storage.bytes).count;
    p_.fixed_home[number] = storage.device;
    packed_.storage_bytes[number] = 0;
    storages_[number] = {storage.first, 1, /*made=*/false, storage.input};
    number_of_[arrays.inputs[i]] = number;
    versions_[storage.first] = {ExecOpId(), ExecOpId(), number};
  }
}

// Ops lie anywhere in their pool: it is gone through once. Storages have numbers in the order in which they come to
// be.
Status StepPacker::CollectOps(const StepArrays& arrays) {
  ExecOp* const exec = Room(exec_, arrays.order.size());
  Version* const versions = versions_.raw().data();
  Storage* const storages = storages_.raw().data();
  StorageId* const numbers = number_of_.raw().data();
  placement_.resize(arrays.order.size());
  DeviceId* const placement = placement_.raw().data();
  p_.exec_of.assign(arrays.ops.size(), ExecOpId());
  std::fill(gpus_of_.begin(), gpus_of_.end(), 0);
  std::fill(seen_.begin(), seen_.end(), 0);
  size_t ops = 0, storage_count = arrays.inputs.size();
  for (size_t i = 0; i < arrays.order.size(); ++i) {
    if (i + kAhead < arrays.order.size()) Prefetch(&arrays.ops[arrays.order[i + kAhead]]);
    const OpId id = arrays.order[i];
    const ArrayOp& op = arrays.ops[id];
    if (op.apart) return Apart(op);
    if (op.is_view) {
      if (op.touches_input) PW_RETURN_IF_ERROR(Touch(arrays, op));
      continue;
    }
    const ExecOpId at(ops);
    p_.exec_of[id] = at;
    // Member by member, here and below: an aggregate would be put together on the stack first, and copied by loads
    // that wait for its stores.
    ExecOp& row = exec[ops];
    row.reads = op.reads;
    row.written = op.written;
    row.origin = op.origin;
    row.part = op.part;
    row.half = op.half;
    row.of_input = op.of_input;
    row.holds = false;
    placement[ops] = op.device;
    ++ops;
    if (op.origin.valid() && is_gpu_[op.device.index()]) {
      CountDevice(op.origin, op.device, arrays.DevicesLike(op.device));
    }
    for (const ArrayVersionId version : arrays.WrittenBy(op)) {
      const StorageId id_of = arrays.versions[version].storage;
      const ArrayStorage& storage = arrays.storages[id_of];
      StorageId number = numbers[id_of.index()];
      if (storage.first == version) {
        number = numbers[id_of.index()] = StorageId(storage_count++);
        const int64_t bytes = RoundUpToGranule(storage.bytes).count;
        packed_.storage_bytes[number] = bytes;
        p_.fixed_home[number] = storage.device;
        storages[number.index()].Begin(version);
      } else {
        Storage& of = storages[number.index()];
        versions[of.last.index()].overwriter = at;
        ++of.versions;
        of.last = version;
      }
      versions[version.index()].Begin(at, number);
    }
    if (op.touches_input) PW_RETURN_IF_ERROR(Touch(arrays, op));
  }
  p_.ops = static_cast<int32_t>(ops);
  for (size_t i = p_.op_of.size(); i < ops; ++i) p_.op_of.push_back(OpId(i));
  p_.op_of.resize(ops);
  placement_.resize(ops);
  packed_.op_count = p_.ops;
  packed_.storages = static_cast<int32_t>(storage_count);
  packed_.CheckSize();
  return Ok();
}

// What an op holds is as if it read it, of what there is after all passes.
void StepPacker::AddHeld(const StepArrays& arrays) {
  with_held_.clear();
  std::vector<std::pair<ExecOpId, ArrayRead>> held;
  for (const auto& [op, read] : arrays.holds) {
    const ExecOpId holder = p_.exec_of[op];
    const ExecOpId writer = p_.exec_of[arrays.versions[read.version].writer];
    const bool there = holder.valid() && writer.valid() && versions_[read.version].writer == writer;
    if (there) held.emplace_back(holder, read);
  }
  std::stable_sort(held.begin(), held.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < held.size();) {
    ExecOp& op = exec_[held[i].first.index()];
    const std::span<const ArrayRead> row = ReadsOf(arrays, op);
    const int32_t begin = static_cast<int32_t>(with_held_.size());
    with_held_.insert(with_held_.end(), row.begin(), row.end());
    const ExecOpId holder = held[i].first;
    for (; i < held.size() && held[i].first == holder; ++i) with_held_.push_back(held[i].second);
    op.reads = {begin, static_cast<int32_t>(with_held_.size())};
    op.holds = true;
  }
}

// Home of what no op makes is where the first op is that views or writes it, or else the first that reads it.
Status StepPacker::Touch(const StepArrays& arrays, const ArrayOp& op) {
  bool apart = false;
  const auto touch = [&](StorageId storage) {
    DeviceId& home = p_.fixed_home[number_of_[storage]];
    if (!home.valid()) home = op.device;
    apart = apart || home != op.device;
  };
  for (const ArrayVersionId version : arrays.WrittenBy(op)) touch(arrays.versions[version].storage);
  for (const TensorId made : arrays.MadeBy(op)) touch(arrays.tensors[made].storage);
  return apart ? Apart(op) : Ok();
}

Status StepPacker::Apart(const ArrayOp& op) const {
  return MakeError(ErrorCode::kPlanInvalid, "ops on two devices share a storage",
                   cluster_.device(op.device).name, "Give both one layout.");
}

// How many GPUs of each kind have an instance of each op.
inline void StepPacker::CountDevice(OpId origin, DeviceId device, int32_t count) {
  char& seen = seen_[origin.index() * is_gpu_.size() + device.index()];
  if (seen) return;
  seen = 1;
  gpus_of_[origin.index() * cluster_.kinds().size() +
           static_cast<size_t>(kind_of_[device.index()])] += count;
}

// By what the time of a part is multiplied.
double StepPacker::SlowerOf(OpId origin, int32_t kind) {
  if (!origin.valid()) return 1;
  return slowest_.Of(static_cast<size_t>(
      gpus_of_[origin.index() * cluster_.kinds().size() + static_cast<size_t>(kind)]));
}

Status StepPacker::AddTimes() {
  const size_t ops = static_cast<size_t>(p_.ops);
  int64_t* const times = Room(packed_.times, ops);
  int64_t* const min_times = Room(p_.min_time, ops);
  int64_t* const workspaces = Room(p_.workspace, ops);
  packed_.time_row.assign(cluster_.device_count(), 0);
  packed_.any_workspace = false;
  // Mostly the same for all instances of an op.
  OpId origin;
  PricedPartId part;
  int32_t kind = -1;
  Nanos time;
  int64_t workspace = 0;
  for (size_t i = 0; i < ops; ++i) {
    const ExecOp& op = exec_[i];
    const DeviceId device = placement_.raw()[i];
    if (op.part != part || op.origin != origin || kind_of_[device.index()] != kind) {
      part = op.part;
      origin = op.origin;
      kind = kind_of_[device.index()];
      const PartPrice& price = prices_.price(part, kind);
      if (price.time == CostTable::kUnsupported) {
        return MakeError(ErrorCode::kField, "an op is not supported on the device that it is on",
                         cluster_.device(device).name, "Place it on a device that supports it.");
      }
      time = price.modelled ? ScaledTime(price.time, SlowerOf(origin, kind)) : price.time;
      workspace = price.workspace.count;
      packed_.any_workspace |= workspace > 0;
    }
    const bool whole = op.half == ArrayHalf::kNone;
    times[i] = (whole ? time : TimeOfHalf(op.half, op.of_input, prices_.flops(part), time)).count;
    min_times[i] = times[i];
    workspaces[i] = workspace;
  }
  return Ok();
}

void StepPacker::NameOrigins(std::vector<Feedback::Instance>& instances) const {
  PW_CHECK_EQ(instances.size(), static_cast<size_t>(p_.ops));
  for (size_t i = 0; i < instances.size(); ++i) instances[i].origin = exec_[i].origin;
}

// Who reads each version, as a list from its last read back, and whether all of them read the same range: how many
// slices it has is known only then.
void StepPacker::CollectReads(const StepArrays& arrays) {
  Version* const versions = versions_.raw().data();
  size_t count = 0;
  for (size_t i = 0; i < static_cast<size_t>(p_.ops); ++i) {
    const std::span<const ArrayRead> row = ReadsOf(arrays, exec_[i]);
    if (reads_.size() < count + row.size()) reads_.resize(2 * (count + row.size()));
    const ExecOpId reader(i);
    for (const ArrayRead& read : row) {
      Version& version = versions[read.version.index()];
      reads_[count] = {read.tensor, reader, version.last_read};
      version.last_read = static_cast<int32_t>(count++);
      if (!version.tensor.valid()) {
        version.tensor = read.tensor;
        if (!version.writer.valid() && !p_.fixed_home[version.storage].valid()) {
          p_.fixed_home[version.storage] = placement_.raw()[i];
        }
      } else if (version.tensor != read.tensor && !version.ranges) {
        version.ranges =
            RangeOf(arrays.tensors[version.tensor]) != RangeOf(arrays.tensors[read.tensor]);
      }
      version.readers += version.last_reader != reader;
      version.last_reader = reader;
    }
  }
  read_count_ = count;
}

// Content from before the step first, then by writer.
void StepPacker::AddSlices(const StepArrays& arrays) {
  const size_t ops = static_cast<size_t>(p_.ops);
  Room(packed_.slices, read_count_ + 1);  // each is of some read
  Room(packed_.overwriter, read_count_);
  Room(packed_.overwriter_reads, read_count_);
  slices_ = readers_ = 0;
  waits_.clear();
  packed_.wide_births.clear();
  packed_.shared_storages.clear();
  packed_.shared_left.clear();
  packed_.tokens.items.clear();
  AddInitialSlices(arrays);
  PackedOp* const rows = Room(packed_.ops, ops + 1);
  int32_t* const tokens = Room(packed_.tokens.offsets, ops + 1);
  tokens[0] = 0;
  const auto first_written = [&](size_t op) -> const Version* {
    const ArrayRow row = op < ops ? exec_[op].written : ArrayRow();
    if (row.begin == row.end) return nullptr;
    return &versions_[arrays.written[static_cast<size_t>(row.begin)]];
  };
  for (size_t i = 0; i < ops; ++i) {
    if (const Version* later = first_written(i + 2 * kAhead)) Prefetch(later);
    const Version* later = first_written(i + kAhead);
    if (later != nullptr && later->readers > 0) Prefetch(&arrays.tensors[later->tensor].length);
    rows[i].slice = slices_;
    const std::span<const ArrayVersionId> row = WrittenBy(arrays, exec_[i]);
    __int128 birth = 0;
    if (row.size() == 1) {
      birth = AddWritten(arrays, row.front());
    } else if (!row.empty()) {
      written_.assign(row.begin(), row.end());
      std::sort(written_.begin(), written_.end(), [&](ArrayVersionId a, ArrayVersionId b) {
        return versions_[a].storage < versions_[b].storage;
      });
      for (const ArrayVersionId version : written_) birth += AddWritten(arrays, version);
    }
    packed_.SetBirth(ExecOpId(i), birth);
    tokens[i + 1] = static_cast<int32_t>(packed_.tokens.items.size());
  }
  rows[ops].slice = slices_;
  packed_.slices[static_cast<size_t>(slices_)] = {0, readers_, 0};
}

void StepPacker::AddInitialSlices(const StepArrays& arrays) {
  packed_.persistent.clear();
  packed_.input_slices.clear();
  packed_.initial_slices.clear();
  is_input_.clear();
  for (const StorageId number : IdRange<StorageId>(arrays.inputs.size())) {
    const Storage& storage = storages_[number];
    const bool input = storage.input && storage.versions == 1;
    if (!input) packed_.persistent.push_back(number);
    const int32_t from = slices_;
    AddSlicesOf(arrays, arrays.storages[arrays.inputs[number.index()]].first);
    for (int32_t slice = from; slice < slices_; ++slice) {
      (input ? packed_.input_slices : packed_.initial_slices).push_back(SliceId(slice));
      is_input_.push_back(input);
    }
  }
}

inline void StepPacker::AddSlicesOf(const StepArrays& arrays, ArrayVersionId id) {
  const Version& version = versions_[id];
  if (version.readers == 0) return;
  slice_of_[id] = version.ranges ? kRanges : SliceId(slices_);
  if (version.ranges) return AddRanges(arrays, version);
  AddSlice(version, arrays.tensors[version.tensor].length.count, version.readers);
}

// One slice for each range; its reads remember it, since the version alone does not say which it is.
void StepPacker::AddRanges(const StepArrays& arrays, const Version& version) {
  ranges_.clear();
  for (int32_t at = version.last_read; at >= 0; at = reads_[static_cast<size_t>(at)].before) {
    const Read& read = reads_[static_cast<size_t>(at)];
    const auto [offset, length] = RangeOf(arrays.tensors[read.tensor]);
    ranges_.push_back({offset, length, read.reader, at});
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return std::tie(a.offset, a.length, a.reader) < std::tie(b.offset, b.length, b.reader);
  });
  for (size_t i = 0; i < ranges_.size();) {
    const size_t begin = i;
    int32_t readers = 0;
    for (; i < ranges_.size() && ranges_[i].IsOf(ranges_[begin]); ++i) {
      readers += i == begin || ranges_[i].reader != ranges_[i - 1].reader;
      reads_[static_cast<size_t>(ranges_[i].read)].before = slices_;
    }
    AddSlice(version, ranges_[begin].length, readers);
  }
}

inline void StepPacker::AddSlice(const Version& version, int64_t length, int32_t readers) {
  const size_t at = static_cast<size_t>(slices_++);
  const int32_t flags = version.overwriter.valid() ? PackedSlice::kOverwritten : 0;
  packed_.slices[at] = {length, readers_,
                        version.storage.value() << PackedSlice::kFlagBits | flags};
  packed_.overwriter.raw()[at] = version.overwriter;
  packed_.overwriter_reads.raw()[at] = 0;
  readers_ += readers;
}

// A storage of one version and one slice lives by that slice's uses. Of all others uses are counted together, and what
// is written again, or not read, is kept by its writers as well.
inline int64_t StepPacker::AddWritten(const StepArrays& arrays, ArrayVersionId id) {
  const int32_t before = slices_;
  AddSlicesOf(arrays, id);
  const int32_t slices = slices_ - before;
  const Version& version = versions_[id];
  if (version.overwriter.valid()) waits_.emplace_back(version.writer, version.overwriter);
  Storage& storage = storages_[version.storage];
  if (!storage.made) return 0;
  const bool first = !std::exchange(storage.born, true);
  if (first && storage.versions == 1 && slices == 1) {
    packed_.slices[static_cast<size_t>(before)].storage_flags |= PackedSlice::kAlone;
  } else if (first) {
    storage.tokens = storage.versions > 1 || slices == 0;
    packed_.shared_storages.push_back(version.storage);
    packed_.shared_left.push_back(storage.tokens ? storage.versions : 0);
  }
  if (storage.tokens) packed_.tokens.items.push_back(version.storage);
  return first ? packed_.storage_bytes[version.storage] : 0;
}

// Who reads which slice: rows of both, ascending.
void StepPacker::AddEdges(const StepArrays& arrays) {
  const size_t ops = static_cast<size_t>(p_.ops), slices = static_cast<size_t>(slices_);
  int32_t* const next = Room(next_reader_, slices);
  for (size_t i = 0; i < slices; ++i) next[i] = packed_.slices[i].reader;
  PackedReader* const readers = Room(packed_.readers, static_cast<size_t>(readers_));
  SliceId* const edge_slice = Room(packed_.edge_slice, static_cast<size_t>(readers_));
  int32_t* const needs = Room(packed_.base_need, ops);
  const ExecOpId* const overwriters = packed_.overwriter.raw().data();
  const size_t initial = is_input_.size();
  int32_t edge = 0;
  p_.waits_in_place = false;
  const Read* at = reads_.data();
  for (size_t i = 0; i < ops; ++i) {
    const ExecOpId op(i);
    const std::span<const ArrayRead> reads = ReadsOf(arrays, exec_[i]);
    SliceId* const read = Room(read_, reads.size());
    bool ascending = true;
    for (size_t k = 0; k < reads.size(); ++k, ++at) {
      const SliceId slice = slice_of_[reads[k].version];
      read[k] = slice == kRanges ? SliceId(at->before) : slice;
      ascending &= k == 0 || read[k - 1] < read[k];
    }
    size_t distinct = reads.size();
    if (!ascending) {
      std::sort(read, read + distinct);
      distinct = static_cast<size_t>(std::unique(read, read + distinct) - read);
    }
    PackedOp& row = packed_.ops[i];
    row.edge = edge;
    bool special = packed_.tokens.offsets[i] < packed_.tokens.offsets[i + 1];
    int32_t need = 0;
    for (const SliceId slice : std::span(read, distinct)) {
      const bool made = slice.index() >= initial;
      if (!made && is_input_[slice.index()]) {
        readers[next[slice.index()]++] = {op, -1};
        continue;
      }
      readers[next[slice.index()]++] = {op, edge};
      edge_slice[edge++] = slice;
      need += made;
      const ExecOpId overwriter = overwriters[slice.index()];
      if (!overwriter.valid()) continue;
      special = true;
      if (overwriter == op) {
        packed_.overwriter_reads[slice] = 1;
      } else {
        p_.waits_in_place = true;
      }
    }
    needs[i] = need;
    if (special) row.birth |= PackedOp::kSpecial;
  }
  packed_.ops[ops].edge = edge;
}

Status StepPacker::AddCollectives(const StepArrays& arrays) {
  p_.collective_of.raw().clear();
  Begin(p_.collective_members);
  Begin(p_.collective_links);
  p_.collective_time.raw().clear();
  p_.communicator.raw().clear();
  p_.of_many.raw().clear();
  LaneLinks in_lanes;
  if (arrays.lanes != nullptr) {
    PW_ASSIGN(in_lanes, FindLaneLinks(arrays, communication_));
  }
  if (arrays.joined.empty()) return Ok();
  p_.collective_of.assign(static_cast<size_t>(p_.ops), CollectiveId());
  std::vector<DeviceId> devices;
  const auto hold = [&](Nanos time, std::span<const LinkId> links) {
    p_.collective_time.push_back(time.count);
    p_.collective_links.items.insert(p_.collective_links.items.end(), links.begin(), links.end());
    EndRow(p_.collective_links);
  };
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
    if (arrays.lanes != nullptr) {
      p_.communicator.push_back(collective.over);
      p_.of_many.push_back(
          arrays.over[static_cast<size_t>(collective.over)].front().size() > 2 ? 1 : 0);
      hold(in_lanes.collectives[id.index()].time, in_lanes.collectives[id.index()].links);
      continue;
    }
    PW_ASSIGN(const CollectiveEstimate estimate,
              communication_.Estimate(collective.request, devices));
    hold(estimate.time, estimate.links);
  }
  return Ok();
}

Status StepPacker::CheckRoutes(const StepArrays& arrays) const {
  for (size_t i = 0; i < static_cast<size_t>(p_.ops); ++i) {
    const DeviceId device = placement_.raw()[i];
    for (const ArrayRead& read : ReadsOf(arrays, exec_[i])) {
      const Version& version = versions_[read.version];
      const Storage& storage = storages_[version.storage];
      if (storage.input && storage.versions == 1) continue;
      const DeviceId home = version.writer.valid() ? placement_.raw()[version.writer.index()]
                                                   : p_.fixed_home[version.storage];
      if (cluster_.Connected(home, device)) continue;
      return MakeError(ErrorCode::kUnreachable,
                       cluster_.device(home).name + " and " + cluster_.device(device).name +
                           " have to exchange something, and there is no route",
                       "", "Add a link or a route to the cluster.");
    }
  }
  return Ok();
}

}  // namespace placewright
