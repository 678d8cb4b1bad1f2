#include "sim/bottlenecks.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace placewright {

namespace {

class Walker {
 public:
  Walker(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
         const Placement& placement, const Schedule& schedule)
      : p_(sim_graph),
        graph_(graph),
        cluster_(cluster),
        placement_(placement),
        schedule_(schedule),
        waits_(sim_graph.ops) {
    for (int32_t op = 0; op < p_.ops; ++op) {
      for (int32_t i = p_.after_offset[op]; i < p_.after_offset[op + 1]; ++i) {
        waits_[p_.after[i]].push_back(op);
      }
    }
    IndexTransfers();
    result_.compute.assign(cluster.device_count(), Nanos(0));
    result_.device_wait.assign(cluster.device_count(), Nanos(0));
    result_.transfer.assign(cluster.link_count(), Nanos(0));
    result_.link_wait.assign(cluster.link_count(), Nanos(0));
  }

  Bottlenecks Walk() && {
    int32_t op = LastOp();
    while (op >= 0) {
      VisitOp(op);
      const Requirement last = LastRequirement(op);
      const Nanos ready = last.end;
      const OpSpan& span = schedule_.ops[p_.op_of[op]];
      result_.device_wait[placement_[p_.op_of[op]]] += span.start - ready;
      op = last.op;
      if (last.transfer >= 0) op = VisitTransfer(last.transfer);
    }
    std::reverse(result_.path.begin(), result_.path.end());
    SortTypes();
    return std::move(result_);
  }

 private:
  // What an op waited for; neither op nor transfer: nothing, it was ready at 0.
  struct Requirement {
    Nanos end;
    int32_t op = -1, transfer = -1;
  };

  void IndexTransfers() {
    for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
      const TransferSpan& span = schedule_.transfers[i];
      const int32_t version = p_.storage_versions.offsets[span.storage.index()] + span.version;
      for (int32_t u = p_.version_slices_offset[version]; u < p_.version_slices_offset[version + 1];
           ++u) {
        const int32_t slice = p_.version_slices[u];
        if (p_.slice_offset[slice] != span.offset.count) continue;
        if (p_.slice_length[slice] != span.length.count) continue;
        transfer_of_[{slice, span.to.value()}] = static_cast<int32_t>(i);
        slice_of_.push_back(slice);
      }
    }
    PW_CHECK_EQ(slice_of_.size(), schedule_.transfers.size());
  }

  int32_t LastOp() const {
    int32_t last = -1;
    for (int32_t op = 0; op < p_.ops; ++op) {
      if (last < 0 || EndOf(op) > EndOf(last)) last = op;
    }
    return last;
  }
  Nanos EndOf(int32_t op) const { return schedule_.ops[p_.op_of[op]].end; }

  static void Offer(Requirement* best, Nanos end, int32_t op, int32_t transfer) {
    const bool none = best->op < 0 && best->transfer < 0;
    if (end > best->end || (none && end == best->end)) *best = {end, op, transfer};
  }

  Requirement LastRequirement(int32_t op) const {
    Requirement best;
    const int32_t device = placement_[p_.op_of[op]].value();
    std::vector<int32_t> transfers;
    std::vector<int32_t> ops = waits_[op];
    for (int32_t i = p_.op_slices_offset[op]; i < p_.op_slices_offset[op + 1]; ++i) {
      const auto crossing = transfer_of_.find({p_.op_slices[i], device});
      if (crossing != transfer_of_.end()) {
        transfers.push_back(crossing->second);
      } else if (p_.slice_writer[p_.op_slices[i]] >= 0) {
        ops.push_back(p_.slice_writer[p_.op_slices[i]]);
      }
    }
    for (int32_t i = p_.op_makes_offset[op]; i < p_.op_makes_offset[op + 1]; ++i) {
      AddUsesOfOldVersion(op, p_.op_makes[i], &ops, &transfers);
    }
    std::sort(ops.begin(), ops.end());
    std::sort(transfers.begin(), transfers.end());
    for (int32_t other : ops) Offer(&best, EndOf(other), other, -1);
    for (int32_t t : transfers) Offer(&best, schedule_.transfers[t].end, -1, t);
    return best;
  }

  void AddUsesOfOldVersion(int32_t op, int32_t version, std::vector<int32_t>* ops,
                           std::vector<int32_t>* transfers) const {
    const int32_t storage = p_.version_storage[version];
    if (version == p_.storage_versions.offsets[storage]) return;
    if (p_.version_writer[version - 1] >= 0) ops->push_back(p_.version_writer[version - 1]);
    const DeviceId home = placement_[p_.op_of[op]];
    for (int32_t u = p_.version_slices_offset[version - 1]; u < p_.version_slices_offset[version];
         ++u) {
      const int32_t slice = p_.version_slices[u];
      for (int32_t r = p_.slice_readers_offset[slice]; r < p_.slice_readers_offset[slice + 1];
           ++r) {
        const int32_t reader = p_.slice_readers[r];
        const DeviceId device = placement_[p_.op_of[reader]];
        if (reader != op && device == home) ops->push_back(reader);
        const auto crossing = transfer_of_.find({slice, device.value()});
        if (crossing != transfer_of_.end()) transfers->push_back(crossing->second);
      }
    }
  }

  void VisitOp(int32_t op) {
    const OpId id = p_.op_of[op];
    const Nanos duration = schedule_.ops[id].end - schedule_.ops[id].start;
    result_.path.push_back(id);
    result_.compute[placement_[id]] += duration;
    by_type_[std::string(graph_.op(id).type)] += duration;
  }

  // Returns the op that made what crossed, -1: it was there from the start.
  int32_t VisitTransfer(int32_t index) {
    const TransferSpan& span = schedule_.transfers[index];
    const std::vector<LinkId>& links = cluster_.route(span.from, span.to).links;
    const LinkId narrowest = *std::min_element(links.begin(), links.end(), [&](LinkId a, LinkId b) {
      return cluster_.link(a).bandwidth < cluster_.link(b).bandwidth;
    });
    result_.transfer[narrowest] += span.end - span.start;
    result_.link_wait[narrowest] += span.start - span.ready;
    return p_.slice_writer[slice_of_[index]];
  }

  void SortTypes() {
    for (const auto& [type, time] : by_type_) result_.compute_by_type.emplace_back(type, time);
    std::stable_sort(result_.compute_by_type.begin(), result_.compute_by_type.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }

  const SimGraph& p_;
  const Graph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  const Schedule& schedule_;
  std::vector<std::vector<int32_t>> waits_;  // exec op -> exec ops of explicit edges into it
  std::map<std::pair<int32_t, int32_t>, int32_t> transfer_of_;  // (slice, device)
  std::vector<int32_t> slice_of_;                               // by transfer
  std::map<std::string, Nanos> by_type_;
  Bottlenecks result_;
};

}  // namespace

Nanos Bottlenecks::Total() const {
  Nanos total;
  for (Nanos time : compute) total += time;
  for (Nanos time : device_wait) total += time;
  for (Nanos time : transfer) total += time;
  for (Nanos time : link_wait) total += time;
  return total;
}

Bottlenecks FindBottlenecks(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                            const Placement& placement, const Schedule& schedule) {
  return Walker(sim_graph, graph, cluster, placement, schedule).Walk();
}

std::vector<Reason> TopReasons(const Bottlenecks& bottlenecks, const Cluster& cluster) {
  std::vector<Reason> reasons;
  const auto add = [&](const std::string& what, Nanos time) {
    if (time.count > 0) reasons.push_back({what, time});
  };
  for (DeviceId d : cluster.devices()) {
    add("computing on " + cluster.device(d).name, bottlenecks.compute[d]);
    add("queueing for " + cluster.device(d).name, bottlenecks.device_wait[d]);
  }
  for (LinkId l : cluster.links()) {
    add("moving over " + cluster.link(l).name, bottlenecks.transfer[l]);
    add("queueing for " + cluster.link(l).name, bottlenecks.link_wait[l]);
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.time > b.time; });
  return reasons;
}

}  // namespace placewright
