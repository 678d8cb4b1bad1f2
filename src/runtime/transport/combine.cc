#include "runtime/transport/combine.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "aten/failure.h"
#include "aten/memory_order.h"

namespace placewright {
namespace {

[[noreturn]] void Reject(const std::string& message) {
  throw TorchFailure(MakeError(ErrorCode::kExecution, message));
}

std::string ShapeOf(const at::Tensor& tensor) {
  return fmt::format("[{}] {}", fmt::join(tensor.sizes(), ", "),
                     c10::toString(tensor.scalar_type()));
}

// A tensor of that shape in the device's memory, in the order of `like`.
at::Tensor Allocate(RuntimeDevice& device, at::IntArrayRef shape, const at::Tensor& like) {
  const int64_t elements =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const at::Tensor bytes = device.Allocate(elements * static_cast<int64_t>(like.element_size()));
  return at::empty({0}, like.options().device(bytes.device()))
      .set_(bytes.storage(), 0, shape, StridesInOrderOf(shape, like));
}

void CheckAlike(std::span<const at::Tensor> inputs) {
  for (const at::Tensor& input : inputs) {
    if (!input.defined()) Reject("a member gives no tensor");
    if (input.sizes() == inputs[0].sizes() && input.scalar_type() == inputs[0].scalar_type()) {
      continue;
    }
    Reject(fmt::format("members give a {} and a {} to add", ShapeOf(inputs[0]), ShapeOf(input)));
  }
}

// A tensor of `shape`: of what `part_of` takes of each input, in their order; `view_of` takes it of a tensor of that
// shape.
template <typename ViewOf, typename PartOf>
at::Tensor SumOf(std::span<const at::Tensor> inputs, RuntimeDevice& device, at::IntArrayRef shape,
                 ViewOf view_of, PartOf part_of) {
  const c10::Device here = device.torch_device();
  at::Tensor sum;
  for (const at::Tensor& input : inputs) {
    OnCopyStream(input.device(), here, [&] {
      const at::Tensor part = part_of(input);
      if (sum.defined()) {
        view_of(sum).add_(part.to(here));
      } else {
        sum = Allocate(device, shape, input);
        view_of(sum).copy_(part);
      }
    });
  }
  return sum;
}

// The shape of the whole tensor that all inputs are parts of.
std::vector<int64_t> WholeShape(const CollectiveSpec& spec, std::span<const at::Tensor> inputs) {
  const auto at = static_cast<size_t>(spec.dimension);
  std::vector<int64_t> whole;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    const int64_t length = spec.parts[i].to - spec.parts[i].from;
    const bool fits = input.defined() && at < static_cast<size_t>(input.dim()) && length > 0 &&
                      input.sizes()[at] % (spec.outer * length) == 0 &&
                      input.scalar_type() == inputs[0].scalar_type();
    if (!fits) {
      Reject(fmt::format("a {} is not [{}, {}) of a tensor's dimension {}",
                         input.defined() ? ShapeOf(input) : "tensor that there is not",
                         spec.parts[i].from, spec.parts[i].to, spec.dimension));
    }
    std::vector<int64_t> shape = input.sizes().vec();
    shape[at] = shape[at] / length * spec.size;
    if (i == 0) whole = shape;
    if (shape != whole) {
      Reject(fmt::format("a {} and a {} are not parts of one tensor", ShapeOf(inputs[0]),
                         ShapeOf(input)));
    }
  }
  return whole;
}

at::Tensor GatherOf(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                    RuntimeDevice& device) {
  const std::vector<int64_t> shape = WholeShape(spec, inputs);
  at::Tensor whole;
  // Of one element a part says nothing of the order.
  const auto longest =
      std::max_element(inputs.begin(), inputs.end(), [&](const at::Tensor& a, const at::Tensor& b) {
        return a.size(spec.dimension) < b.size(spec.dimension);
      });
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CollectiveSpec::Part& part = spec.parts[i];
    const int64_t length = part.to - part.from;
    OnCopyStream(inputs[i].device(), device.torch_device(), [&] {
      if (!whole.defined()) whole = Allocate(device, shape, *longest);
      WithFactorsOf(whole, spec.dimension, spec.outer, spec.size)
          .narrow(spec.dimension + 1, part.from, length)
          .copy_(WithFactorsOf(inputs[i], spec.dimension, spec.outer, length));
    });
  }
  return whole;
}

at::Tensor ReduceOf(std::span<const at::Tensor> inputs, RuntimeDevice& device) {
  CheckAlike(inputs);
  const auto all = [](const at::Tensor& tensor) { return tensor; };
  return SumOf(inputs, device, inputs[0].sizes(), all, all);
}

// What one member gets of a sum whose shape is that of all inputs.
at::Tensor ScatterOf(const CollectiveSpec& spec, std::span<const at::Tensor> inputs, size_t member,
                     RuntimeDevice& device) {
  const CollectiveSpec::Part& part = spec.parts[member];
  std::vector<int64_t> own = inputs[0].sizes().vec();
  int64_t& size = own[static_cast<size_t>(spec.dimension)];
  const int64_t length = part.to - part.from;
  size = size / spec.size * length;
  const auto view_of = [&](const at::Tensor& sum) {
    return WithFactorsOf(sum, spec.dimension, spec.outer, length);
  };
  return SumOf(inputs, device, own, view_of, [&](const at::Tensor& input) {
    return WithFactorsOf(input, spec.dimension, spec.outer, spec.size)
        .narrow(spec.dimension + 1, part.from, length);
  });
}

std::vector<at::Tensor> Scatter(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                                std::span<RuntimeDevice* const> devices) {
  CheckAlike(inputs);
  const bool has = spec.dimension < inputs[0].dim();
  if (!has || inputs[0].size(spec.dimension) % (spec.outer * spec.size) != 0) {
    Reject(fmt::format("a {} has no axis of {} in dimension {}", ShapeOf(inputs[0]), spec.size,
                       spec.dimension));
  }
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < devices.size(); ++i) {
    results.push_back(
        ScatterOf(spec, inputs, i, devices[i] == nullptr ? *devices[0] : *devices[i]));
  }
  return results;
}

// What one member takes of what another gives.
at::Tensor TakenOf(const CollectiveSpec& spec, std::span<const at::Tensor> inputs, size_t giver,
                   size_t taker) {
  const at::Tensor& input = inputs[giver];
  const int64_t outer = spec.taken_outers[giver];
  const bool fits = input.defined() && spec.taken_dimension < input.dim() &&
                    input.size(spec.taken_dimension) % (outer * spec.taken_size) == 0 &&
                    input.scalar_type() == inputs[0].scalar_type();
  if (!fits) {
    Reject(fmt::format("a {} has no axis of {} in dimension {}",
                       input.defined() ? ShapeOf(input) : "tensor that there is not",
                       spec.taken_size, spec.taken_dimension));
  }
  return PartInOrder(input, spec.taken_dimension, outer, spec.taken_size, spec.taken[taker].from,
                     spec.taken[taker].to);
}

// Its parts of all inputs, one behind the other along the axis by which these are split.
at::Tensor ExchangedOf(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                       size_t member, RuntimeDevice& device) {
  CollectiveSpec joined = spec;
  joined.outer = spec.outers[member];
  std::vector<at::Tensor> taken;
  for (size_t giver = 0; giver < inputs.size(); ++giver) {
    const c10::Device at = inputs[giver].defined() ? inputs[giver].device() : device.torch_device();
    OnCopyStream(at, at, [&] { taken.push_back(TakenOf(spec, inputs, giver, member)); });
  }
  return GatherOf(joined, taken, device);
}

std::vector<at::Tensor> ExchangeAll(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                                    std::span<RuntimeDevice* const> devices) {
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < devices.size(); ++i) {
    results.push_back(
        ExchangedOf(spec, inputs, i, devices[i] == nullptr ? *devices[0] : *devices[i]));
  }
  return results;
}

// `device`: nullptr of another process.
at::Tensor CopyOn(const at::Tensor& tensor, RuntimeDevice* device) {
  if (device == nullptr) return tensor;
  at::Tensor copy;
  OnCopyStream(tensor.device(), device->torch_device(), [&] {
    copy = Allocate(*device, tensor.sizes(), tensor);
    copy.copy_(tensor);
  });
  return copy;
}

std::vector<at::Tensor> Spread(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                               std::span<RuntimeDevice* const> devices) {
  at::Tensor given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool root = spec.members[i] == spec.root;
    if (root != inputs[i].defined()) {
      Reject(root ? "its root gives no tensor" : "a member that is not its root gives a tensor");
    }
    if (root) given = inputs[i];
  }
  if (!given.defined()) Reject("its root is none of its members");
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < devices.size(); ++i) {
    results.push_back(inputs[i].defined() ? at::Tensor() : CopyOn(given, devices[i]));
  }
  return results;
}

}  // namespace

std::string_view ToString(CollectiveSpec::Kind kind) {
  switch (kind) {
    case CollectiveSpec::Kind::kAllReduce: return "all-reduce";
    case CollectiveSpec::Kind::kAllGather: return "all-gather";
    case CollectiveSpec::Kind::kReduceScatter: return "reduce-scatter";
    case CollectiveSpec::Kind::kBroadcast: return "broadcast";
    case CollectiveSpec::Kind::kAllToAll: return "all-to-all";
  }
  return "?";
}

std::vector<at::Tensor> Combine(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                                std::span<RuntimeDevice* const> devices) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (spec.kind == CollectiveSpec::Kind::kReduceScatter) return Scatter(spec, inputs, devices);
  if (spec.kind == CollectiveSpec::Kind::kBroadcast) return Spread(spec, inputs, devices);
  if (spec.kind == CollectiveSpec::Kind::kAllToAll) return ExchangeAll(spec, inputs, devices);
  const at::Tensor first = spec.kind == CollectiveSpec::Kind::kAllReduce
                               ? ReduceOf(inputs, *devices[0])
                               : GatherOf(spec, inputs, *devices[0]);
  std::vector<at::Tensor> results = {first};
  for (RuntimeDevice* const device : devices.subspan(1)) {
    results.push_back(CopyOn(first, device));
  }
  return results;
}

std::vector<std::vector<at::Tensor>> CombineAll(const CollectiveSpec& spec,
                                                std::span<std::vector<at::Tensor>> inputs,
                                                std::span<RuntimeDevice* const> devices) {
  const size_t count = std::max<size_t>(1, spec.tensors.size());
  std::vector<std::vector<at::Tensor>> results(inputs.size());
  for (size_t tensor = 0; tensor < count; ++tensor) {
    std::vector<at::Tensor> given(inputs.size());
    for (size_t member = 0; member < inputs.size(); ++member) {
      if (tensor < inputs[member].size()) given[member] = std::move(inputs[member][tensor]);
    }
    const CollectiveSpec& one = spec.tensors.empty() ? spec : spec.tensors[tensor];
    std::vector<at::Tensor> got = Combine(one, given, devices);
    for (size_t member = 0; member < got.size(); ++member) {
      results[member].push_back(std::move(got[member]));
    }
  }
  return results;
}

}  // namespace placewright
