// Compiled steps changed in one place, whatever the place: the checker refuses each, or the step that it lets pass is
// executed and leaves what the original leaves.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "executed_step.h"
#include "mutations.h"
#include "permuted_step.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

constexpr size_t kDevices = 3;

int MutationCount() {
  const char* const stated = std::getenv("PLACEWRIGHT_MUTATIONS");
  return stated == nullptr ? 1000 : std::atoi(stated);
}

uint64_t MutationSeed() {
  const char* const stated = std::getenv("PLACEWRIGHT_MUTATION_SEED");
  return stated == nullptr ? 31 : static_cast<uint64_t>(std::atoi(stated));
}

StatedLayouts SomeLayouts(const RecordedStep& step, Random& random) {
  std::vector<std::string> axes;
  for (const AxisId axis : step.axes->axes()) {
    if (step.axes->axis(axis).size >= static_cast<int64_t>(kDevices)) {
      axes.push_back(step.axes->axis(axis).name);
    }
  }
  const std::string& name = axes[random.Below(axes.size())];
  const int64_t size = step.axes->axis(step.axes->Find(name)).size;
  const std::vector<int64_t> lengths = {size - 2, 1, 1};
  switch (random.Below(4)) {
    case 0: return ForAll(step, name, lengths);
    case 1: return ParameterServer(step, name, lengths);
    case 2: return SplitUpdates(step, name, lengths);
    default: return AtRandom(step, kDevices, random);
  }
}

struct Executable {
  RecordedStep step;
  std::unique_ptr<ExecutedOriginal> original;
};

// Steps that this LibTorch executes.
std::vector<Executable> ExecutableSteps() {
  std::vector<Executable> all;
  std::vector<RecordedStep> steps = RecordedSteps();
  // Larger ones only where they are asked for: every change is executed.
  constexpr size_t kLargest = 700;
  if (std::getenv("PLACEWRIGHT_STEPS") == nullptr) {
    std::erase_if(steps,
                  [](const RecordedStep& step) { return step.graph->op_count() > kLargest; });
  }
  steps.push_back({"permuted", std::make_unique<Graph>(PermutedStep()), nullptr});
  steps.push_back({"one-hot", std::make_unique<Graph>(OneHotStep()), nullptr});
  for (RecordedStep& step : steps) {
    Executable one{InDouble(step), nullptr};
    one.original = std::make_unique<ExecutedOriginal>(*one.step.graph);
    EXPECT_EQ(one.original->failure(), "") << step.name;
    if (one.original->failure().empty()) all.push_back(std::move(one));
  }
  return all;
}

CompileOptions SomeOptions(Random& random) {
  CompileOptions options;
  options.collectives = random.Below(3) > 0;
  options.switches.broadcasts = random.Below(2) > 0;
  options.switches.fusion = Bytes(random.Below(2) > 0 ? 0 : int64_t{1} << 20);
  return options;
}

DistributionSpec SpecWith(const StatedLayouts& stated, const CompileOptions& options) {
  DistributionSpec spec = stated.spec;
  spec.switches.fusion = options.switches.fusion;
  spec.switches.broadcasts = options.switches.broadcasts;
  return spec;
}

// Every step that is compiled holds, runs, and is the step.
TEST(ExecutedMutations, WhatHoldsRuns) {
  const Cluster cluster = DevicesAlike(kDevices);
  Random random(21);
  const std::vector<Executable> steps = ExecutableSteps();
  for (const Executable& one : steps) {
    for (int i = 0; i < 12; ++i) {
      const StatedLayouts stated = SomeLayouts(one.step, random);
      const CompileOptions options = SomeOptions(random);
      const auto compiled =
          Compile(*one.step.graph, *one.step.axes, stated.layouts, cluster, options);
      if (!compiled.ok()) continue;
      std::string message;
      EXPECT_EQ(VerdictOn(one.step, compiled.value(), cluster, SpecWith(stated, options), &message),
                "holds")
          << one.step.name << ", " << i << ": " << message;
      EXPECT_EQ(one.original->Differs(compiled.value(), kDevices), "")
          << one.step.name << ", " << i;
    }
  }
}

TEST(ExecutedMutations, AreRefusedOrHarmless) {
  const Cluster cluster = DevicesAlike(kDevices);
  Random random(MutationSeed());
  const std::vector<Executable> steps = ExecutableSteps();
  std::map<std::string, int> done;
  int count = 0, harmless = 0;
  const int wanted = MutationCount();
  const auto is_done = [&] { return count >= wanted && done.size() == Mutations().size(); };
  for (int i = 0; !is_done() && i < 100 * wanted; ++i) {
    const Executable& one = steps[random.Below(steps.size())];
    const StatedLayouts stated = SomeLayouts(one.step, random);
    const CompileOptions options = SomeOptions(random);
    const auto compiled =
        Compile(*one.step.graph, *one.step.axes, stated.layouts, cluster, options);
    if (!compiled.ok()) continue;
    for (const Mutation& mutation : Mutations()) {
      StepEditor editor(compiled.value());
      if (!mutation.mutate(compiled.value(), editor, random)) continue;
      const std::optional<DistributedStep> mutant = editor.Build();
      if (!mutant) continue;
      ++count;
      ++done[mutation.name];
      if (VerdictOn(one.step, *mutant, cluster, SpecWith(stated, options)) != "holds") continue;
      ++harmless;
      EXPECT_EQ(one.original->Differs(*mutant, kDevices), "")
          << mutation.name << " holds (" << one.step.name << ", " << i << ")";
    }
  }
  EXPECT_GE(count, wanted);
  for (const Mutation& mutation : Mutations()) EXPECT_GT(done[mutation.name], 0) << mutation.name;
  // Most changes are no matter of taste.
  EXPECT_LT(harmless, count / 5);
  RecordProperty("mutations", count);
  RecordProperty("harmless", harmless);
}

}  // namespace
}  // namespace placewright::tests
