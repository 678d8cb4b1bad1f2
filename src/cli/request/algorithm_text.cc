#include "cli/request/algorithm_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/space_words.h"
#include "report/table.h"
#include "search/layouts/layout_search.h"

namespace placewright {
namespace {

std::string ValuesOf(const AgentSetting& setting) {
  return setting.words.empty() ? fmt::format("{} to {}", setting.min, setting.max)
                               : fmt::format("{}", fmt::join(setting.words, ", "));
}

}  // namespace

Json SettingsToJson(const SettableAlgorithm& algorithm) {
  Json settings = Json::array();
  for (const AgentSetting& setting : algorithm.settings) {
    settings.push_back({{"name", setting.name},
                        {"default", setting.value},
                        {"published", setting.published.empty() ? Json() : Json(setting.published)},
                        {"code", setting.code.empty() ? Json() : Json(setting.code)},
                        {"values", ValuesOf(setting)},
                        {"meaning", setting.meaning}});
  }
  return settings;
}

std::string RenderSettings(const SettableAlgorithm& algorithm, const Style& style) {
  Table table({{"setting"}, {"default"}, {"published"}, {"values"}, {"meaning"}});
  for (const AgentSetting& setting : algorithm.settings) {
    const std::string published =
        setting.code.empty() ? setting.published
                             : fmt::format("{} (code: {})", setting.published, setting.code);
    table.AddRow({setting.name, setting.value, published, ValuesOf(setting), setting.meaning});
  }
  return table.Render(style);
}

void PrintAlgorithm(const Planner& planner, Console& console) {
  const SettableAlgorithm* const settable = planner.settable();
  const bool either = dynamic_cast<const SearchOfEitherSpace*>(&planner) != nullptr;
  const bool all = planner.name() == "auto";
  if (console.json) {
    Json object;
    object["schema"] = "placewright.explain/1";
    object["algorithm"] = planner.name();
    object["meaning"] = planner.description();
    object["space"] = all ? Json() : Json(ToString(planner.space()));
    object["search"] = planner.iterative();
    object["in_auto"] = !all && planner.in_auto();
    object["settings"] = settable != nullptr ? SettingsToJson(*settable) : Json::array();
    console.PrintJson(object);
    return;
  }
  console.Print(Paint(planner.name(), Tone::kStrong, console.style()) + "\n");
  console.Print(fmt::format("  meaning   {}\n", planner.description()));
  std::string plans(WordsOf(planner.space()).how);
  if (all) plans = "of all algorithms that it runs";
  if (either) plans += "; with --space replicated split and copied ones, too";
  console.Print("  plans     " + plans + "\n");
  console.Print(fmt::format(
      "  effort    {}\n",
      planner.iterative() ? "a search: it goes on for as long as it is given" : "one plan"));
  if (!all) {
    console.Print(fmt::format("  in auto   {}\n", planner.in_auto() ? "yes" : "no"));
  }
  console.Print(
      fmt::format("  settings  {}\n", settable != nullptr ? "for --set NAME=VALUE:" : "none"));
  if (settable != nullptr) console.Print("\n" + RenderSettings(*settable, console.style()));
}

}  // namespace placewright
