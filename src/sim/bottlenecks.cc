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
    for (ExecOpId op : p_.exec_ops()) {
      for (ExecOpId later : p_.explicit_successors[op]) waits_[later].push_back(op);
    }
    IndexTransfers();
    result_.compute.assign(cluster.device_count(), Nanos(0));
    result_.device_wait.assign(cluster.device_count(), Nanos(0));
    result_.transfer.assign(cluster.link_count(), Nanos(0));
    result_.link_wait.assign(cluster.link_count(), Nanos(0));
  }

  Bottlenecks Walk() && {
    ExecOpId op = LastOp();
    while (op.valid()) {
      const CollectiveId collective = p_.CollectiveOf(op);
      const Requirement last = collective.valid() ? VisitCollective(collective) : VisitOp(op);
      op = last.op;
      if (last.transfer.valid()) op = VisitTransfer(last.transfer);
    }
    std::reverse(result_.path.begin(), result_.path.end());
    SortTypes();
    return std::move(result_);
  }

 private:
  using SpanId = Id<struct TransferSpanTag>;  // in Schedule::transfers

  // What an op waited for; neither op nor transfer: nothing, it was ready at 0.
  struct Requirement {
    Nanos end;
    ExecOpId op;
    SpanId transfer;
  };

  void IndexTransfers() {
    for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
      const TransferSpan& span = schedule_.transfers[i];
      for (SliceId slice : p_.version_slices[p_.VersionOf(span.storage, span.version)]) {
        if (p_.slice_offset[slice] != span.offset.count) continue;
        if (p_.slice_length[slice] != span.length.count) continue;
        transfer_of_[{slice, span.to}] = SpanId(i);
        slice_of_.push_back(slice);
      }
    }
    PW_CHECK_EQ(slice_of_.size(), schedule_.transfers.size());
  }

  ExecOpId LastOp() const {
    ExecOpId last;
    for (ExecOpId op : p_.exec_ops()) {
      if (!last.valid() || EndOf(op) > EndOf(last)) last = op;
    }
    return last;
  }
  Nanos EndOf(ExecOpId op) const { return schedule_.ops[p_.op_of[op]].end; }

  static void Offer(Requirement* best, Nanos end, ExecOpId op, SpanId transfer) {
    const bool none = !best->op.valid() && !best->transfer.valid();
    if (end > best->end || (none && end == best->end)) *best = {end, op, transfer};
  }

  Requirement LastRequirement(ExecOpId op) const {
    Requirement best;
    const DeviceId device = placement_[p_.op_of[op]];
    std::vector<SpanId> transfers;
    std::vector<ExecOpId> ops = waits_[op];
    for (SliceId slice : p_.op_slices[op]) {
      const auto crossing = transfer_of_.find({slice, device});
      if (crossing != transfer_of_.end()) {
        transfers.push_back(crossing->second);
      } else if (p_.slice_writer[slice].valid()) {
        ops.push_back(p_.slice_writer[slice]);
      }
    }
    for (VersionId version : p_.op_makes[op]) AddUsesOfOldVersion(op, version, &ops, &transfers);
    std::sort(ops.begin(), ops.end());
    std::sort(transfers.begin(), transfers.end());
    for (ExecOpId other : ops) Offer(&best, EndOf(other), other, SpanId());
    for (SpanId t : transfers) Offer(&best, schedule_.transfers[t.index()].end, ExecOpId(), t);
    return best;
  }

  void AddUsesOfOldVersion(ExecOpId op, VersionId version, std::vector<ExecOpId>* ops,
                           std::vector<SpanId>* transfers) const {
    if (p_.NumberOf(version) == 0) return;
    const VersionId old(version.value() - 1);
    if (p_.version_writer[old].valid()) ops->push_back(p_.version_writer[old]);
    const DeviceId home = placement_[p_.op_of[op]];
    for (SliceId slice : p_.version_slices[old]) {
      for (ExecOpId reader : p_.slice_readers[slice]) {
        const DeviceId device = placement_[p_.op_of[reader]];
        if (reader != op && device == home) ops->push_back(reader);
        const auto crossing = transfer_of_.find({slice, device});
        if (crossing != transfer_of_.end()) transfers->push_back(crossing->second);
      }
    }
  }

  Requirement VisitOp(ExecOpId op) {
    const OpId id = p_.op_of[op];
    const OpSpan& span = schedule_.ops[id];
    const Nanos duration = span.end - span.start;
    const Requirement last = LastRequirement(op);
    result_.path.push_back(id);
    result_.compute[placement_[id]] += duration;
    result_.device_wait[placement_[id]] += span.start - last.end;
    by_type_[std::string(graph_.op(id).type)] += duration;
    return last;
  }

  Requirement VisitCollective(CollectiveId id) {
    Requirement last;
    ExecOpId waited;  // the member that was ready last
    for (ExecOpId member : p_.collective_members[id]) {
      const Requirement one = LastRequirement(member);
      if (waited.valid() && one.end <= last.end) continue;
      last = one;
      waited = member;
    }
    const OpSpan& span = schedule_.ops[p_.op_of[waited]];
    result_.path.push_back(p_.op_of[waited]);
    result_.collective += span.end - span.start;
    result_.collective_wait += span.start - last.end;
    return last;
  }

  // Returns the op that made what crossed, or none: it was there from the start.
  ExecOpId VisitTransfer(SpanId id) {
    const TransferSpan& span = schedule_.transfers[id.index()];
    const std::vector<LinkId>& links = cluster_.route(span.from, span.to).links;
    const LinkId narrowest = *std::min_element(links.begin(), links.end(), [&](LinkId a, LinkId b) {
      return cluster_.link(a).bandwidth < cluster_.link(b).bandwidth;
    });
    result_.transfer[narrowest] += span.end - span.start;
    result_.link_wait[narrowest] += span.start - span.ready;
    return p_.slice_writer[slice_of_[id]];
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
  IdVector<ExecOpId, std::vector<ExecOpId>> waits_;  // ops of explicit edges into it
  std::map<std::pair<SliceId, DeviceId>, SpanId> transfer_of_;
  IdVector<SpanId, SliceId> slice_of_;
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
  return total + collective + collective_wait;
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
  add("in collectives", bottlenecks.collective);
  add("queueing for collectives", bottlenecks.collective_wait);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.time > b.time; });
  return reasons;
}

}  // namespace placewright
