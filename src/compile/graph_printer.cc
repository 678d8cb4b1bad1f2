#include "compile/graph_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "cost/communication/coalesced_types.h"
#include "sharding/separable_results.h"

namespace placewright {
namespace {

constexpr std::string_view kPack = "placewright.pack.default";
constexpr std::string_view kCopy = "placewright.concat.default";  // of one tensor
constexpr std::string_view kUnpack = "placewright.unpack.default";

// "aten.div.Scalar": div.
std::string_view WordOf(std::string_view type) {
  if (type == "aten.copy_.default" || type == "aten.zero_.default") return "overwrite";
  const size_t dot = type.find('.');
  return type.substr(dot + 1, type.rfind('.') - dot - 1);
}

int32_t ResultOf(const PricedPart& part, size_t output) {
  const int32_t stated = part.outputs[output].output_index;
  return stated >= 0 ? stated : static_cast<int32_t>(output);
}

}  // namespace

GraphPrinter::GraphPrinter(const Graph& original, const PartPrices& parts, ArrayWriter& writer)
    : original_(original),
      parts_(parts),
      writer_(writer),
      arrays_(writer.arrays()),
      count_(original.op_count(), 0),
      names_(arrays_.ops.size()),
      modules_(arrays_.ops.size()),
      labels_(arrays_.tensors.size()),
      builder_(original.name(), std::string(original.format())) {
  for (const OpId id : arrays_.order) {
    const ArrayOp& op = arrays_.ops[id];
    if (op.name <= ArrayName::kMain) count_[op.origin] += arrays_.DevicesLike(op.device);
  }
  NameInputs();
  for (const OpId id : arrays_.order) NameOp(id);
}

const std::string& GraphPrinter::DeviceName(DeviceId id) const {
  return parts_.cluster().device(id).name;
}

// The name, or with a number behind it where it was given out before.
std::string GraphPrinter::FreshName(std::string name) {
  const std::string base = name;
  for (int count = fresh_[name]++; count > 0; count = fresh_[name]++) {
    name = fmt::format("{}#{}", base, fresh_[base] - 1);
  }
  return name;
}

// "name" of all of it, "name@gpu1" of a device's, "name[0:0-4]" of a part that ops read.
void GraphPrinter::NameInputs() {
  const auto add = [&](TensorId id) {
    const Emitter::Input& input = writer_.emitter().input(id);
    std::string name = original_.tensor(input.original).name;
    if (input.device.valid()) {
      name = fmt::format("{}@{}", name, DeviceName(input.device));
    } else {
      for (const auto& [place, interval] : input.box) {
        name = fmt::format("{}[{}:{}-{}]", name, place.dimension, interval.from, interval.to);
      }
    }
    // Two axes of one dimension may have parts of the same bounds.
    if (!input.box.empty()) name = FreshName(std::move(name));
    labels_[id].name = std::move(name);
    inputs_.push_back(id);
  };
  // The step's own first; those that ops read are of the block at place 0.
  for (size_t place = 1; place <= original_.tensor_count() + 1; ++place) {
    const bool own = place <= original_.tensor_count();
    const ArrayBlock& block = writer_.emitter().block(own ? static_cast<int32_t>(place) : 0);
    for (const TensorId id : block.own.tensors) add(id);
  }
}

std::string GraphPrinter::InstanceName(const ArrayOp& op) const {
  const std::string& name = original_.op(op.origin).name;
  return count_[op.origin] == 1 ? name : fmt::format("{}@{}", name, DeviceName(op.device));
}

std::string GraphPrinter::NameOf(const ArrayOp& op) {
  const std::string& device = DeviceName(op.device);
  const std::string_view type = parts_.part(op.part).op.type;
  switch (op.name) {
    case ArrayName::kOrigin:
    case ArrayName::kMain: return InstanceName(op);
    case ArrayName::kPart:
      return FreshName(fmt::format("{}.{}@{}", original_.op(op.origin).name, WordOf(type), device));
    case ArrayName::kView:
      return FreshName(fmt::format("{}@{}", names_[arrays_.tensors[op.like].producer], device));
    case ArrayName::kLike: break;
  }
  // "grad@gpu1" becomes "grad.all_reduce@gpu1". Instances of the original's ops have no such names, unless
  // an op of the original is called so.
  const std::string& model = labels_[op.like].name;
  std::string base = fmt::format("{}.{}", model.substr(0, model.find('@')), WordOf(type));
  if (original_.FindOp(base).valid() || original_.FindTensor(base).valid()) base += "'";
  return FreshName(fmt::format("{}@{}", base, device));
}

std::string GraphPrinter::OutputName(const ArrayOp& op, const std::string& name,
                                     size_t output) const {
  const PricedPart& part = parts_.part(op.part);
  const auto numbered = [&](int32_t result) { return fmt::format("{}:{}", name, result); };
  if (op.name == ArrayName::kView) {
    const std::string& maker = names_[arrays_.tensors[op.like].producer];
    return labels_[op.like].name == maker ? name : numbered(ResultOf(part, output));
  }
  if (op.name == ArrayName::kLike) return name;
  if (op.name != ArrayName::kOrigin) {
    return part.outputs.size() == 1 ? name : numbered(ResultOf(part, output));
  }
  // An only result may be one of several that the operator has: it is called as in the original.
  const Op& original = original_.op(op.origin);
  const Tensor& like = original_.tensor(original.outputs[output]);
  const bool only = original.outputs.size() == 1 && like.name == original.name;
  return only ? name : numbered(like.output_index);
}

void GraphPrinter::NameOp(OpId id) {
  const ArrayOp& op = arrays_.ops[id];
  names_[id] = NameOf(op);
  if (op.IsInstance()) {
    modules_[id] = original_.op(op.origin).module;
  } else {
    modules_[id] = labels_[op.like].module;
  }
  const std::span<const TensorId> made = arrays_.MadeBy(op);
  for (size_t i = 0; i < made.size(); ++i) {
    labels_[made[i]] = {OutputName(op, names_[id], i), modules_[id]};
  }
}

Result<DistributedStep> GraphPrinter::Print() {
  builder_.set_batch(original_.samples());
  printed_ = IdVector<TensorId, TensorId>(arrays_.tensors.size());
  printed_op_ = IdVector<OpId, OpId>(arrays_.ops.size());
  for (const auto& [earlier, later] : arrays_.after) after_.emplace(later, earlier);
  NameChanges();
  PW_RETURN_IF_ERROR(AddInputs());
  for (const OpId id : arrays_.order) PW_RETURN_IF_ERROR(AddOp(id));
  for (const auto& [op, read] : arrays_.holds) {
    const OpId holder = printed_op_[op];
    const TensorId held = printed_[read.tensor];
    if (holder.valid() && held.valid()) builder_.Hold(held, holder);
  }
  PW_RETURN_IF_ERROR(AddCollectives());
  std::vector<TensorId> outputs;
  IdVector<TensorId, char> stated(arrays_.tensors.size(),
                                  0);  // in lanes, where several stand for one
  for (const TensorId id : writer_.outputs()) {
    const TensorId of = writer_.emitter().StandsFor(id);
    const bool again = std::exchange(stated[of], 1) != 0 && arrays_.lanes != nullptr;
    if (!again) outputs.push_back(printed_[of]);
  }
  builder_.SetOutputs(std::move(outputs));
  PW_ASSIGN(step_.graph, std::move(builder_).Build());
  return std::move(step_);
}

Status GraphPrinter::AddInputs() {
  for (const TensorId id : inputs_) {
    const Emitter::Input& input = writer_.emitter().input(id);
    const Tensor& like = original_.tensor(input.original);
    PW_ASSIGN(printed_[id], builder_.AddInput(std::move(labels_[id].name), like.kind, like.dtype,
                                              parts_.type(arrays_.tensors[id].type).shape));
    if (like.below > 0) builder_.SetBelow(printed_[id], like.below);
    step_.inputs.push_back({input.original, printed_[id], input.box});
  }
  return Ok();
}

// What passes have added, and gradients that are made apart now.
void GraphPrinter::NameChanges() {
  names_.resize(arrays_.ops.size());
  modules_.resize(arrays_.ops.size());
  labels_.resize(arrays_.tensors.size());
  added_ = IdVector<OpId, bool>(arrays_.ops.size(), false);
  std::vector<std::pair<OpId, std::string>> names;
  std::unordered_set<std::string_view> taken;
  for (const OpId id : arrays_.order) {
    const ArrayOp& op = arrays_.ops[id];
    if (op.half != ArrayHalf::kNone) {
      if (taken.empty()) {
        taken.insert(names_.begin(), names_.end());
        for (const Label& label : labels_) taken.insert(label.name);
      }
      modules_[id] = original_.op(op.origin).module;
      names.emplace_back(id, NameOfHalf(op, taken));
    } else if (names_[id].empty()) {
      added_[id] = true;
      const std::string_view type = parts_.part(op.part).op.type;
      const Label& like = labels_[op.like];
      if (type == kUnpack) modules_[id] = like.module;
      names.emplace_back(id, like.name + (type == kUnpack ? ""
                                          : type == kPack ? ".pack"
                                          : type == kCopy ? ".copy"
                                                          : ".fused"));
    }
  }
  for (auto& [id, name] : names) {
    const ArrayOp& op = arrays_.ops[id];
    const PricedPart& part = parts_.part(op.part);
    size_t output = op.of_input ? 0 : 1;
    for (const TensorId made : arrays_.MadeBy(op)) {
      const bool half = op.half != ArrayHalf::kNone;
      labels_[made].name = half ? fmt::format("{}:{}", name, ResultOf(part, output++)) : name;
    }
    names_[id] = std::move(name);
  }
  // Of several results each is numbered.
  for (const OpId id : arrays_.order) {
    const ArrayOp& op = arrays_.ops[id];
    if (!IsCoalesced(parts_.part(op.part).op.type)) continue;
    int32_t output = 0;
    for (const TensorId made : arrays_.MadeBy(op)) {
      labels_[made].name = fmt::format("{}:{}", names_[id], output++);
    }
  }
}

// "y_backward@gpu1" becomes "y_backward.weight@gpu1".
std::string GraphPrinter::NameOfHalf(const ArrayOp& op,
                                     const std::unordered_set<std::string_view>& taken) const {
  const std::string name = InstanceName(op);
  const size_t at = std::min(name.rfind('@'), name.size());
  std::string word = op.of_input ? ".input" : ".weight";
  const auto full = [&] { return name.substr(0, at) + word + name.substr(at); };
  while (taken.contains(full())) word += "'";
  return full();
}

// Of the gradients that one op would make: those that this one makes.
void GraphPrinter::SetHalf(const ArrayOp& op, OpSpec& spec) const {
  const Op& whole = parts_.part(op.part).op;
  GradientMask mask = *SeparableResults(whole);
  mask = op.of_input ? GradientMask{true, false, false} : GradientMask{false, mask[1], mask[2]};
  spec.args = WithResults(original_, whole, mask).args;
  if (op.of_input) {
    spec.outputs.resize(1);
  } else {
    spec.outputs.erase(spec.outputs.begin());
  }
}

OpSpec GraphPrinter::SpecOf(OpId id) {
  const ArrayOp& op = arrays_.ops[id];
  const PricedPart& part = parts_.part(op.part);
  OpSpec spec;
  spec.name = std::move(names_[id]);
  spec.type = std::string(part.op.type);
  spec.phase = op.phase;
  spec.device = op.device;
  if (modules_[id].valid()) spec.module = original_.module_path(modules_[id]);
  spec.in_root = spec.module.empty();
  for (const ArrayRead& read : arrays_.ReadsOf(op)) spec.inputs.push_back(printed_[read.tensor]);
  spec.args = part.op.args;
  spec.attributes = part.op.attributes;
  spec.writes = part.writes;
  for (size_t i = 0; i < part.outputs.size(); ++i) {
    const PartOutput& output = part.outputs[i];
    const PartType& type = parts_.type(output.type);
    OutputSpec made{.dtype = type.dtype, .shape = type.shape};
    made.alias = output.alias;
    made.alias_of = output.alias_of;
    made.output_index = output.output_index;
    if (made.alias == AliasKind::kInPlace) std::erase(spec.writes, made.alias_of);
    spec.outputs.push_back(std::move(made));
  }
  if (op.half != ArrayHalf::kNone) SetHalf(op, spec);
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    spec.outputs[i].name = std::move(labels_[arrays_.MadeBy(op)[i]].name);
  }
  const auto [from, to] = after_.equal_range(id);
  for (auto at = from; at != to; ++at) {
    spec.after.push_back(builder_.added().ops[printed_op_[at->second]].name);
  }
  return spec;
}

Status GraphPrinter::AddOp(OpId id) {
  const ArrayOp& op = arrays_.ops[id];
  PW_ASSIGN(const std::vector<TensorId> outputs, builder_.AddOp(SpecOf(id)));
  const std::span<const TensorId> made = arrays_.MadeBy(op);
  for (size_t i = 0; i < made.size(); ++i) printed_[made[i]] = outputs[i];
  printed_op_[id] = step_.placement.push_back(op.device);
  step_.origin.push_back(op.origin);
  step_.in_kernel.push_back(parts_.part(op.part).in_kernel);
  return Ok();
}

// Buckets first, in their order; the others are called after their first member.
Status GraphPrinter::AddCollectives() {
  const auto add = [&](std::string name, CollectiveId id) {
    std::vector<OpId> members;
    for (const OpId member : arrays_.MembersOf(arrays_.collectives[id])) {
      members.push_back(printed_op_[member]);
    }
    collectives_.push_back(id);
    return builder_.AddCollective(std::move(name), std::move(members));
  };
  std::set<CollectiveId> buckets;
  for (const OpId id : arrays_.order) {
    const CollectiveId bucket = arrays_.ops[id].collective;
    if (!added_[id] || !bucket.valid() || buckets.contains(bucket)) continue;
    PW_RETURN_IF_ERROR(add(fmt::format("bucket{}", buckets.size()), bucket));
    buckets.insert(bucket);
  }
  for (const CollectiveId id : arrays_.joined) {
    if (buckets.contains(id)) continue;
    const OpId first = printed_op_[arrays_.MembersOf(arrays_.collectives[id]).front()];
    PW_RETURN_IF_ERROR(add(builder_.added().ops[first].name, id));
  }
  return Ok();
}

}  // namespace placewright
