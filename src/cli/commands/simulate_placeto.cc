#include "cli/commands/simulate_placeto.h"

#include <fmt/format.h>

#include <chrono>

#include "base/check.h"
#include "base/stop.h"
#include "base/text.h"
#include "formats/placeto/case_reader.h"
#include "formats/text/file.h"
#include "report/table.h"
#include "sim/placeto/simulator.h"

namespace placewright {
namespace {

struct Measured {
  double runtime_us = 0;
  std::vector<double> starts;
  double seconds = 0;  // of all repetitions

  double OpsPerSecond(size_t ops, int64_t repeat) const {
    return seconds > 0 ? static_cast<double>(ops) * static_cast<double>(repeat) / seconds : 0;
  }
};

Measured Measure(const PlacetoSimGraph& sim_graph, const PlacetoCase& problem, int64_t repeat) {
  PlacetoSimulator simulator(sim_graph);
  Measured measured;
  const Clock::time_point begin = Clock::now();
  for (int64_t run = 0; run < repeat; ++run) {
    const double runtime = simulator.Run(problem.placement);
    if (run > 0) PW_CHECK_EQ(runtime, measured.runtime_us);
    measured.runtime_us = runtime;
  }
  measured.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  measured.starts = simulator.starts();
  return measured;
}

// Empty if everything that the case expects is met, else the first thing that is not.
std::string Difference(const PlacetoCase& problem, const Measured& measured) {
  if (problem.expected_runtime_us && *problem.expected_runtime_us != measured.runtime_us) {
    return fmt::format("runtime_us is {}, not {}", measured.runtime_us,
                       *problem.expected_runtime_us);
  }
  if (!problem.expected_start_us) return "";
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    const double expected = (*problem.expected_start_us)[op], start = measured.starts[op];
    if (start == expected) continue;
    return fmt::format("{} starts at {}, not {}", Printable(problem.ops[op].name, 80), start,
                       expected);
  }
  return "";
}

Json ToJson(const PlacetoCase& problem, const PlacetoRequest& request, const Measured& measured) {
  const auto named = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
  Json object;
  object["schema"] = "placewright.simulate-placeto/1";
  object["graph"] = named(request.graph);
  object["cluster"] = named(request.cluster);
  object["runtime_us"] = measured.runtime_us;
  object["ops"] = problem.ops.size();
  object["devices"] = problem.devices.size();
  object["repeat"] = request.repeat;
  object["seconds"] = measured.seconds;
  object["ops_per_second"] = measured.OpsPerSecond(problem.ops.size(), request.repeat);
  object["matches_expected"] = nullptr;
  if (problem.expected_runtime_us || problem.expected_start_us) {
    object["matches_expected"] = Difference(problem, measured).empty();
  }
  if (!request.schedule) return object;
  Json starts = Json::array();
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    starts.push_back({{"name", problem.ops[op].name},
                      {"device", problem.devices[problem.placement[op]]},
                      {"start_us", measured.starts[op]}});
  }
  object["starts"] = std::move(starts);
  return object;
}

void PrintText(const PlacetoCase& problem, const PlacetoRequest& request, const Measured& measured,
               Console& console) {
  const Style& style = console.style();
  // fmt writes the shortest text that reads back as the same double.
  console.Print(fmt::format("runtime_us {}\n",
                            Paint(fmt::format("{}", measured.runtime_us), Tone::kStrong, style)));
  const double speed = measured.OpsPerSecond(problem.ops.size(), request.repeat);
  console.Print(fmt::format(
      "{} ops on {} devices, {} in {:.6f} s: {} ops a second\n",
      FormatCount(static_cast<int64_t>(problem.ops.size())), problem.devices.size(),
      request.repeat == 1 ? "simulated once" : fmt::format("simulated {} times", request.repeat),
      measured.seconds, FormatCount(static_cast<int64_t>(speed))));
  if (problem.expected_runtime_us || problem.expected_start_us) {
    const std::string difference = Difference(problem, measured);
    console.Print(difference.empty()
                      ? "expected values: " + Paint("equal", Tone::kGood, style) + "\n"
                      : "expected values: " + Paint("different", Tone::kBad, style) + ": " +
                            difference + "\n");
  }
  if (!request.schedule) return;
  Table table({{"op"}, {"device"}, {"start us", Table::Align::kRight}});
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    table.AddRow({problem.ops[op].name, problem.devices[problem.placement[op]],
                  fmt::format("{}", measured.starts[op])});
  }
  console.Print("\n" + table.Render(style));
}

}  // namespace

Status ReportPlaceto(const PlacetoCase& problem, const PlacetoRequest& request, Console& console) {
  PW_ASSIGN(const PlacetoSimGraph sim_graph, CompilePlacetoCase(problem));
  const Measured measured = Measure(sim_graph, problem, request.repeat);
  if (console.json) {
    console.PrintJson(ToJson(problem, request, measured));
  } else {
    PrintText(problem, request, measured, console);
  }
  return Ok();
}

Status ReportPlacetoFile(const PlacetoRequest& request, Console& console) {
  PW_ASSIGN(const std::string text, ReadFile(request.case_file));
  PW_ASSIGN(const PlacetoCase problem, ReadPlacetoCase(text).InFile(request.case_file));
  return ReportPlaceto(problem, request, console).InFile(request.case_file);
}

}  // namespace placewright
