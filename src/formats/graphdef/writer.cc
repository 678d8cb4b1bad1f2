#include "formats/graphdef/writer.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/graphdef/devices.h"
#include "formats/graphdef/format.h"
#include "formats/graphdef/records.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

using namespace graphdef;

void AppendVarint(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) *bytes += static_cast<char>(value | 0x80);
  *bytes += static_cast<char>(value);
}

void AppendBytesField(int number, std::string_view content, std::string* bytes) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | 2, bytes);
  AppendVarint(content.size(), bytes);
  *bytes += content;
}

// Device names hold no quotes, backslashes or control characters but those that a file gave them.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte == 127) {
      quoted += fmt::format("\\{:03o}", byte);
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// From the field to the end of its line, if nothing but blanks follow: where a line goes as a
// whole.
Range WithItsLine(std::string_view file, Range field, size_t limit) {
  size_t begin = field.begin, end = field.end;
  while (begin > 0 && (file[begin - 1] == ' ' || file[begin - 1] == '\t')) --begin;
  while (end < limit && (file[end] == ' ' || file[end] == '\t' || file[end] == '\r')) ++end;
  if (begin > 0 && file[begin - 1] == '\n' && end < limit && file[end] == '\n') {
    return {begin, end + 1};
  }
  return field;
}

class DeviceSetter {
 public:
  DeviceSetter(std::string_view file, Form form) : file_(file), form_(form) {}

  Result<std::string> Set(const std::vector<std::string>& devices) {
    FieldCursor nodes(file_, form_);
    Field node;
    for (size_t i = 0;; ++i) {
      PW_ASSIGN(const bool more, nodes.Next(&node));
      if (!more) break;
      PW_CHECK(i < devices.size());
      Status set = form_ == Form::kBinary ? SetBinary(nodes.Inside(node), node, devices[i])
                                          : SetText(nodes.Inside(node), node, devices[i]);
      PW_RETURN_IF_ERROR(set);
    }
    CopyUntil(file_.size());
    return std::move(out_);
  }

 private:
  void CopyUntil(size_t end) {
    out_ += file_.substr(copied_, end - copied_);
    copied_ = end;
  }

  Status SetBinary(FieldCursor fields, const Field& node, const std::string& device) {
    std::string content;
    size_t kept = node.content.begin;
    Field field;
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) break;
      if (field.number != kNodeDevice) continue;
      content += file_.substr(kept, field.whole.begin - kept);
      kept = field.whole.end;
    }
    content += file_.substr(kept, node.content.end - kept);
    if (!device.empty()) AppendBytesField(kNodeDevice, device, &content);
    CopyUntil(node.whole.begin);
    AppendBytesField(kGraphNode, content, &out_);
    copied_ = node.whole.end;
    return Ok();
  }

  Status SetText(FieldCursor fields, const Field& node, const std::string& device) {
    Field field;
    std::vector<Range> old;
    size_t behind_op = node.content.begin;
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) break;
      if (field.number == kNodeDevice) old.push_back(field.whole);
      if (field.number == kNodeOp) behind_op = field.whole.end;
    }
    const std::string text = device.empty() ? "" : fmt::format("device: {}", Quoted(device));
    // An old device gives its place to the new one.
    if (!old.empty() && !text.empty()) {
      CopyUntil(old.front().begin);
      out_ += text;
      copied_ = old.front().end;
      old.erase(old.begin());
    } else if (!text.empty()) {
      InsertBehindOp(node.content, behind_op, text);
    }
    for (const Range& range : old) {
      const Range line = WithItsLine(file_, range, node.content.end);
      CopyUntil(line.begin);
      copied_ = line.end;
    }
    CopyUntil(node.whole.end);
    return Ok();
  }

  // On a line of its own, if `op` has one within the node.
  void InsertBehindOp(Range node, size_t behind_op, const std::string& text) {
    const size_t line = file_.substr(node.begin, behind_op - node.begin).rfind('\n');
    const size_t next = file_.find_first_not_of(" \t\r", behind_op);
    CopyUntil(behind_op);
    if (line == std::string_view::npos || next == std::string_view::npos || file_[next] != '\n') {
      out_ += " " + text;
      return;
    }
    const size_t begin = node.begin + line + 1;
    const size_t first = file_.find_first_not_of(" \t", begin);
    out_ += "\n" + std::string(file_.substr(begin, first - begin)) + text;
  }

  std::string_view file_;
  Form form_;
  std::string out_;
  size_t copied_ = 0;  // bytes of the file that `out_` has or leaves out
};

// The process that all nodes name, as far as they name one. Where they name several none: a planned
// device has one name, and the plan's only host is one process.
TensorFlowTask TaskOfAll(const std::vector<Node>& nodes, std::vector<std::string>* notes) {
  TensorFlowTask all;
  for (const Node& node : nodes) {
    const TensorFlowTask task = TaskOf(node.device);
    if (all.Unite(task)) continue;
    notes->push_back(
        fmt::format("the graph names several processes, \"{}\" and \"{}\" among them; the plan has "
                    "one host, so "
                    "its devices are written without job, replica and task",
                    Printable(all.ToString(), 120), Printable(task.ToString(), 120)));
    return {};
  }
  return all;
}

}  // namespace

Result<std::string> SetDevices(std::string_view file, const std::vector<std::string>& devices) {
  const Form form = LooksLikeTextGraphDef(file) ? Form::kText : Form::kBinary;
  return DeviceSetter(file, form).Set(devices);
}

Result<std::string> WriteGraphDef(const PlanInputs& plan, const Placement& placement,
                                  std::vector<std::string>* notes) {
  const LoadedGraph& graph = plan.graph;
  if (graph.format != &kGraphDefFormat) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("devices are those of the nodes of a GraphDef; this plan is of a "
                                 "graph of the format \"{}\"",
                                 graph.graph.format()),
                     "", "Plan a GraphDef, or export to another format.");
  }
  PW_ASSIGN(std::string file, ReadFileRaw(graph.path));
  const std::string hash = Sha256(file);
  if (hash != graph.sha256) return OtherContent("graph", graph.sha256, hash);
  PW_ASSIGN(file, Expand(std::move(file)));
  const Form form = LooksLikeTextGraphDef(file) ? Form::kText : Form::kBinary;
  PW_ASSIGN(const std::vector<Node> nodes, ReadNodes(file, form));
  const DeviceNames names(plan.cluster.cluster);
  const TensorFlowTask task = names.several_hosts() ? TensorFlowTask() : TaskOfAll(nodes, notes);
  std::vector<std::string> devices;
  for (const Node& node : nodes) {
    const OpId op = graph.graph.FindOp(node.name);
    PW_CHECK(op.valid());
    devices.push_back(names.Of(placement[op], task));
  }
  return SetDevices(file, devices);
}

}  // namespace placewright
