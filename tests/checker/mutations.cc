#include "mutations.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace placewright::tests {
namespace {

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
  const DeviceId other = step.placement[OpId(random.Below(step.graph.op_count()))];
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

constexpr Mutation kAny[] = {
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

}  // namespace

std::span<const Mutation> Mutations() { return kAny; }

}  // namespace placewright::tests
