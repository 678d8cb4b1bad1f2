#include "formats/costs/costgraph_writer.h"

#include <algorithm>

namespace placewright {
namespace {

Json DevicesOf(const Cluster& cluster) {
  Json devices = Json::array();
  for (const DeviceId id : cluster.devices()) {
    const Device& device = cluster.device(id);
    devices.push_back({{"name", device.name}, {"memory_bytes", device.capacity.count}});
  }
  return devices;
}

Json LinksOf(const Cluster& cluster) {
  Json links = Json::array();
  for (const LinkId id : cluster.links()) {
    const Link& link = cluster.link(id);
    links.push_back({{"name", link.name},
                     {"bandwidth", link.bandwidth.count},
                     {"latency_ns", link.latency.count}});
  }
  return links;
}

Json RoutesOf(const Cluster& cluster) {
  Json routes = Json::array();
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from == to || !cluster.Connected(from, to)) continue;
      Json links = Json::array();
      for (const LinkId id : cluster.route(from, to).links) links.push_back(cluster.link(id).name);
      routes.push_back({{"from", cluster.device(from).name},
                        {"to", cluster.device(to).name},
                        {"links", std::move(links)}});
    }
  }
  return routes;
}

const std::string& NameOf(const Graph& graph, StorageId id) {
  return graph.tensor(graph.storage(id).first).name;
}

// Storages are the tensors of the cost graph. One that an op brought into being is an activation
// there, whatever it is here.
Json TensorsOf(const Graph& graph) {
  Json tensors = Json::array();
  for (const StorageId id : graph.storages()) {
    const Storage& storage = graph.storage(id);
    Json tensor = {{"name", NameOf(graph, id)}, {"bytes", storage.bytes.count}};
    if (!storage.versions.front().writer.valid()) {
      tensor["kind"] = IsPersistent(storage.kind) ? "parameter" : "input";
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Json OpsOf(const CostGraph& cost_graph) {
  const Graph& graph = cost_graph.graph;
  Json ops = Json::array();
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.is_view) continue;
    Json times = Json::array(), inputs = Json::array(), outputs = Json::array();
    for (const DeviceId device : cost_graph.cluster.devices()) {
      const bool supported = cost_graph.costs.Supports(id, device);
      times.push_back(supported ? Json(cost_graph.costs.time(id, device).count) : Json(nullptr));
    }
    for (const TensorId tensor : op.inputs) {
      inputs.push_back(NameOf(graph, graph.tensor(tensor).storage));
    }
    for (const TensorId tensor : op.outputs) {
      const StorageId storage = graph.tensor(tensor).storage;
      const std::string& name = NameOf(graph, storage);
      const bool first = graph.storage(storage).versions.front().writer == id;
      if (first && std::find(outputs.begin(), outputs.end(), name) == outputs.end()) {
        outputs.push_back(name);
      }
    }
    Json item = {{"name", op.name},
                 {"time_ns", std::move(times)},
                 {"inputs", std::move(inputs)},
                 {"outputs", std::move(outputs)}};
    for (const OpId before : op.after) item["after"].push_back(graph.op(before).name);
    ops.push_back(std::move(item));
  }
  return ops;
}

Json HomesOf(const CostGraph& cost_graph) {
  Json homes = Json::object();
  for (const StorageId id : cost_graph.graph.storages()) {
    const DeviceId home = cost_graph.graph.given_home(id);
    if (home.valid()) homes[NameOf(cost_graph.graph, id)] = cost_graph.cluster.device(home).name;
  }
  return homes;
}

Json CollectivesOf(const CostGraph& cost_graph) {
  Json collectives = Json::array();
  for (const CollectiveId id : cost_graph.graph.collectives()) {
    const Collective& collective = cost_graph.graph.collective(id);
    const CostTable::CollectiveCost& cost = cost_graph.costs.collectives()[id];
    Json members = Json::array(), links = Json::array();
    for (const OpId op : collective.members) members.push_back(cost_graph.graph.op(op).name);
    for (const LinkId link : cost.links) links.push_back(cost_graph.cluster.link(link).name);
    collectives.push_back({{"name", collective.name},
                           {"members", std::move(members)},
                           {"links", std::move(links)},
                           {"time_ns", cost.time.count}});
  }
  return collectives;
}

bool NeedsVersion2(const CostGraph& cost_graph) {
  if (cost_graph.graph.collective_count() > 0 || !cost_graph.sequences.empty()) return true;
  for (const OpId op : cost_graph.graph.ops()) {
    if (!cost_graph.graph.op(op).after.empty()) return true;
  }
  return false;
}

}  // namespace

Json CostGraphToJson(const CostGraph& cost_graph) {
  Json document = {{"schema", "placewright.costgraph/1"},
                   {"name", cost_graph.graph.name()},
                   {"devices", DevicesOf(cost_graph.cluster)},
                   {"links", LinksOf(cost_graph.cluster)},
                   {"routes", RoutesOf(cost_graph.cluster)},
                   {"tensors", TensorsOf(cost_graph.graph)},
                   {"ops", OpsOf(cost_graph)},
                   {"homes", HomesOf(cost_graph)}};
  if (cost_graph.placement) {
    Json placement = Json::object();
    for (const auto& [op, device] : *cost_graph.placement) placement[op] = device;
    document["placement"] = std::move(placement);
  }
  if (!NeedsVersion2(cost_graph)) return document;
  document["schema"] = "placewright.costgraph/2";
  if (cost_graph.graph.collective_count() > 0) document["collectives"] = CollectivesOf(cost_graph);
  for (const auto& [device, ops] : cost_graph.sequences) document["sequence"][device] = ops;
  return document;
}

}  // namespace placewright
