#include "formats/dnn_partitioning/workload_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <unordered_map>

#include "base/units.h"

namespace placewright {
namespace {

// The package's tolerance for two costs of one producer.
constexpr double kCostTolerance = 1e-6;

using IdPositions = std::unordered_map<int64_t, int32_t>;

// A finite number in [0, max].
Result<double> GetAmount(const Json& object, const char* key, const std::string& place,
                         double max) {
  PW_ASSIGN(const double number, GetNumber(object, key, place));
  if (std::isfinite(number) && number >= 0 && number <= max) return number;
  return MakeError(ErrorCode::kField, fmt::format("{} is outside [0, {}]", number, max),
                   fmt::format("{}{}{}", place, place.empty() ? "" : ".", key));
}

// Integers are also written as 6.0.
Result<int64_t> AsInteger(const Json& field, const std::string& place, int64_t min) {
  if (!field.is_number_float()) return AsInt(field, place, min, kMaxQuantity);
  const double number = field.get<double>();
  const auto max = static_cast<double>(kMaxQuantity);
  if (number >= static_cast<double>(min) && number <= max) {
    const auto whole = static_cast<int64_t>(number);
    if (static_cast<double>(whole) == number) return whole;
  }
  return MakeError(
      ErrorCode::kField,
      fmt::format("must be an integer in [{}, {}], not {}", min, kMaxQuantity, field.dump()),
      place);
}

Result<int64_t> GetInteger(const Json& object, const char* key, const std::string& place,
                           int64_t min) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  return AsInteger(*field, fmt::format("{}{}{}", place, place.empty() ? "" : ".", key), min);
}

// A boolean, or 0 or 1.
Result<bool> GetFlag(const Json& object, const char* key, const std::string& place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (field->is_boolean()) return field->get<bool>();
  if (field->is_number() && (*field == 0 || *field == 1)) return *field == 1;
  return MakeError(
      ErrorCode::kField,
      fmt::format("must be true, false, 0 or 1, not {}", Json(*field).dump().substr(0, 60)),
      fmt::format("{}.{}", place, key));
}

Result<WorkloadNode> ReadNode(const Json& json, const std::string& place) {
  WorkloadNode node;
  PW_ASSIGN(node.id, GetInteger(json, "id", place, -kMaxQuantity));
  const auto name = json.find("name");
  if (name != json.end() && name->is_string()) node.name = name->get<std::string>();
  PW_ASSIGN(node.cpu_time, GetAmount(json, "cpuLatency", place, kMaxWorkloadTime));
  PW_ASSIGN(node.accelerator_time, GetAmount(json, "fpgaLatency", place, kMaxWorkloadTime));
  if (json.contains("size")) {
    PW_ASSIGN(node.size, GetAmount(json, "size", place, static_cast<double>(kMaxQuantity)));
  }
  PW_ASSIGN(node.runs_on_accelerator, GetFlag(json, "supportedOnFpga", place));
  PW_ASSIGN(node.backward, GetFlag(json, "isBackwardNode", place));
  if (json.contains("colorClass")) {
    PW_ASSIGN(node.color_class, GetInteger(json, "colorClass", place, -kMaxQuantity));
  }
  return node;
}

Status ReadNodes(const Json& document, PipelineWorkload& workload, IdPositions& positions) {
  PW_ASSIGN(const Json* nodes, GetArray(document, "nodes", ""));
  for (size_t i = 0; i < nodes->size(); ++i) {
    const std::string place = fmt::format("nodes[{}]", i);
    PW_ASSIGN(WorkloadNode node, ReadNode((*nodes)[i], place));
    if (!positions.emplace(node.id, static_cast<int32_t>(i)).second) {
      return MakeError(ErrorCode::kDuplicateName, fmt::format("two nodes have the id {}", node.id),
                       place + ".id");
    }
    workload.nodes.push_back(std::move(node));
  }
  return Ok();
}

Result<int32_t> GetEnd(const Json& edge, const char* key, const std::string& place,
                       const IdPositions& positions) {
  PW_ASSIGN(const int64_t id, GetInteger(edge, key, place, -kMaxQuantity));
  const auto it = positions.find(id);
  if (it != positions.end()) return it->second;
  return MakeError(ErrorCode::kUnknownName, fmt::format("no node has the id {}", id),
                   fmt::format("{}.{}", place, key));
}

Status ReadEdges(const Json& document, PipelineWorkload& workload, const IdPositions& positions) {
  PW_ASSIGN(const Json* edges, GetArray(document, "edges", ""));
  std::vector<bool> seen(workload.nodes.size(), false);
  workload.output_cost.assign(workload.nodes.size(), 0);
  for (size_t i = 0; i < edges->size(); ++i) {
    const std::string place = fmt::format("edges[{}]", i);
    const Json& json = (*edges)[i];
    WorkloadEdge edge;
    PW_ASSIGN(edge.from, GetEnd(json, "sourceId", place, positions));
    PW_ASSIGN(edge.to, GetEnd(json, "destId", place, positions));
    PW_ASSIGN(const double cost, GetAmount(json, "cost", place, kMaxWorkloadTime));
    double& first = workload.output_cost[edge.from];
    if (seen[edge.from] && std::abs(cost - first) > kCostTolerance) {
      return MakeError(ErrorCode::kWorkloadCost,
                       fmt::format("the cost is {}, the one of the first edge of node {} is {}",
                                   cost, workload.nodes[edge.from].id, first),
                       place + ".cost");
    }
    if (!seen[edge.from]) first = cost;
    seen[edge.from] = true;
    workload.edges.push_back(edge);
  }
  return Ok();
}

Status ReadEntries(const Json& document, const char* key,
                   std::vector<std::vector<int64_t>>& entries) {
  if (!document.contains(key)) return Ok();
  PW_ASSIGN(const Json* list, GetArray(document, key, ""));
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string place = fmt::format("{}[{}]", key, i);
    PW_ASSIGN(const Json* nodes, GetArray((*list)[i], "nodes", place));
    std::vector<int64_t>& ids = entries.emplace_back();
    for (size_t k = 0; k < nodes->size(); ++k) {
      PW_ASSIGN(const int64_t id,
                AsInteger((*nodes)[k], fmt::format("{}.nodes[{}]", place, k), -kMaxQuantity));
      ids.push_back(id);
    }
  }
  return Ok();
}

}  // namespace

Result<PipelineWorkload> ReadWorkload(const Json& document) {
  PipelineWorkload workload;
  PW_ASSIGN(workload.accelerator_memory, GetNumber(document, "maxSizePerFPGA", ""));
  if (!std::isfinite(workload.accelerator_memory) || workload.accelerator_memory < 0) {
    return MakeError(ErrorCode::kField, fmt::format("{} is no size", workload.accelerator_memory),
                     "maxSizePerFPGA");
  }
  PW_ASSIGN(workload.accelerators, GetInteger(document, "maxFPGAs", "", 0));
  PW_ASSIGN(workload.cpus, GetInteger(document, "maxCPUs", "", 0));
  IdPositions positions;
  PW_RETURN_IF_ERROR(ReadNodes(document, workload, positions));
  PW_RETURN_IF_ERROR(ReadEdges(document, workload, positions));
  return workload;
}

bool IsSplit(const Json& document) {
  if (!document.is_object() || document.contains("edges")) return false;
  const auto listed = [&](const char* key) {
    const auto it = document.find(key);
    return it != document.end() && !it->is_string();
  };
  return listed("fpgas") || listed("cpus");
}

Result<Split> ReadSplit(const Json& document) {
  if (!document.is_object() || (!document.empty() && !IsSplit(document))) {
    return MakeError(ErrorCode::kField,
                     "a split is an object with lists \"fpgas\" and \"cpus\" of {\"nodes\": [id]}");
  }
  Split split;
  PW_RETURN_IF_ERROR(ReadEntries(document, "fpgas", split.accelerators));
  PW_RETURN_IF_ERROR(ReadEntries(document, "cpus", split.cpus));
  return split;
}

}  // namespace placewright
