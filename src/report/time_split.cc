#include "report/time_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace placewright {

Nanos TieWithin(const StepSplit& split, const CostShares& shares, Nanos step_time) {
  const double error = kErrorOfComputing * shares.modelled * split.compute +
                       kErrorOfCommunication * split.communication;
  return Nanos(std::llround(error * static_cast<double>(step_time.count)));
}

std::string RenderSplit(const StepSplit& split, Nanos step_time, size_t max, const Style& style) {
  constexpr int kBarWidth = 12;
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"where the time goes"},
               {"time", kRight},
               {"of the step", kRight},
               {"", Table::Align::kLeft, true}});
  const auto add = [&](const std::string& what, double share) {
    if (share <= 0) return;
    const double time = share * static_cast<double>(step_time.count);
    table.AddRow({what, FormatNanosLike(Nanos(static_cast<int64_t>(time)), step_time),
                  FormatShare(share), Bar(share, kBarWidth, style)});
  };
  add("computing", split.compute);
  for (const auto& [kind, share] : split.kinds) add("waiting for " + kind, share);
  add("waiting for other devices", split.idle);
  std::string types;
  for (size_t i = 0; i < std::min(max, split.op_types.size()); ++i) {
    const auto& [type, share] = split.op_types[i];
    types += fmt::format("{}{} {}", i > 0 ? ", " : "", Printable(type), FormatShare(share));
  }
  return table.Render(style) +
         Wrap("on the average of the devices that compute; longest op types: " + types + "\n",
              style);
}

}  // namespace placewright
