#include "report/page/plan_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "plan/space_words.h"
#include "report/page/alike_devices.h"
#include "report/page/page_assets.h"
#include "report/page/page_timeline.h"
#include "report/plan_report.h"
#include "report/table.h"
#include "report/timeline_svg.h"
#include "sim/communication_use.h"

namespace placewright {
namespace {

constexpr size_t kMaxLinkRows = 16;
constexpr size_t kShortText = 28;  // characters that stay on one line

// A table of escaped texts; a column whose title begins with '>' has numbers.
class HtmlTable {
 public:
  explicit HtmlTable(std::vector<std::string> titles) {
    html_ = "<div class=\"scroll\"><table><thead><tr>";
    for (const std::string& title : titles) {
      numbers_.push_back(title.starts_with('>'));
      html_ += fmt::format("<th{}>{}</th>", ClassOf(numbers_.size() - 1),
                           EscapeXml(title.substr(numbers_.back() ? 1 : 0)));
    }
    html_ += "</tr></thead><tbody>\n";
  }

  struct Cell {
    std::string text;
    double bar = -1;                           // share to be shown as a bar, from 0
    Cell(std::string what, double share = -1)  // NOLINT: implicit by design
        : text(std::move(what)), bar(share) {}
  };
  void AddRow(const std::vector<Cell>& cells) {
    html_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool line = !numbers_[i] && cells[i].text.size() <= kShortText;
      html_ +=
          fmt::format("<td{}>{}", line ? " class=\"w\"" : ClassOf(i), EscapeXml(cells[i].text));
      if (cells[i].bar >= 0) {
        html_ += fmt::format("<span class=\"bar\"><i{} style=\"width:{:.1f}%\"></i></span>",
                             cells[i].bar > 1 ? " class=\"over\"" : "",
                             std::clamp(cells[i].bar, 0.0, 1.0) * 100);
      }
      html_ += "</td>";
    }
    html_ += "</tr>\n";
    ++rows_;
  }
  // Nothing without rows.
  std::string Take(std::string_view remark = "") const {
    if (rows_ == 0) return "";
    std::string html = html_ + "</tbody></table></div>\n";
    if (!remark.empty()) html += fmt::format("<p class=\"faint\">{}</p>\n", EscapeXml(remark));
    return html;
  }

 private:
  std::string_view ClassOf(size_t column) const { return numbers_[column] ? " class=\"n\"" : ""; }

  std::string html_;
  std::vector<bool> numbers_;
  size_t rows_ = 0;
};

// "22.3 GiB", or "22.1-22.3 GiB" of several.
template <class Format>
std::string Range(int64_t min, int64_t max, const Format& format) {
  const std::string low = format(min), high = format(max);
  return low == high ? high : low + " to " + high;
}

class PageWriter {
 public:
  explicit PageWriter(const PlanPage& page)
      : page_(page),
        plan_(page.plan),
        classes_(FindAlikeDevices(page.step, page.cluster, page.placement, page.schedule,
                                  page.result.devices)) {}

  std::string Write() {
    const std::string title =
        EscapeXml(fmt::format("{} on {}", plan_.graph_name, plan_.cluster_name));
    html_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{}</title>\n<style>{}</style>\n<style>{}</style></head>\n<body>\n<h1>{}</h1>\n",
        title, ChartStyle(), PageStyle(), title);
    AddHeadline();
    AddRemarks();
    AddTimeline();
    AddModules();
    AddCommunication();
    AddDevices();
    if (!page_.explanation.empty()) {
      Heading("Where the time and the memory go");
      html_ += "<pre>" + EscapeXml(page_.explanation) + "</pre>\n";
    }
    if (!AddStrategies()) AddBaselines();
    return html_ + "</body></html>\n";
  }

 private:
  void Heading(std::string_view text) { html_ += fmt::format("<h2>{}</h2>\n", text); }

  void AddHeadline() {
    html_ += "<div class=\"cards\">";
    const auto card = [&](std::string_view what, const std::string& figure) {
      html_ += fmt::format("<div><b>{}</b><span>{}</span></div>", EscapeXml(figure), what);
    };
    card("a step", FormatNanos(plan_.step_time));
    if (plan_.SamplesPerSecond() > 0) {
      card("samples a second", fmt::format("{:.4g}", plan_.SamplesPerSecond()));
    }
    if (plan_.samples > 0) card("batch", FormatCount(plan_.samples));
    html_ += fmt::format("<div><b class=\"{}\">{}</b><span>into memory</span></div>",
                         plan_.feasible ? "good" : "bad", plan_.feasible ? "fits" : "does not fit");
    html_ += "</div>\n<dl>\n";
    Fact("plans", std::string(WordsOf(plan_.space).plans));
    if (plan_.lower_bound) {
      const std::string bound = FormatNanosLike(*plan_.lower_bound, plan_.step_time);
      Fact("bound", plan_.feasible ? fmt::format("{} ({})", BoundVerdict(plan_), bound) : bound);
    } else if (!plan_.baselines.empty()) {
      Fact("bound", BoundVerdict(plan_));
    }
    if (const std::string optimum = DescribeLayerOptimum(plan_); !optimum.empty()) {
      Fact("layers", optimum);
    }
    if (plan_.feasible) Fact("baselines", DescribeBestBaseline(plan_));
    std::string found = plan_.algorithm;
    if (plan_.iterations > 0) {
      found += fmt::format(", {} in {:.1f} s, seed {}", CountOf(plan_.iterations, "move"),
                           plan_.seconds, plan_.seed);
    }
    Fact("found by", found);
    const CostShares shares{plan_.share_given, plan_.share_measured, plan_.share_modelled};
    if (shares.given + shares.measured + shares.modelled > 0) {
      Fact("costs", RenderCostSources(shares));
    }
    Fact("order", fmt::format("{}: in which each device runs its ops", ToString(plan_.policy)));
    Fact("machines", Machines());
    html_ += "</dl>\n";
  }

  void Fact(std::string_view name, const std::string& what) {
    if (what.empty()) return;
    html_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, EscapeXml(what));
  }

  // "8 H100, 2 Xeon-Platinum-8480+"
  std::string Machines() const {
    std::vector<std::pair<std::string, int64_t>> kinds;
    for (const DeviceUse& use : plan_.devices) {
      const auto at = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& kind) { return kind.first == use.kind; });
      if (at == kinds.end()) {
        kinds.emplace_back(use.kind, 1);
      } else {
        ++at->second;
      }
    }
    std::string text;
    for (const auto& [kind, count] : kinds) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
    }
    return text;
  }

  void AddRemarks() {
    for (const std::string& warning : page_.warnings) {
      html_ += fmt::format("<p class=\"warning\">{}</p>\n", EscapeXml(warning));
    }
    if (page_.notes.empty()) return;
    html_ += "<ul class=\"notes\">\n";
    for (const std::string& note : page_.notes) {
      html_ += fmt::format("<li>{}</li>\n", EscapeXml(note));
    }
    html_ += "</ul>\n";
  }

  void AddTimeline() {
    const PageTimeline timeline = MakePageTimeline(
        {page_.step, page_.cluster, page_.placement, page_.schedule, page_.memory,
         page_.result.devices, classes_, plan_.step_time, plan_.lower_bound.value_or(Nanos())});
    if (timeline.busy == 0) return;
    Heading("Timeline");
    std::string what =
        "One lane for devices that do the same within 2%. The wheel zooms, Shift and the wheel or "
        "the arrow keys move, a stretch that is dragged over is zoomed into, a double click shows "
        "the whole step.";
    if (timeline.shown < timeline.busy) {
      what += fmt::format(" {} of {} devices can be chosen: the page has no room for more.",
                          timeline.shown, timeline.busy);
    }
    if (timeline.merged.count > 0) {
      what += fmt::format(" Neighbouring ops, or transfers, shorter than {} are one box.",
                          FormatNanos(timeline.merged));
    }
    html_ += "<p class=\"faint\">" + what + "</p>\n";
    html_ +=
        "<div id=\"timeline\"><noscript>The timeline is drawn by a script of this "
        "page.</noscript></div>\n";
    html_ += "<script type=\"text/plain\" id=\"timeline-data\">" + timeline.packed + "</script>\n";
    html_ += fmt::format("<script>/*\nuPlot\n{}*/\n{}</script>\n<script>{}</script>\n",
                         ChartLicence(), ChartScript(), PageScript());
  }

  void AddModules() {
    if (!page_.strategy.empty()) return AddStrategy();
    if (page_.layers.empty()) return;
    HtmlTable table({"module", "runs on", ">ops", ">op time, of all devices", ">parameters"});
    for (const LayerRow& row : page_.layers) {
      LayerShare sum;
      for (const LayerShare& share : row.shares) {
        sum.ops += share.ops;
        sum.time += share.time;
        sum.memory += share.memory;
      }
      table.AddRow({row.name, DescribeShares(row.shares, page_.cluster), FormatCount(sum.ops),
                    FormatNanos(sum.time), FormatBytes(sum.memory)});
    }
    Heading("Modules");
    html_ += table.Take(fmt::format("{}.", kLayerColumns));
  }

  void AddStrategy() {
    HtmlTable table({"module", "computed", "devices", "synchronised", ">parameters",
                     ">time, one device", ">share"});
    for (const StrategyRow& row : page_.strategy) {
      const size_t devices = DevicesOf(row);
      const Nanos each(devices > 0 ? row.time.count / static_cast<int64_t>(devices) : 0);
      table.AddRow({row.name,
                    DescribeCompute(row),
                    DescribeComputeDevices(row, page_.cluster),
                    DescribeSync(row, page_.cluster, plan_.distribution.switches.fusion),
                    FormatBytes(row.parameters),
                    FormatNanos(each),
                    {FormatShare(row.time_share), row.time_share}});
    }
    Heading("Modules");
    html_ += table.Take(
        "computed: forward and backward, with the parts of the axis; synchronised: how a "
        "parameter's gradients come together; parameters: without copies and optimizer state; "
        "time, "
        "one device: of the module's ops in one step, update included, the average of its devices; "
        "share: of the time of the ops of all devices; what has less than 5% of a cell is left "
        "out.");
    if (!page_.averages.empty()) html_ += "<p>" + EscapeXml(page_.averages) + ".</p>\n";
  }

  // With an instance of an op of the row.
  static size_t DevicesOf(const StrategyRow& row) {
    std::vector<DeviceId> devices;
    for (const ComputePart& part : row.compute) {
      devices.insert(devices.end(), part.strategy.devices.begin(), part.strategy.devices.end());
    }
    std::sort(devices.begin(), devices.end());
    return static_cast<size_t>(std::unique(devices.begin(), devices.end()) - devices.begin());
  }

  void AddCommunication() {
    Heading("Communication");
    if (plan_.communication.empty()) {
      html_ += "<p>Nothing moves between devices.</p>\n";
      return;
    }
    HtmlTable table({"kind", "algorithm", ">count", ">bytes", ">time, summed"});
    for (const CommunicationUse& use : plan_.communication) {
      table.AddRow({use.kind, use.algorithm.empty() ? "-" : use.algorithm, FormatCount(use.count),
                    FormatBytes(use.bytes), FormatNanos(use.time)});
    }
    const CommunicationTime time = TimeOfCommunication(page_.step, page_.schedule);
    const auto share = [&](Nanos of) {
      return FormatShare(ShareOf(of.count, plan_.step_time.count));
    };
    html_ += table.Take(
        fmt::format("Communication is under way for {} of the step; for {} no device computes.",
                    share(time.any), share(time.exposed)));
    AddLinks();
  }

  // Links with equal figures are one row.
  void AddLinks() {
    struct Row {
      std::vector<std::string> names;
      LinkId first;
    };
    std::vector<Row> rows;
    const std::vector<LinkResult>& links = page_.result.links;
    for (const LinkId id : page_.cluster.links()) {
      if (id.index() >= links.size()) break;
      const LinkResult& link = links[id.index()];
      if (link.transfers == 0 && link.collectives == 0) continue;
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
        const LinkResult& other = links[row.first.index()];
        return other.busy == link.busy && other.moved == link.moved &&
               other.transfers == link.transfers && other.collectives == link.collectives &&
               page_.cluster.link(row.first).bandwidth == page_.cluster.link(id).bandwidth;
      });
      if (same == rows.end()) {
        rows.push_back({{page_.cluster.link(id).name}, id});
      } else {
        same->names.push_back(page_.cluster.link(id).name);
      }
    }
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return links[a.first.index()].busy > links[b.first.index()].busy;
    });
    HtmlTable table({"link", ">links", ">rate", ">transfers over each", ">their bytes",
                     ">collectives", ">busy"});
    for (size_t i = 0; i < std::min(kMaxLinkRows, rows.size()); ++i) {
      const LinkResult& link = links[rows[i].first.index()];
      const auto rate = page_.cluster.link(rows[i].first).bandwidth.count;
      const double busy = ShareOf(link.busy.count, plan_.step_time.count);
      table.AddRow({FirstNames(rows[i].names, 2),
                    FormatCount(static_cast<int64_t>(rows[i].names.size())),
                    rows[i].first == page_.cluster.communicator()
                        ? "-"
                        : fmt::format("{:.4g} GB/s", static_cast<double>(rate) / 1e9),
                    FormatCount(link.transfers),
                    FormatBytes(link.moved),
                    FormatCount(link.collectives),
                    {FormatShare(busy), busy}});
    }
    std::string remark = "busy: share of the step in which something holds the link, of each";
    if (rows.size() > kMaxLinkRows) {
      remark += fmt::format("; {} more rows are less busy", rows.size() - kMaxLinkRows);
    }
    html_ += table.Take(remark + ".");
  }

  void AddDevices() {
    Heading("Devices");
    HtmlTable table({"devices", ">number", "kind", ">ops on each", ">busy", ">peak memory",
                     ">tensors", ">workspace", ">runtime context", ">usable"});
    for (const std::vector<DeviceId>& one : classes_) {
      const auto range = [&](auto member, const auto& format) {
        std::vector<int64_t> values;
        for (const DeviceId device : one) values.push_back(member(plan_.devices[device.index()]));
        const auto [min, max] = std::minmax_element(values.begin(), values.end());
        return Range(*min, *max, format);
      };
      const auto bytes = [](int64_t count) { return FormatBytes(Bytes(count)); };
      double busy = 0, full = 0;
      for (const DeviceId device : one) {
        const DeviceUse& use = plan_.devices[device.index()];
        busy = std::max(busy, use.busy);
        const double used = use.capacity.count > 0
                                ? ShareOf(use.peak_memory.count, use.capacity.count)
                                : (use.peak_memory.count > 0 ? 2 : 0);
        full = std::max(full, used);
      }
      const DeviceUse& first = plan_.devices[one.front().index()];
      // Shares in thousandths, so that they can be compared.
      const std::string busy_text =
          range([](const DeviceUse& use) { return static_cast<int64_t>(use.busy * 1e9); },
                [](int64_t share) { return FormatShare(static_cast<double>(share) / 1e9); });
      table.AddRow(
          {NamesOfDevices(one, page_.cluster),
           FormatCount(static_cast<int64_t>(one.size())),
           first.kind,
           first.ops == 0 ? "idle"
                          : range([](const DeviceUse& use) { return use.ops; },
                                  [](int64_t count) { return FormatCount(count); }),
           {busy_text, busy},
           {range([](const DeviceUse& use) { return use.peak_memory.count; }, bytes), full},
           range([](const DeviceUse& use) { return use.tensor_peak.count; }, bytes),
           range([](const DeviceUse& use) { return use.workspace.count; }, bytes),
           range([](const DeviceUse& use) { return use.runtime_context.count; }, bytes),
           FormatBytes(first.capacity)});
    }
    std::string remark =
        "Bars: of the step, and of the usable memory, of the device with the most.";
    const std::string reserve = DescribeReserve(plan_.devices);
    if (!reserve.empty()) remark += " " + reserve + ".";
    html_ += table.Take(remark);
  }

  std::string TieRemark() const {
    return fmt::format(
        "A tie: within {}, which modelled times may be wrong by (10% of computing, 20% of "
        "communication that is not hidden).",
        FormatNanos(page_.tie_within));
  }

  // False: there were none. What was tried of them are the baselines.
  bool AddStrategies() {
    const auto rows = StrategyRows(plan_.strategies, plan_.step_time, page_.tie_within);
    if (rows.empty()) return false;
    HtmlTable table({"strategy", ">step time", ">memory", ">of", "against this plan"});
    for (const auto& [name, time, memory, capacity, verdict] : rows) {
      table.AddRow({name, time, memory, capacity, verdict});
    }
    Heading("Strategies");
    html_ += table.Take(TieRemark());
    return true;
  }

  void AddBaselines() {
    HtmlTable table({"algorithm", ">step time", "against this plan", "runs on"});
    for (const BaselineRow& row : FoldBaselines(plan_.baselines)) {
      const Baseline& first = *row.first;
      table.AddRow(
          {fmt::format("{}", fmt::join(row.algorithms, ", ")),
           FormatNanosLike(first.step_time, plan_.step_time),
           DescribeAgainst(plan_.step_time, first.step_time, first.feasible, page_.tie_within),
           DescribeDevices(first.devices, plan_.devices)});
    }
    if (plan_.baselines.empty()) return;
    Heading("Baselines");
    html_ += table.Take(TieRemark());
  }

  const PlanPage& page_;
  const Plan& plan_;
  const std::vector<std::vector<DeviceId>> classes_;
  std::string html_;
};

}  // namespace

std::string RenderPlanPage(const PlanPage& page) { return PageWriter(page).Write(); }

}  // namespace placewright
