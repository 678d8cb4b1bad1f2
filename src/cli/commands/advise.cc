#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/library_folder.h"
#include "base/units.h"
#include "cli/commands/command.h"
#include "cli/request/models.h"
#include "cli/terminal/options.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "report/table.h"
#include "search/units/placement_units.h"
#include "study/line_store.h"
#include "study/traversal/advice.h"

namespace placewright {
namespace {

// The runs that come with the program: of the installation, or of the repository that it was built
// in. Errors: kFileUnreadable, with the places.
Result<std::string> FindStudy() {
  const std::vector<std::string> places = BesideLibrary(
      {"../share/placewright/traversal.jsonl", "../../bench/records/traversal.jsonl"});
  for (const std::string& place : places) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(place, ignored)) return place;
  }
  return MakeError(
      ErrorCode::kFileUnreadable,
      fmt::format("the runs of the traversal-order study were not found (looked for {})",
                  fmt::join(places, ", ")),
      "", "Give --store, a file that `placewright bench traversal` wrote.");
}

class AdviseCommand : public Command {
 public:
  CommandLine Register(CommandLine program) override {
    CommandLine app = program.AddCommand(
        "advise", "In which order placeto should visit a graph, by the traversal-order study");
    app.AddOption("GRAPH", graph_,
                  "Graph of any readable format (docs/formats), or model of the zoo")
        .Required();
    app.AddOption("--devices", devices_, "Devices to place on (default 4)")
        .TypeName("N")
        .Check(IntegerWithin(2, 1024));
    app.AddOption("--episodes", episodes_, "Episodes to learn for: 10, 20 or 50 (default 50)")
        .TypeName("N");
    app.AddOption("--store", store_,
                  "Runs of `placewright bench traversal` (default: those that "
                  "come with the program)")
        .TypeName("FILE");
    app.Footer(
        "The order is the one whose steps were shortest on the graphs of the study that are most\n"
        "like this one by size, edges for each group and diameter. Use it as\n"
        "`placewright plan GRAPH -c CLUSTER --algo placeto --set order=ORDER`.\n"
        "Examples:\n"
        "  placewright advise inception-v3 --devices 4\n"
        "  placewright advise bert-base --devices 8 --json");
    return app;
  }

  Result<int> Run(Context& context) override {
    if (episodes_ != 10 && episodes_ != 20 && episodes_ != 50) {
      return MakeError(ErrorCode::kUsage, fmt::format("--episodes {} was not studied", episodes_),
                       "", "Give 10, 20 or 50.");
    }
    if (store_.empty()) {
      PW_ASSIGN(store_, FindStudy());
    }
    PW_RETURN_IF_ERROR(NeedsStore(store_));
    PW_ASSIGN(const TraversalStore store, TraversalStore::Load(store_));
    int studied = 0;
    std::vector<TraversalEvidence> evidence;
    for (const int devices : StudiedDevices(devices_)) {
      studied = devices;
      evidence = EvidenceOf(store, devices, episodes_);
      if (!evidence.empty()) break;
    }
    PW_ASSIGN(const LoadedGraph loaded, LoadGraphOrModel(graph_, {{}, "", {}, true}));
    GroupGraphStatistics statistics = CountGroupGraph(loaded.graph);
    if (statistics.nodes > kManyGroups) {
      PW_ASSIGN(const GroupGraphStatistics parts, CountParts(loaded.graph).InFile(graph_));
      context.console.Note(fmt::format(
          "placeto visits {} parts of the graph's {} groups; the advice looks at the parts",
          FormatCount(parts.nodes), FormatCount(statistics.nodes)));
      statistics = parts;
    }
    const std::optional<OrderAdvice> advice = AdviseOrder(statistics, evidence);
    if (!advice) {
      return MakeError(ErrorCode::kField, "the file has no runs with Placeto's reward", store_,
                       "Make some with `placewright bench traversal --store FILE`.");
    }
    const AdviceScore score = ScoreAdvice(evidence);
    if (context.console.json) {
      PrintJson(statistics, studied, *advice, score, context.console);
    } else {
      PrintText(statistics, studied, *advice, score, context.console);
    }
    return 0;
  }

 private:
  // The parts that placeto visits of a graph of many groups. Equal devices: their number does not matter.
  static Result<GroupGraphStatistics> CountParts(const Graph& graph) {
    PW_ASSIGN(const Cluster cluster, MakePreset("8xP100"));
    PW_ASSIGN(const CostTable costs, ModelCosts(graph, cluster, {}));
    PW_ASSIGN(const Problem problem,
              BuildProblem(graph, cluster, costs, {}, SchedulingPolicy::kCriticalPath));
    const OpGraph ops = BuildOpGraph(problem);
    PW_ASSIGN(const PlacementUnits units,
              MakeUnits(problem, ops, FindCandidateDevices(problem, ops),
                        DescribeGroups(problem, ops), {}));
    return CountUnitGraph(units);
  }

  // How sure the evidence is: words and why.
  static std::string Confidence(const OrderAdvice& advice, double chance) {
    if (advice.distance > 3) return "low: no graph of the study is like it";
    if (chance > 0.05) return "low: orders that are alike would give one of them such a lead";
    return "high: orders that are alike rarely give one of them such a lead";
  }

  void PrintJson(const GroupGraphStatistics& statistics, int studied, const OrderAdvice& advice,
                 const AdviceScore& score, Console& console) const {
    Json object;
    object["schema"] = "placewright.advise/1";
    object["order"] = std::string(ToString(advice.order));
    const double chance = ChanceOf(advice);
    object["confidence"] = Confidence(advice, chance);
    object["p"] = chance;
    object["distance"] = advice.distance;
    object["groups"] = statistics.nodes;
    object["degree"] = statistics.degree;
    object["directed_diameter"] = statistics.diameter;
    object["directed_diameter_exact"] = statistics.diameter_exact;
    object["studied_devices"] = studied;
    object["episodes"] = episodes_;
    Json& orders = object["orders"] = Json::array();
    for (size_t i = 0; i < kTraversalOrders; ++i) {
      orders.push_back({{"order", std::string(ToString(AllTraversalOrders()[i]))},
                        {"to_best", advice.to_best[i]},
                        {"wins", advice.wins[i]}});
    }
    Json& nearest = object["nearest"] = Json::array();
    for (const TraversalEvidence& one : advice.nearest) {
      nearest.push_back({{"family", std::string(ToString(one.family))},
                         {"graph", one.graph},
                         {"groups", one.statistics.nodes},
                         {"degree", one.statistics.degree},
                         {"directed_diameter", one.statistics.diameter}});
    }
    object["score"] = {{"graphs", score.graphs},
                       {"advised", score.advised},
                       {"always_reversed_topo", score.reversed_topo},
                       {"better", score.better},
                       {"worse", score.worse}};
    console.PrintJson(object);
  }

  void PrintText(const GroupGraphStatistics& statistics, int studied, const OrderAdvice& advice,
                 const AdviceScore& score, Console& console) const {
    const Style& style = console.style();
    std::string text = fmt::format(
        "{} groups, {:.2f} edges for each, directed diameter {}{}\n", statistics.nodes,
        statistics.degree, statistics.diameter_exact ? "" : "at least ", statistics.diameter);
    text += "order: " + Paint(ToString(advice.order), Tone::kStrong, style) +
            fmt::format("\nconfidence {}\n\n", Confidence(advice, ChanceOf(advice)));
    Table table({{"order"},
                 {"mean step / best order", Table::Align::kRight},
                 {"wins", Table::Align::kRight}});
    for (size_t i = 0; i < kTraversalOrders; ++i) {
      table.AddRow({std::string(ToString(AllTraversalOrders()[i])),
                    fmt::format("{:.3f}", advice.to_best[i]),
                    fmt::format("{:.3g}", advice.wins[i])});
    }
    text += table.Render(style);
    std::string nearest;
    for (const TraversalEvidence& one : advice.nearest) {
      nearest +=
          fmt::format("{}{} {}", nearest.empty() ? "" : ", ", ToString(one.family), one.graph);
    }
    text += fmt::format(
        "\nof the {} nearest graphs of the study ({}), on {} devices after {} episodes\n",
        advice.nearest.size(), nearest, studied, episodes_);
    if (score.graphs > 0) {
      text += fmt::format(
          "such advice from the other families alone, over {} graphs: {:.3f} of the best order's "
          "step, always reversed-topo: {:.3f} (better on {}, worse on {})\n",
          score.graphs, score.advised, score.reversed_topo, score.better, score.worse);
      if (score.advised > score.reversed_topo) {
        text +=
            Paint("so on families that it has not seen, it loses to always taking reversed-topo",
                  Tone::kWarning, style) +
            "\n";
      }
    }
    console.Print(text);
  }

  std::string graph_, store_;
  int devices_ = 4;
  int64_t episodes_ = 50;
};

}  // namespace

std::unique_ptr<Command> MakeAdviseCommand() { return std::make_unique<AdviseCommand>(); }

}  // namespace placewright
