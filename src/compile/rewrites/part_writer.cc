#include "compile/rewrites/part_writer.h"

#include <utility>

#include "base/check.h"
#include "compile/rewrites/rewrites.h"

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

std::vector<TensorId> PartWriter::AddAll(PlainOp call, std::vector<OutputSpec> outputs, bool main) {
  const bool in_kernel = !call.kernel && call.alias != AliasKind::kView;
  OpSpec spec;
  spec.type = std::move(call.type);
  spec.args = call.args.empty() ? References(call.inputs.size()) : std::move(call.args);
  spec.attributes = std::move(call.attributes);
  spec.inputs = std::move(call.inputs);
  for (OutputSpec& output : outputs) {
    output.alias = call.alias;
    if (call.alias != AliasKind::kFresh) output.alias_of = 0;
  }
  spec.outputs = std::move(outputs);
  return emitter_.AddOfPart(std::move(spec), main, device(), op_.op, in_kernel);
}

TensorId PartWriter::Add(PlainOp call, std::vector<int64_t> shape, DType dtype) {
  const std::vector<TensorId> made =
      AddAll(std::move(call), {{.dtype = dtype, .shape = std::move(shape)}});
  return made.front();
}

TensorId PartWriter::Write(PlainOp call) {
  call.alias = AliasKind::kInPlace;
  const TensorId written = call.inputs.front();
  return Add(std::move(call), shape(written), dtype(written));
}

TensorId PartWriter::Cast(TensorId id, DType dtype) {
  if (emitter_.dtype(id) == dtype) return id;
  return Copy(id, dtype);
}

TensorId PartWriter::Copy(TensorId id, DType dtype) {
  return Add({"aten._to_copy.default", {id}, {}, {{"dtype", Value(WordOf(dtype))}}},
             emitter_.shape(id), dtype);
}

TensorId PartWriter::Slice(TensorId id, int64_t from, int64_t to) {
  std::vector<int64_t> part = shape(id);
  const int64_t dimension = static_cast<int64_t>(part.size()) - 1;
  part.back() = to - from;
  return Add({"aten.slice.Tensor",
              {id},
              {Value(InputRef{0}), Value(dimension), Value(from), Value(to), Value(int64_t{1})},
              {},
              AliasKind::kView},
             std::move(part), dtype(id));
}

TensorId PartWriter::PerChannel(TensorId id, size_t rank) {
  if (rank == 2) return id;
  const DeviceId home = emitter_.device_of(id);
  if (home.valid() && home != device()) {
    id = Copy(id, dtype(id));
  }
  std::vector<int64_t> column = shape(id);
  column.resize(rank - 1, 1);
  return Add(
      {"aten.view.default", {id}, {Value(InputRef{0}), IntegerList(column)}, {}, AliasKind::kView},
      column, dtype(id));
}

TensorId PartWriter::Join(std::vector<TensorId> vectors) {
  int64_t length = 0;
  for (const TensorId id : vectors) length += shape(id).front();
  std::vector<Value> args = {Value(References(vectors.size())), Value(int64_t{0})};
  const DType of_all = dtype(vectors.front());
  return Add({"aten.cat.default",
              std::move(vectors),
              std::move(args),
              {},
              AliasKind::kFresh,
              /*kernel=*/true},
             {length}, of_all);
}

std::vector<TensorId> SumOnAll(Emitter& emitter, const std::vector<Piece>& pieces,
                               bool collectives) {
  std::vector<TensorId> sums;
  if (collectives) {
    for (const Piece& piece : EmitAllReduce(emitter, pieces)) sums.push_back(piece.tensor);
    return sums;
  }
  for (const Piece& piece : pieces) sums.push_back(EmitAddN(emitter, pieces, piece.device));
  return sums;
}

std::vector<TensorId> JoinOnAll(Emitter& emitter, const std::vector<Piece>& pieces,
                                const AxisPlace& place, bool collectives) {
  std::vector<TensorId> joined;
  if (collectives) {
    std::vector<AxisPart> parts;
    for (int64_t i = 0; i < place.size; ++i) parts.push_back({place, {i, i + 1}});
    for (const Piece& piece : EmitAllGather(emitter, pieces, parts)) joined.push_back(piece.tensor);
    return joined;
  }
  for (const Piece& piece : pieces) {
    joined.push_back(EmitConcat(emitter, pieces, place, piece.device));
  }
  return joined;
}

DType DTypeOfSums(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

}  // namespace placewright
