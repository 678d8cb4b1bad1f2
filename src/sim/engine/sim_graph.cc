#include "sim/engine/sim_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "plan/moving_ops.h"

namespace placewright {

namespace {

// One exec op reading one byte range of one version.
struct Read {
  ExecOpId writer;
  StorageId storage;
  VersionId version;
  int64_t offset, length;
  ExecOpId reader;
  auto SliceKey() const { return std::tie(writer, storage, version, offset, length); }
  friend bool operator<(const Read& a, const Read& b) {
    return std::tuple_cat(a.SliceKey(), std::tie(a.reader)) <
           std::tuple_cat(b.SliceKey(), std::tie(b.reader));
  }
};

// Rows of `pairs`, which are sorted by row.
template <class Row, class Item>
Csr<Row, Item> MakeCsr(size_t rows, const std::vector<std::pair<Row, Item>>& pairs) {
  Csr<Row, Item> csr;
  csr.offsets.assign(rows + 1, 0);
  csr.items.reserve(pairs.size());
  for (const auto& [row, item] : pairs) {
    ++csr.offsets[row.index() + 1];
    csr.items.push_back(item);
  }
  std::partial_sum(csr.offsets.begin(), csr.offsets.end(), csr.offsets.begin());
  return csr;
}

class Builder {
 public:
  Builder(const Graph& graph, const Cluster& cluster, const CostTable& costs)
      : graph_(graph), cluster_(cluster), costs_(costs) {}

  SimGraph Build() && {
    AddOps();
    AddStorages();
    AddSlices();
    AddVersionRows();
    AddExplicitWaits();
    AddCollectives();
    AddPaths();
    AddCluster(cluster_, &p_);
    return std::move(p_);
  }

 private:
  void AddOps() {
    p_.devices = static_cast<int32_t>(cluster_.device_count());
    p_.exec_of.assign(graph_.op_count(), ExecOpId());
    const std::vector<DeviceId> columns = AddColumns();
    std::vector<ExecOpId> moving;
    for (OpId op : graph_.ops()) {
      if (graph_.op(op).is_view) continue;
      p_.exec_of[op] = p_.op_of.push_back(op);
      ++p_.ops;
      p_.min_time.push_back(std::max<int64_t>(costs_.MinTime(op).count, 0));
      if (!costs_.only().empty()) {
        p_.only.push_back(costs_.only()[op]);
        p_.time.push_back(costs_.MinTime(op).count);
      } else {
        for (const DeviceId device : columns) p_.time.push_back(costs_.time(op, device).count);
      }
      p_.workspace.push_back(costs_.workspace(op).count);
      const bool member = graph_.collective_of(op).valid();
      if (!member && MovesPieces(graph_.op(op).type)) moving.push_back(p_.exec_of[op]);
    }
    if (moving.empty()) return;
    p_.moves_pieces.assign(p_.ops, 0);
    for (const ExecOpId op : moving) p_.moves_pieces[op] = 1;
  }

  // Of each column of times its first device.
  std::vector<DeviceId> AddColumns() {
    std::vector<DeviceId> firsts;
    std::vector<int32_t> numbers(costs_.column_count(), -1);
    for (const DeviceId device : cluster_.devices()) {
      int32_t& number = numbers[costs_.column(device)];
      if (number < 0) {
        number = p_.time_columns++;
        firsts.push_back(device);
      }
      p_.time_column.push_back(number);
    }
    return firsts;
  }

  void AddStorages() {
    std::vector<int32_t>& offsets = p_.storage_versions.offsets;
    for (StorageId id : graph_.storages()) {
      const Storage& storage = graph_.storage(id);
      p_.storage_bytes.push_back(RoundUpToGranule(storage.bytes).count);
      p_.home_op.push_back(graph_.home_op(id));
      p_.fixed_home.push_back(graph_.given_home(id));
      for (const Version& version : storage.versions) {
        const ExecOpId writer = version.writer.valid() ? p_.exec_of[version.writer] : ExecOpId();
        p_.storage_versions.items.push_back(p_.version_writer.push_back(writer));
        p_.version_storage.push_back(id);
      }
      offsets.push_back(static_cast<int32_t>(p_.version_writer.size()));
      const bool produced = p_.version_writer[p_.VersionOf(id, 0)].valid();
      const bool read_only = storage.kind == TensorKind::kInput && storage.versions.size() == 1;
      p_.storage_class.push_back(produced    ? StorageClass::kTransient
                                 : read_only ? StorageClass::kInput
                                             : StorageClass::kPersistent);
    }
  }

  std::vector<Read> CollectReads() const {
    std::vector<Read> reads;
    for (ExecOpId exec : p_.exec_ops()) {
      const Op& op = graph_.op(p_.op_of[exec]);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Tensor& tensor = graph_.tensor(op.inputs[i]);
        const VersionId version = p_.VersionOf(tensor.storage, op.input_versions[i]);
        reads.push_back({p_.version_writer[version], tensor.storage, version, tensor.offset.count,
                         tensor.length.count, exec});
      }
    }
    for (TensorId id : graph_.tensors()) {  // what an op holds is as if it read it
      const Tensor& tensor = graph_.tensor(id);
      if (!tensor.held_until.valid()) continue;
      const ExecOpId holder = p_.exec_of[tensor.held_until];
      if (!holder.valid()) continue;
      const int32_t number = graph_.VersionBefore(tensor.held_until, id);
      const VersionId version = p_.VersionOf(tensor.storage, number);
      reads.push_back({p_.version_writer[version], tensor.storage, version, tensor.offset.count,
                       tensor.length.count, holder});
    }
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end(),
                            [](const Read& a, const Read& b) {
                              return a.SliceKey() == b.SliceKey() && a.reader == b.reader;
                            }),
                reads.end());
    return reads;
  }

  void AddSlices() {
    const std::vector<Read> reads = CollectReads();
    std::vector<std::pair<SliceId, ExecOpId>> by_slice;
    std::vector<std::pair<ExecOpId, SliceId>> by_reader;
    for (size_t i = 0; i < reads.size(); ++i) {
      const Read& read = reads[i];
      if (i == 0 || reads[i - 1].SliceKey() != read.SliceKey()) {
        ++p_.slices;
        p_.slice_version.push_back(read.version);
        p_.slice_storage.push_back(read.storage);
        p_.slice_writer.push_back(read.writer);
        p_.slice_offset.push_back(read.offset);
        p_.slice_length.push_back(read.length);
        p_.slice_bytes.push_back(RoundUpToGranule(Bytes(read.length)).count);
      }
      by_slice.emplace_back(SliceId(p_.slices - 1), read.reader);
      by_reader.emplace_back(read.reader, SliceId(p_.slices - 1));
    }
    p_.slice_readers = MakeCsr(p_.slices, by_slice);
    std::sort(by_reader.begin(), by_reader.end());
    p_.op_slices = MakeCsr(p_.ops, by_reader);
    p_.op_first_slice.assign(p_.ops + 1, 0);
    for (ExecOpId writer : p_.slice_writer) ++p_.op_first_slice[writer.value() + 1];
    std::partial_sum(p_.op_first_slice.begin(), p_.op_first_slice.end(), p_.op_first_slice.begin());
  }

  void AddVersionRows() {
    std::vector<std::pair<ExecOpId, VersionId>> makes;
    std::vector<std::pair<VersionId, SliceId>> slices;
    p_.version_overwriter.assign(p_.version_writer.size(), ExecOpId());
    for (VersionId version : p_.version_ids()) {
      const ExecOpId writer = p_.version_writer[version];
      if (writer.valid()) makes.emplace_back(writer, version);
      if (p_.NumberOf(version) > 0) {
        p_.version_overwriter[VersionId(version.value() - 1)] = writer;
      }
    }
    for (SliceId slice : p_.slice_ids()) slices.emplace_back(p_.slice_version[slice], slice);
    std::sort(makes.begin(), makes.end());
    std::sort(slices.begin(), slices.end());
    p_.op_makes = MakeCsr(p_.ops, makes);
    p_.version_slices = MakeCsr(p_.version_writer.size(), slices);
  }

  // The exec ops, beside the writers of the slices read, whose end an op or a view waits for:
  // explicit edges, also through views. A view passes its own waits on to its readers.
  void AddExplicitWaits() {
    std::map<TensorId, std::vector<ExecOpId>> passed_on;
    std::vector<std::pair<ExecOpId, ExecOpId>> after;
    std::vector<std::pair<OpId, ExecOpId>> view_waits;
    for (OpId id : graph_.topological_order()) {
      const Op& op = graph_.op(id);
      const ExecOpId exec = p_.exec_of[id];
      std::vector<ExecOpId> waits;
      for (TensorId input : op.inputs) {
        const auto it = passed_on.find(input);
        if (it != passed_on.end()) waits.insert(waits.end(), it->second.begin(), it->second.end());
      }
      for (OpId earlier : op.after) {
        const std::vector<ExecOpId> ends = EndOf(earlier, passed_on);
        waits.insert(waits.end(), ends.begin(), ends.end());
      }
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      for (ExecOpId wait : waits) {
        if (exec.valid() && wait != exec) after.emplace_back(wait, exec);
        if (!exec.valid()) view_waits.emplace_back(id, wait);
      }
      for (TensorId output : op.outputs) {
        const ExecOpId writer = WriterOf(output);
        if (!exec.valid() && writer.valid()) view_waits.emplace_back(id, writer);
        if (!exec.valid() && !waits.empty()) passed_on[output] = waits;
        // A view that an op hands out.
        if (exec.valid() && writer != exec) passed_on[output] = {exec};
      }
    }
    std::sort(after.begin(), after.end());
    std::sort(view_waits.begin(), view_waits.end());
    p_.explicit_successors = MakeCsr(p_.ops, after);
    p_.view_waits = MakeCsr(graph_.op_count(), view_waits);
  }

  void AddCollectives() {
    if (graph_.collective_count() == 0) return;
    p_.collective_of.assign(p_.ops, CollectiveId());
    for (CollectiveId id : graph_.collectives()) {
      for (OpId member : graph_.collective(id).members) {
        p_.collective_of[p_.exec_of[member]] = id;
        p_.collective_members.items.push_back(p_.exec_of[member]);
      }
      p_.collective_members.offsets.push_back(
          static_cast<int32_t>(p_.collective_members.items.size()));
      const CostTable::CollectiveCost& cost = costs_.collectives()[id];
      p_.collective_time.push_back(cost.time.count);
      std::vector<LinkId>& links = p_.collective_links.items;
      links.insert(links.end(), cost.links.begin(), cost.links.end());
      p_.collective_links.offsets.push_back(static_cast<int32_t>(links.size()));
    }
  }

  // Exec op that made what the tensor named when it came to be, or none.
  ExecOpId WriterOf(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return p_.version_writer[p_.VersionOf(tensor.storage, tensor.version)];
  }

  std::vector<ExecOpId> EndOf(OpId id,
                              const std::map<TensorId, std::vector<ExecOpId>>& passed_on) const {
    const ExecOpId exec = p_.exec_of[id];
    if (exec.valid()) return {exec};
    std::vector<ExecOpId> ends;
    for (TensorId output : graph_.op(id).outputs) {
      const ExecOpId writer = WriterOf(output);
      if (writer.valid()) ends.push_back(writer);
      const auto it = passed_on.find(output);
      if (it != passed_on.end()) ends.insert(ends.end(), it->second.begin(), it->second.end());
    }
    return ends;
  }

  void AddPaths() {
    for (OpId id : graph_.topological_order()) {
      if (p_.exec_of[id].valid()) p_.topological_order.push_back(p_.exec_of[id]);
    }
    FillPaths(p_, &p_.min_path, [this](ExecOpId op) {
      int64_t longest = 0;
      for (ExecOpId reader : p_.ReadersOf(op)) longest = std::max(longest, p_.min_path[reader]);
      for (ExecOpId later : p_.explicit_successors[op]) {
        longest = std::max(longest, p_.min_path[later]);
      }
      return longest;
    });
    for (SliceId slice : p_.slice_ids()) {
      const ExecOpId overwriter = p_.version_overwriter[p_.slice_version[slice]];
      if (!overwriter.valid()) continue;
      for (ExecOpId reader : p_.slice_readers[slice]) p_.waits_in_place |= reader != overwriter;
    }
  }

  const Graph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  SimGraph p_;
};

}  // namespace

void AddCluster(const Cluster& cluster, SimGraph* sim_graph) {
  SimGraph& p = *sim_graph;
  p.devices = static_cast<int32_t>(cluster.device_count());
  p.links = static_cast<int32_t>(cluster.link_count());
  p.collectives_share = cluster.collectives_share();
  const size_t pairs = cluster.device_count() * cluster.device_count();
  p.route_links.offsets.reserve(p.route_links.offsets.size() + pairs);
  p.route_latency.reserve(pairs);
  p.route_bandwidth.reserve(pairs);
  for (DeviceId from : cluster.devices()) {
    p.capacity.push_back(cluster.device(from).capacity.count);
    std::pair<int32_t, int32_t> beside(1, 1);
    if (p.collectives_share && cluster.kind(from).channels > 0) {
      const DeviceKind& kind = cluster.kind(from);
      beside = {kind.multiprocessors, kind.multiprocessors - kind.channels};
    }
    p.beside_collectives.push_back(beside);
    p.runtime_context.push_back(
        cluster.device(from).kind < 0 ? 0 : cluster.kind(from).runtime_context.count);
    for (DeviceId to : cluster.devices()) {
      Route none;
      const Route& route = from == to ? none : cluster.route(from, to);
      std::vector<LinkId>& links = p.route_links.items;
      links.insert(links.end(), route.links.begin(), route.links.end());
      p.route_links.offsets.push_back(static_cast<int32_t>(links.size()));
      p.route_latency.push_back(std::min(route.latency.count, kMaxQuantity));
      p.route_bandwidth.push_back(std::max<int64_t>(route.bandwidth.count, 1));
    }
  }
}

SimGraph BuildSimGraph(const Graph& graph, const Cluster& cluster, const CostTable& costs) {
  PW_CHECK_EQ(costs.op_count(), graph.op_count());
  PW_CHECK_EQ(costs.device_count(), cluster.device_count());
  PW_CHECK_EQ(costs.collectives().size(), graph.collective_count());
  return Builder(graph, cluster, costs).Build();
}

}  // namespace placewright
