#include "sim/engine/sim_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace placewright {

namespace {

// One exec op reading one byte range of one version.
struct Read {
  int32_t writer, storage, version;
  int64_t offset, length;
  int32_t reader;
  auto SliceKey() const { return std::tie(writer, storage, version, offset, length); }
  friend bool operator<(const Read& a, const Read& b) {
    return std::tuple_cat(a.SliceKey(), std::tie(a.reader)) <
           std::tuple_cat(b.SliceKey(), std::tie(b.reader));
  }
};

// Rows of `pairs` (row, item), which are sorted by row.
void FillCsr(int32_t rows, const std::vector<std::pair<int32_t, int32_t>>& pairs,
             std::vector<int32_t>* offsets, std::vector<int32_t>* items) {
  offsets->assign(rows + 1, 0);
  items->clear();
  items->reserve(pairs.size());
  for (const auto& [row, item] : pairs) {
    ++(*offsets)[row + 1];
    items->push_back(item);
  }
  std::partial_sum(offsets->begin(), offsets->end(), offsets->begin());
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
    AddPaths();
    AddCluster();
    return std::move(p_);
  }

 private:
  void AddOps() {
    p_.devices = static_cast<int32_t>(cluster_.device_count());
    p_.exec_of.assign(graph_.op_count(), -1);
    for (OpId op : graph_.ops()) {
      if (graph_.op(op).is_view) continue;
      p_.exec_of[op.index()] = p_.ops++;
      p_.op_of.push_back(op);
      int64_t min = -1;
      for (DeviceId device : cluster_.devices()) {
        const int64_t time = costs_.time(op, device).count;
        p_.time.push_back(time);
        if (time >= 0 && (min < 0 || time < min)) min = time;
      }
      p_.min_time.push_back(std::max<int64_t>(min, 0));
      p_.workspace.push_back(costs_.workspace(op).count);
    }
  }

  void AddStorages() {
    std::vector<int32_t>& offsets = p_.storage_versions.offsets;
    for (StorageId id : graph_.storages()) {
      const Storage& storage = graph_.storage(id);
      const int32_t index = id.value();
      p_.storage_bytes.push_back(RoundUpToGranule(storage.bytes).count);
      p_.home_op.push_back(graph_.home_op(id).value());
      p_.fixed_home.push_back(graph_.given_home(id).value());
      for (const Version& version : storage.versions) {
        const int32_t writer = version.writer.valid() ? p_.exec_of[version.writer.index()] : -1;
        p_.storage_versions.items.push_back(static_cast<int32_t>(p_.version_writer.size()));
        p_.version_writer.push_back(writer);
        p_.version_storage.push_back(index);
      }
      offsets.push_back(static_cast<int32_t>(p_.version_writer.size()));
      const bool produced = p_.version_writer[offsets[index]] >= 0;
      const bool read_only = storage.kind == TensorKind::kInput && storage.versions.size() == 1;
      p_.storage_class.push_back(produced    ? StorageClass::kTransient
                                 : read_only ? StorageClass::kInput
                                             : StorageClass::kPersistent);
    }
  }

  std::vector<Read> CollectReads() const {
    std::vector<Read> reads;
    for (int32_t exec = 0; exec < p_.ops; ++exec) {
      const Op& op = graph_.op(p_.op_of[exec]);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Tensor& tensor = graph_.tensor(op.inputs[i]);
        const int32_t version =
            p_.storage_versions.offsets[tensor.storage.index()] + op.input_versions[i];
        reads.push_back({p_.version_writer[version], tensor.storage.value(), version,
                         tensor.offset.count, tensor.length.count, exec});
      }
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
    p_.slice_readers_offset.push_back(0);
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
        p_.slice_readers_offset.push_back(p_.slice_readers_offset.back());
      }
      p_.slice_readers.push_back(read.reader);
      ++p_.slice_readers_offset.back();
    }
    std::vector<std::pair<int32_t, int32_t>> by_reader;
    for (int32_t slice = 0; slice < p_.slices; ++slice) {
      for (int32_t i = p_.slice_readers_offset[slice]; i < p_.slice_readers_offset[slice + 1];
           ++i) {
        by_reader.emplace_back(p_.slice_readers[i], slice);
      }
    }
    std::sort(by_reader.begin(), by_reader.end());
    FillCsr(p_.ops, by_reader, &p_.op_slices_offset, &p_.op_slices);
    p_.op_first_slice.assign(p_.ops + 1, 0);
    for (int32_t writer : p_.slice_writer) ++p_.op_first_slice[writer + 1];
    std::partial_sum(p_.op_first_slice.begin(), p_.op_first_slice.end(), p_.op_first_slice.begin());
  }

  void AddVersionRows() {
    const int32_t versions = static_cast<int32_t>(p_.version_writer.size());
    std::vector<std::pair<int32_t, int32_t>> makes, slices;
    p_.version_overwriter.assign(versions, -1);
    for (int32_t version = 0; version < versions; ++version) {
      const int32_t writer = p_.version_writer[version];
      if (writer >= 0) makes.emplace_back(writer, version);
      if (version > 0 && p_.version_storage[version - 1] == p_.version_storage[version]) {
        p_.version_overwriter[version - 1] = writer;
      }
    }
    for (int32_t slice = 0; slice < p_.slices; ++slice)
      slices.emplace_back(p_.slice_version[slice], slice);
    std::sort(makes.begin(), makes.end());
    std::sort(slices.begin(), slices.end());
    FillCsr(p_.ops, makes, &p_.op_makes_offset, &p_.op_makes);
    FillCsr(versions, slices, &p_.version_slices_offset, &p_.version_slices);
  }

  // The exec ops, beside the writers of the slices read, whose end an op or a view waits for:
  // explicit edges, also through views. A view passes its own waits on to whoever reads it.
  void AddExplicitWaits() {
    std::map<TensorId, std::vector<int32_t>> passed_on;
    std::vector<std::pair<int32_t, int32_t>> after, view_waits;
    for (OpId id : graph_.topological_order()) {
      const Op& op = graph_.op(id);
      const int32_t exec = p_.exec_of[id.index()];
      std::vector<int32_t> waits;
      for (TensorId input : op.inputs) {
        const auto it = passed_on.find(input);
        if (it != passed_on.end()) waits.insert(waits.end(), it->second.begin(), it->second.end());
      }
      for (OpId earlier : op.after) {
        const std::vector<int32_t> ends = EndOf(earlier, passed_on);
        waits.insert(waits.end(), ends.begin(), ends.end());
      }
      std::sort(waits.begin(), waits.end());
      waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
      for (int32_t wait : waits) {
        if (exec >= 0 && wait != exec) after.emplace_back(wait, exec);
        if (exec < 0) view_waits.emplace_back(id.value(), wait);
      }
      for (TensorId output : op.outputs) {
        const int32_t writer = WriterOf(output);
        if (exec < 0 && writer >= 0) view_waits.emplace_back(id.value(), writer);
        if (exec < 0 && !waits.empty()) passed_on[output] = waits;
        if (exec >= 0 && writer != exec) passed_on[output] = {exec};  // a view that an op hands out
      }
    }
    std::sort(after.begin(), after.end());
    std::sort(view_waits.begin(), view_waits.end());
    FillCsr(p_.ops, after, &p_.after_offset, &p_.after);
    FillCsr(static_cast<int32_t>(graph_.op_count()), view_waits, &p_.view_waits_offset,
            &p_.view_waits);
  }

  // Exec op that made what the tensor named when it came to be, -1: none.
  int32_t WriterOf(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return p_.version_writer[p_.storage_versions.offsets[tensor.storage.index()] + tensor.version];
  }

  std::vector<int32_t> EndOf(OpId id,
                             const std::map<TensorId, std::vector<int32_t>>& passed_on) const {
    const int32_t exec = p_.exec_of[id.index()];
    if (exec >= 0) return {exec};
    std::vector<int32_t> ends;
    for (TensorId output : graph_.op(id).outputs) {
      const int32_t writer = WriterOf(output);
      if (writer >= 0) ends.push_back(writer);
      const auto it = passed_on.find(output);
      if (it != passed_on.end()) ends.insert(ends.end(), it->second.begin(), it->second.end());
    }
    return ends;
  }

  void AddPaths() {
    for (OpId id : graph_.topological_order()) {
      if (p_.exec_of[id.index()] >= 0) p_.topological_order.push_back(p_.exec_of[id.index()]);
    }
    p_.min_path.assign(p_.ops, 0);
    for (size_t i = p_.topological_order.size(); i-- > 0;) {
      const int32_t op = p_.topological_order[i];
      int64_t longest = 0;
      for (int32_t r = p_.slice_readers_offset[p_.op_first_slice[op]],
                   end = p_.slice_readers_offset[p_.op_first_slice[op + 1]];
           r < end; ++r) {
        longest = std::max(longest, p_.min_path[p_.slice_readers[r]]);
      }
      for (int32_t a = p_.after_offset[op]; a < p_.after_offset[op + 1]; ++a) {
        longest = std::max(longest, p_.min_path[p_.after[a]]);
      }
      p_.min_path[op] = SaturatingAdd(p_.min_time[op], longest);
    }
    for (int32_t slice = 0; slice < p_.slices && !p_.waits_in_place; ++slice) {
      const int32_t overwriter = p_.version_overwriter[p_.slice_version[slice]];
      if (overwriter < 0) continue;
      for (int32_t r = p_.slice_readers_offset[slice]; r < p_.slice_readers_offset[slice + 1];
           ++r) {
        p_.waits_in_place |= p_.slice_readers[r] != overwriter;
      }
    }
  }

  void AddCluster() {
    p_.links = static_cast<int32_t>(cluster_.link_count());
    p_.route_offset.push_back(0);
    for (DeviceId from : cluster_.devices()) {
      p_.capacity.push_back(cluster_.device(from).capacity.count);
      p_.runtime_context.push_back(
          cluster_.device(from).kind < 0 ? 0 : cluster_.kind(from).runtime_context.count);
      for (DeviceId to : cluster_.devices()) {
        Route none;
        const Route& route = from == to ? none : cluster_.route(from, to);
        for (LinkId link : route.links) p_.route_links.push_back(link.value());
        p_.route_offset.push_back(static_cast<int32_t>(p_.route_links.size()));
        p_.route_latency.push_back(std::min(route.latency.count, kMaxQuantity));
        p_.route_bandwidth.push_back(std::max<int64_t>(route.bandwidth.count, 1));
      }
    }
  }

  const Graph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  SimGraph p_;
};

}  // namespace

SimGraph BuildSimGraph(const Graph& graph, const Cluster& cluster, const CostTable& costs) {
  PW_CHECK_EQ(costs.op_count(), graph.op_count());
  PW_CHECK_EQ(costs.device_count(), cluster.device_count());
  return Builder(graph, cluster, costs).Build();
}

}  // namespace placewright
