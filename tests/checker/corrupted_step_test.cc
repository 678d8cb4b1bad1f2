// Compiled steps that are broken in one place: the checker names what is wrong, whatever the step and the
// layouts.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "compiled_step.h"
#include "step_editor.h"

namespace placewright::tests {
namespace {

constexpr int kCorruptions = 500;
constexpr size_t kDevices = 4;

// Breaks the step in one place; false where there is none to break.
using Corrupt = bool (*)(const DistributedStep& step, StepEditor& editor, Random& random);

struct Corruption {
  const char* name;
  Corrupt corrupt;
  std::set<std::string> verdicts;  // that name it
};

std::vector<OpId> OpsOf(const DistributedStep& step, std::string_view type) {
  std::vector<OpId> ops;
  for (const OpId op : step.graph.ops()) {
    if (step.graph.op(op).type == type) ops.push_back(op);
  }
  return ops;
}

OpId OneOf(const std::vector<OpId>& ops, Random& random) {
  return ops.empty() ? OpId() : ops[random.Below(ops.size())];
}

// One device goes on with its own share of a sum.
bool BypassAllReduce(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.all_reduce.default"), random);
  if (!op.valid() || !editor.IsRead(step.graph.op(op).outputs[0])) return false;
  editor.Replace(step.graph.op(op).outputs[0], step.graph.op(op).inputs[0]);
  return true;
}

bool LeaveOutOfSum(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.add_n.default"), random);
  if (!op.valid()) return false;
  OpSpec& spec = editor.op(op).spec;
  spec.inputs.pop_back();
  spec.args[0].AsList()->pop_back();
  return editor.IsRead(step.graph.op(op).outputs[0]);
}

bool AddTwice(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.add_n.default"), random);
  if (!op.valid()) return false;
  editor.op(op).spec.inputs[0] = editor.op(op).spec.inputs[1];
  return true;
}

// A part of an input is read as if it were another one.
bool ShiftInput(const DistributedStep& step, StepEditor& editor, Random& random) {
  const size_t at = random.Below(editor.inputs.size());
  DistributedStep::InputPiece& input = editor.inputs[at];
  if (input.box.empty() || !editor.IsRead(input.piece)) return false;
  if (step.graph.storage(step.graph.tensor(input.piece).storage).kind != TensorKind::kInput) {
    return false;
  }
  std::vector<AxisPart> parts(input.box.begin(), input.box.end());
  auto& [place, interval] = parts[random.Below(parts.size())];
  const int64_t by = interval.from > 0 ? -1 : 1;
  if (interval.to + by > place.size) return false;
  interval = {interval.from + by, interval.to + by};
  input.box = {parts.begin(), parts.end()};
  return true;
}

// An op that takes a part takes the one beside it.
bool ShiftPart(OpId op, StepEditor& editor, size_t behind = 0) {
  Value* const args = editor.op(op).spec.args.data() + behind;
  const int64_t size = *args[3].AsInt(), from = *args[4].AsInt(), to = *args[5].AsInt();
  const int64_t by = from > 0 ? -1 : 1;
  if (to + by > size) return false;
  args[4] = Value(from + by);
  args[5] = Value(to + by);
  return true;
}

bool ShiftSplit(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.split.default"), random);
  return op.valid() && editor.IsRead(step.graph.op(op).outputs[0]) && ShiftPart(op, editor);
}

// Statistics of a norm's parts are joined with their weights: in any order.
bool JoinsStatistics(const DistributedStep& step, OpId op) {
  const OpId maker = step.graph.tensor(step.graph.op(op).inputs[0]).producer;
  return maker.valid() && step.graph.op(maker).type == "aten.cat.default";
}

bool SwapPieces(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.concat.default"), random);
  if (!op.valid() || JoinsStatistics(step, op)) return false;
  std::swap(editor.op(op).spec.inputs[0], editor.op(op).spec.inputs[1]);
  return true;
}

bool DivideByPart(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<OpId> divisions;
  for (const OpId op : OpsOf(step, "aten.div.Scalar")) {
    if (!step.origin[op].valid()) divisions.push_back(op);
  }
  const OpId op = OneOf(divisions, random);
  if (!op.valid()) return false;
  editor.op(op).spec.args[1] = Value(*step.graph.op(op).args[1].AsInt() - 1);
  return true;
}

bool MeanOfPart(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<OpId> losses;
  for (const OpId op : OpsOf(step, "aten.nll_loss_forward.default")) {
    if (step.graph.op(op).args[3] == Value(int64_t{2})) losses.push_back(op);
  }
  const OpId op = OneOf(losses, random);
  if (!op.valid()) return false;
  editor.op(op).spec.args[3] = Value(int64_t{1});
  return true;
}

// An update in place that one device forgets.
bool DropUpdate(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<OpId> updates;
  for (const OpId op : step.graph.ops()) {
    const Op& update = step.graph.op(op);
    if (update.phase != Phase::kOptimizer || update.writes.size() != 1) continue;
    const Storage& storage = step.graph.storage(step.graph.tensor(update.writes[0]).storage);
    if (!storage.versions.front().writer.valid()) updates.push_back(op);
  }
  const OpId op = OneOf(updates, random);
  if (!op.valid()) return false;
  editor.op(op).removed = true;
  for (const TensorId output : step.graph.op(op).outputs) {
    editor.Replace(output, step.graph.op(op).writes[0]);
  }
  return true;
}

bool DropCollective(const DistributedStep&, StepEditor& editor, Random& random) {
  if (editor.collectives.empty()) return false;
  editor.collectives[random.Below(editor.collectives.size())].clear();
  return true;
}

// Two devices' members of two collectives change places.
bool SwapMembers(const DistributedStep& step, StepEditor& editor, Random& random) {
  if (editor.collectives.size() < 2) return false;
  std::vector<OpId>& a = editor.collectives[random.Below(editor.collectives.size())];
  std::vector<OpId>& b = editor.collectives[random.Below(editor.collectives.size())];
  if (&a == &b || step.placement[a[0]] != step.placement[b[0]]) return false;
  std::swap(a[0], b[0]);
  return true;
}

// A member of a reduce-scatter keeps another part than its own.
bool ShiftScattered(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.reduce_scatter.default"), random);
  return op.valid() && ShiftPart(op, editor);
}

// A member of an all-to-all says that it gives another part than its own.
bool ShiftGiven(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.all_to_all.default"), random);
  return op.valid() && ShiftPart(op, editor);
}

// Or gets another one.
bool ShiftTaken(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.all_to_all.default"), random);
  if (!op.valid() || !editor.IsRead(step.graph.op(op).outputs[0])) return false;
  return ShiftPart(op, editor, 5);
}

// Two members of one give as each other's what they have: in a wrong order.
bool SwapGiven(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "placewright.all_to_all.default"), random);
  if (!op.valid()) return false;
  for (const OpId other : step.graph.collective(step.graph.collective_of(op)).members) {
    std::vector<Value>&a = editor.op(op).spec.args, &b = editor.op(other).spec.args;
    if (other == op || *a[5].AsInt() - *a[4].AsInt() != *b[5].AsInt() - *b[4].AsInt()) continue;
    std::swap(a[4], b[4]);
    std::swap(a[5], b[5]);
    return true;
  }
  return false;
}

// One member less in a collective of that type; its op stays.
bool LoseMember(const DistributedStep& step, StepEditor& editor, Random& random,
                std::string_view type) {
  std::vector<size_t> all;
  for (size_t i = 0; i < editor.collectives.size(); ++i) {
    if (step.graph.op(editor.collectives[i].front()).type == type) all.push_back(i);
  }
  if (all.empty()) return false;
  std::vector<OpId>& members = editor.collectives[all[random.Below(all.size())]];
  if (members.size() < 2) return false;
  members.erase(members.begin() + static_cast<ptrdiff_t>(random.Below(members.size())));
  return true;
}

bool LoseScattered(const DistributedStep& step, StepEditor& editor, Random& random) {
  return LoseMember(step, editor, random, "placewright.reduce_scatter.default");
}

bool LoseExchanged(const DistributedStep& step, StepEditor& editor, Random& random) {
  return LoseMember(step, editor, random, "placewright.all_to_all.default");
}

bool LoseReceiver(const DistributedStep& step, StepEditor& editor, Random& random) {
  return LoseMember(step, editor, random, "placewright.broadcast.default");
}

// The root of a broadcast, or none.
OpId RootOf(const DistributedStep& step, Random& random) {
  std::vector<OpId> roots = OpsOf(step, "placewright.broadcast.default");
  std::erase_if(roots, [&](OpId op) { return step.graph.op(op).inputs.empty(); });
  return OneOf(roots, random);
}

// A root that does not have what it gives: it changes places with another member.
bool MoveRoot(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId root = RootOf(step, random);
  if (!root.valid()) return false;
  for (const OpId member : step.graph.collective(step.graph.collective_of(root)).members) {
    if (member == root) continue;
    std::swap(editor.op(member).device, editor.op(root).device);
    return true;
  }
  return false;
}

// What is broadcast is another parameter of the same sizes.
bool BroadcastAnother(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId root = RootOf(step, random);
  if (!root.valid()) return false;
  const TensorId given = step.graph.op(root).inputs[0];
  const Tensor& right = step.graph.tensor(given);
  for (const DistributedStep::InputPiece& input : step.inputs) {
    const Tensor& other = step.graph.tensor(input.piece);
    if (input.piece == given || other.kind != right.kind || other.shape != right.shape) continue;
    if (other.dtype != right.dtype || other.storage == right.storage) continue;
    editor.op(root).spec.inputs[0] = input.piece;
    return true;
  }
  return false;
}

bool MoveInstance(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op(random.Below(step.graph.op_count()));
  if (!step.origin[op].valid()) return false;
  const DeviceId other(random.Below(kDevices));
  if (other == step.placement[op]) return false;
  editor.op(op).device = other;
  return true;
}

bool ChangeArgument(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op(random.Below(step.graph.op_count()));
  for (Value& value : editor.op(op).spec.args) {
    if (value.AsInt() == nullptr || !step.origin[op].valid()) continue;
    value = Value(*value.AsInt() + 1);
    return true;
  }
  return false;
}

// An instance reads something else of the same sizes.
bool ReadAnother(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op(random.Below(step.graph.op_count()));
  std::vector<TensorId>& inputs = editor.op(op).spec.inputs;
  if (inputs.empty() || !step.origin[op].valid() || !step.graph.op(op).writes.empty()) return false;
  TensorId& input = inputs[random.Below(inputs.size())];
  const Tensor& right = step.graph.tensor(input);
  const TensorId other(random.Below(step.graph.tensor_count()));
  const Tensor& wrong = step.graph.tensor(other);
  const bool alike = wrong.shape == right.shape && wrong.dtype == right.dtype &&
                     wrong.producer < op && wrong.storage != right.storage;
  // Zeros, copies and pieces that hold the same would be right; so would another view.
  if (!alike || !wrong.producer.valid() || !right.producer.valid() ||
      !step.origin[wrong.producer].valid() || !step.origin[right.producer].valid() ||
      step.origin[wrong.producer] == step.origin[right.producer]) {
    return false;
  }
  input = other;
  return true;
}

// A part of a vocabulary that is said to be another one.
bool ShiftVocabulary(const DistributedStep& step, StepEditor& editor, Random& random) {
  std::vector<OpId> parts;
  for (const char* const type :
       {"embedding_part", "embedding_dense_backward_part", "nll_loss_part",
        "nll_loss_backward_part", "causal_attention_part", "causal_attention_backward_part"}) {
    const auto found = OpsOf(step, std::string("placewright.") + type + ".default");
    parts.insert(parts.end(), found.begin(), found.end());
  }
  const OpId op = OneOf(parts, random);
  if (!op.valid()) return false;
  Value::List& place = *editor.op(op).spec.args.back().AsList();
  const int64_t size = *place[2].AsInt(), from = *place[3].AsInt(), to = *place[4].AsInt();
  const int64_t by = from > 0 ? -1 : 1;
  if (to + by > size) return false;
  place[3] = Value(from + by);
  place[4] = Value(to + by);
  return true;
}

// Gradients that another op of the device makes, or that none does.
bool ChangeMask(const DistributedStep& step, StepEditor& editor, Random& random) {
  const OpId op = OneOf(OpsOf(step, "aten.convolution_backward.default"), random);
  if (!op.valid()) return false;
  Value& wanted = (*editor.op(op).spec.args.back().AsList())[random.Below(3)];
  wanted = Value(!*wanted.AsBool());
  return true;
}

const std::vector<Corruption>& Corruptions() {
  static const std::vector<Corruption> all = {
      // The sum may be of the weights of a mean.
      {"bypassed all-reduce", BypassAllReduce, {"lost-sum", "local-divisor", "wrong-statistics"}},
      {"left out of a sum", LeaveOutOfSum, {"lost-sum", "local-divisor", "wrong-statistics"}},
      {"added twice", AddTwice, {"doubled-sum", "lost-sum", "wrong-statistics"}},
      {"shifted input", ShiftInput, {"doubled-sample", "missing-sample", "wrong-part"}},
      {"shifted split",
       ShiftSplit,
       {"doubled-sample", "missing-sample", "wrong-part", "wrong-argument"}},
      {"swapped pieces", SwapPieces, {"wrong-part"}},
      {"another divisor", DivideByPart, {"local-divisor"}},
      {"mean of a part", MeanOfPart, {"local-divisor"}},
      {"dropped update",
       DropUpdate,
       {"stale-parameter", "missing-sample", "missing-op", "wrong-input", "wrong-part",
        "lost-sum"}},
      {"dropped collective", DropCollective, {"missing-collective"}},
      // Two broadcasts may be of tensors of the same sizes; two sub-groups of a sum, or of a norm, of other parts.
      {"swapped members",
       SwapMembers,
       {"reordered-collective", "wrong-input", "wrong-part", "doubled-sum", "lost-sum",
        "missing-sample", "wrong-statistics"}},
      {"shifted part of a sum", ShiftScattered, {"wrong-part"}},
      {"lost member of a reduce-scatter",
       LoseScattered,
       {"missing-collective", "wrong-part", "lost-sum"}},
      {"shifted part of an all-to-all",
       ShiftGiven,
       {"wrong-part", "wrong-argument", "missing-collective"}},
      {"another part of an all-to-all",
       ShiftTaken,
       {"wrong-part", "wrong-argument", "doubled-sample", "missing-sample", "doubled-sum"}},
      {"an all-to-all in another order", SwapGiven, {"wrong-part", "wrong-argument"}},
      {"lost member of an all-to-all", LoseExchanged, {"missing-collective"}},
      {"lost member of a broadcast", LoseReceiver, {"missing-collective", "reordered-collective"}},
      {"root without the tensor", MoveRoot, {"wrong-device"}},
      {"another tensor broadcast",
       BroadcastAnother,
       {"wrong-input", "wrong-device", "wrong-statistics"}},
      {"moved instance", MoveInstance, {"wrong-device"}},
      {"another argument", ChangeArgument, {"wrong-argument", "local-divisor", "wrong-statistics"}},
      {"another part of a vocabulary",
       ShiftVocabulary,
       {"wrong-argument", "wrong-part", "doubled-sample", "missing-sample"}},
      {"another mask", ChangeMask, {"wrong-argument", "missing-op", "missing-sample", "lost-sum"}},
      {"another input",
       ReadAnother,
       {"wrong-input", "wrong-part", "lost-sum", "stale-parameter", "wrong-statistics"}},
  };
  return all;
}

StatedLayouts SomeLayouts(const RecordedStep& step, Random& random) {
  std::vector<std::string> axes;
  for (const AxisId axis : step.axes->axes()) {
    const int64_t size = step.axes->axis(axis).size;
    if (size >= static_cast<int64_t>(kDevices)) axes.push_back(step.axes->axis(axis).name);
  }
  const std::string& name = axes[random.Below(axes.size())];
  const int64_t size = step.axes->axis(step.axes->Find(name)).size;
  const std::vector<int64_t> lengths = {size - 2, 1, 1};
  switch (random.Below(6)) {
    case 0: return ForAll(step, name, lengths);
    case 1: return ParameterServer(step, name, lengths);
    case 2: return SplitUpdates(step, name, lengths);
    case 3: return AtRandom(step, kDevices, random);
    default: return BoxesAtRandom(step, kDevices, random);
  }
}

TEST(CorruptedSteps, AreNamed) {
  const std::vector<RecordedStep> steps = RecordedSteps();
  const Cluster cluster = DevicesAlike(kDevices);
  Random random(11);
  std::map<std::string, int> done;
  int count = 0;
  for (int i = 0; count < kCorruptions && i < 100 * kCorruptions; ++i) {
    // Steps are compiled once for several corruptions.
    const RecordedStep& original = steps[random.Below(steps.size())];
    const StatedLayouts stated = SomeLayouts(original, random);
    const auto compiled = Compile(*original.graph, *original.axes, stated.layouts, cluster,
                                  {.collectives = random.Below(3) > 0});
    if (!compiled.ok()) continue;
    const DistributedStep& step = compiled.value();
    for (const Corruption& corruption : Corruptions()) {
      StepEditor editor(step);
      if (!corruption.corrupt(step, editor, random)) continue;
      const std::optional<DistributedStep> broken = editor.Build();
      if (!broken) continue;
      std::string message;
      const std::string verdict = VerdictOn(original, *broken, cluster, stated.spec, &message);
      EXPECT_TRUE(corruption.verdicts.contains(verdict))
          << corruption.name << " is " << verdict << ": " << message << " (" << original.name
          << ", " << i << ")";
      ++done[corruption.name];
      ++count;
    }
  }
  EXPECT_GE(count, kCorruptions);
  for (const Corruption& corruption : Corruptions())
    EXPECT_GT(done[corruption.name], 0) << corruption.name;
}

// The editor itself changes nothing.
TEST(CorruptedSteps, HoldWithoutCorruption) {
  const Cluster cluster = DevicesAlike(kDevices);
  for (const RecordedStep& original : RecordedSteps()) {
    Random random(2);
    const StatedLayouts stated = AtRandom(original, kDevices, random);
    const auto compiled = Compile(*original.graph, *original.axes, stated.layouts, cluster);
    if (!compiled.ok()) continue;
    const auto same = StepEditor(compiled.value()).Build();
    ASSERT_TRUE(same);
    EXPECT_EQ(VerdictOn(original, *same, cluster, stated.spec), "holds") << original.name;
  }
}

}  // namespace
}  // namespace placewright::tests
