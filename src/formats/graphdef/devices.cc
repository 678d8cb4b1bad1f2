#include "formats/graphdef/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "formats/graphdef/records.h"

namespace placewright {
namespace {

bool IsCpu(const Cluster& cluster, DeviceId id) {
  return cluster.kind(id).device_class == DeviceClass::kCpu;
}

// Position among the devices of its host and sort.
int64_t IndexOf(const Cluster& cluster, DeviceId device) {
  int64_t index = 0;
  for (const DeviceId id : cluster.devices()) {
    if (id == device) return index;
    index += cluster.device(id).host == cluster.device(device).host &&
                     IsCpu(cluster, id) == IsCpu(cluster, device)
                 ? 1
                 : 0;
  }
  return index;
}

bool HasSeveralHosts(const Cluster& cluster) {
  for (const DeviceId id : cluster.devices()) {
    if (cluster.device(id).host != 0) return true;
  }
  return false;
}

std::vector<std::string_view> PartsOf(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    if (slash > 0) parts.push_back(name.substr(0, slash));
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return parts;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return lower;
}

// Of "3"; "*" and "" are 0; -1 for anything else.
int64_t NumberIn(std::string_view text) {
  if (text.empty() || text == "*") return 0;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

struct Wanted {
  std::string sort;  // "cpu", "gpu", ... in lower case; empty: none named
  int64_t index = 0, task = 0;
};

Wanted Parse(std::string_view name) {
  Wanted wanted;
  for (std::string_view part : PartsOf(name)) {
    const std::string lower = Lower(part);
    if (lower.starts_with("task:")) {
      wanted.task = NumberIn(part.substr(5));
    } else if (!lower.starts_with("job:") && !lower.starts_with("replica:")) {
      std::string_view rest = lower;
      if (rest.starts_with("device:")) rest.remove_prefix(7);
      const size_t colon = std::min(rest.find(':'), rest.size());
      wanted.sort = rest.substr(0, colon);
      wanted.index = NumberIn(rest.substr(std::min(colon + 1, rest.size())));
    }
  }
  return wanted;
}

}  // namespace

std::string GraphDefDevice(const Cluster& cluster, DeviceId device, std::string_view before) {
  std::string name;
  if (HasSeveralHosts(cluster)) {
    name = fmt::format("/job:worker/replica:0/task:{}", cluster.device(device).host);
  } else {
    for (const std::string_view part : PartsOf(before)) {
      const std::string lower = Lower(part);
      if (lower.starts_with("job:") || lower.starts_with("replica:") ||
          lower.starts_with("task:")) {
        name += fmt::format("/{}", part);
      }
    }
  }
  return fmt::format("{}/device:{}:{}", name, IsCpu(cluster, device) ? "CPU" : "GPU",
                     IndexOf(cluster, device));
}

Result<DeviceId> DeviceOfGraphDef(const Cluster& cluster, std::string_view name) {
  const Wanted wanted = Parse(name);
  const bool several = HasSeveralHosts(cluster);
  for (const DeviceId id : cluster.devices()) {
    if (wanted.sort.empty() || IsCpu(cluster, id) != (wanted.sort == "cpu")) continue;
    if (several && cluster.device(id).host != wanted.task) continue;
    if (IndexOf(cluster, id) == wanted.index) return id;
  }
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("the cluster has no device \"{}\"", Printable(name, 120)), "",
                   "Name a device as in /job:worker/task:0/device:GPU:1; the task is the host.");
}

Result<NamedPlacement> PlacementOfGraphDef(std::string_view file, const Graph& graph,
                                           const Cluster& cluster) {
  using namespace graphdef;
  const Form form = LooksLikeTextGraphDef(file) ? Form::kText : Form::kBinary;
  PW_ASSIGN(const std::vector<Node> nodes, ReadNodes(file, form));
  NamedPlacement placement;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.device.empty()) {
      const OpId op = graph.FindOp(node.name);
      if (op.valid() && graph.op(op).is_view) continue;
      return MakeError(ErrorCode::kPlanMismatch, "the node names no device",
                       PlaceOfNode(i, node.name), "Give every node a device.");
    }
    Result<DeviceId> device = DeviceOfGraphDef(cluster, node.device);
    if (!device.ok()) {
      device.error().place = PlaceOfNode(i, node.name);
      return std::move(device.error());
    }
    placement.emplace_back(node.name, cluster.device(device.value()).name);
  }
  return placement;
}

}  // namespace placewright
