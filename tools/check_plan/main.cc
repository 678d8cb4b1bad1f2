// check_plan PLAN [--graph FILE] [--cluster FILE]: exits 0, or 3 naming the first violation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <string>

#include "base/out_of_memory.h"
#include "check_plan/checker.h"

namespace {

int Fail(placewright::Error error, const std::string& plan_path) {
  if (error.file.empty()) error.file = plan_path;
  fmt::print(stderr, "check_plan: {}\n", error.ToString());
  return placewright::InfoOf(error.code).exit_status;
}

int Check(const std::string& plan_path, const placewright::PlanInputOptions& options) {
  auto checked = placewright::check::LoadAndCheckPlan(plan_path, options);
  if (!checked.ok()) return Fail(checked.error(), plan_path);
  const auto& [inputs, violation, not_proven] = checked.value();
  if (violation) return Fail(ToError(*violation), plan_path);
  for (const placewright::check::Violation& each : not_proven) {
    fmt::print("warning: not proven: {}\n", each.message);
  }
  fmt::print("{}: holds ({} ops, {} transfers, {} ns per step, {})\n", plan_path,
             inputs.graph.graph.op_count(), inputs.schedule.schedule.transfers.size(),
             inputs.plan.step_time.count, inputs.plan.feasible ? "fits" : "does not fit");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Checks a plan against its graph, cluster, costs and schedule.", "check_plan");
  std::string plan_path;
  placewright::PlanInputOptions options;
  app.add_option("plan", plan_path, "the plan file")->required();
  app.add_option("--graph", options.graph, "where the graph lies now");
  app.add_option("--cluster", options.cluster, "where the cluster file lies now, or a preset");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return Check(plan_path, options);
  } catch (const std::bad_alloc&) {
    return Fail(placewright::OutOfMemory(), plan_path);
  }
}
