#include "report/distribution_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "sim/communication_use.h"

namespace placewright {
namespace {

constexpr size_t kMaxLayouts = 12;

std::string DescribeShares(const LayoutSpec& spec) {
  constexpr size_t kMax = 8;
  std::string text;
  for (size_t i = 0; i < std::min(kMax, spec.devices.size()); ++i) {
    const LayoutSpec::Device& device = spec.devices[i];
    text += (i == 0 ? "" : ", ") + Printable(device.name, 80);
    std::vector<int64_t> lengths;
    for (const auto& [axis, from, to] : device.box) lengths.push_back(to - from);
    if (!lengths.empty()) text += fmt::format(" ({})", fmt::join(lengths, " x "));
  }
  if (spec.devices.size() > kMax) text += fmt::format(" and {} more", spec.devices.size() - kMax);
  return text;
}

// "batch", or "batch x heads" of boxes, with the parts of a mesh: "replicas (128) x heads (8)".
std::string DescribeAxes(const LayoutSpec& spec) {
  if (!spec.mesh.empty()) {
    std::vector<std::string> parts;
    for (const LayoutSpec::MeshAxis& of : spec.mesh) {
      const std::string name = of.axis.empty() ? "replicas" : Printable(of.axis, 80);
      const bool counted = of.over == MeshOver::kParts;
      parts.push_back(counted ? fmt::format("{} ({})", name, of.parts)
                              : fmt::format("{} ({})", name, ToString(of.over)));
    }
    return fmt::format("{}", fmt::join(parts, " x "));
  }
  if (!spec.axis.empty() || spec.devices.empty()) return Printable(spec.axis, 80);
  std::vector<std::string> axes;
  for (const LayoutSpec::Interval& one : spec.devices.front().box) {
    axes.push_back(Printable(one.axis, 80));
  }
  return fmt::format("{}", fmt::join(axes, " x "));
}

std::string RenderLayouts(const LayoutSpecs& layouts, const Style& style) {
  Table table({{"groups"}, {"option"}, {"axis"}, {"devices (share)", Table::Align::kLeft, true}});
  for (size_t i = 0; i < std::min(kMaxLayouts, layouts.size()); ++i) {
    const LayoutSpec& spec = layouts[i];
    table.AddRow(
        {spec.group.valid() ? std::to_string(spec.group.value()) : Printable(spec.groups, 80),
         std::string(ToString(spec.option)), DescribeAxes(spec), DescribeShares(spec)});
  }
  std::string text = table.Render(style);
  if (layouts.size() > kMaxLayouts) {
    text += fmt::format("and {} layouts more\n", layouts.size() - kMaxLayouts);
  }
  return text;
}

}  // namespace

std::string RenderDistribution(const Plan& plan, const Schedule& schedule, const Graph& step,
                               bool layouts, const Style& style) {
  std::string text;
  if (layouts) text = RenderLayouts(plan.distribution.layouts, style) + "\n";
  if (plan.distribution.switches.local_batch_norm) {
    text += fmt::format("{}\n", kLocalBatchNorm);
  }
  if (plan.communication.empty()) return text + "nothing moves between devices\n";
  const auto right = Table::Align::kRight;
  Table table(
      {{"communication"}, {"algorithm"}, {"count", right}, {"bytes", right}, {"time", right}});
  for (const CommunicationUse& use : plan.communication) {
    table.AddRow({use.kind, use.algorithm, FormatCount(use.count), FormatBytes(use.bytes),
                  FormatNanos(use.time)});
  }
  const CommunicationTime time = TimeOfCommunication(step, schedule);
  return text + table.Render(style) +
         fmt::format("communication is under way for {} of the step; for {} no device computes\n",
                     FormatShare(ShareOf(time.any.count, plan.step_time.count)),
                     FormatShare(ShareOf(time.exposed.count, plan.step_time.count)));
}

}  // namespace placewright
