#include "learn/policy/table.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "learn/policy/categorical.h"

namespace placewright {

TablePolicy::TablePolicy(const at::Tensor& forbidden, double uniform,
                         std::shared_ptr<Parameters> parameters,
                         std::shared_ptr<const SharedDraws> shared)
    : parameters_(std::move(parameters)),
      forbidden_(forbidden),
      uniform_(uniform),
      logits_(parameters_->Constant("logits", forbidden.sizes(), 0)),
      shared_(std::move(shared)) {}

at::Tensor TablePolicy::Sample(int64_t count, Random& random,
                               const Exploration& exploration) const {
  const at::NoGradGuard no_gradients;
  const at::Tensor logits = logits_ + forbidden_;
  at::Tensor noise = ExplorationNoise({count, logits.size(0), logits.size(1)}, logits.options(),
                                      random, exploration, uniform_);
  if (shared_ != nullptr && !exploration.greedy) noise = shared_->Share(noise, random);
  return (logits + noise).argmax(-1);
}

Policy::Evaluated TablePolicy::Evaluate(const at::Tensor& decisions) const {
  const at::Tensor logits = MixUniform(logits_ + forbidden_, uniform_)
                                .unsqueeze(0)
                                .expand({decisions.size(0), logits_.size(0), logits_.size(1)});
  return EvaluateChoices(logits, decisions);
}

std::vector<DeviceId> TablePolicy::DevicesOf(const at::Tensor& row) const { return DeviceIds(row); }

at::Tensor TablePolicy::Varied(const at::Tensor& row, Random& random) const {
  return VaryDecision(row, 0, forbidden_, random);
}

at::Tensor TablePolicy::DecisionsFor(std::span<const DeviceId> device_of) const {
  return DeviceRow(device_of);
}

at::Tensor DeviceRow(std::span<const DeviceId> devices) {
  const at::Tensor row = at::empty({static_cast<int64_t>(devices.size())}, at::kLong);
  auto* const data = row.data_ptr<int64_t>();
  for (size_t i = 0; i < devices.size(); ++i) data[i] = devices[i].value();
  return row;
}

std::vector<DeviceId> DeviceIds(const at::Tensor& row) {
  const at::Tensor contiguous = row.contiguous();
  const int64_t* const data = contiguous.data_ptr<int64_t>();
  std::vector<DeviceId> devices;
  for (int64_t i = 0; i < contiguous.numel(); ++i)
    devices.emplace_back(static_cast<int32_t>(data[i]));
  return devices;
}

}  // namespace placewright
