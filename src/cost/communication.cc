#include "cost/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"

namespace placewright {

// A set of devices, found by any order of them that was asked for.
struct Communication::DeviceSet {
  DeviceSetPlan plan;
  Nanos launch;
  BytesPerSecond slowest;  // of the routes between its devices
  std::array<const CollectiveFits::Fit*, kCollectiveKinds.size()> fits{};  // nullptr: not measured
};

struct Communication::Less {
  using is_transparent = void;
  bool operator()(std::span<const DeviceId> a, std::span<const DeviceId> b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

struct Communication::Sets {
  std::map<std::vector<DeviceId>, std::shared_ptr<const DeviceSet>, Less> by_order;
};

namespace {

std::vector<LinkId> StatedLinks(const Cluster& cluster) {
  if (cluster.collectives().lines.empty()) return {};
  return {cluster.communicator()};
}

}  // namespace

Communication::Communication(const Cluster& cluster,
                             const std::vector<MeasuredCollectives>& measured)
    : cluster_(cluster),
      fits_(measured),
      communicator_(StatedLinks(cluster)),
      sets_(std::make_unique<Sets>()) {}
Communication::~Communication() = default;

Result<std::shared_ptr<const Communication::DeviceSet>> Communication::Make(
    std::vector<DeviceId> devices) const {
  Nanos launch;
  BytesPerSecond slowest(kMaxQuantity);
  for (const DeviceId from : devices) {
    launch = std::max(launch, cluster_.kind(from).launch_overhead);
    for (const DeviceId to : devices) {
      if (from == to) continue;
      if (cluster_.Connected(from, to)) {
        slowest = std::min(slowest, cluster_.route(from, to).bandwidth);
        continue;
      }
      return MakeError(
          ErrorCode::kUnreachable,
          fmt::format("{} and {} take part in one collective, and there is no way from "
                      "the first to the second",
                      cluster_.device(from).name, cluster_.device(to).name));
    }
  }
  DeviceSet set{DeviceSetPlan(cluster_, std::move(devices)), launch, slowest, {}};
  for (const CollectiveKind kind : kCollectiveKinds) {
    if (fits_.empty()) break;
    set.fits[static_cast<size_t>(kind)] =
        fits_.Find(MeasuredCollectiveKey(kind, cluster_, set.plan.devices()));
  }
  return std::make_shared<const DeviceSet>(std::move(set));
}

Result<const Communication::DeviceSet*> Communication::Find(
    std::span<const DeviceId> devices) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = sets_->by_order.find(devices);
    if (known != sets_->by_order.end()) return known->second.get();
  }
  std::vector<DeviceId> sorted(devices.begin(), devices.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (sorted.empty() || twice != sorted.end()) {
    return MakeError(ErrorCode::kField, sorted.empty()
                                            ? "a collective needs a device"
                                            : fmt::format("{} takes part in one collective twice",
                                                          cluster_.device(*twice).name));
  }
  // Made outside of the lock; where two threads make the same set, the first one's stays.
  PW_ASSIGN(std::shared_ptr<const DeviceSet> made, Make(sorted));
  const std::lock_guard lock(mutex_);
  const auto set = sets_->by_order.emplace(std::move(sorted), std::move(made)).first->second;
  sets_->by_order.emplace(std::vector<DeviceId>(devices.begin(), devices.end()), set);
  return set.get();
}

Result<const DeviceSetPlan*> Communication::PlanOf(std::span<const DeviceId> devices) const {
  PW_ASSIGN(const DeviceSet* const set, Find(devices));
  return &set->plan;
}

Result<CollectiveEstimate> Communication::Estimate(const CollectiveRequest& request,
                                                   std::span<const DeviceId> devices) const {
  PW_ASSIGN(const DeviceSet* const set, Find(devices));
  const DeviceSetPlan::Choice choice = set->plan.Fastest(request);
  CollectiveEstimate estimate;
  estimate.algorithm = choice.algorithm;
  if (choice.algorithm == CollectiveAlgorithm::kNone) return estimate;
  const bool stated = !communicator_.empty();
  estimate.links = stated ? std::span(communicator_)
                          : set->plan.LinksOf(choice.algorithm, request.kind, request.root);
  if (const CollectiveFits::Fit* fit = set->fits[static_cast<size_t>(request.kind)]) {
    const Bytes bytes = set->plan.EvenBytes(request);
    estimate.time = fit->TimeOf(bytes);
    estimate.source = fit->SourceOf(bytes);
  } else if (stated) {
    estimate.algorithm = CollectiveAlgorithm::kStated;
    // Of an all-to-all a device sends no more than what it has.
    const bool exchanged = request.kind == CollectiveKind::kAllToAll;
    const Bytes bytes = exchanged ? request.largest_piece : set->plan.EvenBytes(request);
    estimate.time = cluster_.collectives().TimeOf(bytes, set->slowest);
    estimate.source = CostSource::kGiven;
  } else {
    const Nanos launch = set->plan.ByNccl(request.kind) ? Nanos() : set->launch;
    estimate.time = Nanos(SaturatingAdd(choice.time.count, launch.count));
  }
  return estimate;
}

namespace {

Bytes BytesOf(const Graph& graph, const std::vector<TensorId>& tensors) {
  Bytes sum;
  for (const TensorId tensor : tensors) sum += graph.tensor(tensor).bytes;
  return sum;
}

Result<CollectiveRequest> RequestOf(const Graph& graph, const Collective& collective,
                                    const IdVector<OpId, DeviceId>& device_of) {
  const std::string_view type = graph.op(collective.members.front()).type;
  const std::optional<CollectiveKind> kind = CollectiveKindOf(type);
  if (!kind) {
    return MakeError(ErrorCode::kField,
                     fmt::format("no collective is known by its members of the type \"{}\"",
                                 Printable(type, 120)),
                     "collective " + Printable(collective.name, 120));
  }
  Bytes inputs, outputs;
  DeviceId root;
  for (const OpId member : collective.members) {
    const Op& op = graph.op(member);
    if (op.type != type) {
      return MakeError(ErrorCode::kField,
                       fmt::format("its members are of the types \"{}\" and \"{}\"",
                                   Printable(type, 120), Printable(op.type, 120)),
                       "collective " + Printable(collective.name, 120));
    }
    inputs = std::max(inputs, BytesOf(graph, op.inputs));
    outputs = std::max(outputs, BytesOf(graph, op.outputs));
    // The one that has what the others get.
    if (*kind == CollectiveKind::kBroadcast && !op.inputs.empty()) root = device_of[member];
  }
  return RequestOfMembers(*kind, inputs, outputs, root);
}

}  // namespace

CollectiveRequest RequestOfMembers(CollectiveKind kind, Bytes inputs, Bytes outputs,
                                   DeviceId root) {
  switch (kind) {
    case CollectiveKind::kAllGather: return CollectiveRequest{kind, outputs, inputs};
    case CollectiveKind::kReduceScatter: return CollectiveRequest{kind, inputs, outputs};
    case CollectiveKind::kAllToAll: {
      const Bytes piece = std::max(inputs, outputs);
      return CollectiveRequest{kind, piece, piece};
    }
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast: break;
  }
  return CollectiveRequest{kind, outputs, outputs, root};
}

Result<IdVector<CollectiveId, CostTable::CollectiveCost>> CollectiveCosts(
    const Graph& graph, const IdVector<OpId, DeviceId>& device_of,
    const Communication& communication) {
  IdVector<CollectiveId, CostTable::CollectiveCost> costs;
  for (const CollectiveId id : graph.collectives()) {
    const Collective& collective = graph.collective(id);
    PW_ASSIGN(const CollectiveRequest request, RequestOf(graph, collective, device_of));
    std::vector<DeviceId> devices;
    for (const OpId member : collective.members) devices.push_back(device_of[member]);
    PW_ASSIGN(const CollectiveEstimate estimate, communication.Estimate(request, devices));
    costs.push_back({estimate.time,
                     {estimate.links.begin(), estimate.links.end()},
                     estimate.algorithm,
                     estimate.source});
  }
  return costs;
}

}  // namespace placewright
