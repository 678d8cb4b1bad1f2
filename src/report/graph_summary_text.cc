#include <fmt/format.h>

#include "base/text.h"
#include "plan/schedule.h"
#include "report/graph_summary.h"

namespace placewright {
namespace {

// "848.0 G", "3.1 M", "512".
std::string FormatLarge(int64_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e12) return fmt::format("{:.2f} T", value / 1e12);
  if (value >= 1e9) return fmt::format("{:.1f} G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} M", value / 1e6);
  return FormatCount(count);
}

std::string ParameterNote(const GraphSummary& s) {
  const std::string tensors = CountOf(s.parameter_tensors, "tensor");
  return s.parameters == 0 ? tensors : FormatLarge(s.parameters) + " elements in " + tensors;
}

}  // namespace

std::string RenderSummary(const Graph& graph, std::string_view format, const GraphSummary& s,
                          const GraphStatistics& statistics,
                          const std::optional<OneDeviceStep>& alone, const Style& style) {
  std::string text = Paint(graph.name(), Tone::kStrong, style) +
                     fmt::format(" ({}", format.substr(format.find(' ') + 1));
  if (graph.batch() > 0) text += fmt::format(", batch {}", graph.batch());
  text += ")\n";
  Table table({{"", Table::Align::kLeft}, {"", Table::Align::kRight}, {""}});
  table.AddRow({"ops", FormatCount(s.ops),
                fmt::format("forward {}, backward {}, optimizer {}; {} of them views",
                            FormatCount(s.phase_ops[0]), FormatCount(s.phase_ops[1]),
                            FormatCount(s.phase_ops[2]), FormatCount(s.views))});
  table.AddRow({"edges", FormatCount(s.edges),
                "and " + CountOf(s.order_edges, "order") + " from shared storage"});
  table.AddRow(
      {"depth", FormatCount(statistics.depth),
       fmt::format("ops on the longest path; widest level {}, {:.2f} edges per op, diameter {}{}, "
                   "directed {}{}",
                   FormatCount(statistics.width), statistics.degree,
                   statistics.diameter_exact ? "" : "at least ", FormatCount(statistics.diameter),
                   statistics.directed_diameter_exact ? "" : "at least ",
                   FormatCount(statistics.directed_diameter))});
  table.AddRow({"colocation groups", FormatCount(s.colocation_groups),
                fmt::format("the largest holds {} for the whole step",
                            FormatBytes(s.memory.largest_group))});
  table.AddRow({"multiply-accumulates", FormatLarge(s.TotalMacs()),
                fmt::format("forward {}, backward {}", FormatLarge(s.phase_macs[0]),
                            FormatLarge(s.phase_macs[1]))});
  table.AddRow({"parameters", FormatBytes(s.memory.parameters), ParameterNote(s)});
  table.AddRow({"optimizer state", FormatBytes(s.memory.optimizer_state)});
  table.AddRow({"buffers, constants", FormatBytes(Bytes(SaturatingAdd(s.memory.buffers.count,
                                                                      s.memory.constants.count)))});
  table.AddRow({"gradients", FormatBytes(s.memory.gradients)});
  table.AddRow({"activations", FormatBytes(s.memory.activations), "all that the step ever makes"});
  table.AddRow({"inputs", FormatBytes(s.memory.inputs)});
  table.AddRow({"largest tensor", FormatBytes(s.memory.largest_tensor)});
  if (alone) {
    table.AddRow({"peak on one device", FormatBytes(alone->peak),
                  DefaultPolicy(graph.format()) == SchedulingPolicy::kProgram
                      ? "tensors alone, ops in the order of the program"
                      : "tensors alone, ops in first-in-first-out order"});
  }
  const std::string body = table.Render({false, style.utf8}, 2);
  text += body.substr(body.find('\n') + 1);  // no header: the first column says what it is
  if (!s.unknown_types.empty()) {
    text += Paint("op types costed by their bytes alone:", Tone::kWarning, style);
    for (const std::string& type : s.unknown_types) text += " " + Printable(type);
    text += "\n";
  }
  return text;
}

// What of a row is in none of the rows below it.
static ModuleRow WithoutRowsBelow(const std::vector<ModuleRow>& rows, size_t index) {
  ModuleRow rest = rows[index];
  for (size_t i = index + 1; i < rows.size() && rows[i].depth > rest.depth; ++i) {
    const ModuleRow& row = rows[i];
    if (row.depth != rest.depth + 1) continue;
    rest.ops -= row.ops;
    rest.views -= row.views;
    for (size_t phase = 0; phase < 3; ++phase) rest.phase_ops[phase] -= row.phase_ops[phase];
    rest.macs -= row.macs;
    rest.parameters.count -= row.parameters.count;
    rest.activations.count -= row.activations.count;
  }
  return rest;
}

std::string RenderModules(const std::vector<ModuleRow>& rows, const Style& style) {
  const auto right = Table::Align::kRight;
  Table table({{"module"},
               {"ops", right},
               {"views", right},
               {"forward", right},
               {"backward", right},
               {"optimizer", right},
               {"MACs", right},
               {"parameters", right},
               {"activations", right}});
  const auto add = [&](int depth, const std::string& name, const ModuleRow& row) {
    table.AddRow({std::string(static_cast<size_t>(depth) * 2, ' ') + name, FormatCount(row.ops),
                  FormatCount(row.views), FormatCount(row.phase_ops[0]),
                  FormatCount(row.phase_ops[1]), FormatCount(row.phase_ops[2]),
                  FormatLarge(row.macs), FormatBytes(row.parameters),
                  FormatBytes(row.activations)});
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const ModuleRow& row = rows[i];
    add(row.depth, row.depth == 0 ? "(all)" : row.path, row);
    const bool has_rows_below = i + 1 < rows.size() && rows[i + 1].depth > row.depth;
    if (!has_rows_below) continue;
    const ModuleRow itself = WithoutRowsBelow(rows, i);
    if (itself.ops > 0 || itself.parameters.count > 0) add(row.depth + 1, "(itself)", itself);
  }
  return table.Render(style);
}

}  // namespace placewright
