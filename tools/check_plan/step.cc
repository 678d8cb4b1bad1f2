#include "check_plan/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace placewright::check {
namespace {

// An entry of the schedule or a crossing, reduced to what identifies a transfer.
using TransferKey = std::tuple<StorageId, int32_t, Bytes, Bytes, DeviceId>;

TransferKey KeyOf(const TransferSpan& span) {
  return {span.storage, span.version, span.offset, span.length, span.to};
}

std::string Describe(const Graph& graph, const Cluster& cluster, const TransferKey& key) {
  const auto& [storage, version, offset, length, to] = key;
  return fmt::format("\"{}\" version {} bytes [{}, {}) to {}",
                     Printable(graph.tensor(graph.storage(storage).first).name, 80), version,
                     offset.count, SaturatingAdd(offset.count, length.count),
                     cluster.device(to).name);
}

int32_t NewestBefore(const Graph& graph, OpId op, const Tensor& tensor) {
  const std::vector<Version>& versions = graph.storage(tensor.storage).versions;
  // Writers stand in file order, so the newest content before `op` is found by bisection.
  const auto later = std::partition_point(
      versions.begin() + tensor.version + 1, versions.end(),
      [op](const Version& version) { return version.writer.valid() && version.writer < op; });
  return static_cast<int32_t>(later - versions.begin()) - 1;
}

}  // namespace

std::pair<StorageId, int32_t> ContentRead(const Graph& graph, OpId op, size_t input) {
  const Tensor& tensor = graph.tensor(graph.op(op).inputs[input]);
  return {tensor.storage, NewestBefore(graph, op, tensor)};
}

Step::Step(const StepInputs& inputs) : in_(inputs), slices_of_(inputs.graph.op_count()) {
  FindHomes();
  CollectSlices();
  CollectCrossings();
}

void Step::FindHomes() {
  const Graph& graph = in_.graph;
  IdVector<StorageId, OpId> owner(graph.storage_count()), reader(graph.storage_count());
  const auto offer = [](OpId& min, OpId op) {
    if (!min.valid() || op < min) min = op;
  };
  for (OpId op : graph.ops()) {
    for (TensorId id : graph.op(op).inputs) offer(reader[graph.tensor(id).storage], op);
    for (TensorId id : graph.op(op).outputs) offer(owner[graph.tensor(id).storage], op);
    for (TensorId id : graph.op(op).writes) offer(owner[graph.tensor(id).storage], op);
  }
  residence_.assign(graph.storage_count(), Residence::kHome);
  home_.assign(graph.storage_count(), DeviceId());
  for (StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    const OpId maker = storage.versions.front().writer;
    const OpId op = maker.valid() ? maker : owner[id].valid() ? owner[id] : reader[id];
    if (maker.valid()) {
      residence_[id] = Residence::kProduced;
    } else if (storage.kind == TensorKind::kInput && storage.versions.size() == 1) {
      residence_[id] = Residence::kEverywhere;
      continue;
    }
    if (op.valid()) home_[id] = in_.placement[op];
    if (!maker.valid() && graph.given_home(id).valid()) home_[id] = graph.given_home(id);
  }
}

void Step::CollectSlices() {
  const Graph& graph = in_.graph;
  std::vector<Slice> reads;
  for (OpId op : graph.ops()) {
    if (graph.op(op).is_view) continue;
    for (size_t i = 0; i < graph.op(op).inputs.size(); ++i) {
      const auto [storage, version] = ContentRead(graph, op, i);
      const Tensor& tensor = graph.tensor(graph.op(op).inputs[i]);
      reads.push_back({storage, version, tensor.offset, tensor.length, {op}});
    }
  }
  for (TensorId id : graph.tensors()) {  // what an op holds is as if it read it
    const Tensor& tensor = graph.tensor(id);
    const OpId op = tensor.held_until;
    if (!op.valid() || graph.op(op).is_view) continue;
    const int32_t version = NewestBefore(graph, op, tensor);
    reads.push_back({tensor.storage, version, tensor.offset, tensor.length, {op}});
  }
  std::sort(reads.begin(), reads.end(), [](const Slice& a, const Slice& b) {
    return std::pair(a.Key(), a.readers[0]) < std::pair(b.Key(), b.readers[0]);
  });
  for (Slice& read : reads) {
    const OpId op = read.readers[0];
    if (slices_.empty() || slices_.back().Key() != read.Key()) {
      slices_.push_back(std::move(read));
    } else if (slices_.back().readers.back() == op) {
      continue;  // the same bytes by two names, or twice
    } else {
      slices_.back().readers.push_back(op);
    }
    slices_of_[op].push_back(static_cast<int32_t>(slices_.size()) - 1);
  }
}

void Step::CollectCrossings() {
  std::vector<DeviceId> devices;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const StorageId storage = slices_[i].storage;
    if (residence_[storage] == Residence::kEverywhere) continue;
    devices.clear();
    for (OpId reader : slices_[i].readers) {
      if (in_.placement[reader] != home_[storage]) devices.push_back(in_.placement[reader]);
    }
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    for (DeviceId to : devices) crossings_.push_back({static_cast<int32_t>(i), to, -1});
  }
}

int32_t Step::FindCrossing(int32_t slice, DeviceId device) const {
  const auto key = [](const Crossing& c) { return std::pair(c.slice, c.to); };
  const auto it =
      std::partition_point(crossings_.begin(), crossings_.end(),
                           [&](const Crossing& c) { return key(c) < std::pair(slice, device); });
  const bool found = it != crossings_.end() && key(*it) == std::pair(slice, device);
  return found ? static_cast<int32_t>(it - crossings_.begin()) : -1;
}

MaybeViolation Step::MatchTransfers() {
  const std::vector<TransferSpan>& spans = in_.schedule.transfers;
  std::vector<int32_t> order(spans.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return KeyOf(spans[a]) < KeyOf(spans[b]); });
  const auto wrong = [&](const std::string& what, const TransferKey& key) {
    return Violation{ViolationKind::kTransfers,
                     fmt::format("{}: {}", what, Describe(in_.graph, in_.cluster, key)),
                     "schedule: transfers"};
  };
  // Both sides are sorted alike: the first difference is the first violation.
  size_t next = 0;
  for (Crossing& crossing : crossings_) {
    const Slice& slice = slices_[crossing.slice];
    const TransferKey needed(slice.storage, slice.version, slice.offset, slice.length, crossing.to);
    if (next == order.size() || needed < KeyOf(spans[order[next]])) {
      return wrong("a transfer is missing", needed);
    }
    const TransferSpan& span = spans[order[next]];
    if (KeyOf(span) != needed) return wrong("nothing needs the transfer of", KeyOf(span));
    crossing.span = order[next++];
    if (next < order.size() && KeyOf(spans[order[next]]) == needed) {
      return wrong("transferred twice", needed);
    }
    if (span.from != home_[slice.storage]) {
      return wrong(fmt::format("it lies on {}, but is sent from {}",
                               in_.cluster.device(home_[slice.storage]).name,
                               in_.cluster.device(span.from).name),
                   needed);
    }
    if (!in_.cluster.Connected(span.from, span.to)) {
      return Violation{ViolationKind::kUnreachable,
                       fmt::format("no route from {} to {}", in_.cluster.device(span.from).name,
                                   in_.cluster.device(span.to).name),
                       Place(crossing)};
    }
  }
  if (next < order.size()) return wrong("nothing needs the transfer of", KeyOf(spans[order[next]]));
  return std::nullopt;
}

std::string Step::Name(OpId op) const {
  return fmt::format("\"{}\"", Printable(in_.graph.op(op).name, 80));
}

std::string Step::Name(CollectiveId id) const {
  return fmt::format("the collective \"{}\"", Printable(in_.graph.collective(id).name, 80));
}

std::string Step::Name(const Crossing& crossing) const {
  const Slice& slice = slices_[crossing.slice];
  return Describe(in_.graph, in_.cluster,
                  {slice.storage, slice.version, slice.offset, slice.length, crossing.to});
}

std::string Step::Place(OpId op) const {
  return fmt::format("schedule: ops[{}] ({})", op.value(), Printable(in_.graph.op(op).name, 80));
}

std::string Step::Place(CollectiveId id) const {
  return Place(in_.graph.collective(id).members.front());
}

std::string Step::Place(const Crossing& crossing) const {
  return fmt::format("schedule: transfers[{}]", crossing.span);
}

}  // namespace placewright::check
