#include "runtime/transport/combine.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "aten/failure.h"

namespace placewright {
namespace {

[[noreturn]] void Reject(const std::string& message) {
  throw TorchFailure(MakeError(ErrorCode::kExecution, message));
}

std::string ShapeOf(const at::Tensor& tensor) {
  return fmt::format("[{}] {}", fmt::join(tensor.sizes(), ", "),
                     c10::toString(tensor.scalar_type()));
}

// A contiguous tensor of that shape in the device's memory.
at::Tensor Allocate(RuntimeDevice& device, at::IntArrayRef shape, const at::Tensor& like) {
  const int64_t elements =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const at::Tensor bytes = device.Allocate(elements * static_cast<int64_t>(like.element_size()));
  return at::empty({0}, like.options().device(bytes.device())).set_(bytes.storage(), 0, shape, {});
}

// Dimension `at` as [outer, its axis, inner].
std::vector<int64_t> Factors(at::IntArrayRef shape, int64_t at, int64_t outer, int64_t length) {
  std::vector<int64_t> factors = shape.vec();
  const int64_t inner = factors[static_cast<size_t>(at)] / (outer * length);
  const auto place = factors.erase(factors.begin() + at);
  factors.insert(place, {outer, length, inner});
  return factors;
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

at::Tensor SumOf(std::span<const at::Tensor> inputs, RuntimeDevice& device) {
  CheckAlike(inputs);
  const c10::Device here = device.torch_device();
  at::Tensor sum;
  for (const at::Tensor& input : inputs) {
    OnCopyStream(input.device(), here, [&] {
      if (sum.defined()) {
        sum.add_(input.to(here));
      } else {
        sum = Allocate(device, input.sizes(), input);
        sum.copy_(input);
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
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CollectiveSpec::Part& part = spec.parts[i];
    const int64_t length = part.to - part.from;
    OnCopyStream(inputs[i].device(), device.torch_device(), [&] {
      if (!whole.defined()) whole = Allocate(device, shape, inputs[i]);
      whole.view(Factors(shape, spec.dimension, spec.outer, spec.size))
          .narrow(spec.dimension + 1, part.from, length)
          .copy_(inputs[i].reshape(Factors(inputs[i].sizes(), spec.dimension, spec.outer, length)));
    });
  }
  return whole;
}

}  // namespace

std::string_view ToString(CollectiveSpec::Kind kind) {
  switch (kind) {
    case CollectiveSpec::Kind::kAllReduce: return "all-reduce";
    case CollectiveSpec::Kind::kAllGather: return "all-gather";
  }
  return "?";
}

std::vector<at::Tensor> Combine(const CollectiveSpec& spec, std::span<const at::Tensor> inputs,
                                std::span<RuntimeDevice* const> devices) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<at::Tensor> results;
  const at::Tensor first = spec.kind == CollectiveSpec::Kind::kAllReduce
                               ? SumOf(inputs, *devices[0])
                               : GatherOf(spec, inputs, *devices[0]);
  results.push_back(first);
  for (RuntimeDevice* const device : devices.subspan(1)) {
    OnCopyStream(first.device(), device->torch_device(), [&] {
      results.push_back(Allocate(*device, first.sizes(), first));
      results.back().copy_(first);
    });
  }
  return results;
}

}  // namespace placewright
