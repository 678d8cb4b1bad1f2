#include "report/grouping_report.h"

#include <fmt/format.h>

namespace placewright {

std::string RenderGrouping(const OpGrouping& grouping, const OpTimes& times, const Style& style) {
  const auto right = Table::Align::kRight;
  Table table({{"group"}, {"ops", right}, {"time", right}});
  for (size_t p = 0; p < grouping.parts.size(); ++p) {
    const OpGrouping::Part& part = grouping.parts[p];
    table.AddRow({std::to_string(p), FormatCount(part.ops), FormatNanos(part.time)});
  }
  const std::string source = times.source == "none" ? "no times are known: each op counts 1 ns"
                             : times.source == "file"
                                 ? "times: those in the file, of each op on its fastest device"
                                 : "times: modelled on one " + times.source;
  return fmt::format("{}{}\n{} between groups; the graph of groups has {}\n", table.Render(style),
                     source, FormatBytes(grouping.cut), grouping.acyclic ? "no cycle" : "cycles");
}

}  // namespace placewright
