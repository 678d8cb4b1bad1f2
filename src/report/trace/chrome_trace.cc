#include "report/trace/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace placewright {
namespace {

// As a JSON string, quotes included.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds with all the nanoseconds.
std::string Micros(Nanos time) {
  return fmt::format("{}.{:03}", time.count / 1000, time.count % 1000);
}

// Where a slice stands: the processes and tracks of the file.
struct Track {
  size_t process = 0, thread = 0;
};

class Writer {
 public:
  Writer(const ChromeTraceInput& input, const TextSink& sink)
      : in_(input),
        graph_(input.graph),
        cluster_(input.cluster),
        p_(input.sim_graph),
        sink_(sink) {}

  Status Write() {
    PW_RETURN_IF_ERROR(sink_(fmt::format(
        "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {{\"graph\": {}, \"cluster\": {}}},\n"
        "\"traceEvents\": [",
        Quoted(graph_.name()), Quoted(cluster_.name()))));
    PW_RETURN_IF_ERROR(NameTracks());
    PW_RETURN_IF_ERROR(WriteOps());
    PW_RETURN_IF_ERROR(WriteCollectives());
    for (size_t i = 0; i < in_.schedule.transfers.size(); ++i) {
      PW_RETURN_IF_ERROR(WriteTransfer(in_.schedule.transfers[i], i + 1));
    }
    PW_RETURN_IF_ERROR(WriteMemory());
    return sink_("\n]}\n");
  }

 private:
  // Process and thread numbers start at 1: 0 means "none" to some viewers.
  static Track TrackOf(DeviceId device) { return {device.index() + 1, 1}; }
  Track TrackOf(LinkId link) const { return {LinkProcess(), link.index() + 1}; }
  size_t LinkProcess() const { return cluster_.device_count() + 1; }

  // `fields`: what follows the track in the event's object.
  Status Put(Track track, std::string_view fields) {
    const std::string_view separator = first_ ? "\n" : ",\n";
    first_ = false;
    return sink_(fmt::format("{}{{\"pid\": {}, \"tid\": {}, {}}}", separator, track.process,
                             track.thread, fields));
  }

  Status PutName(Track track, std::string_view kind, std::string_view name) {
    return Put(track, fmt::format("\"ph\": \"M\", \"name\": \"{}\", \"args\": {{\"name\": {}}}",
                                  kind, Quoted(name)));
  }

  // Viewers list processes and tracks in this order.
  Status PutOrder(Track track, std::string_view kind, size_t position) {
    return Put(track,
               fmt::format("\"ph\": \"M\", \"name\": \"{}\", \"args\": {{\"sort_index\": {}}}",
                           kind, position));
  }

  Status NameTracks() {
    for (DeviceId id : cluster_.devices()) {
      const Track track = TrackOf(id);
      PW_RETURN_IF_ERROR(
          PutName(track, "process_name",
                  fmt::format("{} ({})", cluster_.device(id).name, cluster_.kind(id).name)));
      PW_RETURN_IF_ERROR(PutOrder(track, "process_sort_index", track.process));
      PW_RETURN_IF_ERROR(PutName(track, "thread_name", "ops"));
    }
    const std::vector<bool> used = UsedLinks();
    if (std::find(used.begin(), used.end(), true) == used.end()) return Ok();
    PW_RETURN_IF_ERROR(PutName({LinkProcess(), 0}, "process_name", "links"));
    PW_RETURN_IF_ERROR(PutOrder({LinkProcess(), 0}, "process_sort_index", LinkProcess()));
    for (LinkId id : cluster_.links()) {
      if (!used[id.index()]) continue;
      PW_RETURN_IF_ERROR(PutName(TrackOf(id), "thread_name", cluster_.link(id).name));
      PW_RETURN_IF_ERROR(PutOrder(TrackOf(id), "thread_sort_index", id.index() + 1));
    }
    return Ok();
  }

  std::vector<bool> UsedLinks() const {
    std::vector<bool> used(cluster_.link_count(), false);
    for (const TransferSpan& span : in_.schedule.transfers) {
      for (LinkId link : cluster_.route(span.from, span.to).links) used[link.index()] = true;
    }
    return used;
  }

  static std::string Slice(std::string_view name, std::string_view category, Nanos start, Nanos end,
                           std::string_view arguments) {
    return fmt::format(
        "\"ph\": \"X\", \"name\": {}, \"cat\": \"{}\", \"ts\": {}, \"dur\": {}, "
        "\"args\": {{{}}}",
        Quoted(name), category, Micros(start), Micros(end - start), arguments);
  }

  Status WriteOps() {
    for (OpId id : p_.op_of) {
      if (graph_.collective_of(id).valid()) continue;
      const Op& op = graph_.op(id);
      const OpSpan& span = in_.schedule.ops[id];
      Bytes made;
      for (TensorId output : op.outputs) {
        made = Bytes(SaturatingAdd(made.count, graph_.tensor(output).bytes.count));
      }
      PW_RETURN_IF_ERROR(
          Put(TrackOf(in_.placement[id]),
              Slice(op.name, ToString(op.phase), span.start, span.end,
                    fmt::format("\"type\": {}, \"module\": {}, \"bytes\": {}", Quoted(op.type),
                                Quoted(graph_.module_path(op.module)), made.count))));
    }
    return Ok();
  }

  // On every device that takes part, beside its ops: several may be under way at one time.
  Status WriteCollectives() {
    for (const CollectiveId id : graph_.collectives()) {
      const CollectiveSpan& span = in_.schedule.collectives[id];
      const auto event = [&](char step, Nanos time) {
        return fmt::format(
            "\"ph\": \"{}\", \"name\": {}, \"cat\": \"collective\", \"ts\": {}, \"id2\": "
            "{{\"local\": {}}}, \"args\": {{\"ready\": {}}}",
            step, Quoted(graph_.collective(id).name), Micros(time), id.value() + 1,
            Micros(span.ready));
      };
      for (const OpId member : graph_.collective(id).members) {
        const Track track = TrackOf(in_.placement[member]);
        PW_RETURN_IF_ERROR(Put(track, event('b', span.start)));
        PW_RETURN_IF_ERROR(Put(track, event('e', span.end)));
      }
    }
    return Ok();
  }

  Status WriteTransfer(const TransferSpan& span, size_t flow) {
    const std::string& name = graph_.tensor(graph_.storage(span.storage).first).name;
    const std::string slice =
        Slice(name, "transfer", span.start, span.end,
              fmt::format("\"bytes\": {}, \"offset\": {}, \"version\": {}, \"from\": {}, "
                          "\"to\": {}, \"ready\": {}",
                          span.length.count, span.offset.count, span.version,
                          Quoted(cluster_.device(span.from).name),
                          Quoted(cluster_.device(span.to).name), Micros(span.ready)));
    const std::vector<LinkId>& links = cluster_.route(span.from, span.to).links;
    for (LinkId link : links) PW_RETURN_IF_ERROR(Put(TrackOf(link), slice));
    if (links.empty()) return Ok();
    const std::optional<ExecOpId> consumer = FirstReader(span);
    if (!consumer) return Ok();
    ExecOpId producer = p_.version_writer[p_.VersionOf(span.storage, span.version)];
    if (producer.valid() && p_.CollectiveOf(producer).valid()) producer = ExecOpId();
    if (producer.valid()) {
      const OpSpan& made = SpanOf(producer);
      PW_RETURN_IF_ERROR(PutFlow(TrackOf(span.from), 's', LastInstant(made), flow));
    }
    PW_RETURN_IF_ERROR(
        PutFlow(TrackOf(links.front()), producer.valid() ? 't' : 's', span.start, flow));
    return PutFlow(TrackOf(span.to), 'f', SpanOf(*consumer).start, flow);
  }

  // Binds to the slice of the track that encloses the time.
  Status PutFlow(Track track, char step, Nanos time, size_t flow) {
    return Put(track,
               fmt::format("\"ph\": \"{}\", \"name\": \"data\", \"cat\": \"flow\", \"ts\": {}, "
                           "\"id\": {}{}",
                           step, Micros(time), flow, step == 'f' ? ", \"bp\": \"e\"" : ""));
  }

  const OpSpan& SpanOf(ExecOpId exec) const { return in_.schedule.ops[p_.op_of[exec]]; }

  // At its end the next op may have begun.
  static Nanos LastInstant(const OpSpan& span) { return std::max(span.start, span.end - Nanos(1)); }

  // The op on the destination that reads the bytes first; members of collectives have no slice.
  std::optional<ExecOpId> FirstReader(const TransferSpan& span) const {
    std::optional<ExecOpId> first;
    for (SliceId slice : p_.version_slices[p_.VersionOf(span.storage, span.version)]) {
      if (p_.slice_offset[slice] != span.offset.count ||
          p_.slice_length[slice] != span.length.count) {
        continue;
      }
      for (ExecOpId exec : p_.slice_readers[slice]) {
        if (in_.placement[p_.op_of[exec]] != span.to || p_.CollectiveOf(exec).valid()) continue;
        if (!first || SpanOf(exec).start < SpanOf(*first).start) first = exec;
      }
    }
    return first;
  }

  Status WriteMemory() {
    for (DeviceId id : cluster_.devices()) {
      for (const MemoryPoint& point : in_.memory[id.index()]) {
        PW_RETURN_IF_ERROR(
            Put(TrackOf(id), fmt::format("\"ph\": \"C\", \"name\": \"memory\", \"ts\": {}, "
                                         "\"args\": {{\"bytes\": {}}}",
                                         Micros(point.time), point.bytes.count)));
      }
    }
    return Ok();
  }

  const ChromeTraceInput& in_;
  const Graph& graph_;
  const Cluster& cluster_;
  const SimGraph& p_;
  const TextSink& sink_;
  bool first_ = true;
};

}  // namespace

Status WriteChromeTrace(const ChromeTraceInput& input, const TextSink& sink) {
  return Writer(input, sink).Write();
}

}  // namespace placewright
