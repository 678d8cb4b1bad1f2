#include "compile/part_prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cost/instance_costs.h"
#include "graph/aliasing/layout.h"
#include "graph/aliasing/view_geometry.h"
#include "plan/moving_ops.h"
#include "sharding/separable_results.h"

namespace placewright {
namespace {

void AppendNumber(int64_t number, std::vector<int32_t>& key) {
  key.push_back(static_cast<int32_t>(number));
  key.push_back(static_cast<int32_t>(number >> 32));
}

Bytes BytesOfShape(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = SizeOf(dtype);
  for (const int64_t size : shape) bytes *= size;
  return Bytes(bytes);
}

// The gradient of the input and that of the weight: a bias alone is no product.
bool MakesBothGradients(const PricedPart& part) {
  const auto mask = SeparableResults(part.op);
  if (!mask || !(*mask)[0] || !(*mask)[1]) return false;
  const auto makes = [&](int32_t result) {
    return std::any_of(part.outputs.begin(), part.outputs.end(),
                       [&](const PartOutput& output) { return output.output_index == result; });
  };
  return makes(0) && makes(1);
}

PartFlops FlopsApart(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  GradientMask rest = *SeparableResults(op);
  rest[0] = false;
  return {WorkOf(graph, WithResults(graph, op, {true, false, false})).flops,
          WorkOf(graph, WithResults(graph, op, rest)).flops};
}

}  // namespace

size_t PartPrices::HashOfKey::operator()(std::span<const int32_t> key) const {
  uint64_t hash = 0x9E3779B97F4A7C15u;
  for (const int32_t word : key) {
    hash = (hash ^ static_cast<uint32_t>(word)) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  return static_cast<size_t>(hash);
}

bool PartPrices::SameKey::operator()(std::span<const int32_t> a, std::span<const int32_t> b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

PartPrices::PartPrices(const Cluster& cluster, const CostOptions& options, int64_t batch,
                       bool by_arguments)
    : cluster_(cluster),
      measured_(options.measured, cluster),
      by_arguments_(by_arguments || !options.measured.empty()),
      batch_(batch),
      kinds_(cluster.kinds().size()),
      communication_(cluster) {
  options_.profile = options.profile;
  options_.precision = options.precision;
}

// Bytes follow from the rest.
PartTypeId PartPrices::TypeOf(DType dtype, const std::vector<int64_t>& shape,
                              const std::vector<int64_t>& strides, Bytes bytes, Bytes length) {
  scratch_.clear();
  scratch_.push_back(static_cast<int32_t>(dtype));
  scratch_.push_back(static_cast<int32_t>(shape.size()));
  for (const int64_t size : shape) AppendNumber(size, scratch_);
  for (const int64_t stride : strides) AppendNumber(stride, scratch_);
  AppendNumber(length.count, scratch_);
  const auto found = type_ids_.find(std::span<const int32_t>(scratch_));
  if (found != type_ids_.end()) return found->second;
  const PartTypeId made = types_.push_back({dtype, shape, strides, bytes, length});
  return type_ids_.emplace(scratch_, made).first->second;
}

PartTypeId PartPrices::ContiguousType(DType dtype, const std::vector<int64_t>& shape) {
  const Bytes bytes = BytesOfShape(dtype, shape);
  return TypeOf(dtype, shape, {}, bytes, bytes);
}

int32_t PartPrices::WordOf(std::string_view type) {
  const auto found = words_.find(type);
  if (found != words_.end()) return found->second;
  return words_.emplace(std::string(type), static_cast<int32_t>(words_.size())).first->second;
}

PricedPartId PartPrices::Find(std::span<const int32_t> key, std::span<const PartInput> inputs,
                              const std::function<OpSpec()>& make, bool in_kernel) {
  const auto found = part_ids_.find(key);
  if (found != part_ids_.end()) return found->second;
  Key own(key.begin(), key.end());
  OpSpec spec = make();
  PricedPart part;
  part.inputs.assign(inputs.begin(), inputs.end());
  names_.push_back(std::make_unique<std::string>(std::move(spec.type)));
  part.op.type = *names_.back();
  part.op.args = std::move(spec.args);
  part.op.attributes = std::move(spec.attributes);
  part.writes = std::move(spec.writes);
  size_t views = 0;
  for (const OutputSpec& output : spec.outputs) {
    part.outputs.push_back({ContiguousType(output.dtype, output.shape), output.alias,
                            output.alias_of, output.output_index});
    views += output.alias == AliasKind::kView;
    if (output.alias == AliasKind::kInPlace) part.writes.push_back(output.alias_of);
  }
  std::sort(part.writes.begin(), part.writes.end());
  part.writes.erase(std::unique(part.writes.begin(), part.writes.end()), part.writes.end());
  part.is_view = views > 0 && views == part.outputs.size() && part.writes.empty();
  part.separable = MakesBothGradients(part);
  part.moves_pieces = MovesPieces(part.op.type);
  part.in_kernel = in_kernel;
  part.passes_on = part.is_view || part.op.type.starts_with("placewright.") ||
                   part.op.type == "aten._to_copy.default" || part.op.type == "aten.add.Tensor";
  part.views.resize(part.outputs.size());
  return part_ids_.emplace(std::move(own), parts_.push_back(std::move(part))).first->second;
}

const PartView& PartPrices::ViewOf(PricedPartId id, size_t output, PartTypeId of, Bytes offset,
                                   Bytes storage, bool inexact) {
  std::vector<PartView>& known = parts_[id].views[output];
  for (const PartView& view : known) {
    const bool same = view.of == of && view.of_offset == offset && view.of_storage == storage;
    if (same && view.of_inexact == inexact) return view;
  }
  const PartType& base = types_[of];
  const PartType& like = types_[parts_[id].outputs[output].type];
  PartView view{of, PartTypeId(), offset, storage, offset, inexact, true};
  PartType type = like;
  type.length = base.length;
  MaybeLayout layout;
  if (!inexact && SizeOf(base.dtype) > 0) {
    StridedLayout from =
        ContiguousLayout(base.dtype, base.shape, offset.count / SizeOf(base.dtype));
    if (!base.strides.empty()) from.strides = base.strides;
    Tensor made;
    made.dtype = like.dtype;
    made.shape = like.shape;
    made.bytes = like.bytes;
    made.output_index = parts_[id].outputs[output].output_index >= 0
                            ? parts_[id].outputs[output].output_index
                            : static_cast<int32_t>(output);
    const bool in_place = parts_[id].outputs[output].alias == AliasKind::kInPlace;
    if (in_place) {
      if (like.shape == base.shape && like.dtype == base.dtype) layout = from;
    } else {
      layout = DeriveView(parts_[id].op, from, made);
    }
  }
  const std::optional<ByteRange> hull = layout ? HullOf(*layout) : std::nullopt;
  if (hull && hull->offset + hull->length <= storage) {
    view.inexact = false;
    view.offset = hull->offset;
    type.length = hull->length;
    if (!IsContiguous(*layout)) type.strides = layout->strides;
  }
  view.type = TypeOf(type.dtype, type.shape, type.strides, type.bytes, type.length);
  known.push_back(view);
  return known.back();
}

// One op for each kind of device.
Result<std::vector<OpId>> PartPrices::AddPart(const PricedPart& part, size_t number,
                                              GraphBuilder& builder) const {
  std::vector<OpId> ops;
  for (size_t kind = 0; kind < kinds_; ++kind) {
    OpSpec spec;
    spec.name = fmt::format("part{}.{}", number, kind);
    spec.type = std::string(part.op.type);
    spec.args = part.op.args;
    spec.attributes = part.op.attributes;
    spec.writes = part.writes;
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      const size_t same = static_cast<size_t>(part.inputs[i].same);
      if (same < i) {
        spec.inputs.push_back(spec.inputs[same]);
        continue;
      }
      const PartType& type = types_[part.inputs[i].type];
      PW_ASSIGN(const TensorId input, builder.AddInput(fmt::format("{}:in{}", spec.name, i),
                                                       TensorKind::kInput, type.dtype, type.shape));
      if (!type.strides.empty()) builder.SetStrides(input, type.strides);
      spec.inputs.push_back(input);
    }
    for (size_t i = 0; i < part.outputs.size(); ++i) {
      const PartOutput& output = part.outputs[i];
      const PartType& type = types_[output.type];
      OutputSpec out{
          .name = fmt::format("{}:out{}", spec.name, i), .dtype = type.dtype, .shape = type.shape};
      out.alias = output.alias;
      out.alias_of = output.alias_of;
      out.output_index = output.output_index;
      spec.outputs.push_back(std::move(out));
    }
    PW_RETURN_IF_ERROR(builder.AddOp(std::move(spec)));
    ops.push_back(OpId(builder.added().ops.size() - 1));
  }
  return ops;
}

void PartPrices::PriceNew() {
  constexpr size_t kAtOnce = 512;  // more would be a large graph, for a moment
  while (flops_.size() < parts_.size()) {
    const size_t end = std::min(flops_.size() + kAtOnce, parts_.size());
    if (Price(flops_.size(), end).ok()) continue;
    while (flops_.size() < end) {
      if (Price(flops_.size(), flops_.size() + 1).ok()) continue;
      prices_.resize(prices_.size() + kinds_);
      flops_.emplace_back();
    }
  }
}

Status PartPrices::Price(size_t from, size_t to) {
  GraphBuilder builder("parts", "aten");
  builder.set_batch(batch_);
  StepInstances instances;
  instances.measured = &measured_;
  std::vector<DeviceId> of_kind(kinds_);
  for (const DeviceId device : cluster_.devices()) {
    DeviceId& first = of_kind[static_cast<size_t>(cluster_.device(device).kind)];
    if (!first.valid()) first = device;
  }
  for (size_t number = from; number < to; ++number) {
    PW_ASSIGN(const std::vector<OpId> ops, AddPart(parts_[PricedPartId(number)], number, builder));
    for (const DeviceId device : of_kind) {
      // A kind without devices is not asked for.
      instances.devices.push_back(device.valid() ? device : DeviceId(0));
    }
    PW_CHECK_EQ(ops.size(), kinds_);
  }
  PW_ASSIGN(const Graph graph, std::move(builder).Build());
  PW_ASSIGN(const CostTable costs, ModelInstanceCosts(graph, cluster_, options_, instances));
  // What takes no longer where all GPUs are slower was measured, or follows from measurements.
  instances.slower = IdVector<OpId, double>(graph.op_count(), 2.0);
  PW_ASSIGN(const CostTable slower, ModelInstanceCosts(graph, cluster_, options_, instances));
  for (const OpId op : graph.ops()) {
    const DeviceId device = instances.devices[op];
    const PricedPart& part = parts_[PricedPartId(from + op.index() / kinds_)];
    // As CostsOfStep has it.
    const bool gpu = cluster_.kind(device).device_class == DeviceClass::kGpu;
    const Nanos time = costs.time(op, device);
    const bool modelled = slower.time(op, device) != time;
    prices_.push_back({gpu && part.in_kernel ? Nanos() : time, costs.workspace(op), modelled});
    if (op.index() % kinds_ > 0) continue;
    flops_.push_back(part.separable ? FlopsApart(graph, op) : PartFlops());
  }
  return Ok();
}

}  // namespace placewright
