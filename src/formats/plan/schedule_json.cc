// The schedule file: when every op and every transfer of the planned step runs.
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/text.h"
#include "formats/plan/plan_json.h"
#include "formats/text/document_text.h"

namespace placewright {
namespace {

constexpr std::string_view kScheduleSchema = "placewright.schedule/1";

Result<DeviceId> GetDevice(const Json& object, std::string_view key, const std::string& place,
                           const Cluster& cluster) {
  PW_ASSIGN(const std::string name, GetString(object, key, place));
  const DeviceId device = cluster.FindDevice(name);
  if (!device.valid()) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("the cluster has no device \"{}\"{}", Printable(name, 80),
                                 DidYouMean(name, cluster.DeviceNames())),
                     fmt::format("{}.{}", place, key));
  }
  return device;
}

Result<StorageId> GetStorage(const Json& object, const std::string& place, const Graph& graph) {
  PW_ASSIGN(const std::string name, GetString(object, "storage", place));
  const TensorId tensor = graph.FindTensor(name);
  if (!tensor.valid() || graph.storage(graph.tensor(tensor).storage).first != tensor) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("the graph has no storage \"{}\"", Printable(name, 80)),
                     fmt::format("{}.storage", place));
  }
  return graph.tensor(tensor).storage;
}

Result<OpSpan> ReadOpSpan(const Json& object, const std::string& place, const Graph& graph,
                          OpId op) {
  PW_ASSIGN(const std::string name, GetString(object, "name", place));
  if (name != graph.op(op).name) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("\"{}\" stands where the graph has the op \"{}\"",
                                 Printable(name, 80), Printable(graph.op(op).name, 80)),
                     fmt::format("{}.name", place));
  }
  OpSpan span;
  PW_ASSIGN(span.start, GetNanos(object, "start_ns", place));
  PW_ASSIGN(span.end, GetNanos(object, "end_ns", place));
  return span;
}

Result<TransferSpan> ReadTransfer(const Json& object, const std::string& place, const Graph& graph,
                                  const Cluster& cluster) {
  TransferSpan span;
  PW_ASSIGN(span.storage, GetStorage(object, place, graph));
  const Storage& storage = graph.storage(span.storage);
  const auto last_version = static_cast<int64_t>(storage.versions.size()) - 1;
  PW_ASSIGN(const int64_t version, GetInt(object, "version", place, 0, last_version));
  span.version = static_cast<int32_t>(version);
  PW_ASSIGN(span.offset, GetBytes(object, "offset", place));
  PW_ASSIGN(span.length, GetBytes(object, "length", place));
  PW_ASSIGN(span.from, GetDevice(object, "from", place, cluster));
  PW_ASSIGN(span.to, GetDevice(object, "to", place, cluster));
  PW_ASSIGN(span.ready, GetNanos(object, "ready_ns", place));
  PW_ASSIGN(span.start, GetNanos(object, "start_ns", place));
  PW_ASSIGN(span.end, GetNanos(object, "end_ns", place));
  return span;
}

// In the graph's order, as ops.
Status ReadCollectives(const Json& document, const Graph& graph, Schedule& schedule) {
  PW_ASSIGN(const Json* collectives, GetArray(document, "collectives", ""));
  if (collectives->size() != graph.collective_count()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("{} collectives, but the graph has {}", collectives->size(),
                                 graph.collective_count()),
                     "collectives");
  }
  for (const CollectiveId id : graph.collectives()) {
    const Json& object = (*collectives)[id.index()];
    const std::string place = fmt::format("collectives[{}]", id.value());
    PW_ASSIGN(const std::string name, GetString(object, "name", place));
    if (name != graph.collective(id).name) {
      return MakeError(ErrorCode::kPlanMismatch,
                       fmt::format("\"{}\" stands where the graph has the collective \"{}\"",
                                   Printable(name, 80), Printable(graph.collective(id).name, 80)),
                       fmt::format("{}.name", place));
    }
    CollectiveSpan span;
    PW_ASSIGN(span.ready, GetNanos(object, "ready_ns", place));
    PW_ASSIGN(span.start, GetNanos(object, "start_ns", place));
    PW_ASSIGN(span.end, GetNanos(object, "end_ns", place));
    schedule.collectives.push_back(span);
  }
  return Ok();
}

}  // namespace

std::string FormatSchedule(const Schedule& schedule, const Graph& graph, const Cluster& cluster,
                           const Placement& placement) {
  const auto text_of = [](const std::string& name) {
    std::string text;
    AppendJson(text, name);
    return text;
  };
  IdVector<DeviceId, std::string> devices;
  for (DeviceId id : cluster.devices()) devices.push_back(text_of(cluster.device(id).name));
  DocumentText text;
  text.AddMember("schema", kScheduleSchema);
  text.StartList("ops");
  for (OpId op : graph.ops()) {
    const OpSpan& span = schedule.ops[op];
    fmt::format_to(std::back_inserter(text.StartElement()),
                   R"({{"name":{},"device":{},"start_ns":{},"end_ns":{}}})",
                   text_of(graph.op(op).name), devices[placement[op]], span.start.count,
                   span.end.count);
  }
  text.EndList();
  text.StartList("transfers");
  for (const TransferSpan& span : schedule.transfers) {
    fmt::format_to(std::back_inserter(text.StartElement()),
                   R"({{"storage":{},"version":{},"offset":{},"length":{},)"
                   R"("from":{},"to":{},"ready_ns":{},"start_ns":{},"end_ns":{}}})",
                   text_of(graph.tensor(graph.storage(span.storage).first).name), span.version,
                   span.offset.count, span.length.count, devices[span.from], devices[span.to],
                   span.ready.count, span.start.count, span.end.count);
  }
  text.EndList();
  if (graph.collective_count() == 0) return std::move(text).Finish();
  text.StartList("collectives");
  for (const CollectiveId id : graph.collectives()) {
    const CollectiveSpan& span = schedule.collectives[id];
    fmt::format_to(std::back_inserter(text.StartElement()),
                   R"({{"name":{},"ready_ns":{},"start_ns":{},"end_ns":{}}})",
                   text_of(graph.collective(id).name), span.ready.count, span.start.count,
                   span.end.count);
  }
  text.EndList();
  return std::move(text).Finish();
}

Result<ScheduleFile> ScheduleFromJson(const Json& document, const Graph& graph,
                                      const Cluster& cluster) {
  PW_ASSIGN(const std::string schema, GetString(document, "schema", ""));
  if (schema != kScheduleSchema) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("\"{}\" is not the schema \"{}\"", Printable(schema, 80), kScheduleSchema),
        "schema");
  }
  PW_ASSIGN(const Json* ops, GetArray(document, "ops", ""));
  if (ops->size() != graph.op_count()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("{} ops, but the graph has {}", ops->size(), graph.op_count()),
                     "ops");
  }
  ScheduleFile file;
  file.schedule.ops.reserve(graph.op_count());
  file.placement.reserve(graph.op_count());
  for (OpId op : graph.ops()) {
    const Json& object = (*ops)[op.index()];
    const std::string place = fmt::format("ops[{}]", op.value());
    PW_ASSIGN(const OpSpan span, ReadOpSpan(object, place, graph, op));
    PW_ASSIGN(const DeviceId device, GetDevice(object, "device", place, cluster));
    file.schedule.ops.push_back(span);
    file.placement.push_back(device);
  }
  PW_ASSIGN(const Json* transfers, GetArray(document, "transfers", ""));
  for (const Json& object : *transfers) {
    const std::string place = fmt::format("transfers[{}]", file.schedule.transfers.size());
    PW_ASSIGN(const TransferSpan span, ReadTransfer(object, place, graph, cluster));
    file.schedule.transfers.push_back(span);
  }
  if (graph.collective_count() > 0) {
    PW_RETURN_IF_ERROR(ReadCollectives(document, graph, file.schedule));
  }
  return file;
}

}  // namespace placewright
