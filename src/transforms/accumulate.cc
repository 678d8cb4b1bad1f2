#include "transforms/accumulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/numbers.h"
#include "graph/graph_builder.h"
#include "sharding/axis_places.h"
#include "sharding/part_call.h"
#include "transforms/micro_batch_laws.h"
#include "transforms/micro_batch_roles.h"
#include "transforms/op_copy.h"
#include "transforms/pipeline.h"

namespace placewright {
namespace {

Value Reference(int32_t input) { return Value(InputRef{input}); }

// "op:1" of copy 2 of "op": "op@2:1".
std::string NameInCopy(const std::string& tensor, const std::string& op, const std::string& copy) {
  if (!tensor.starts_with(op)) return tensor + copy;
  return op + copy + tensor.substr(op.size());
}

class AccumulationWriter {
 public:
  // `written`: so many of them are written.
  AccumulationWriter(const Graph& step, const NamedAxes& axes, const MicroBatchRoles& roles,
                     int64_t micro_batches, int64_t written)
      : step_(step),
        held_(step.Held()),
        axes_(axes),
        roles_(roles),
        batches_(micro_batches),
        written_(written),
        of_one_(step.batch() / micro_batches),
        builder_(step.name(), std::string(step.format())),
        whole_(step.tensor_count()),
        now_(step.tensor_count()),
        parts_(step.tensor_count()),
        content_(step.storage_count(), 0),
        sums_(step.storage_count(), 0),
        last_of_group_(step.group_count()),
        last_sum_(step.tensor_count()) {
    builder_.set_batch(of_one_);
    FindWrites();
  }

  Result<Graph> Write() {
    for (const TensorId id : step_.tensors()) {
      if (step_.tensor(id).producer.valid()) continue;
      PW_ASSIGN(whole_[id], CopyInput(step_, id, builder_));
      const std::vector<int64_t>& strides = step_.tensor(id).strides;
      if (!strides.empty()) builder_.SetStrides(whole_[id], strides);
      NoteTensor(whole_[id], id);
    }
    for (batch_ = 0; batch_ < written_; ++batch_) {
      for (const OpId id : step_.ops()) {
        const OpTurn turn = roles_.ops[id];
        if (turn == OpTurn::kEach) PW_RETURN_IF_ERROR(WriteCopy(id));
        if (turn == OpTurn::kBefore && batch_ == 0) PW_RETURN_IF_ERROR(WriteOnce(id));
      }
    }
    --batch_;
    for (const OpId id : step_.ops()) {
      if (roles_.ops[id] == OpTurn::kAfter) PW_RETURN_IF_ERROR(WriteOnce(id));
    }
    PW_RETURN_IF_ERROR(WriteOutputs());
    PW_ASSIGN(Graph built, std::move(builder_).Build());
    BatchScaling laws = LawsOfMicroBatches(step_, built, origins_);
    return WithBatchScaling(std::move(built), std::move(laws));
  }

 private:
  // "@2"
  std::string Copy() const { return fmt::format("@{}", batch_ + 1); }
  Interval Samples() const { return {batch_ * of_one_, (batch_ + 1) * of_one_}; }

  // Which storages an op writes, and what content it leaves there.
  void FindWrites() {
    writes_.resize(step_.op_count());
    for (const StorageId id : step_.storages()) {
      const std::vector<Version>& versions = step_.storage(id).versions;
      for (size_t v = 1; v < versions.size(); ++v) {
        writes_[versions[v].writer].emplace_back(id, static_cast<int32_t>(v));
      }
    }
  }

  // What is called, with what it reads: its outputs and their origins are known.
  Result<std::vector<TensorId>> Add(OpSpec spec, const std::vector<TensorId>& origins, OpId op) {
    PW_ASSIGN(std::vector<TensorId> made, builder_.AddOp(std::move(spec)));
    origins_.ops.push_back(op);
    for (size_t i = 0; i < made.size(); ++i) NoteTensor(made[i], origins[i]);
    return made;
  }
  void NoteTensor(TensorId made, TensorId origin) {
    origins_.tensors.resize(made.index() + 1);
    origins_.tensors[made] = origin;
  }
  OpId LastOp() const { return OpId(origins_.ops.size() - 1); }

  // One more op beside a copy, with one output that is of `like`.
  Result<TensorId> AddBeside(OpId of, std::string name, std::string type,
                             std::vector<TensorId> inputs, std::vector<Value> args, TensorId origin,
                             DType dtype, std::vector<int64_t> shape) {
    OpSpec spec{.name = std::move(name), .type = std::move(type)};
    const Op& op = step_.op(of);
    spec.phase = op.phase;
    spec.module = step_.module_path(op.module);
    spec.in_root = spec.module.empty();
    spec.inputs = std::move(inputs);
    spec.args = std::move(args);
    spec.outputs = {{.name = spec.name, .dtype = dtype, .shape = std::move(shape)}};
    if (spec.type == "aten.slice.Tensor" || spec.type == "aten.view.default") {
      spec.outputs[0].alias = AliasKind::kView;
      spec.outputs[0].alias_of = 0;
    }
    if (spec.type == "aten.sum.default" || spec.type == "aten.zeros.default") {
      spec.attributes = {{"dtype", Value(std::string(WordOf(dtype)))}};
    }
    PW_ASSIGN(const std::vector<TensorId> made, Add(std::move(spec), {origin}, OpId()));
    return made[0];
  }
  const Tensor& Made(TensorId id) const { return builder_.added().tensors[id]; }

  void KeepInGroup(OpId of, const std::string& name) {
    std::string& last = last_of_group_[step_.group(of)];
    if (!last.empty()) builder_.Colocate(last, name);
    last = name;
  }

  // Ops of the group of `of` from the one numbered `first` on.
  void KeepAddedInGroup(OpId of, size_t first) {
    for (size_t i = first; i < origins_.ops.size(); ++i) {
      KeepInGroup(of, builder_.added().ops[OpId(i)].name);
    }
  }

  Status CheckContent(OpId id, size_t input) const {
    const Op& op = step_.op(id);
    const Tensor& tensor = step_.tensor(op.inputs[input]);
    const bool writes =
        std::find(op.writes.begin(), op.writes.end(), op.inputs[input]) != op.writes.end();
    if (writes && roles_.ops[id] == OpTurn::kEach) return Ok();
    const bool sum = roles_.tensors[op.inputs[input]] == TensorTurn::kSums;
    if ((sum ? sums_ : content_)[tensor.storage] == op.input_versions[input]) return Ok();
    return MakeError(
        ErrorCode::kTransform,
        fmt::format("it reads \"{}\" as it is before the last micro-batch, behind which it is "
                    "written",
                    Printable(tensor.name, 80)),
        fmt::format("op {} ({})", Printable(op.name, 80), Printable(op.type, 80)),
        "Record the step so that what micro-batches read is written behind them.");
  }
  void NoteWrites(OpId id) {
    for (const auto& [storage, version] : writes_[id]) {
      content_[storage] = version;
      sums_[storage] = version;
    }
  }

  // What is not of a micro-batch, at its place in the program.
  Status WriteOnce(OpId id) {
    const Op& op = step_.op(id);
    OpSpec spec = CopyOfOp(step_, id, whole_);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId tensor = op.inputs[i];
      if (whole_[tensor].valid()) {
        PW_RETURN_IF_ERROR(CheckContent(id, i));
      } else {
        PW_ASSIGN(spec.inputs[i], AlikeOf(id, tensor));
      }
    }
    PW_RETURN_IF_ERROR(SetAfter(id, spec));
    const size_t first = origins_.ops.size();
    PW_ASSIGN(const std::vector<TensorId> made, Add(std::move(spec), op.outputs, id));
    HoldAlike(id, whole_, now_);
    for (size_t i = 0; i < made.size(); ++i) whole_[op.outputs[i]] = made[i];
    NoteWrites(id);
    KeepAddedInGroup(id, first);
    return Ok();
  }

  // The copy written last of an op holds what the op does: of its micro-batch, or what there is once.
  void HoldAlike(OpId id, const IdVector<TensorId, TensorId>& first,
                 const IdVector<TensorId, TensorId>& second) {
    for (const TensorId tensor : held_[id]) {
      const TensorId held = first[tensor].valid() ? first[tensor] : second[tensor];
      if (held.valid()) builder_.Hold(held, LastOp());
    }
  }

  // Of what is not known yet the type alone is read: what a micro-batch has, or as much of nothing.
  Result<TensorId> AlikeOf(OpId id, TensorId tensor) {
    if (now_[tensor].valid()) return now_[tensor];
    const Tensor& like = step_.tensor(tensor);
    Value::List sizes;
    for (const int64_t size : like.shape) sizes.push_back(Value(size));
    const std::string name = fmt::format("{}.{}", like.name, step_.op(id).name);
    return AddBeside(id, name, "aten.zeros.default", {}, {Value(std::move(sizes))}, tensor,
                     like.dtype, like.shape);
  }

  // A copy waits for the copy of the same micro-batch.
  Status SetAfter(OpId id, OpSpec& spec) const {
    spec.after.clear();
    for (const OpId earlier : step_.op(id).after) {
      const bool each = roles_.ops[earlier] == OpTurn::kEach;
      if (roles_.ops[earlier] == OpTurn::kAfter && roles_.ops[id] != OpTurn::kAfter) {
        return MakeError(ErrorCode::kTransform,
                         fmt::format("it comes after {}, which comes behind all micro-batches",
                                     Printable(step_.op(earlier).name, 80)),
                         "op " + Printable(step_.op(id).name, 80));
      }
      spec.after.push_back(step_.op(earlier).name + (each ? Copy() : ""));
    }
    return Ok();
  }

  Status WriteCopy(OpId id) {
    const size_t first = origins_.ops.size();
    if (roles_.weighs_targets[id] && batch_ == 0) PW_RETURN_IF_ERROR(WriteWeight(id));
    const Op& op = step_.op(id);
    OpSpec spec = CopyOfOp(step_, id, now_);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      PW_ASSIGN(spec.inputs[i], InputOf(id, i));
    }
    spec.name += Copy();
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      spec.outputs[i].name = NameInCopy(spec.outputs[i].name, op.name, Copy());
      spec.outputs[i].shape = ShapeInCopy(op.outputs[i]);
    }
    PW_RETURN_IF_ERROR(SetAfter(id, spec));
    TakeCall(id, spec);
    PW_ASSIGN(const std::vector<TensorId> made, Add(std::move(spec), op.outputs, id));
    NotePlace(id);
    HoldAlike(id, now_, whole_);
    for (size_t i = 0; i < made.size(); ++i) now_[op.outputs[i]] = made[i];
    PW_RETURN_IF_ERROR(Divide(id));
    KeepAddedInGroup(id, first);
    NoteRunning(id);
    for (const TensorId output : op.outputs) PW_RETURN_IF_ERROR(Keep(id, output));
    return Ok();
  }

  std::vector<int64_t> ShapeInCopy(TensorId tensor) const {
    const std::vector<int64_t>& shape = step_.tensor(tensor).shape;
    if (roles_.tensors[tensor] != TensorTurn::kParts) return shape;
    return ShapeOf(shape, {{roles_.batch[tensor], Samples()}});
  }

  const OpRule& RuleOf(OpId id) const { return *axes_.rule(id); }
  // A mean along other dimensions stays the op.
  bool IsOwnMean(OpId id) const {
    const OpRule& rule = RuleOf(id);
    return rule.form == PartForm::kMean && rule.reduction_argument < 0 &&
           rule.axes[roles_.split[id]].parts == Parts::kSplit;
  }

  void TakeCall(OpId id, OpSpec& spec) {
    const RuleAxisId split = roles_.split[id];
    if (!split.valid()) return;
    const OpRule* rule = &RuleOf(id);
    OpRule plain;
    if (IsOwnMean(id)) {
      plain = *rule;
      plain.form = PartForm::kSameOp;
      rule = &plain;
    }
    IdVector<RuleAxisId, int64_t> sizes;
    for (const RuleAxis& axis : rule->axes) sizes.push_back(axis.size);
    sizes[split] = sizes[split] / step_.batch() * of_one_;
    PartCall call = CallOnPart(step_.op(id), *rule, {split}, sizes);
    if (const PlaceArgument at = PlaceArgumentOf(*rule, split); at.there()) {
      const AxisPlace place = PlaceInRule(axes_, id, split, axes_.batch(), at.TensorOf(*rule));
      at.Set({{place, Samples()}}, call);
    }
    spec.type = std::move(call.type);
    spec.args = std::move(call.args);
    spec.attributes = std::move(call.attributes);
  }

  // The numbers of a place that a draw states follow the micro-batch.
  void NotePlace(OpId id) {
    const RuleAxisId split = roles_.split[id];
    if (!split.valid() || RuleOf(id).place_argument < 0) return;
    const Op& made = builder_.added().ops[LastOp()];
    int32_t number = 0, at = -1;
    VisitNumbers(made.args, made.attributes, [&](const Value&, const NumberPlace& place) {
      if (place.keyword == nullptr && place.path[0] == RuleOf(id).place_argument && at < 0)
        at = number;
      ++number;
    });
    if (at < 0) return;
    const int64_t slopes[] = {0, 0, batches_, batch_, batch_ + 1};
    for (int32_t i = 0; i < 5; ++i) {
      if (slopes[i] != 0) origins_.numbers.push_back({LastOp(), {at + i, slopes[i]}});
    }
  }

  // What one of an op's inputs is in this micro-batch.
  Result<TensorId> InputOf(OpId id, size_t input) {
    const TensorId tensor = step_.op(id).inputs[input];
    const RuleAxisId split = roles_.split[id];
    if (roles_.tensors[tensor] == TensorTurn::kAfter) return AlikeOf(id, tensor);
    if (roles_.tensors[tensor] != TensorTurn::kBefore) return now_[tensor];
    const OpRule* const rule = axes_.rule(id);
    if (rule == nullptr || !IsUnread(*rule, input)) PW_RETURN_IF_ERROR(CheckContent(id, input));
    if (split.valid() && Holds(rule->inputs[input], split)) {
      return Slice(id, tensor, PlaceInRule(axes_, id, split, axes_.batch(), rule->inputs[input]));
    }
    if (!roles_.IsAddedInto(step_, axes_, id, input)) return whole_[tensor];
    return AddedInto(id, tensor);
  }

  // All micro-batches but the first add to zeros; what is written in place is each one's own.
  Result<TensorId> AddedInto(OpId id, TensorId tensor) {
    const Op& op = step_.op(id);
    const bool written = std::find(op.writes.begin(), op.writes.end(), tensor) != op.writes.end();
    if (batch_ == 0 && !written) return whole_[tensor];
    const Tensor& like = step_.tensor(tensor);
    return AddBeside(id, fmt::format("{}{}.into", op.name, Copy()),
                     batch_ == 0 ? "aten.clone.default" : "aten.zeros_like.default",
                     {whole_[tensor]}, {Reference(0)}, tensor, like.dtype, like.shape);
  }

  // The samples of what there is of the whole batch. Where they do not lie one behind the other they are copied, as a
  // micro-batch would be given.
  Result<TensorId> Slice(OpId reader, TensorId tensor, const AxisPlace& place) {
    Sliced& last = parts_[tensor];
    if (last.batch == batch_) return last.tensor;
    const Tensor& whole = step_.tensor(tensor);
    const Interval samples = Samples();
    const std::vector<int64_t> shape = ShapeOf(whole.shape, {{place, samples}});
    const std::string name = whole.name + Copy();
    TensorId made = whole_[tensor];
    // Of a dimension of [outer, samples, inner] the outer ones become a dimension of their own.
    std::vector<int64_t> apart = whole.shape;
    auto dimension = static_cast<size_t>(place.dimension);
    if (place.outer > 1) {
      apart[dimension] /= place.outer;
      apart.insert(apart.begin() + place.dimension, place.outer);
      ++dimension;
      PW_ASSIGN(made,
                AddView(reader, name + ".apart", made, apart, dimension, batches_ * place.inner));
    }
    apart[dimension] = samples.length() * place.inner;
    const bool scattered =
        std::any_of(apart.begin(), apart.begin() + static_cast<ptrdiff_t>(dimension),
                    [](int64_t size) { return size > 1; });
    PW_ASSIGN(made,
              AddBeside(reader, scattered ? name + ".view" : name, "aten.slice.Tensor", {made},
                        {Reference(0), Value(static_cast<int64_t>(dimension)),
                         Value(samples.from * place.inner), Value(samples.to * place.inner)},
                        TensorId(), whole.dtype, apart));
    NoteDimension(made, dimension, place.inner);
    if (batch_ > 0) origins_.numbers.push_back({LastOp(), {1, batch_ * place.inner}});
    origins_.numbers.push_back({LastOp(), {2, (batch_ + 1) * place.inner}});
    if (scattered) {
      const bool joined = place.outer > 1;
      PW_ASSIGN(made, AddBeside(reader, joined ? name + ".copy" : name, "aten.clone.default",
                                {made}, {Reference(0)}, TensorId(), whole.dtype, apart));
      NoteDimension(made, dimension, place.inner);
      if (joined) {
        PW_ASSIGN(made,
                  AddView(reader, name, made, shape, dimension - 1, place.outer * place.inner));
      }
    }
    last = {batch_, made};
    return made;
  }

  // In another shape, of which a dimension grows so much with a sample.
  Result<TensorId> AddView(OpId reader, std::string name, TensorId of,
                           const std::vector<int64_t>& shape, size_t dimension, int64_t rate) {
    Value::List sizes;
    for (const int64_t size : shape) sizes.push_back(Value(size));
    PW_ASSIGN(const TensorId made, AddBeside(reader, std::move(name), "aten.view.default", {of},
                                             {Reference(0), Value(std::move(sizes))}, TensorId(),
                                             Made(of).dtype, shape));
    NoteDimension(made, dimension, rate);
    origins_.numbers.push_back({LastOp(), {static_cast<int32_t>(dimension), rate}});
    return made;
  }
  void NoteDimension(TensorId made, size_t dimension, int64_t rate) {
    origins_.dimensions.push_back({made, {static_cast<int32_t>(dimension), rate}});
  }

  // Of the targets of the whole batch: how many are not ignored, or how much their classes weigh.
  Status WriteWeight(OpId id) {
    const Op& op = step_.op(id);
    const auto input = [&](size_t argument) -> TensorId {
      const InputRef* const at = argument < op.args.size() ? op.args[argument].AsInput() : nullptr;
      return at == nullptr ? TensorId() : op.inputs[static_cast<size_t>(at->index)];
    };
    const TensorId targets = input(1), weights = input(2);
    const TensorId total =
        *std::find_if(op.outputs.begin(), op.outputs.end(),
                      [&](TensorId output) { return step_.tensor(output).output_index == 1; });
    const DType dtype = step_.tensor(total).dtype;
    const Tensor& of = step_.tensor(targets);
    int64_t ignored = -100;
    if (op.args.size() > 4 && op.args[4].AsInt() != nullptr) ignored = *op.args[4].AsInt();
    for (const NamedValue& named : op.attributes) {
      if (named.name == "ignore_index" && named.value.AsInt() != nullptr)
        ignored = *named.value.AsInt();
    }
    PW_ASSIGN(TensorId counted,
              AddBeside(id, op.name + ".counted", "aten.ne.Scalar", {whole_[targets]},
                        {Reference(0), Value(ignored)}, targets, DType::kBool, of.shape));
    if (weights.valid()) {
      PW_ASSIGN(const TensorId classes,
                AddBeside(id, op.name + ".classes", "aten.mul.Tensor", {whole_[targets], counted},
                          {Reference(0), Reference(1)}, targets, of.dtype, of.shape));
      PW_ASSIGN(const TensorId each,
                AddBeside(id, op.name + ".weights", "aten.index.Tensor", {whole_[weights], classes},
                          {Reference(0), Value(Value::List{Reference(1)})}, targets,
                          step_.tensor(weights).dtype, of.shape));
      PW_ASSIGN(counted, AddBeside(id, op.name + ".weighed", "aten.mul.Tensor", {each, counted},
                                   {Reference(0), Reference(1)}, targets,
                                   step_.tensor(weights).dtype, of.shape));
    }
    PW_ASSIGN(whole_[total], AddBeside(id, op.name + ".weight", "aten.sum.default", {counted},
                                       {Reference(0)}, total, dtype, {}));
    return Ok();
  }

  // A share of a mean: of a sum, by what the whole batch's is divided.
  Status Divide(OpId id) {
    const Op& op = step_.op(id);
    if (!roles_.split[id].valid()) return Ok();
    const OpRule& rule = RuleOf(id);
    const bool weighted = rule.form == PartForm::kWeightedMean;
    if (!weighted && (rule.form != PartForm::kMean || IsOwnMean(id))) return Ok();
    const auto result = std::find_if(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return step_.tensor(output).output_index == 0;
    });
    if (result == op.outputs.end()) return Ok();
    const TensorId sum = now_[*result];
    std::vector<TensorId> inputs = {sum};
    std::vector<Value> args = {Reference(0), weighted ? Reference(1) : Value(rule.divisor)};
    if (weighted) inputs.push_back(WeightOf(op));
    const std::string type = weighted ? "aten.div.Tensor" : "aten.div.Scalar";
    PW_ASSIGN(now_[*result], AddBeside(id, op.name + Copy() + ".mean", type, std::move(inputs),
                                       std::move(args), *result, Made(sum).dtype, Made(sum).shape));
    if (!weighted && rule.divisor % of_one_ == 0) {
      origins_.numbers.push_back({LastOp(), {0, rule.divisor / of_one_}});
    }
    return Ok();
  }
  TensorId WeightOf(const Op& op) const {
    for (const TensorId output : op.outputs) {
      if (step_.tensor(output).output_index == 1) return whole_[output];
    }
    return TensorId();
  }

  // What stays of a copy's result for later: its place in a sum, or in all of a tensor.
  Status Keep(OpId id, TensorId tensor) {
    const TensorTurn turn = roles_.tensors[tensor];
    const TensorId part = now_[tensor];
    if (turn == TensorTurn::kAfter || (turn == TensorTurn::kAlike && batch_ == 0)) {
      whole_[tensor] = part;
      content_[step_.tensor(tensor).storage] = step_.tensor(tensor).version;
    }
    if (turn == TensorTurn::kParts && IsOutput(tensor)) outputs_[tensor].push_back(part);
    if (turn != TensorTurn::kSums || !roles_.added_up[tensor]) return Ok();
    sums_[step_.tensor(tensor).storage] = step_.tensor(tensor).version;
    if (batch_ == 0) {
      whole_[tensor] = part;
      return Ok();
    }
    const std::string name = fmt::format("{}.sum@{}", step_.tensor(tensor).name, batch_ + 1);
    PW_ASSIGN(whole_[tensor],
              AddBeside(id, name, "aten.add.Tensor", {whole_[tensor], part},
                        {Reference(0), Reference(1)}, tensor, Made(part).dtype, Made(part).shape));
    if (!last_sum_[tensor].empty()) builder_.Colocate(last_sum_[tensor], name);
    last_sum_[tensor] = name;
    return Ok();
  }
  bool IsOutput(TensorId tensor) const {
    return std::find(step_.outputs().begin(), step_.outputs().end(), tensor) !=
           step_.outputs().end();
  }

  // Running statistics, and the count of batches, are what the last micro-batch leaves.
  void NoteRunning(OpId id) {
    for (const auto& [storage, version] : writes_[id]) {
      if (!step_.tensor(step_.storage(storage).first).producer.valid()) content_[storage] = version;
    }
  }

  Status WriteOutputs() {
    std::vector<TensorId> outputs;
    for (const TensorId id : step_.outputs()) {
      if (roles_.tensors[id] != TensorTurn::kParts) {
        outputs.push_back(whole_[id]);
        continue;
      }
      const Tensor& whole = step_.tensor(id);
      if (written_ < batches_) {
        return MakeError(ErrorCode::kTransform, "it joins parts of all micro-batches",
                         "output " + Printable(whole.name, 80), "Write all of them.");
      }
      Value::List all;
      for (size_t i = 0; i < outputs_[id].size(); ++i)
        all.push_back(Reference(static_cast<int32_t>(i)));
      PW_ASSIGN(const TensorId made,
                AddBeside(whole.producer, whole.name, "aten.cat.default", outputs_[id],
                          {Value(std::move(all)), Value(int64_t{roles_.batch[id].dimension})}, id,
                          whole.dtype, whole.shape));
      outputs.push_back(made);
    }
    builder_.SetOutputs(std::move(outputs));
    return Ok();
  }

  struct Sliced {
    int64_t batch = -1;
    TensorId tensor;
  };

  const Graph& step_;
  const Csr<OpId, TensorId> held_;  // what each op of the step holds
  const NamedAxes& axes_;
  const MicroBatchRoles& roles_;
  const int64_t batches_, written_, of_one_;
  GraphBuilder builder_;
  MicroBatchOrigins origins_;
  int64_t batch_ = 0;                   // which micro-batch is written, from 0
  IdVector<TensorId, TensorId> whole_;  // what there is once; of sums what has been added up
  IdVector<TensorId, TensorId> now_;    // of the micro-batch that is written
  IdVector<TensorId, Sliced> parts_;    // the last slice of what there is once
  std::map<TensorId, std::vector<TensorId>> outputs_;  // parts of what the step gives
  IdVector<StorageId, int32_t> content_;  // which version there is of what is there once
  IdVector<StorageId, int32_t> sums_;     // and of what is added up
  IdVector<OpId, std::vector<std::pair<StorageId, int32_t>>> writes_;
  IdVector<GroupId, std::string> last_of_group_;  // the op that was added last
  IdVector<TensorId, std::string> last_sum_;
};

Error DoesNotDivide(const Graph& step, int64_t micro_batches) {
  return MakeError(
      ErrorCode::kTransform,
      fmt::format("{} micro-batches do not divide the batch of {}", micro_batches, step.batch()),
      "accumulate", "Give a number that divides it, or another --batch.");
}

}  // namespace

Result<std::unique_ptr<Graph>> WithAccumulation(const Graph& step, int64_t micro_batches,
                                                const Transform* pipeline,
                                                std::optional<int64_t> written) {
  if (micro_batches == 1) return std::unique_ptr<Graph>();
  const NamedAxes axes(step);
  if (axes.samples() == 0) return axes.WhyNoBatch();
  if (micro_batches < 1 || axes.samples() % micro_batches != 0) {
    return DoesNotDivide(step, micro_batches);
  }
  IdVector<OpId, int32_t> chunk_of;
  if (pipeline != nullptr) {
    PW_ASSIGN(chunk_of, PipelineChunks(step, *pipeline));
  }
  PW_ASSIGN(const MicroBatchRoles roles, RolesOverMicroBatches(step, axes, chunk_of));
  const int64_t count = std::min(written.value_or(micro_batches), micro_batches);
  PW_ASSIGN(Graph made, AccumulationWriter(step, axes, roles, micro_batches, count).Write());
  return std::make_unique<Graph>(std::move(made));
}

bool IsMicroBatchSum(const Op& op) { return op.name.find(".sum@") != std::string::npos; }

int32_t MicroBatchOf(const Op& op) {
  int32_t number = 0;
  const size_t at = op.name.find('@');
  if (at == std::string::npos) return number;
  std::from_chars(op.name.data() + at + 1, op.name.data() + op.name.size(), number);
  return number;
}

}  // namespace placewright
