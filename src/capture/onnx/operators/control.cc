// Branches and loops whose way is known while the step is recorded, unrolled; lists of tensors.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "aten/failure.h"
#include "capture/onnx/interpreter.h"
#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

Values If(const NodeCall& call) {
  const bool holds = call.KnownInt(0) != 0;
  return call.interpreter.RunSubGraph(call.Graph(holds ? "then_branch" : "else_branch"), {});
}

// Tensors of all rounds along a new first dimension; host tensors stay on the host.
Value Stacked(const NodeCall& call, const Values& rounds) {
  if (rounds.empty()) call.Unsupported("a loop without iterations that collects tensors");
  bool known = true;
  std::vector<at::Tensor> tensors;
  for (const Value& value : rounds) known = known && value.is_host();
  for (const Value& value : rounds) tensors.push_back(known ? value.tensor() : value.InStep());
  if (!known) return at::stack(tensors, 0);
  const OutsideStep outside;
  return Value::Host(at::stack(tensors, 0));
}

bool GoesOn(const NodeCall& call, const Value& condition) {
  if (const at::Tensor known = call.interpreter.ContentOf(condition);
      known.defined() && known.numel() == 1) {
    const OutsideStep outside;
    return known.item().toBool();
  }
  throw TorchFailure(MakeError(
      ErrorCode::kDataDependent, "whether the Loop goes on is computed from what tensors hold",
      call.node.place, "Export the model with loops whose number of iterations is known."));
}

// Inputs: trip count, condition, carried tensors; the body takes the round's number, the condition
// and what is carried, and gives the condition, what is carried on and what is collected.
Values Loop(const NodeCall& call) {
  const ImportedGraph& body = call.Graph("body");
  const size_t carried = call.inputs.size() < 2 ? 0 : call.inputs.size() - 2;
  if (body.outputs.size() < 1 + carried) call.Invalid("a body with too few outputs");
  const int64_t trips = call.Has(0) ? call.KnownInt(0) : INT64_MAX;
  Value condition = call.Has(1) ? call.inputs[1] : Value();
  bool goes_on = !call.Has(1) || call.KnownInt(1) != 0;
  Values state(call.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(call.inputs)),
               call.inputs.end());
  std::vector<Values> collected(body.outputs.size() - 1 - carried);
  if (!call.Has(1)) call.interpreter.Charge(std::max<int64_t>(0, trips), call.node.place);
  for (int64_t i = 0; i < trips && goes_on; ++i) {
    if (call.Has(1)) call.interpreter.Charge(1, call.node.place);
    Values inputs = {[&] {
                       const OutsideStep outside;
                       return Value::Host(at::full({}, i, at::kLong));
                     }(),
                     condition};
    if (!condition.defined()) {
      const OutsideStep outside;
      inputs[1] = Value::Host(at::ones({}, at::kBool));
    }
    inputs.insert(inputs.end(), state.begin(), state.end());
    Values outputs = call.interpreter.RunSubGraph(body, std::move(inputs));
    condition = outputs[0];
    // Without a condition at the beginning, those of the rounds do not count.
    if (call.Has(1)) goes_on = GoesOn(call, condition);
    for (size_t k = 0; k < carried; ++k) state[k] = outputs[1 + k];
    for (size_t k = 0; k < collected.size(); ++k) {
      collected[k].push_back(outputs[1 + carried + k]);
    }
  }
  for (size_t k = 0; k < collected.size(); ++k) {
    const bool wanted = call.Wants(carried + k);
    state.push_back(wanted ? Stacked(call, collected[k]) : Value());
  }
  return state;
}

// Scans of operator set 9 on: the last `num_scan_inputs` inputs are taken apart along an axis each.
Values Scan(const NodeCall& call) {
  if (call.version < 9) call.Unsupported("operator set 8");
  const ImportedGraph& body = call.Graph("body");
  const int64_t scanned = call.Int("num_scan_inputs", 0);
  const auto total = static_cast<int64_t>(call.inputs.size());
  if (scanned < 1 || scanned > total) call.Invalid(fmt::format("num_scan_inputs {}", scanned));
  const auto carried = static_cast<size_t>(total - scanned), taken = static_cast<size_t>(scanned);
  if (body.outputs.size() < carried) call.Invalid("a body with too few outputs");
  const size_t given = body.outputs.size() - carried;
  const Ints axes = call.IntList("scan_input_axes").value_or(Ints(taken, 0));
  const Ints backwards = call.IntList("scan_input_directions").value_or(Ints(taken, 0));
  const Ints out_axes = call.IntList("scan_output_axes").value_or(Ints(given, 0));
  const Ints out_backwards = call.IntList("scan_output_directions").value_or(Ints(given, 0));
  if (axes.size() != taken || backwards.size() != taken || out_axes.size() != given ||
      out_backwards.size() != given) {
    call.Invalid("as many axes and directions as scanned tensors are needed");
  }
  std::vector<at::Tensor> sequences;
  for (size_t k = 0; k < taken; ++k) sequences.push_back(call.In(carried + k));
  const int64_t rounds = sequences[0].size(call.Axis(axes[0], sequences[0].dim()));
  Values state(call.inputs.begin(), call.inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<at::Tensor>> collected(given);
  for (int64_t i = 0; i < rounds; ++i) {
    call.interpreter.Charge(1, call.node.place);
    Values inputs = state;
    for (size_t k = 0; k < taken; ++k) {
      const int64_t at_round = backwards[k] != 0 ? rounds - 1 - i : i;
      const int64_t axis = call.Axis(axes[k], sequences[k].dim());
      inputs.emplace_back(at::select(sequences[k], axis, at_round));
    }
    const Values outputs = call.interpreter.RunSubGraph(body, std::move(inputs));
    for (size_t k = 0; k < carried; ++k) state[k] = outputs[k];
    for (size_t k = 0; k < given; ++k) collected[k].push_back(outputs[carried + k].InStep());
  }
  for (size_t k = 0; k < given; ++k) {
    if (collected[k].empty()) call.Unsupported("a scan over nothing");
    if (out_backwards[k] != 0) std::reverse(collected[k].begin(), collected[k].end());
    const int64_t axis = call.Axis(out_axes[k], collected[k][0].dim() + 1);
    state.emplace_back(at::stack(collected[k], axis));
  }
  return state;
}

Values SequenceConstruct(const NodeCall& call) { return {Value::List(call.inputs)}; }
Values SequenceEmpty(const NodeCall&) { return {Value::List({})}; }

size_t Position(const NodeCall& call, size_t i, size_t size, bool behind) {
  const auto count = static_cast<int64_t>(size);
  int64_t position = call.KnownInt(i);
  if (position < 0) position += count;
  if (position < 0 || position > count - (behind ? 0 : 1)) call.Invalid("a position outside");
  return static_cast<size_t>(position);
}
Values SequenceAt(const NodeCall& call) {
  const std::vector<Value>& list = call.ListIn(0);
  return {list[Position(call, 1, list.size(), false)]};
}
Values SequenceInsert(const NodeCall& call) {
  std::vector<Value> list = call.ListIn(0);
  const size_t place = call.Has(2) ? Position(call, 2, list.size(), true) : list.size();
  if (!call.Has(1)) call.Invalid("no tensor");
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), call.inputs[1]);
  return {Value::List(std::move(list))};
}
Values SequenceErase(const NodeCall& call) {
  std::vector<Value> list = call.ListIn(0);
  if (list.empty()) call.Invalid("an empty list");
  const size_t place = call.Has(1) ? Position(call, 1, list.size(), false) : list.size() - 1;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
  return {Value::List(std::move(list))};
}
Values SequenceLength(const NodeCall& call) {
  const auto count = static_cast<int64_t>(call.ListIn(0).size());
  const OutsideStep outside;
  return {Value::Host(at::full({}, count, at::kLong))};
}
Values ConcatFromSequence(const NodeCall& call) {
  std::vector<at::Tensor> parts;
  for (const Value& value : call.ListIn(0)) {
    parts.push_back(call.on_host ? value.tensor() : value.InStep());
  }
  if (parts.empty()) call.Invalid("an empty list");
  const bool stack = call.Int("new_axis", 0) != 0;
  const int64_t axis = call.Axis(call.Int("axis", 0), parts[0].dim() + (stack ? 1 : 0));
  return {stack ? at::stack(parts, axis) : at::cat(parts, axis)};
}
// Parts of one element without that dimension, or with `split` of such sizes.
Values SplitToSequence(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  const int64_t axis = call.Axis(call.Int("axis", 0), x.dim());
  Ints sizes(static_cast<size_t>(std::min<int64_t>(x.size(axis), Interpreter::kMaxNodes)), 1);
  const bool single = !call.Has(1);
  if (!single) {
    sizes = call.KnownInts(1);
    if (sizes.size() == 1 && call.Known(1).dim() == 0) {
      const int64_t each = sizes[0];
      if (each < 1) call.Invalid("parts without elements");
      sizes.assign(static_cast<size_t>(x.size(axis) / each), each);
      if (x.size(axis) % each != 0) sizes.push_back(x.size(axis) % each);
    }
  }
  std::vector<Value> parts;
  for (const at::Tensor& part : at::split_with_sizes(x, sizes, axis)) {
    const bool drop = single && call.Int("keepdims", 1) == 0;
    const at::Tensor item = drop ? at::squeeze(part, axis) : part;
    parts.push_back(call.on_host ? Value::Host(item) : Value(item));
  }
  return {Value::List(std::move(parts))};
}

}  // namespace

void AddControlOperators(OperatorTable& table) {
  table["ConcatFromSequence"] = ConcatFromSequence;
  table["If"] = If;
  table["Loop"] = Loop;
  table["Scan"] = Scan;
  table["SequenceAt"] = SequenceAt;
  table["SequenceConstruct"] = SequenceConstruct;
  table["SequenceEmpty"] = SequenceEmpty;
  table["SequenceErase"] = SequenceErase;
  table["SequenceInsert"] = SequenceInsert;
  table["SequenceLength"] = SequenceLength;
  table["SplitToSequence"] = SplitToSequence;
}

}  // namespace placewright::lowering
