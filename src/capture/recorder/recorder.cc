#include "capture/recorder/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "aten/dtype_names.h"
#include "aten/failure.h"
#include "base/text.h"
#include "capture/meta/meta_run.h"
#include "graph/aliasing/op_schema.h"

namespace placewright {
namespace {

// Whether a number of the host, as an argument of this call, gives the result that the tensor
// gives, its type included: arithmetic in which it has no part in what type the result is of.
bool TakesNumber(const TorchCall& call, const at::Tensor& number) {
  if (number.unsafeGetTensorImpl()->is_wrapped_number()) return true;
  static const std::unordered_set<std::string> kArithmetic = {
      "add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge"};
  std::string name = call.schema().name().substr(call.schema().name().find("::") + 2);
  if (name.ends_with('_')) name.pop_back();
  if (kArithmetic.count(name) == 0) return false;
  // PyTorch takes a number as the second operand only.
  const c10::IValue& left = call.argument(0);
  if (!left.isTensor() || left.toTensor().is_same(number)) return false;
  bool others = false;
  for (size_t i = 0; i < call.argument_count(); ++i) {
    const c10::IValue& value = call.argument(i);
    if (!value.isTensor() || value.toTensor().is_same(number)) continue;
    const at::Tensor& other = value.toTensor();
    const c10::ScalarType type = other.scalar_type(), own = number.scalar_type();
    const bool is_whole = c10::isIntegralType(own, true);
    const bool fits = other.is_floating_point()
                          ? other.dim() > 0 || is_whole || own == type
                          : other.dim() > 0 && is_whole && c10::isIntegralType(type, false);
    if (!fits) return false;
    others = true;
  }
  return others;
}

bool IsMask(const c10::IValue& index) {
  if (!index.isTensor() || !index.toTensor().defined()) return false;
  const c10::ScalarType type = index.toTensor().scalar_type();
  return type == at::kBool || type == at::kByte;
}

// Whether the size of its result does not depend on what a tensor holds, though that of others of
// its operator does: it is among the arguments, or what is indexed with are numbers, no masks.
bool HasKnownSize(const TorchCall& call) {
  if (call.schema().name() == "aten::index" && call.argument(1).isList()) {
    const auto indices = call.argument(1).toListRef();
    return std::none_of(indices.begin(), indices.end(), IsMask);
  }
  for (size_t i = 0; i < call.argument_count(); ++i) {
    if (call.schema().arguments()[i].name() == "output_size") return !call.argument(i).isNone();
  }
  return false;
}

std::vector<int64_t> ShapeOf(const at::Tensor& tensor) { return tensor.sizes().vec(); }

Result<DType> KnownDType(const at::Tensor& tensor) {
  const std::optional<DType> dtype = DTypeOf(tensor.scalar_type());
  if (dtype) return *dtype;
  return MakeError(ErrorCode::kNotRecordable,
                   fmt::format("a tensor has elements of type {}, which a graph cannot hold",
                               c10::toString(tensor.scalar_type())));
}

Status CheckStrided(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.has_storage() && tensor.layout() == c10::kStrided) return Ok();
  return MakeError(ErrorCode::kNotRecordable, "a tensor has no dense memory", "",
                   "Use dense tensors: tensor.to_dense().");
}

[[noreturn]] void Throw(Error error, std::string place) {
  error.place = std::move(place);
  throw TorchFailure(std::move(error));
}

template <class T>
T OrThrow(Result<T> result, const std::string& place) {
  if (!result.ok()) Throw(std::move(result.error()), place);
  return std::move(result).Take();
}

DType DTypeOrThrow(const at::Tensor& tensor, const std::string& op) {
  const Result<DType> dtype = KnownDType(tensor);
  if (!dtype.ok()) Throw(dtype.error(), "op " + op);
  return dtype.value();
}

// add(first, second): whether the sum may lie in `first`, which only the caller holds.
bool MayTakeSum(const TorchCall& call) {
  constexpr size_t kHolders = 2;  // the caller and the stack
  const at::Tensor& first = call.argument(0).toTensor();
  const at::Tensor& second = call.argument(1).toTensor();
  return first.use_count() == kHolders && first.has_storage() && first.storage().use_count() == 1 &&
         first.is_non_overlapping_and_dense() && first.sizes() == second.sizes() &&
         first.scalar_type() == second.scalar_type();
}

}  // namespace

Recorder::Recorder(Options options) : options_(std::move(options)) { StopAt(options_.interrupted); }

int32_t Recorder::AddInputRecord(std::string name, TensorKind kind, const at::Tensor& tensor) {
  const auto index = static_cast<int32_t>(records_.size());
  records_.push_back({static_cast<int32_t>(inputs_.size()), -1, 0});
  const DType dtype = OrThrow(KnownDType(tensor), "input " + name);
  inputs_.push_back({std::move(name), kind, dtype, ShapeOf(tensor), tensor.detach()});
  table_.Define(tensor, index, false);
  return index;
}

Status Recorder::AddInput(std::string name, TensorKind kind, const at::Tensor& tensor) {
  PW_RETURN_IF_ERROR(CheckStrided(tensor));
  if (table_.FindStorage(tensor) != TensorTable::kNone) {
    return MakeError(ErrorCode::kNotRecordable,
                     fmt::format("\"{}\" and \"{}\" share their memory but are two tensors",
                                 inputs_[records_[table_.FindStorage(tensor)].input].name, name),
                     "", "Tie weights by using one tensor in both places.");
  }
  return CatchFailure([&] { AddInputRecord(std::move(name), kind, tensor); });
}

Status Recorder::Run(Phase phase, const std::function<void()>& body) {
  phase_ = phase;
  Status status = CatchFailure([&] {
    const HandlerScope scope(*this);
    body();
  });
  if (!status.ok() && status.error().place.empty() &&
      status.error().code != ErrorCode::kInterrupted) {
    status.error().place = failed_module_.empty() ? fmt::format("{} pass", ToString(phase))
                                                  : "module " + failed_module_;
  }
  return status;
}

const std::string& Recorder::Module() const {
  static const std::string kRoot;
  return modules_.empty() ? kRoot : modules_.back();
}

void Recorder::Handle(TorchCall& call) {
  const OperatorFacts& facts = operators_.Of(call.op);
  if (phase_ == Phase::kBackward) {
    const c10::OperatorHandle* in_place = nullptr;
    if (options_.on_meta && facts.gathers_in_place) in_place = &*facts.gathers_in_place;
    if (facts.sums_in_place && MayTakeSum(call)) in_place = &*facts.sums_in_place;
    if (in_place != nullptr) {
      TorchCall other{*in_place, call.keys, call.stack};
      Handle(other);
      return;
    }
  }
  const CallPlace place = Place(call);
  if (!facts.draws_random && RunsOnHost(call)) return;
  MakeTensorsOfNumbers(call, place);
  // Before the call, which replaces the arguments and may write some of them.
  CallArguments arguments =
      ReadArguments(call, [this](const at::Tensor& tensor) { return IsUnknownNumber(tensor); });
  if ((facts.reads_values && !HasKnownSize(call)) ||
      (facts.returns_numbers && !arguments.tensors.empty())) {
    throw TorchFailure(MakeError(ErrorCode::kDataDependent, "the step reads a value from a tensor",
                                 place.ToString()));
  }
  std::vector<int32_t> inputs;
  inputs.reserve(arguments.tensors.size());
  for (const at::Tensor& tensor : arguments.tensors) {
    Status strided = CheckStrided(tensor);
    if (!strided.ok()) Throw(std::move(strided.error()), place.ToString());
    if (!facts.result_is_argument) inputs.push_back(RecordOf(tensor));
  }
  if (options_.on_meta) {
    RunOnMeta(call, place);
  } else {
    RunReal(call, place);
  }
  if (facts.result_is_argument) return;
  Results results;
  results.tensors = ResultTensors(call, &results.listed);
  // Some calls neither make nor change a tensor.
  if (results.tensors.empty() && !results.listed && arguments.written.empty()) return;
  AddOp(facts, std::move(arguments), std::move(inputs), results);
}

bool Recorder::IsUnknownNumber(const at::Tensor& tensor) const {
  return IsHostNumber(tensor) && table_.FindStorage(tensor) == TensorTable::kNone;
}

// Numbers that follow from numbers alone are worked out and are no op of the step.
bool Recorder::RunsOnHost(TorchCall& call) {
  if (!IsOnHostNumbers(call)) return false;
  for (size_t i = 0; i < call.argument_count(); ++i) {
    const c10::IValue& value = call.argument(i);
    if (value.isTensor() && value.toTensor().defined() && !IsUnknownNumber(value.toTensor())) {
      return false;
    }
  }
  const auto begin = call.stack.end() - static_cast<std::ptrdiff_t>(call.argument_count());
  const torch::jit::Stack arguments(begin, call.stack.end());
  RunOnHost(call);
  const size_t returned = call.schema().returns().size();
  bool are_numbers = true;
  for (size_t i = 0; i < returned; ++i) {
    const c10::IValue& result = call.result(i);
    are_numbers =
        are_numbers && !result.isList() && (!result.isTensor() || IsHostNumber(result.toTensor()));
  }
  if (are_numbers) return true;
  call.stack.resize(call.stack.size() - returned);
  call.stack.insert(call.stack.end(), arguments.begin(), arguments.end());
  return false;
}

void Recorder::MakeTensorsOfNumbers(TorchCall& call, const CallPlace& place) {
  for (size_t i = 0; i < call.argument_count(); ++i) {
    const c10::AliasInfo* alias = call.schema().arguments()[i].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    c10::IValue& value = call.argument(i);
    if (value.isTensor() && IsUnknownNumber(value.toTensor())) {
      const at::Tensor number = value.toTensor();
      if (written) {
        throw TorchFailure(
            MakeError(ErrorCode::kNotRecordable,
                      "a tensor is written into a number that is no part of the step",
                      place.ToString(), "Make a new one: n = n + x instead of n += x."));
      }
      if (!TakesNumber(call, number)) call.argument(i) = TensorOf(number, call.keys);
    } else if (value.isList()) {
      MakeTensorsOfNumbers(value, call.keys);
    }
  }
}

void Recorder::MakeTensorsOfNumbers(c10::IValue& value, c10::DispatchKeySet keys) {
  const auto is_number = [this](const c10::IValue& item) {
    return item.isTensor() && IsUnknownNumber(item.toTensor());
  };
  const auto items = value.toListRef();
  if (std::none_of(items.begin(), items.end(), is_number)) return;
  // The list may be the caller's own.
  c10::List<c10::IValue> old = value.toList();
  c10::impl::GenericList list(old.elementType());
  for (size_t i = 0; i < old.size(); ++i) {
    const c10::IValue item = old.get(i);
    list.push_back(is_number(item) ? c10::IValue(TensorOf(item.toTensor(), keys)) : item);
  }
  value = list;
}

at::Tensor Recorder::TensorOf(const at::Tensor& number, c10::DispatchKeySet keys) {
  static const c10::OperatorHandle kScalarTensor =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::scalar_tensor", "");
  torch::jit::Stack stack = {number.item(), static_cast<int64_t>(number.scalar_type()),
                             c10::IValue(), c10::IValue(), c10::IValue()};
  TorchCall made{kScalarTensor, keys, stack};
  Handle(made);
  return stack.back().toTensor();
}

int32_t Recorder::RecordOf(const at::Tensor& tensor) {
  const int32_t known = table_.Find(tensor);
  if (known != TensorTable::kNone) return known;
  const int32_t base = table_.FindStorage(tensor);
  if (base != TensorTable::kNone) return RecordRemadeView(tensor, base);
  const bool state = phase_ == Phase::kOptimizer;
  return AddInputRecord(fmt::format("{}:{}", state ? "opt_state" : "constant", constants_++),
                        state ? TensorKind::kOptimizerState : TensorKind::kConstant, tensor);
}

int32_t Recorder::RecordRemadeView(const at::Tensor& tensor, int32_t base) {
  RecordedOp op;
  op.spec.name = NewName("as_strided");
  op.spec.type = "aten.as_strided.default";
  op.spec.phase = phase_;
  if (phase_ == Phase::kForward) op.spec.module = Module();
  const auto list = [](at::IntArrayRef numbers) {
    Value::List values;
    for (const int64_t number : numbers) values.emplace_back(number);
    return Value(std::move(values));
  };
  op.spec.args = {Value(InputRef{0}), list(tensor.sizes()), list(tensor.strides()),
                  Value(tensor.storage_offset())};
  op.inputs = {base};
  OutputSpec output;
  output.name = op.spec.name;
  output.dtype = DTypeOrThrow(tensor, op.spec.name);
  output.shape = ShapeOf(tensor);
  output.alias = AliasKind::kView;
  output.alias_of = 0;
  op.spec.outputs.push_back(std::move(output));
  const auto index = static_cast<int32_t>(records_.size());
  records_.push_back({-1, static_cast<int32_t>(ops_.size()), 0});
  ops_.push_back(std::move(op));
  table_.Define(tensor, index, true);
  return index;
}

std::string Recorder::NewName(const std::string& base) {
  const auto name_of = [this](int32_t op) {
    return std::string_view(ops_[static_cast<size_t>(op)].spec.name);
  };
  int& count = names_[base];
  std::string name = count == 0 ? base : base + "_" + std::to_string(count);
  while (used_names_.Find(name, name_of) != NameIndex::kNone) {
    name = base + "_" + std::to_string(++count);
  }
  used_names_.Add(name, static_cast<int32_t>(ops_.size()));
  ++count;
  return name;
}

void Recorder::AddOp(const OperatorFacts& facts, CallArguments arguments,
                     std::vector<int32_t> inputs, const Results& results) {
  const bool is_reshape = kMetaIsTreatedApart && facts.target == "aten._reshape_alias.default";
  RecordedOp op;
  op.spec.name = NewName(is_reshape ? "view" : facts.name);
  op.spec.type = is_reshape ? "aten.view.default" : facts.target;
  op.spec.phase = phase_;
  if (phase_ == Phase::kForward) op.spec.module = Module();
  op.spec.args = std::move(arguments.positional);
  op.spec.attributes = std::move(arguments.keyword);
  if (is_reshape) op.spec.args.resize(2);  // without strides
  op.inputs = std::move(inputs);
  op.random = facts.draws_random;
  AddOutputs(op, arguments, results);
  ops_.push_back(std::move(op));
}

void Recorder::AddOutputs(RecordedOp& op, const CallArguments& arguments, const Results& results) {
  const AliasSchema schema = AliasOf(op.spec.type, op.spec.args, op.spec.attributes,
                                     static_cast<int32_t>(arguments.tensors.size()));
  const bool is_view = schema.view != AliasSchema::View::kNo;
  std::vector<int32_t> writes = schema.writes;
  if (!is_view) writes.insert(writes.end(), arguments.written.begin(), arguments.written.end());
  std::sort(writes.begin(), writes.end());
  writes.erase(std::unique(writes.begin(), writes.end()), writes.end());
  // The first argument in whose storage a result lies; a written one before others.
  const auto base_of = [&](const at::Tensor& result) {
    for (const int32_t i : writes) {
      if (TensorTable::SharesStorage(arguments.tensors[static_cast<size_t>(i)], result)) return i;
    }
    for (size_t i = 0; i < arguments.tensors.size(); ++i) {
      if (TensorTable::SharesStorage(arguments.tensors[i], result)) return static_cast<int32_t>(i);
    }
    return -1;
  };
  op.spec.outputs.reserve(results.tensors.size());
  for (size_t k = 0; k < results.tensors.size(); ++k) {
    const at::Tensor& result = results.tensors[k];
    if (!result.defined()) continue;
    Status strided = CheckStrided(result);
    if (!strided.ok()) Throw(std::move(strided.error()), "op " + op.spec.name);
    OutputSpec output;
    output.name = results.tensors.size() != 1 || results.listed
                      ? fmt::format("{}:{}", op.spec.name, k)
                      : op.spec.name;
    output.dtype = DTypeOrThrow(result, op.spec.name);
    output.shape = ShapeOf(result);
    output.output_index = static_cast<int32_t>(k);
    output.alias_of = base_of(result);
    if (output.alias_of >= 0) {
      const bool written = std::binary_search(writes.begin(), writes.end(), output.alias_of);
      output.alias = written ? AliasKind::kInPlace : AliasKind::kView;
    }
    const auto index = static_cast<int32_t>(records_.size());
    records_.push_back(
        {-1, static_cast<int32_t>(ops_.size()), static_cast<int32_t>(op.spec.outputs.size())});
    table_.Define(result, index, output.alias == AliasKind::kView);
    op.spec.outputs.push_back(std::move(output));
  }
  op.spec.writes = std::move(writes);
}

Result<int32_t> Recorder::Locate(const at::Tensor& tensor) const {
  const int32_t found = tensor.defined() ? table_.Find(tensor) : TensorTable::kNone;
  if (found != TensorTable::kNone) return found;
  return MakeError(ErrorCode::kNotRecordable, "a result of the step was not made by it", "",
                   "Return tensors that the recorded functions compute.");
}

Result<std::vector<TensorId>> Recorder::BuildInputs(GraphBuilder& builder,
                                                    RecordedStep& step) const {
  std::vector<TensorId> ids;
  for (const Input& input : inputs_) {
    PW_ASSIGN(const TensorId id,
              builder.AddInput(input.name, input.kind, input.dtype, input.shape));
    step.inputs.emplace_back(id, input.tensor);
    ids.push_back(id);
  }
  for (const TensorId id : ids) builder.TieStateByName(id);
  return ids;
}

std::vector<char> Recorder::ReadOps(const std::vector<at::Tensor>& asked) const {
  std::vector<char> is_read(ops_.size(), 0);
  const auto read = [&](int32_t record) {
    const int32_t op = records_[static_cast<size_t>(record)].op;
    if (op >= 0) is_read[static_cast<size_t>(op)] = 1;
  };
  for (const RecordedOp& op : ops_) {
    for (const int32_t record : op.inputs) read(record);
  }
  for (const at::Tensor& tensor : asked) {
    const int32_t record = tensor.defined() ? table_.Find(tensor) : TensorTable::kNone;
    if (record != TensorTable::kNone) read(record);
  }
  return is_read;
}

bool Recorder::HasMade(const at::Tensor& tensor) const {
  const int32_t found = table_.Find(tensor);
  return found != TensorTable::kNone && records_[static_cast<size_t>(found)].input < 0;
}

// Moves the recorded ops into the builder.
Status Recorder::Fill(GraphBuilder& builder, RecordedStep& step,
                      const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& wanted,
                      std::vector<TensorId>* wanted_ids) {
  builder.set_batch(options_.batch);
  PW_ASSIGN(const std::vector<TensorId> inputs, BuildInputs(builder, step));
  std::vector<std::vector<TensorId>> made;  // by op
  const auto id_of = [&](int32_t index) {
    const Record& record = records_[static_cast<size_t>(index)];
    if (record.input >= 0) return inputs[static_cast<size_t>(record.input)];
    return made[static_cast<size_t>(record.op)][static_cast<size_t>(record.output)];
  };
  std::vector<at::Tensor> asked = outputs;
  asked.insert(asked.end(), wanted.begin(), wanted.end());
  const std::vector<char> is_read = ReadOps(asked);
  for (RecordedOp& op : ops_) {
    if (op.inputs.empty() && !op.random && !is_read[made.size()]) {
      made.emplace_back();
      continue;
    }
    for (const int32_t record : op.inputs) op.spec.inputs.push_back(id_of(record));
    if (op.random) step.random_ops.push_back(OpId(step.module_stated.size()));
    step.module_stated.push_back(!op.spec.module.empty());
    PW_ASSIGN(std::vector<TensorId> tensors, builder.AddOp(std::move(op.spec)));
    made.push_back(std::move(tensors));
  }
  std::vector<TensorId> results;
  for (const at::Tensor& tensor : outputs) {
    PW_ASSIGN(const int32_t record, Locate(tensor));
    results.push_back(id_of(record));
  }
  builder.SetOutputs(std::move(results));
  for (const at::Tensor& tensor : wanted) {
    TensorId id;
    if (tensor.defined()) {
      PW_ASSIGN(const int32_t record, Locate(tensor));
      id = id_of(record);
    }
    wanted_ids->push_back(id);
  }
  return Ok();
}

Result<GraphBuilder> Recorder::Assemble(const std::vector<at::Tensor>& outputs) && {
  RecordedStep step;
  GraphBuilder builder(options_.name, "aten");
  PW_RETURN_IF_ERROR(Fill(builder, step, outputs, {}, nullptr));
  return builder;
}

Result<RecordedStep> Recorder::Finish(const std::vector<at::Tensor>& outputs,
                                      const std::vector<at::Tensor>& wanted,
                                      std::vector<TensorId>* wanted_ids) && {
  RecordedStep step;
  GraphBuilder builder(options_.name, "aten");
  PW_RETURN_IF_ERROR(Fill(builder, step, outputs, wanted, wanted_ids));
  PW_ASSIGN(step.graph, std::move(builder).Build());
  return step;
}

}  // namespace placewright
