#include "compile/rewrites/part_writer.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace placewright {
namespace {

// As a recorded graph writes it.
std::string WordOf(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "torch.float32";
    case DType::kF64: return "torch.float64";
    case DType::kF16: return "torch.float16";
    case DType::kBF16: return "torch.bfloat16";
    default: break;
  }
  PW_CHECK(false);  // norms are of floating point numbers
  return "";
}

}  // namespace

Result<std::vector<TensorId>> PartWriter::AddAll(PlainOp call, std::vector<OutputSpec> outputs,
                                                 bool main) {
  const Op& op = op_.graph.op(op_.op);
  const size_t dot = call.type.find('.');
  const std::string word = call.type.substr(dot + 1, call.type.rfind('.') - dot - 1);
  OpSpec spec;
  spec.name = emitter_.FreshName(
      fmt::format("{}{}@{}", op.name, main ? "" : "." + word, emitter_.device_name(device())));
  spec.type = std::move(call.type);
  spec.phase = op.phase;
  spec.module = op_.graph.module_path(op.module);
  spec.in_root = spec.module.empty();
  spec.args = call.args.empty() ? References(call.inputs.size()) : std::move(call.args);
  spec.attributes = std::move(call.attributes);
  spec.inputs = std::move(call.inputs);
  spec.after = std::exchange(after_, {});
  for (size_t i = 0; i < outputs.size(); ++i) {
    // As files name them: by the operator's result, where some are not made.
    const int32_t result = outputs[i].output_index;
    outputs[i].name =
        outputs.size() == 1
            ? spec.name
            : fmt::format("{}:{}", spec.name, result >= 0 ? result : static_cast<int32_t>(i));
    outputs[i].alias = call.alias;
    if (call.alias != AliasKind::kFresh) outputs[i].alias_of = 0;
  }
  spec.outputs = std::move(outputs);
  names_.push_back(spec.name);
  return emitter_.Add(std::move(spec), device(), op_.op);
}

Result<TensorId> PartWriter::Add(PlainOp call, std::vector<int64_t> shape, DType dtype) {
  PW_ASSIGN(const std::vector<TensorId> made,
            AddAll(std::move(call), {{.dtype = dtype, .shape = std::move(shape)}}));
  return made.front();
}

Result<TensorId> PartWriter::Write(PlainOp call) {
  call.alias = AliasKind::kInPlace;
  const Tensor& written = tensor(call.inputs.front());
  std::vector<int64_t> shape = written.shape;
  const DType dtype = written.dtype;
  return Add(std::move(call), std::move(shape), dtype);
}

Result<TensorId> PartWriter::Cast(TensorId id, DType dtype) {
  if (tensor(id).dtype == dtype) return id;
  return Copy(id, dtype);
}

Result<TensorId> PartWriter::Copy(TensorId id, DType dtype) {
  std::vector<int64_t> shape = tensor(id).shape;
  return Add({"aten._to_copy.default", {id}, {}, {{"dtype", Value(WordOf(dtype))}}},
             std::move(shape), dtype);
}

Result<TensorId> PartWriter::Slice(TensorId id, int64_t from, int64_t to) {
  std::vector<int64_t> shape = tensor(id).shape;
  const int64_t dimension = static_cast<int64_t>(shape.size()) - 1;
  shape.back() = to - from;
  const DType dtype = tensor(id).dtype;
  return Add({"aten.slice.Tensor",
              {id},
              {Value(InputRef{0}), Value(dimension), Value(from), Value(to), Value(int64_t{1})},
              {},
              AliasKind::kView},
             std::move(shape), dtype);
}

Result<TensorId> PartWriter::PerChannel(TensorId id, size_t rank) {
  if (rank == 2) return id;
  const DeviceId home = emitter_.device_of(id);
  if (home.valid() && home != device()) {
    PW_ASSIGN(id, Copy(id, tensor(id).dtype));
  }
  std::vector<int64_t> shape = tensor(id).shape;
  shape.resize(rank - 1, 1);
  const DType dtype = tensor(id).dtype;
  return Add(
      {"aten.view.default", {id}, {Value(InputRef{0}), IntegerList(shape)}, {}, AliasKind::kView},
      shape, dtype);
}

Result<TensorId> PartWriter::Join(std::vector<TensorId> vectors) {
  int64_t length = 0;
  for (const TensorId id : vectors) length += tensor(id).shape.front();
  std::vector<Value> args = {Value(References(vectors.size())), Value(int64_t{0})};
  const DType dtype = tensor(vectors.front()).dtype;
  return Add({"aten.cat.default", std::move(vectors), std::move(args), {}}, {length}, dtype);
}

}  // namespace placewright
