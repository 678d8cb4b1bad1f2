// Tensors made of numbers: constants, shapes, ranges, masks, random draws, paddings.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "capture/onnx/interpreter.h"
#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

template <class T>
at::Tensor FromList(const std::vector<T>& list, at::ScalarType type) {
  const OutsideStep outside;
  at::Tensor out =
      at::empty({static_cast<int64_t>(list.size())}, type == at::kFloat ? at::kDouble : type);
  using Element = std::conditional_t<std::is_same_v<T, double>, double, int64_t>;
  std::copy(list.begin(), list.end(), out.data_ptr<Element>());
  return out.to(type);
}

Value ConstantOf(const NodeCall& call) {
  if (const auto* tensor = FindImportedAttribute<ImportedTensor>(call.node, "value")) {
    Value value = lowering::ConstantOf(*tensor);
    if (!value.defined()) call.Unsupported("a constant of texts or of elements below a byte");
    return value;
  }
  const OutsideStep outside;
  if (const auto list = call.IntList("value_ints")) return Value::Host(HostInts(*list));
  if (const auto list = call.RealList("value_floats")) {
    return Value::Host(FromList(*list, at::kFloat));
  }
  if (FindImportedAttribute<int64_t>(call.node, "value_int") != nullptr) {
    return Value::Host(at::full({}, call.Int("value_int", 0), at::kLong));
  }
  if (FindImportedAttribute<double>(call.node, "value_float") != nullptr) {
    return Value::Host(at::full({}, call.Real("value_float", 0), at::kFloat));
  }
  call.Unsupported("a constant of texts or of sparse elements");
}

Values Constant(const NodeCall& call) {
  Value value = ConstantOf(call);
  // What is not known is no host tensor, whatever the caller thinks of constants.
  if (!value.is_host() && call.on_host) throw TooLargeForHost{};
  return {std::move(value)};
}

Values ConstantOfShape(const NodeCall& call) {
  const Ints shape = call.KnownInts(0);
  call.CheckSizes(shape);
  at::Scalar fill = 0.0;
  at::ScalarType type = at::kFloat;
  if (const auto* tensor = FindImportedAttribute<ImportedTensor>(call.node, "value")) {
    const at::Tensor known = HostTensor(*tensor);
    if (!known.defined() || known.numel() != 1) call.Invalid("the value is not one number");
    const OutsideStep outside;
    fill = known.reshape({}).item();
    type = known.scalar_type();
  }
  return {at::full(shape, fill, at::TensorOptions().dtype(type))};
}

// Known even where the tensor is not.
Values Shape(const NodeCall& call) {
  Ints sizes;
  if (!call.Has(0) || !call.inputs[0].tensor().defined()) call.Invalid("no tensor");
  sizes = call.inputs[0].tensor().sizes().vec();
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto place = [&](int64_t given) {
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t start = place(call.Int("start", 0)), end = place(call.Int("end", rank));
  return {Value::Host(
      HostInts(start >= end ? Ints() : Ints(sizes.begin() + start, sizes.begin() + end)))};
}
Values Size(const NodeCall& call) {
  if (!call.Has(0) || !call.inputs[0].tensor().defined()) call.Invalid("no tensor");
  const int64_t count = call.inputs[0].tensor().numel();
  const OutsideStep outside;
  return {Value::Host(at::full({}, count, at::kLong))};
}

Values Range(const NodeCall& call) {
  const at::ScalarType type = call.Known(0).scalar_type();
  const double start = call.KnownReal(0), limit = call.KnownReal(1), step = call.KnownReal(2);
  if (step == 0 || !std::isfinite((limit - start) / step)) call.Invalid("a step of 0");
  const double count = std::max(0.0, std::ceil((limit - start) / step));
  if (count > 1e15) call.Invalid("a range of more than 10^15 numbers");
  call.CheckSizes({static_cast<int64_t>(count)});
  const auto options = at::TensorOptions().dtype(type);
  if (at::isIntegralType(type, false)) {
    const int64_t first = call.KnownInt(0), by = call.KnownInt(2);
    return {at::arange(first, first + static_cast<int64_t>(count) * by, by, options)};
  }
  return {at::add(at::mul(at::arange(static_cast<int64_t>(count), options), step), start)};
}

Values EyeLike(const NodeCall& call) {
  const at::Tensor like = call.In(0);
  if (like.dim() != 2) call.Invalid("no matrix");
  const auto* named = FindImportedAttribute<int64_t>(call.node, "dtype");
  const auto type = named == nullptr ? like.scalar_type() : TorchTypeOfOnnx(*named);
  if (!type) call.Unsupported("that element type");
  const at::Tensor ones = at::ones(like.sizes(), at::TensorOptions().dtype(*type));
  const int64_t k = call.Int("k", 0);
  return {at::triu(at::tril(ones, k), k)};
}

Values Trilu(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  if (x.dim() < 2) call.Invalid("no matrix");
  const int64_t k = call.Has(1) ? call.KnownInt(1) : 0;
  return {call.Int("upper", 1) != 0 ? at::triu(x, k) : at::tril(x, k)};
}

// A row of `off`, with `on` at the index.
Values OneHot(const NodeCall& call) {
  const at::Tensor indices = call.In(0);
  const int64_t depth = static_cast<int64_t>(call.KnownReal(1));
  const int64_t axis = call.Axis(call.Int("axis", -1), indices.dim() + 1);
  Ints sizes = indices.sizes().vec();
  sizes.insert(sizes.begin() + axis, depth);
  call.CheckSizes(sizes);
  Ints row(static_cast<size_t>(indices.dim()) + 1, 1);
  row[static_cast<size_t>(axis)] = depth;
  const at::Tensor places = at::unsqueeze(at::remainder(indices.to(at::kLong), depth), axis);
  const at::Tensor hit =
      at::eq(places, at::reshape(at::arange(depth, at::TensorOptions().dtype(at::kLong)), row));
  const at::Tensor values = call.In(2);
  const at::Tensor off = at::select(values, 0, 0), on = at::select(values, 0, 1);
  return {at::where(hit, on, off)};
}

// Padding of all dimensions: an attribute before operator set 11, then input 1; axes since 18.
Ints ReadPads(const NodeCall& call, int64_t rank, Ints* end) {
  const char* name = call.version < 2 ? "paddings" : "pads";
  const Ints pads = call.IntsOf(name, 1, 11).value_or(Ints());
  Ints axes;
  if (call.version >= 18 && call.Has(3)) {
    axes = call.Axes(call.KnownInts(3), rank);
  } else {
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  if (pads.size() != 2 * axes.size()) call.Invalid("pads has not two items for each dimension");
  Ints begin(static_cast<size_t>(rank), 0);
  *end = begin;
  for (size_t i = 0; i < axes.size(); ++i) {
    begin[static_cast<size_t>(axes[i])] = pads[i];
    (*end)[static_cast<size_t>(axes[i])] = pads[i + axes.size()];
  }
  return begin;
}

// Which element of a dimension of `size` stands at position i, that may lie outside.
int64_t Reflected(const std::string& mode, int64_t i, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, size - 1);
  const int64_t period = mode == "wrap" ? size : std::max<int64_t>(1, 2 * (size - 1));
  const int64_t at = ((i % period) + period) % period;
  return mode == "wrap" || at < size ? at : period - at;
}

// Every dimension that is padded is selected from by known positions.
at::Tensor PadByCopies(const NodeCall& call, at::Tensor x, const std::string& mode,
                       const Ints& begin, const Ints& end) {
  for (size_t d = 0; d < begin.size(); ++d) {
    if (begin[d] == 0 && end[d] == 0) continue;
    const int64_t size = x.size(static_cast<int64_t>(d)), count = size + begin[d] + end[d];
    if (size < 1 || count < 0 || count > Interpreter::kMaxHostElements) {
      call.Invalid("a padded dimension of " + std::to_string(count));
    }
    Ints positions;
    for (int64_t i = 0; i < count; ++i) positions.push_back(Reflected(mode, i - begin[d], size));
    const Value index = Value::Host(HostInts(positions));
    x = at::index_select(x, static_cast<int64_t>(d),
                         call.on_host ? index.tensor() : index.InStep());
  }
  return x;
}

Values Pad(const NodeCall& call) {
  const at::Tensor x = call.In(0);
  Ints end;
  const Ints begin = ReadPads(call, x.dim(), &end);
  const std::string mode = call.Text("mode", "constant");
  Ints pads;  // the last dimension first
  Ints sizes;
  for (size_t d = begin.size(); d-- > 0;) {
    if (std::max(std::abs(begin[d]), std::abs(end[d])) >= kMaxQuantity) call.Invalid("such pads");
    pads.insert(pads.end(), {begin[d], end[d]});
    sizes.push_back(x.size(static_cast<int64_t>(d)) + begin[d] + end[d]);
  }
  call.CheckSizes(sizes);
  if (mode == "edge" || mode == "reflect" || mode == "wrap") {
    return {PadByCopies(call, x, mode, begin, end)};
  }
  if (mode != "constant") call.Unsupported("mode \"" + mode + "\"");
  at::Scalar value = call.Real("value", 0.0);
  if (call.version >= 11 && call.Has(2)) value = call.KnownReal(2);
  if (std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; })) {
    return {call.inputs[0]};
  }
  return {at::constant_pad_nd(x, pads, value)};
}

at::TensorOptions RandomOptions(const NodeCall& call, const at::Tensor* like) {
  const auto* named = FindImportedAttribute<int64_t>(call.node, "dtype");
  at::ScalarType type = like != nullptr ? like->scalar_type() : at::kFloat;
  if (named != nullptr) type = TorchTypeOfOnnx(*named).value_or(at::kFloat);
  return at::TensorOptions().dtype(type);
}
// mean + scale * draw; the file's seed is not that of LibTorch's generator.
Values Normal(const NodeCall& call, const Ints& shape, const at::Tensor* like) {
  call.CheckSizes(shape);
  const at::Tensor draw = at::randn(shape, RandomOptions(call, like));
  return {at::add(at::mul(draw, call.Real("scale", 1.0)), call.Real("mean", 0.0))};
}
Values Uniform(const NodeCall& call, const Ints& shape, const at::Tensor* like) {
  call.CheckSizes(shape);
  const double low = call.Real("low", 0.0), high = call.Real("high", 1.0);
  return {at::add(at::mul(at::rand(shape, RandomOptions(call, like)), high - low), low)};
}
Values RandomNormal(const NodeCall& call) {
  return Normal(call, call.IntList("shape").value_or(Ints()), nullptr);
}
Values RandomUniform(const NodeCall& call) {
  return Uniform(call, call.IntList("shape").value_or(Ints()), nullptr);
}
Values RandomNormalLike(const NodeCall& call) {
  const at::Tensor like = call.In(0);
  return Normal(call, like.sizes().vec(), &like);
}
Values RandomUniformLike(const NodeCall& call) {
  const at::Tensor like = call.In(0);
  return Uniform(call, like.sizes().vec(), &like);
}
Values Bernoulli(const NodeCall& call) {
  const at::Tensor p = call.In(0);
  const at::ScalarType type = RandomOptions(call, &p).dtype().toScalarType();
  return {at::lt(at::rand(p.sizes(), p.options()), p).to(type)};
}

}  // namespace

void AddGeneratorOperators(OperatorTable& table) {
  table["Bernoulli"] = Bernoulli;
  table["Constant"] = Constant;
  table["ConstantOfShape"] = ConstantOfShape;
  table["EyeLike"] = EyeLike;
  table["OneHot"] = OneHot;
  table["Pad"] = Pad;
  table["RandomNormal"] = RandomNormal;
  table["RandomNormalLike"] = RandomNormalLike;
  table["RandomUniform"] = RandomUniform;
  table["RandomUniformLike"] = RandomUniformLike;
  table["Range"] = Range;
  table["Shape"] = Shape;
  table["Size"] = Size;
  table["Trilu"] = Trilu;
}

}  // namespace placewright::lowering
