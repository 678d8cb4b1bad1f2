#include "formats/graphdef/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/text.h"
#include "formats/graphdef/records.h"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 3> kTaskParts = {"job:", "replica:", "task:"};

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

// Which of kTaskParts it is; their number for what names a device.
size_t TaskPart(std::string_view part) {
  const std::string lower = Lower(part);
  size_t i = 0;
  while (i < kTaskParts.size() && !lower.starts_with(kTaskParts[i])) ++i;
  return i;
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
    const size_t task_part = TaskPart(part);
    if (task_part == 2) wanted.task = NumberIn(part.substr(kTaskParts[2].size()));
    if (task_part < kTaskParts.size()) continue;
    const std::string lower = Lower(part);
    std::string_view rest = lower;
    if (rest.starts_with("device:")) rest.remove_prefix(7);
    const size_t colon = std::min(rest.find(':'), rest.size());
    wanted.sort = rest.substr(0, colon);
    wanted.index = NumberIn(rest.substr(std::min(colon + 1, rest.size())));
  }
  return wanted;
}

}  // namespace

bool TensorFlowTask::Unite(const TensorFlowTask& other) {
  TensorFlowTask united = *this;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (united.parts[i].empty()) united.parts[i] = other.parts[i];
    if (!other.parts[i].empty() && united.parts[i] != other.parts[i]) return false;
  }
  *this = std::move(united);
  return true;
}

std::string TensorFlowTask::ToString() const {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += "/" + part;
  }
  return text;
}

TensorFlowTask TaskOf(std::string_view name) {
  TensorFlowTask task;
  for (const std::string_view part : PartsOf(name)) {
    const size_t i = TaskPart(part);
    if (i == kTaskParts.size()) continue;
    const std::string_view value = part.substr(kTaskParts[i].size());
    if (!value.empty() && value != "*") task.parts[i] = fmt::format("{}{}", kTaskParts[i], value);
  }
  return task;
}

DeviceNames::DeviceNames(const Cluster& cluster) {
  std::map<std::pair<int32_t, bool>, int64_t> counts;
  for (const DeviceId id : cluster.devices()) {
    const int32_t host = cluster.device(id).host;
    const bool cpu = cluster.kind(id).device_class == DeviceClass::kCpu;
    const Entry entry{host, cpu, counts[{host, cpu}]++};
    entries_.push_back(entry);
    devices_.emplace(entry, id);
    several_hosts_ = several_hosts_ || host != 0;
  }
}

std::string DeviceNames::Of(DeviceId device, const TensorFlowTask& task) const {
  const Entry& entry = entries_[device];
  const std::string process =
      several_hosts_ ? fmt::format("/job:worker/replica:0/task:{}", entry.host) : task.ToString();
  return fmt::format("{}/device:{}:{}", process, entry.cpu ? "CPU" : "GPU", entry.index);
}

Result<DeviceId> DeviceNames::Find(std::string_view name) const {
  const Wanted wanted = Parse(name);
  const bool known_sort = wanted.sort == "cpu" || wanted.sort == "gpu";
  const int64_t host = several_hosts_ ? wanted.task : 0;
  if (known_sort && host >= 0 && host <= INT32_MAX) {
    const auto found =
        devices_.find({static_cast<int32_t>(host), wanted.sort == "cpu", wanted.index});
    if (found != devices_.end()) return found->second;
  }
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("the cluster has no device \"{}\"", Printable(name, 120)), "",
                   "Name a device as in /job:worker/task:0/device:GPU:1, of the sort CPU or GPU; "
                   "the task is the host.");
}

Result<NamedPlacement> PlacementOfGraphDef(std::string_view file, const Graph& graph,
                                           const Cluster& cluster) {
  using namespace graphdef;
  const Form form = LooksLikeTextGraphDef(file) ? Form::kText : Form::kBinary;
  PW_ASSIGN(const std::vector<Node> nodes, ReadNodes(file, form));
  const DeviceNames names(cluster);
  std::map<int32_t, TensorFlowTask> tasks;  // by host
  NamedPlacement placement;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.device.empty()) {
      const OpId op = graph.FindOp(node.name);
      if (op.valid() && graph.op(op).is_view) continue;
      return MakeError(ErrorCode::kPlanMismatch, "the node names no device",
                       PlaceOfNode(i, node.name), "Give every node a device.");
    }
    Result<DeviceId> device = names.Find(node.device);
    if (!device.ok()) {
      device.error().place = PlaceOfNode(i, node.name);
      return std::move(device.error());
    }
    const Device& found = cluster.device(device.value());
    TensorFlowTask& task = tasks[found.host];
    if (!task.Unite(TaskOf(node.device))) {
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("\"{}\" is of another process than \"{}\" of the nodes before it, which is "
                      "the host {} of the cluster",
                      Printable(node.device, 120), Printable(task.ToString(), 120), found.host),
          PlaceOfNode(i, node.name),
          "Give each host's nodes one job, replica and task; on several hosts the task is the "
          "host.");
    }
    placement.emplace_back(node.name, found.name);
  }
  return placement;
}

}  // namespace placewright
