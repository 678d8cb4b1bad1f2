#include "cli/commands/inspect_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "compile/whole_on_batch.h"
#include "report/table.h"
#include "search/problem/layout_problem.h"
#include "sharding/named_axes.h"
#include "sharding/unsplit_writes.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr size_t kMaxAxes = 12;  // in the table for people

// Outputs by verdict.
struct Counts {
  int64_t concat = 0, sum = 0, whole = 0;

  void Add(PartVerdict verdict) {
    concat += verdict == PartVerdict::kConcat ? 1 : 0;
    sum += verdict == PartVerdict::kSum ? 1 : 0;
    whole += verdict == PartVerdict::kWhole ? 1 : 0;
  }
};

// Why an op is whole: on every axis, or on the batch, which it has; "" where it is not.
std::string WhyWhole(const Graph& graph, const NamedAxes& axes, OpId op,
                     const IdVector<GroupId, bool>& unsplit) {
  const std::string_view on_batch = WhyWholeOnBatch(graph, axes, op, unsplit);
  if (!on_batch.empty()) return std::string(on_batch);
  return axes.rule(op) == nullptr ? "no rule for its type, or for these arguments" : "";
}

PartVerdict VerdictOnBatch(const NamedAxes& axes, OpId op, size_t output) {
  return axes.batch().valid() ? axes.verdict(op, axes.batch(), output) : PartVerdict::kWhole;
}

Json ToJson(const WholeOnBatch& whole) {
  Json rows = Json::array();
  for (const WholeOnBatch::Row& row : whole.rows) {
    rows.push_back({{"type", row.type},
                    {"ops", row.ops},
                    {"macs", row.macs},
                    {"time_share", row.share},
                    {"reason", row.reason}});
  }
  return {{"times_of", whole.times_of},
          {"unsupported_ops", whole.unsupported},
          {"time_share", whole.share},
          {"types", rows}};
}

std::string_view ToString(Parts parts) {
  switch (parts) {
    case Parts::kSplit: return "split";
    case Parts::kSum: return "sum";
    case Parts::kSynchronised: return "synchronised";
    case Parts::kWhole: return "whole";
  }
  return "?";
}

Json ToJson(const std::vector<TensorAxes>& tensors) {
  Json rows = Json::array();
  for (const TensorAxes& tensor : tensors) {
    Json dimensions = Json::array();
    for (const std::vector<RuleAxisId>& dimension : tensor) {
      Json factors = Json::array();
      for (const RuleAxisId axis : dimension) factors.push_back(axis.value());
      dimensions.push_back(std::move(factors));
    }
    rows.push_back(std::move(dimensions));
  }
  return rows;
}

// Everything by which an op can be computed in parts, and how: docs/json.md.
Json RuleJson(const NamedAxes& axes, OpId op) {
  const OpRule& rule = *axes.rule(op);
  Json object;
  object["axes"] = Json::array();
  for (const RuleAxisId id : IdRange<RuleAxisId>(rule.axes.size())) {
    Json named = Json::array();
    for (const AxisId factor : axes.FactorsOf(op, id)) named.push_back(axes.axis(factor).name);
    object["axes"].push_back({{"size", rule.axes[id].size},
                              {"parts", ToString(rule.axes[id].parts)},
                              {"named", std::move(named)}});
  }
  object["inputs"] = ToJson(rule.inputs);
  object["outputs"] = ToJson(rule.outputs);
  if (!rule.sizes.empty()) {
    Json sizes = Json::array();
    for (const SizeArgument& size : rule.sizes) {
      Json of = Json::array();
      for (const RuleAxisId axis : size.axes) of.push_back(axis.value());
      sizes.push_back(
          {{"number", size.number}, {"times", size.multiplier}, {"axes", std::move(of)}});
    }
    object["sizes"] = std::move(sizes);
  }
  if (!rule.once.empty()) {
    Json once = Json::array();
    for (const auto& [axis, input] : rule.once) {
      once.push_back({{"axis", axis.value()}, {"input", input}});
    }
    object["once"] = std::move(once);
  }
  if (!rule.part_type.empty()) {
    object["part_op"] = {{"type", rule.part_type}, {"arguments", rule.part_args}};
    if (rule.part_takes_sizes) object["part_op"]["sizes"] = true;
  }
  for (const AxisPartOp& part : rule.axis_parts) {
    object["axes"][part.axis.index()]["part_op"] = {{"type", part.type}, {"arguments", part.args}};
  }
  if (rule.reduction_argument >= 0) object["reduction_argument"] = rule.reduction_argument;
  if (rule.form == PartForm::kMean) object["divisor"] = rule.divisor;
  if (rule.form == PartForm::kWeightedMean) object["divided_by_result"] = 1;
  if (rule.draws_random) object["draws_random"] = true;
  return object;
}

// `groups`: the graph with the groups that layouts name.
Json ToJson(const Graph& graph, const Graph& groups, const NamedAxes& axes,
            const WholeOnBatch& whole) {
  Json object;
  object["schema"] = "placewright.axes/1";
  object["name"] = graph.name();
  object["batch"] = graph.batch();
  object["batch_proven"] = axes.batch().valid();
  object["axes"] = Json::array();
  for (const AxisId id : axes.axes()) {
    const NamedAxis& axis = axes.axis(id);
    object["axes"].push_back({{"name", axis.name}, {"size", axis.size}, {"tensors", axis.tensors}});
  }
  object["ops"] = Json::array();
  const IdVector<GroupId, bool> unsplit = FindUnsplitWrites(graph, axes, axes.batch());
  Counts all;
  for (const OpId op : graph.ops()) {
    Json outputs = Json::array();
    for (size_t i = 0; i < graph.op(op).outputs.size(); ++i) {
      const PartVerdict verdict = VerdictOnBatch(axes, op, i);
      all.Add(verdict);
      outputs.push_back(
          {{"name", graph.tensor(graph.op(op).outputs[i]).name}, {"verdict", ToString(verdict)}});
    }
    Json item = {{"name", graph.op(op).name},
                 {"group", groups.group(op).value()},
                 {"outputs", std::move(outputs)}};
    const std::string why = WhyWhole(graph, axes, op, unsplit);
    if (!why.empty()) item["reason"] = why;
    if (axes.rule(op) != nullptr) item["rule"] = RuleJson(axes, op);
    object["ops"].push_back(std::move(item));
  }
  object["splittable"] = {{"concat", all.concat}, {"sum", all.sum}, {"whole", all.whole}};
  if (axes.batch().valid()) object["whole_on_batch"] = ToJson(whole);
  return object;
}

std::string AxisTable(const NamedAxes& axes, const Style& style) {
  std::vector<AxisId> ids;
  for (const AxisId id : axes.axes()) ids.push_back(id);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](AxisId a, AxisId b) { return axes.axis(a).tensors > axes.axis(b).tensors; });
  const auto right = Table::Align::kRight;
  Table table({{"axis"}, {"size", right}, {"tensors", right}});
  for (size_t i = 0; i < std::min(ids.size(), kMaxAxes); ++i) {
    const NamedAxis& axis = axes.axis(ids[i]);
    table.AddRow({axis.name, fmt::format("{}", axis.size), fmt::format("{}", axis.tensors)});
  }
  std::string text = table.Render(style);
  if (ids.size() > kMaxAxes) {
    text += fmt::format("and {} more, with --json\n", ids.size() - kMaxAxes);
  }
  return text;
}

std::string VerdictTable(const Graph& graph, const NamedAxes& axes, const Style& style) {
  std::map<std::string_view, Counts> by_type;
  std::map<std::string_view, int64_t> ops;
  Counts all;
  for (const OpId op : graph.ops()) {
    ++ops[graph.op(op).type];
    for (size_t i = 0; i < graph.op(op).outputs.size(); ++i) {
      const PartVerdict verdict = VerdictOnBatch(axes, op, i);
      by_type[graph.op(op).type].Add(verdict);
      all.Add(verdict);
    }
  }
  const auto right = Table::Align::kRight;
  Table table(
      {{"outputs of type"}, {"ops", right}, {"concat", right}, {"sum", right}, {"whole", right}});
  for (const auto& [type, counts] : by_type) {
    table.AddRow({std::string(type), fmt::format("{}", ops[type]), fmt::format("{}", counts.concat),
                  fmt::format("{}", counts.sum), fmt::format("{}", counts.whole)});
  }
  table.AddRow({"all", fmt::format("{}", graph.op_count()), fmt::format("{}", all.concat),
                fmt::format("{}", all.sum), fmt::format("{}", all.whole)});
  return table.Render(style);
}

// What has the batch and is whole on it, the update apart.
std::string WholeTable(const WholeOnBatch& whole, const Style& style) {
  if (whole.rows.empty()) return "no op that has the batch is whole on it, the update apart\n";
  std::string text =
      fmt::format("whole on the batch: {:.2f}% of the time on a {}, the update apart\n",
                  100 * whole.share, whole.times_of);
  const auto right = Table::Align::kRight;
  Table table({{"type"}, {"ops", right}, {"macs", right}, {"time", right}, {"why"}});
  for (const WholeOnBatch::Row& row : whole.rows) {
    table.AddRow({Printable(row.type, 80), fmt::format("{}", row.ops), fmt::format("{}", row.macs),
                  fmt::format("{:.2f}%", 100 * row.share), std::string(row.reason)});
  }
  text += table.Render(style);
  if (whole.unsupported > 0) {
    text += fmt::format(
        "{} ops of the step cannot be computed on a {}, and are in no share: name "
        "your machine with -c\n",
        whole.unsupported, whole.times_of);
  }
  return text;
}

std::string WholeOps(const Graph& graph, const NamedAxes& axes) {
  std::map<std::string, std::pair<int64_t, std::string>> whole;  // type: ops, reason
  const IdVector<GroupId, bool> unsplit = FindUnsplitWrites(graph, axes, axes.batch());
  for (const OpId op : graph.ops()) {
    // What has the batch is in a table of its own, but for the update.
    const bool listed = graph.op(op).phase != Phase::kOptimizer &&
                        !WhyWholeOnBatch(graph, axes, op, unsplit).empty();
    const std::string why = listed ? "" : WhyWhole(graph, axes, op, unsplit);
    if (why.empty()) continue;
    auto& [count, reason] = whole[std::string(graph.op(op).type)];
    ++count;
    reason = why;
  }
  std::string text;
  for (const auto& [type, why] : whole) {
    text += fmt::format("whole: {} of {} ({})\n", why.first, Printable(type, 80), why.second);
  }
  return text;
}

}  // namespace

Status PrintAxes(const Graph& graph, const DeviceKind* kind, Console& console) {
  const NamedAxes axes(graph);
  PW_ASSIGN(const WholeOnBatch whole, FindWholeOnBatch(graph, axes, kind));
  if (console.json) {
    const auto made = ApplyTransforms(graph, kUsualTransforms);
    const bool differs = made.ok() && made.value() != nullptr;
    console.PrintJson(ToJson(graph, differs ? *made.value() : graph, axes, whole));
    return Ok();
  }
  const Style& style = console.style();
  console.Print(fmt::format("{}: {} named axes\n", Printable(graph.name()), axes.axis_count()));
  console.Print(AxisTable(axes, style) + "\n");
  if (!axes.batch().valid()) {
    const BatchScaling* const laws = graph.batch_scaling();
    const bool has_reason = laws != nullptr && !laws->reason.empty();
    console.Print(fmt::format(
        "which of them is the batch is not known, since nothing proves how the step follows it: "
        "its ops are placed whole{}\n",
        has_reason ? fmt::format(" ({})", Printable(laws->reason, 400)) : ""));
    console.Print(WholeOps(graph, axes));
    return Ok();
  }
  console.Print(fmt::format("A split of the batch of {} makes of the ops' outputs:\n",
                            axes.axis(axes.batch()).size));
  console.Print(VerdictTable(graph, axes, style) + WholeOps(graph, axes) +
                WholeTable(whole, style));
  return Ok();
}

}  // namespace placewright
