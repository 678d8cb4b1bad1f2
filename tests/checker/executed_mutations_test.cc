// Compiled steps changed in one place, whatever the place: the checker refuses each, or the step that it lets pass is
// executed and leaves what the original leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "executed_step.h"
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

// Changes one thing; false where there is none to change.
using Mutate = bool (*)(const DistributedStep& step, StepEditor& editor, Random& random);

struct Mutation {
  const char* name;
  Mutate mutate;
};

// Half of the time one of the ops that move, cut, join or add: they are few.
OpId AnyOp(const DistributedStep& step, Random& random) {
  std::vector<OpId> moving;
  for (const OpId op : step.graph.ops()) {
    if (!step.origin[op].valid()) moving.push_back(op);
  }
  if (!moving.empty() && random.Below(2) == 0) return moving[random.Below(moving.size())];
  return OpId(random.Below(step.graph.op_count()));
}

// All arguments of an op, those in lists as well.
void Collect(std::vector<Value>& values, std::vector<Value*>& all) {
  for (Value& value : values) {
    if (Value::List* const list = value.AsList()) {
      Collect(*list, all);
    } else {
      all.push_back(&value);
    }
  }
}

std::vector<Value*> References(OpSpec& spec) {
  std::vector<Value*> all;
  Collect(spec.args, all);
  std::erase_if(all, [](const Value* value) { return value->AsInput() == nullptr; });
  return all;
}

bool SwapReferences(const DistributedStep& step, StepEditor& editor, Random& random) {
  const std::vector<Value*> all = References(editor.op(AnyOp(step, random)).spec);
  if (all.size() < 2) return false;
  const size_t a = random.Below(all.size()), b = random.Below(all.size());
  if (*all[a] == *all[b]) return false;
  std::swap(*all[a], *all[b]);
  return true;
}

bool RepeatReference(const DistributedStep& step, StepEditor& editor, Random& random) {
  const std::vector<Value*> all = References(editor.op(AnyOp(step, random)).spec);
  if (all.size() < 2) return false;
  const size_t a = random.Below(all.size()), b = random.Below(all.size());
  if (*all[a] == *all[b]) return false;
  *all[a] = *all[b];
  return true;
}

// One of a list is left out, or stands there twice.
bool ResizeList(const DistributedStep& step, StepEditor& editor, Random& random) {
  for (Value& value : editor.op(AnyOp(step, random)).spec.args) {
    Value::List* const list = value.AsList();
    if (list == nullptr || list->empty()) continue;
    if (random.Below(2) == 0) {
      list->pop_back();
    } else {
      list->push_back(list->front());
    }
    return true;
  }
  return false;
}

bool ReverseList(const DistributedStep& step, StepEditor& editor, Random& random) {
  for (Value& value : editor.op(AnyOp(step, random)).spec.args) {
    Value::List* const list = value.AsList();
    if (list == nullptr) continue;
    Value::List reversed(list->rbegin(), list->rend());
    if (reversed == *list) continue;
    *list = std::move(reversed);
    return true;
  }
  return false;
}

bool DropArgument(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<Value>& args = editor.op(AnyOp(step, random)).spec.args;
  if (args.empty()) return false;
  args.erase(args.begin() + static_cast<ptrdiff_t>(random.Below(args.size())));
  return true;
}

bool AddArgument(const DistributedStep& step, StepEditor& editor, Random& random) {
  editor.op(AnyOp(step, random)).spec.args.push_back(Value(int64_t{1}));
  return true;
}

bool AddKeyword(const DistributedStep& step, StepEditor& editor, Random& random) {
  OpSpec& spec = editor.op(AnyOp(step, random)).spec;
  spec.attributes.push_back({"alpha", Value(int64_t{2})});
  return true;
}

bool ChangeKeyword(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<NamedValue>& named = editor.op(AnyOp(step, random)).spec.attributes;
  if (named.empty()) return false;
  NamedValue& one = named[random.Below(named.size())];
  const bool is_number = one.value.AsDouble() != nullptr;
  if (random.Below(2) == 0 || !is_number) {
    named.pop_back();
  } else {
    one.value = Value(*one.value.AsDouble() * 2 + 1);
  }
  return true;
}

bool ChangeConstant(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<Value*> all;
  Collect(editor.op(AnyOp(step, random)).spec.args, all);
  std::erase_if(all, [](const Value* value) { return value->AsInput() != nullptr; });
  if (all.empty()) return false;
  Value& value = *all[random.Below(all.size())];
  if (const int64_t* const number = value.AsInt()) {
    value = Value(*number + (random.Below(2) == 0 ? 1 : -1));
  } else if (const double* const real = value.AsDouble()) {
    value = Value(*real * 2 + 1);
  } else if (const bool* const flag = value.AsBool()) {
    value = Value(!*flag);
  } else {
    value = Value(int64_t{1});
  }
  return true;
}

// What an op reads: in another order, or something else of the same sizes that is there by then.
bool SwapInputs(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<TensorId>& inputs = editor.op(AnyOp(step, random)).spec.inputs;
  if (inputs.size() < 2) return false;
  const size_t a = random.Below(inputs.size()), b = random.Below(inputs.size());
  if (inputs[a] == inputs[b]) return false;
  std::swap(inputs[a], inputs[b]);
  return true;
}

bool ReadAnother(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = AnyOp(step, random);
  std::vector<TensorId>& inputs = editor.op(op).spec.inputs;
  if (inputs.empty()) return false;
  TensorId& input = inputs[random.Below(inputs.size())];
  const Tensor& right = step.graph.tensor(input);
  std::vector<TensorId> others;
  for (const TensorId id : step.graph.tensors()) {
    const Tensor& other = step.graph.tensor(id);
    if (id != input && other.shape == right.shape && other.dtype == right.dtype &&
        (!other.producer.valid() || other.producer < op)) {
      others.push_back(id);
    }
  }
  if (others.empty()) return false;
  input = others[random.Below(others.size())];
  return true;
}

bool ChangeType(const DistributedStep& step, StepEditor& editor, Random& random) {
  static const std::map<std::string, std::string> kOthers = {
      {"aten.mul.Tensor", "aten.div.Tensor"},
      {"aten.div.Tensor", "aten.mul.Tensor"},
      {"aten.add.Tensor", "aten.sub.Tensor"},
      {"aten.sub_.Tensor", "aten.add_.Tensor"},
      {"aten.add_.Tensor", "aten.sub_.Tensor"},
      {"aten.div.Scalar", "aten.mul.Scalar"},
      {"aten.relu.default", "aten.sigmoid.default"},
      {"aten.zeros_like.default", "aten.ones_like.default"},
      {"aten.zero_.default", "aten.neg_.default"},
      {"placewright.add_n.default", "placewright.pack.default"},
      {"placewright.all_reduce.default", "placewright.all_gather.default"},
      {"placewright.reduce_scatter.default", "placewright.all_reduce.default"},
      {"placewright.all_gather.default", "placewright.reduce_scatter.default"},
  };
  std::string& type = editor.op(AnyOp(step, random)).spec.type;
  const auto other = kOthers.find(type);
  if (other == kOthers.end()) return false;
  type = other->second;
  return true;
}

bool ChangeOutputType(const DistributedStep& step, StepEditor& editor, Random& random) {
  OpSpec& spec = editor.op(AnyOp(step, random)).spec;
  if (spec.outputs.empty() || spec.outputs[0].alias != AliasKind::kFresh) return false;
  OutputSpec& output = spec.outputs[random.Below(spec.outputs.size())];
  if (random.Below(2) == 0) {
    output.dtype = output.dtype == DType::kF32 ? DType::kF64 : DType::kF32;
  } else {
    if (output.shape.empty()) return false;
    output.shape[random.Below(output.shape.size())] += 1;
  }
  return true;
}

bool ChangeOrigin(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = AnyOp(step, random), other = AnyOp(step, random);
  if (step.origin[op] == step.origin[other]) return false;
  editor.op(op).origin = step.origin[other];
  return true;
}

bool MoveOp(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = AnyOp(step, random);
  const DeviceId other(random.Below(kDevices));
  if (other == step.placement[op]) return false;
  editor.op(op).device = other;
  return true;
}

// Readers take what it read.
bool DropOp(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = AnyOp(step, random);
  const Op& dropped = step.graph.op(op);
  if (dropped.inputs.empty() || dropped.outputs.empty()) return false;
  const Tensor& read = step.graph.tensor(dropped.inputs[0]);
  for (const TensorId output : dropped.outputs) {
    if (step.graph.tensor(output).shape != read.shape) return false;
    editor.Replace(output, dropped.inputs[0]);
  }
  editor.op(op).removed = true;
  for (std::vector<OpId>& members : editor.collectives) std::erase(members, op);
  return true;
}

bool ShiftInput(const DistributedStep&, StepEditor& editor, Random& random) {
  DistributedStep::InputPiece& input = editor.inputs[random.Below(editor.inputs.size())];
  if (input.box.empty()) return false;
  auto [place, interval] = input.box.front();
  const int64_t by = interval.from > 0 ? -1 : 1;
  if (interval.to + by > place.size) return false;
  input.box = {{place, {interval.from + by, interval.to + by}}};
  return true;
}

bool SwapOriginals(const DistributedStep& step, StepEditor& editor, Random& random) {
  DistributedStep::InputPiece& a = editor.inputs[random.Below(editor.inputs.size())];
  DistributedStep::InputPiece& b = editor.inputs[random.Below(editor.inputs.size())];
  const Tensor &one = step.graph.tensor(a.piece), &other = step.graph.tensor(b.piece);
  const bool alike =
      one.shape == other.shape && one.dtype == other.dtype &&
      std::equal(a.box.begin(), a.box.end(), b.box.begin(), b.box.end(),
                 [](const AxisPart& x, const AxisPart& y) { return x.place == y.place; });
  if (!alike || a.original == b.original) return false;
  std::swap(a.original, b.original);
  std::swap(a.box, b.box);
  return true;
}

bool LoseMember(const DistributedStep&, StepEditor& editor, Random& random) {
  if (editor.collectives.empty()) return false;
  std::vector<OpId>& members = editor.collectives[random.Below(editor.collectives.size())];
  if (members.size() < 2) return false;
  members.erase(members.begin() + static_cast<ptrdiff_t>(random.Below(members.size())));
  return true;
}

bool ReorderMembers(const DistributedStep&, StepEditor& editor, Random& random) {
  if (editor.collectives.empty()) return false;
  std::vector<OpId>& members = editor.collectives[random.Below(editor.collectives.size())];
  if (members.size() < 2) return false;
  std::swap(members.front(), members.back());
  return true;
}

bool SwapCollectives(const DistributedStep&, StepEditor& editor, Random& random) {
  if (editor.collectives.size() < 2) return false;
  std::swap(editor.collectives[random.Below(editor.collectives.size())],
            editor.collectives[random.Below(editor.collectives.size())]);
  return true;
}

bool ExchangeMembers(const DistributedStep&, StepEditor& editor, Random& random) {
  if (editor.collectives.size() < 2) return false;
  std::vector<OpId>& a = editor.collectives[random.Below(editor.collectives.size())];
  std::vector<OpId>& b = editor.collectives[random.Below(editor.collectives.size())];
  if (&a == &b || a.empty() || b.empty()) return false;
  std::swap(a.front(), b.front());
  return true;
}

// A reader goes on with what another device made of its part.
bool ReadBeside(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = AnyOp(step, random);
  for (TensorId& input : editor.op(op).spec.inputs) {
    const OpId maker = step.graph.tensor(input).producer;
    if (!maker.valid() || !step.origin[maker].valid()) continue;
    for (const OpId other : step.graph.ops()) {
      if (other == maker || step.origin[other] != step.origin[maker] || !(other < op)) continue;
      const Op& beside = step.graph.op(other);
      const auto at = static_cast<size_t>(std::find(step.graph.op(maker).outputs.begin(),
                                                    step.graph.op(maker).outputs.end(), input) -
                                          step.graph.op(maker).outputs.begin());
      if (at >= beside.outputs.size()) continue;
      if (step.graph.tensor(beside.outputs[at]).shape != step.graph.tensor(input).shape) continue;
      input = beside.outputs[at];
      return true;
    }
  }
  return false;
}

constexpr Mutation kMutations[] = {
    {"references swapped", SwapReferences},
    {"a reference twice", RepeatReference},
    {"a list of another length", ResizeList},
    {"a list reversed", ReverseList},
    {"an argument left out", DropArgument},
    {"an argument more", AddArgument},
    {"a keyword more", AddKeyword},
    {"another keyword", ChangeKeyword},
    {"another constant", ChangeConstant},
    {"inputs swapped", SwapInputs},
    {"another input", ReadAnother},
    {"another operator", ChangeType},
    {"another output", ChangeOutputType},
    {"another origin", ChangeOrigin},
    {"another device", MoveOp},
    {"an op left out", DropOp},
    {"an input shifted", ShiftInput},
    {"originals swapped", SwapOriginals},
    {"a member lost", LoseMember},
    {"members in another order", ReorderMembers},
    {"collectives in another order", SwapCollectives},
    {"members exchanged", ExchangeMembers},
    {"a part of another device", ReadBeside},
};

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
  const auto is_done = [&] { return count >= wanted && done.size() == std::size(kMutations); };
  for (int i = 0; !is_done() && i < 100 * wanted; ++i) {
    const Executable& one = steps[random.Below(steps.size())];
    const StatedLayouts stated = SomeLayouts(one.step, random);
    const CompileOptions options = SomeOptions(random);
    const auto compiled =
        Compile(*one.step.graph, *one.step.axes, stated.layouts, cluster, options);
    if (!compiled.ok()) continue;
    for (const Mutation& mutation : kMutations) {
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
  for (const Mutation& mutation : kMutations) EXPECT_GT(done[mutation.name], 0) << mutation.name;
  // Most changes are no matter of taste.
  EXPECT_LT(harmless, count / 5);
  RecordProperty("mutations", count);
  RecordProperty("harmless", harmless);
}

}  // namespace
}  // namespace placewright::tests
