// Post's policy (Gao, Chen, Li, NeurIPS 2018): a table of free logits, one row for each unit, zero at
// the start. It knows nothing of the graph, and so is the floor under policies that do.
#ifndef PLACEWRIGHT_LEARN_POLICY_TABLE_H_
#define PLACEWRIGHT_LEARN_POLICY_TABLE_H_

#include <memory>

#include "learn/policy/policy.h"
#include "learn/policy/shared_draws.h"

namespace placewright {

class TablePolicy : public Policy {
 public:
  // `forbidden` [N, devices]: 0, or minus infinity; `uniform`: MixUniform's share; `shared`: nullptr where
  // each unit draws by itself.
  TablePolicy(const at::Tensor& forbidden, double uniform, std::shared_ptr<Parameters> parameters,
              std::shared_ptr<const SharedDraws> shared = nullptr);

  at::Tensor Sample(int64_t count, Random& random, const Exploration& exploration) const override;
  Evaluated Evaluate(const at::Tensor& decisions) const override;
  std::vector<int64_t> parts() const override { return {logits_.size(0)}; }
  std::vector<DeviceId> DevicesOf(const at::Tensor& row) const override;
  at::Tensor DecisionsFor(std::span<const DeviceId> device_of) const override;
  at::Tensor Varied(const at::Tensor& row, Random& random) const override;
  const Parameters& parameters() const override { return *parameters_; }

 private:
  std::shared_ptr<Parameters> parameters_;
  at::Tensor forbidden_;
  double uniform_;
  at::Tensor logits_;  // [N, devices]
  std::shared_ptr<const SharedDraws> shared_;
};

// A row of devices as ids, and back.
std::vector<DeviceId> DeviceIds(const at::Tensor& row);
at::Tensor DeviceRow(std::span<const DeviceId> devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_TABLE_H_
