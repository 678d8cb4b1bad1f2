// Layouts of a plan changed in one place: the checker refuses them where the compiler makes another step of them, and
// lets them pass where it makes the same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "formats/aten/writer.h"
#include "step_editor.h"
#include "transforms/counter_draws.h"
#include "transforms/test_draws.h"
#include "transforms/transforms.h"

namespace placewright::tests {
namespace {

constexpr size_t kThree = 3;
constexpr int kLayouts = 9;    // of each step
constexpr int kMutations = 9;  // of each layouts

// Changes one thing of a layout; false where there is none to change.
using Mutate = bool (*)(const RecordedStep& step, Layout& layout, Random& random);

bool SwapDevices(const RecordedStep& /*step*/, Layout& layout, Random& random) {
  const size_t count = layout.shares.size();
  if (count < 2) return false;
  const size_t first = random.Below(count - 1);
  std::swap(layout.shares[first].device, layout.shares[first + 1].device);
  return true;
}

bool MoveBoundary(const RecordedStep& /*step*/, Layout& layout, Random& random) {
  if (!layout.axis().valid() || layout.shares.size() < 2) return false;
  const size_t at = random.Below(layout.shares.size() - 1);
  std::vector<int64_t> lengths = LengthsOf(layout);
  const int64_t by = lengths[at + 1] > 1 ? 1 : -1;
  lengths[at] += by;
  lengths[at + 1] -= by;
  if (lengths[at] <= 0) return false;
  layout = SplitOver(layout.axis(), DevicesOf(layout), lengths);
  return true;
}

bool LeaveDeviceOut(const RecordedStep& /*step*/, Layout& layout, Random& /*random*/) {
  if (layout.shares.size() < 2) return false;
  std::vector<DeviceId> devices = DevicesOf(layout);
  std::vector<int64_t> lengths = LengthsOf(layout);
  devices.pop_back();
  lengths[devices.size() - 1] += lengths.back();
  const bool splits = layout.axis().valid();
  layout = splits ? SplitOver(layout.axis(), devices, lengths) : CopiesOn(devices);
  return true;
}

void Divide(const RecordedStep& step, AxisId axis, Layout& layout) {
  const int64_t size = step.axes->axis(axis).size;
  const auto parts = static_cast<int64_t>(layout.shares.size());
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < parts; ++i) {
    lengths.push_back((i + 1) * size / parts - i * size / parts);
  }
  layout = SplitOver(axis, DevicesOf(layout), lengths);
}

bool TakeAnotherAxis(const RecordedStep& step, Layout& layout, Random& random) {
  const AxisId axis(random.Below(step.axes->axis_count()));
  const bool long_enough = step.axes->axis(axis).size >= static_cast<int64_t>(layout.shares.size());
  if (layout.shares.size() < 2 || !long_enough) return false;
  Divide(step, axis, layout);
  return true;
}

bool DropAxis(const RecordedStep& /*step*/, Layout& layout, Random& /*random*/) {
  if (!layout.axis().valid()) return false;
  layout = CopiesOn(DevicesOf(layout));
  return true;
}

// What a layout says of a group, whatever the order: its devices, each with its share where an op of the group can be
// split by the axis. Of a group that draws random numbers the first one, which draws for all.
std::string MeaningOf(const RecordedStep& step, const Layout& layout, GroupId group) {
  const AxisId axis = layout.axis();
  bool splits = false;
  for (const OpId op : step.graph->ops()) {
    if (step.graph->group(op) != group) continue;
    const OpRule* const rule = step.axes->rule(op);
    if (rule != nullptr && rule->draws_random) {
      return fmt::format("{}", layout.shares.front().device.value());
    }
    splits = splits || (axis.valid() && step.axes->SplitBy(op, axis).valid());
  }
  splits = splits && layout.shares.size() > 1;
  std::vector<std::string> lines;
  for (const Share& share : layout.shares) {
    const auto [from, to] = share.Along(axis);
    lines.push_back(splits ? fmt::format("{} [{}, {})", share.device.value(), from, to)
                           : fmt::format("{}", share.device.value()));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{} {}", splits ? step.axes->axis(axis).name : "", fmt::join(lines, " "));
}

bool MeanTheSame(const RecordedStep& step, const Layouts& a, const Layouts& b) {
  for (const GroupId group : IdRange<GroupId>(step.graph->group_count())) {
    if (MeaningOf(step, a.Of(group), group) != MeaningOf(step, b.Of(group), group)) return false;
  }
  return true;
}

std::string TextOf(const RecordedStep& step, const DistributedStep& compiled,
                   const Cluster& cluster) {
  return FormatAtenStep(compiled, *step.graph, cluster).Take();
}

// The batch, or what stands for it in steps made by hand.
AxisId FirstAxis(const RecordedStep& step) {
  for (const char* name : {"batch", "input:x[0]"}) {
    if (step.axes->Find(name).valid()) return step.axes->Find(name);
  }
  return AxisId(0);
}

TEST(StatedLayouts, AreThoseOfTheStep) {
  constexpr Mutate kAll[] = {SwapDevices, MoveBoundary, LeaveDeviceOut, TakeAnotherAxis, DropAxis};
  const Cluster cluster = DevicesAlike(kThree);
  int refused = 0, same = 0;
  for (const RecordedStep& step : RecordedSteps()) {
    Random random(7);
    for (int i = 0; i < kLayouts; ++i) {
      const bool alike = i % 3 == 0;
      const int64_t size = step.axes->axis(FirstAxis(step)).size;
      const StatedLayouts stated =
          alike ? ForAll(step, step.axes->axis(FirstAxis(step)).name, {1, size - 1})
                : AtRandom(step, kThree, random);
      const auto compiled = Compile(*step.graph, *step.axes, stated.layouts, cluster);
      if (!compiled.ok()) continue;
      ASSERT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec), "holds");
      const std::string text = TextOf(step, compiled.value(), cluster);
      for (int k = 0; k < kMutations; ++k) {
        Layouts layouts = stated.layouts;
        Layout& layout = layouts.layouts[random.Below(layouts.layouts.size())];
        const size_t kind = random.Below(std::size(kAll));
        if (!kAll[kind](step, layout, random)) continue;
        SCOPED_TRACE(testing::Message()
                     << step.name << ", layouts " << i << ", change " << k << " of kind " << kind);
        const DistributionSpec spec = State(step, layouts, kThree).spec;
        std::string message;
        const std::string verdict = VerdictOn(step, compiled.value(), cluster, spec, &message);
        const auto other = Compile(*step.graph, *step.axes, layouts, cluster);
        if (MeanTheSame(step, stated.layouts, layouts) ||
            (other.ok() && TextOf(step, other.value(), cluster) == text)) {
          ++same;
          EXPECT_EQ(verdict, "holds") << message;
        } else {
          ++refused;
          EXPECT_NE(verdict, "holds");
        }
      }
    }
  }
  EXPECT_GT(refused, 150);
  EXPECT_GT(same, 10);
}

TEST(StatedLayouts, NameWhatThereIs) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const RecordedStep& step = steps[0];
  const Cluster cluster = DevicesAlike(2);
  const StatedLayouts stated = ForAll(step, "input:x[0]", {2, 4});
  const DistributedStep compiled = Compile(*step.graph, *step.axes, stated.layouts, cluster).Take();
  const auto verdict = [&](const LayoutSpecs& layouts) {
    DistributionSpec spec = stated.spec;
    spec.layouts = layouts;
    return VerdictOn(step, compiled, cluster, spec);
  };
  LayoutSpec all = stated.spec.layouts[0];
  all.group = GroupId();
  all.groups = "*";
  EXPECT_EQ(verdict({all}), "holds");
  EXPECT_EQ(verdict({}), "wrong-device");
  LayoutSpecs missing = stated.spec.layouts;
  missing.pop_back();
  EXPECT_EQ(verdict(missing), "wrong-device");
  LayoutSpec several = all, named = all;
  several.devices[0].box.push_back({"batch", 0, 1});
  EXPECT_EQ(verdict({several}), "wrong-part");
  for (LayoutSpec::Device& device : named.devices) device.box[0].axis = named.axis;
  EXPECT_EQ(verdict({named}), "holds");
  LayoutSpec nowhere = all, further = all, twice = all, elsewhere = all;
  nowhere.groups = "nothing.*";
  EXPECT_EQ(verdict({all, nowhere}), "wrong-device");
  further.group = GroupId(999999);
  EXPECT_EQ(verdict({all, further}), "wrong-device");
  for (LayoutSpec* const spec : {&twice, &elsewhere}) {
    for (LayoutSpec::Device& device : spec->devices) device.box.clear();
  }
  twice.devices.push_back(twice.devices[0]);
  EXPECT_EQ(verdict({twice}), "wrong-device");
  elsewhere.devices.push_back({"host7/gpu9", {}});
  EXPECT_EQ(verdict({elsewhere}), "wrong-device");
  const StatedLayouts placed = ForAll(step, "", {1});
  DistributionSpec two = placed.spec;
  for (LayoutSpec& spec : two.layouts) spec.devices.push_back({"d1", {}});
  EXPECT_EQ(VerdictOn(step, Compile(*step.graph, *step.axes, placed.layouts, cluster).Take(),
                      cluster, two),
            "wrong-device");
}

// The switches that a plan states are those of its step.
TEST(StatedLayouts, SwitchesAreThoseOfTheStep) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const RecordedStep& norms = steps[1];
  ASSERT_EQ(norms.name, "norms");
  const Cluster cluster = DevicesAlike(2);
  StatedLayouts stated = ForAll(norms, "input:x[0]", {3, 4});
  for (const bool local : {false, true}) {
    const auto compiled = Compile(*norms.graph, *norms.axes, stated.layouts, cluster,
                                  {.switches = {.local_batch_norm = local}});
    for (const bool claimed : {false, true}) {
      stated.spec.switches.local_batch_norm = claimed;
      const std::string due = local != claimed ? "wrong-statistics"
                              : local          ? "not-proven"
                                               : "holds";
      EXPECT_EQ(VerdictOn(norms, compiled.value(), cluster, stated.spec), due);
    }
  }
}

TEST(StatedLayouts, BucketsAreNotAboveTheStatedSize) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const RecordedStep& step = steps[0];
  const Cluster cluster = DevicesAlike(2);
  StatedLayouts stated = ForAll(step, "input:x[0]", {2, 4});
  const Bytes limit(int64_t{1} << 20);
  const DistributedStep fused =
      Compile(*step.graph, *step.axes, stated.layouts, cluster, {.switches = {.fusion = limit}})
          .Take();
  bool packs = false;
  for (const OpId op : fused.graph.ops()) {
    packs = packs || fused.graph.op(op).type == "placewright.pack.default";
  }
  ASSERT_TRUE(packs);
  stated.spec.switches.fusion = limit;
  EXPECT_EQ(VerdictOn(step, fused, cluster, stated.spec), "holds");
  stated.spec.switches.fusion = Bytes(8);
  EXPECT_EQ(VerdictOn(step, fused, cluster, stated.spec), "wrong-argument");
}

// Every op that makes or views a bucket, one at a time.
TEST(StatedLayouts, BucketsHaveTheDtypeOfWhatIsInThem) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const RecordedStep& step = steps[0];
  const Cluster cluster = DevicesAlike(2);
  StatedLayouts stated = ForAll(step, "input:x[0]", {2, 4});
  stated.spec.switches.fusion = Bytes(int64_t{1} << 20);
  const CompileOptions options{.switches = {.fusion = stated.spec.switches.fusion}};
  const DistributedStep fused =
      Compile(*step.graph, *step.axes, stated.layouts, cluster, options).Take();
  int changed = 0;
  for (const OpId op : fused.graph.ops()) {
    const std::string name(fused.graph.op(op).name);
    const bool of_bucket = fused.graph.op(op).type == "placewright.pack.default" ||
                           name.find(".fused") != std::string::npos;
    if (!of_bucket) continue;
    StepEditor editor(fused);
    DType& dtype = editor.op(op).spec.outputs[0].dtype;
    dtype = dtype == DType::kF32 ? DType::kF64 : DType::kF32;
    const auto broken = editor.Build();
    if (!broken) continue;  // a view of another dtype is none
    ++changed;
    EXPECT_EQ(VerdictOn(step, *broken, cluster, stated.spec), "wrong-argument") << name;
  }
  EXPECT_GE(changed, 4);  // each device's pack and sum
}

TEST(StatedLayouts, BroadcastsOnlyWhereTheyAreStated) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const RecordedStep& step = steps[0];
  const Cluster cluster = DevicesAlike(3);
  StatedLayouts stated = ParameterServer(step, "input:x[0]", {2, 2, 2});
  const auto compiled = Compile(*step.graph, *step.axes, stated.layouts, cluster);
  EXPECT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec), "holds");
  stated.spec.switches.broadcasts = false;
  EXPECT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec), "wrong-argument");
}

TEST(StatedLayouts, GradientsApartOnlyWhereThatIsStated) {
  int separated = 0;
  for (const RecordedStep& step : RecordedSteps()) {
    const Cluster cluster = DevicesAlike(2);
    const int64_t samples = step.axes->axis(FirstAxis(step)).size;
    StatedLayouts stated = ForAll(step, step.axes->axis(FirstAxis(step)).name, {1, samples - 1});
    for (const bool apart : {false, true}) {
      const auto compiled = Compile(*step.graph, *step.axes, stated.layouts, cluster,
                                    {.switches = {.gradients_apart = apart}});
      ASSERT_TRUE(compiled.ok());
      const bool some = compiled.value().graph.op_count() >
                        Compile(*step.graph, *step.axes, stated.layouts, cluster,
                                {.switches = {.gradients_apart = false}})
                            .value()
                            .graph.op_count();
      separated += some;
      for (const bool claimed : {false, true}) {
        stated.spec.switches.gradients_apart = claimed;
        EXPECT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec) == "wrong-argument",
                  some != claimed)
            << step.name << " " << apart << " " << claimed;
      }
    }
  }
  EXPECT_GT(separated, 0);
}

TEST(StatedLayouts, TransformsThatTheStepHas) {
  const Transforms counted = kUsualTransforms;
  for (const bool draws : {false, true}) {
    RecordedStep step;
    Graph recorded = draws ? DrawingStep() : std::move(*RecordedSteps()[0].graph);
    step.graph =
        std::make_unique<Graph>(UseCounterBasedDraws(std::move(recorded), kDrawSeed).Take());
    step.axes = std::make_unique<NamedAxes>(*step.graph);
    const Cluster cluster = DevicesAlike(2);
    StatedLayouts stated = ForAll(step, "", {1, 1});
    const auto compiled = Compile(*step.graph, *step.axes, stated.layouts, cluster);
    EXPECT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec), "holds");  // an older plan
    for (const Transforms& claimed : {Transforms(), counted}) {
      stated.spec.transforms = claimed;
      EXPECT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec),
                claimed.empty() == draws ? "wrong-argument" : "holds");
    }
  }
}

}  // namespace
}  // namespace placewright::tests
