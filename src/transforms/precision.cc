#include "transforms/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "graph/graph_builder.h"
#include "graph/module_globs.h"
#include "graph/ownership/module_path.h"
#include "transforms/op_copy.h"

namespace placewright {
namespace {

constexpr DType kFloats[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16};

constexpr std::string_view kCast = "aten._to_copy.default", kSummed = ".cast";

bool IsFloat(DType dtype) {
  return std::find(std::begin(kFloats), std::end(kFloats), dtype) != std::end(kFloats);
}

Error Refuse(std::string why, std::string remedy) {
  return MakeError(ErrorCode::kTransform, std::move(why), "precision", std::move(remedy));
}

Result<DType> ReadType(const std::string& word) {
  const std::string_view name = std::string_view(word).substr(word.find('=') + 1);
  for (const DType dtype : kFloats) {
    if (name == ToString(dtype)) return dtype;
  }
  return Refuse(fmt::format("\"{}\" is no type of floats", Printable(word, 60)),
                "The types are f64, f32, bf16 and f16.");
}

// "param=bf16 reduce=f32" and "param=bf16,reduce=f32" are two.
std::vector<std::string> Apart(const std::vector<std::string>& words) {
  std::vector<std::string> apart;
  for (const std::string& word : words) {
    const char* const between = word.find('=') == std::string::npos ? " " : " ,";
    for (size_t from = 0; (from = word.find_first_not_of(between, from)) != std::string::npos;) {
      const size_t end = std::min(word.find_first_of(between, from), word.size());
      apart.push_back(word.substr(from, end - from));
      from = end;
    }
  }
  return apart;
}

// Which tensors become of another type, and what is cast.
class TypeFinder {
 public:
  TypeFinder(const Graph& step, const PrecisionTypes& types, bool always)
      : step_(step),
        types_(types),
        always_(always),
        is_named(step.storage_count(), false),
        is_wider(step.storage_count(), false),
        updates(step.op_count(), false),
        gradients(step.op_count()) {}

  Status Find() {
    PW_RETURN_IF_ERROR(FindParameters());
    for (const TensorId id : parameters) {
      if (step_.tensor(id).dtype != types_.master || always_) WidenWithState(id);
    }
    FindUpdates();
    return FindGradients();
  }

 private:
  bool IsNamed(const Tensor& parameter) const {
    if (types_.modules.empty()) return true;
    const std::string_view path = ModuleOfParameter(parameter.name);
    return std::any_of(types_.modules.begin(), types_.modules.end(), [&](const std::string& glob) {
      return OutermostMatch(glob, path).has_value();
    });
  }

  Status FindParameters() {
    for (const TensorId id : step_.tensors()) {
      const Tensor& tensor = step_.tensor(id);
      const auto& versions = step_.storage(tensor.storage).versions;
      const bool updated = tensor.kind == TensorKind::kParameter && !tensor.producer.valid() &&
                           IsFloat(tensor.dtype) && versions.size() > 1;
      if (!updated || !IsNamed(tensor)) continue;
      const std::string name = Printable(tensor.name, 80);
      if (step_.op(versions[1].writer).phase != Phase::kOptimizer) {
        return Refuse(fmt::format("{} writes \"{}\" before the update",
                                  Printable(step_.op(versions[1].writer).name, 80), name),
                      "Leave its module out of the set.");
      }
      if (types_.param.value_or(tensor.dtype) != tensor.dtype) {
        return Refuse(
            fmt::format("the step computes with \"{}\" in {}, not in {}", name,
                        ToString(tensor.dtype), ToString(*types_.param)),
            fmt::format("Record the model in {} (model.to(torch.bfloat16) and the like): it says "
                        "what stays in 32 bits.",
                        ToString(*types_.param)));
      }
      if (SizeOf(types_.master) < SizeOf(tensor.dtype)) {
        return Refuse(fmt::format("master={} is shorter than \"{}\", of {}",
                                  ToString(types_.master), name, ToString(tensor.dtype)),
                      "Give a type that is as long, or longer.");
      }
      parameters.push_back(id);
      is_named[tensor.storage] = true;
    }
    if (!parameters.empty()) return Ok();
    return Refuse("no update writes a parameter of these modules",
                  "Give other modules, or record a training step.");
  }

  void WidenWithState(TensorId parameter) {
    const StorageId storage = step_.tensor(parameter).storage;
    const GroupId group = step_.group(step_.home_op(storage));
    is_wider[storage] = true;
    for (const StorageId id : step_.storages()) {
      const Tensor& state = step_.tensor(step_.storage(id).first);
      const bool own = step_.storage(id).kind == TensorKind::kOptimizerState &&
                       step_.home_op(id).valid() && step_.group(step_.home_op(id)) == group;
      if (own && state.dtype == step_.tensor(parameter).dtype) is_wider[id] = true;
    }
  }

  // What reads or writes one of these, and what of the update leads there: a clipped gradient, the norm of all.
  void FindUpdates() {
    for (size_t i = step_.op_count(); i-- > 0;) {
      const OpId id(i);
      if (step_.op(id).phase != Phase::kOptimizer) continue;
      const auto& inputs = step_.op(id).inputs;
      const auto consumers = step_.consumers(id);
      updates[id] =
          std::any_of(inputs.begin(), inputs.end(),
                      [&](TensorId input) { return is_named[step_.tensor(input).storage]; }) ||
          std::any_of(consumers.begin(), consumers.end(),
                      [&](OpId consumer) { return updates[consumer]; });
    }
  }

  // Each behind the op that leaves it as the update first reads it.
  Status FindGradients() {
    std::vector<bool> found(step_.tensor_count(), false);
    for (const OpId id : step_.ops()) {
      if (!updates[id]) continue;
      const Op& op = step_.op(id);
      for (const NamedValue& attribute : op.attributes) {
        if (attribute.name != "dtype" || attribute.value.AsString() == nullptr) continue;
        return Refuse(fmt::format("{} ({}) of the update states a type", Printable(op.name, 80),
                                  Printable(op.type, 80)),
                      "Record the step with an optimizer whose update has its parameters' types.");
      }
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Tensor& tensor = step_.tensor(op.inputs[i]);
        const OpId writer = step_.storage(tensor.storage)
                                .versions[static_cast<size_t>(op.input_versions[i])]
                                .writer;
        const bool made = tensor.producer.valid() && writer.valid() &&
                          step_.op(writer).phase != Phase::kOptimizer && IsFloat(tensor.dtype);
        if (!made || found[op.inputs[i].index()]) continue;
        found[op.inputs[i].index()] = true;
        gradients[std::max(writer, tensor.producer)].push_back(op.inputs[i]);
      }
    }
    return Ok();
  }

  const Graph& step_;
  const PrecisionTypes& types_;
  const bool always_;

 public:
  std::vector<TensorId> parameters;
  IdVector<StorageId, bool> is_named;               // of these parameters
  IdVector<StorageId, bool> is_wider;               // of these and their state
  IdVector<OpId, bool> updates;                     // ops of the update of these
  IdVector<OpId, std::vector<TensorId>> gradients;  // by op what is cast behind it
};

class PrecisionWriter {
 public:
  PrecisionWriter(const Graph& step, const PrecisionTypes& types, const TypeFinder& found,
                  bool always)
      : step_(step),
        types_(types),
        found_(found),
        always_(always),
        builder_(step.name(), std::string(step.format())),
        made_(step.tensor_count()),
        cast_(step.tensor_count()) {
    builder_.set_batch(step.batch());
  }

  Result<std::unique_ptr<Graph>> Write() {
    for (const TensorId id : step_.tensors()) {
      const Tensor& tensor = step_.tensor(id);
      if (tensor.producer.valid()) continue;
      const DType dtype = found_.is_wider[tensor.storage] ? types_.master : tensor.dtype;
      PW_ASSIGN(made_[id], CopyInput(step_, id, dtype, builder_));
      if (!tensor.strides.empty()) builder_.SetStrides(made_[id], tensor.strides);
      tensor_of_.push_back(id);
    }
    for (const TensorId id : found_.parameters) {
      const Tensor& tensor = step_.tensor(id);
      if (!found_.is_wider[tensor.storage]) continue;
      const std::string name =
          fmt::format("{}.cast", tensor.name.substr(tensor.name.find(':') + 1));
      PW_ASSIGN(cast_[id], Cast(made_[id], id, name, tensor.dtype, Phase::kForward));
      builder_.Colocate(name, step_.op(step_.home_op(tensor.storage)).name);
    }
    for (const OpId id : step_.ops()) {
      PW_RETURN_IF_ERROR(WriteOp(id));
      for (const TensorId gradient : found_.gradients[id]) {
        PW_RETURN_IF_ERROR(CastGradient(gradient));
      }
    }
    if (!any_ && !types_.keeps_gradients) return std::unique_ptr<Graph>();
    return FinishCopy(step_, std::move(builder_), made_, tensor_of_, op_of_);
  }

 private:
  Status WriteOp(OpId id) {
    OpSpec spec = CopyOfOp(step_, id, made_);
    const Op& op = step_.op(id);
    const bool update = step_.op(id).phase == Phase::kOptimizer;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      const TensorId cast = cast_[op.inputs[i]];
      const bool parameter = !step_.tensor(op.inputs[i]).producer.valid();
      if (cast.valid() && (parameter ? !update : found_.updates[id])) spec.inputs[i] = cast;
    }
    if (found_.updates[id]) SetTypes(spec);
    PW_ASSIGN(const std::vector<TensorId> made, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < made.size(); ++i) {
      made_[op.outputs[i]] = made[i];
      tensor_of_.push_back(op.outputs[i]);
    }
    op_of_.push_back(id);
    return Ok();
  }

  // What an op of the update makes of wider floats is wider, too.
  void SetTypes(OpSpec& spec) const {
    const bool wider = std::any_of(spec.inputs.begin(), spec.inputs.end(), [&](TensorId input) {
      return builder_.added().tensors[input].dtype == types_.master;
    });
    for (OutputSpec& output : spec.outputs) {
      if (output.alias_of >= 0 && output.alias != AliasKind::kFresh) {
        output.dtype =
            builder_.added().tensors[spec.inputs[static_cast<size_t>(output.alias_of)]].dtype;
      } else if (wider && IsFloat(output.dtype) && SizeOf(output.dtype) < SizeOf(types_.master)) {
        output.dtype = types_.master;
      }
    }
  }

  Result<TensorId> Cast(TensorId tensor, TensorId origin, const std::string& name, DType dtype,
                        Phase phase) {
    OpSpec spec{.name = name, .type = std::string(kCast), .phase = phase};
    spec.in_root = true;
    spec.inputs = {tensor};
    spec.args = {Value(InputRef{0})};
    spec.attributes = {{"dtype", Value(std::string(WordOf(dtype)))}};
    spec.outputs = {{.name = name, .dtype = dtype, .shape = step_.tensor(origin).shape}};
    PW_ASSIGN(const std::vector<TensorId> made, builder_.AddOp(std::move(spec)));
    tensor_of_.push_back(origin);
    op_of_.push_back(OpId());
    any_ = true;
    return made[0];
  }

  Status CastGradient(TensorId id) {
    const Tensor& gradient = step_.tensor(id);
    const DType reduce = types_.reduce.value_or(gradient.dtype);
    TensorId made = made_[id];
    if (reduce != gradient.dtype || always_) {
      PW_ASSIGN(made,
                Cast(made, id, gradient.name + std::string(kSummed), reduce, Phase::kBackward));
      builder_.Colocate(gradient.name + std::string(kSummed), step_.op(gradient.producer).name);
    }
    if (types_.master != reduce || always_) {
      PW_ASSIGN(made, Cast(made, id, gradient.name + ".master", types_.master, Phase::kOptimizer));
    }
    if (made != made_[id]) cast_[id] = made;
    return Ok();
  }

  const Graph& step_;
  const PrecisionTypes& types_;
  const TypeFinder& found_;
  const bool always_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> made_, cast_;  // by the step's tensor
  bool any_ = false;                          // something is cast
  std::vector<TensorId> tensor_of_;  // by the new graph's tensors and ops those of the step
  std::vector<OpId> op_of_;
};

}  // namespace

Result<PrecisionTypes> ParsePrecision(const std::vector<std::string>& words) {
  PrecisionTypes types;
  for (const std::string& word : Apart(words)) {
    if (word.find('=') == std::string::npos) {
      types.modules.push_back(word);
    } else if (word.starts_with("param=")) {
      PW_ASSIGN(types.param, ReadType(word));
    } else if (word.starts_with("reduce=")) {
      PW_ASSIGN(types.reduce, ReadType(word));
    } else if (word.starts_with("master=")) {
      PW_ASSIGN(types.master, ReadType(word));
    } else if (word == "gradients=kept" || word == "gradients=made") {
      types.keeps_gradients = word == "gradients=kept";
    } else {
      return Refuse(
          fmt::format("\"{}\" is unknown", Printable(word, 60)),
          "Give param=bf16 reduce=f32 master=f32 gradients=kept, and globs over modules.");
    }
  }
  if (types.keeps_gradients && !types.modules.empty()) {
    return Refuse("gradients are kept of all modules, and some are named",
                  "Leave out the globs, or gradients=kept.");
  }
  return types;
}

bool KeepsGradients(const Graph& step) {
  const Transforms& all = step.transforms();
  return std::any_of(all.begin(), all.end(), [](const Transform& one) {
    if (one.kind != Transform::kPrecision) return false;
    const Result<PrecisionTypes> types = ParsePrecision(one.modules);
    return types.ok() && types.value().keeps_gradients;
  });
}

Result<std::unique_ptr<Graph>> WithPrecision(const Graph& step,
                                             const std::vector<std::string>& words, bool always) {
  PW_ASSIGN(const PrecisionTypes types, ParsePrecision(words));
  TypeFinder found(step, types, always);
  PW_RETURN_IF_ERROR(found.Find());
  return PrecisionWriter(step, types, found, always).Write();
}

bool IsGradientCast(const Op& op) {
  return op.type == kCast && op.phase == Phase::kBackward &&
         op.name.substr(0, op.name.find('@')).ends_with(kSummed);
}

StorageId CastParameter(const Graph& step, StorageId storage) {
  const OpId maker = step.storage(storage).versions.front().writer;
  if (!maker.valid() || step.op(maker).type != kCast) return StorageId();
  const Op& op = step.op(maker);
  const Tensor& source = step.tensor(op.inputs.front());
  const bool parameter = source.kind == TensorKind::kParameter && !source.producer.valid() &&
                         op.input_versions.front() == 0;
  return parameter ? source.storage : StorageId();
}

}  // namespace placewright
