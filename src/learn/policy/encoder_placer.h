// A graph encoder whose representations a placer turns into devices: Mars (Fig. 3), and its rivals
// with another placer.
#ifndef PLACEWRIGHT_LEARN_POLICY_ENCODER_PLACER_H_
#define PLACEWRIGHT_LEARN_POLICY_ENCODER_PLACER_H_

#include <functional>
#include <memory>

#include "learn/encoder/graph_encoder.h"
#include "learn/placer/placer_net.h"
#include "learn/policy/policy.h"
#include "learn/policy/shared_draws.h"

namespace placewright {

// What the policy sees of a problem's units; on one device, of one type.
struct UnitGraph {
  at::Tensor features;   // [N, F]
  at::Tensor structure;  // the encoder's form of the graph
  at::Tensor adjacency;  // NormalizedAdjacency, for placers that look at it
  at::Tensor forbidden;  // [N, devices]
  at::Tensor devices;    // [devices, features], for placers that look at them
  std::shared_ptr<const SharedDraws> shared = nullptr;  // nullptr: each unit draws by itself
};

class EncoderPlacerPolicy : public Policy {
 public:
  // The placer for embeddings of the given width. The encoder's parameters are among `parameters`;
  // `uniform`: MixUniform's share.
  using MakePlacer = std::function<std::unique_ptr<PlacerNet>(int64_t width, Parameters&)>;

  EncoderPlacerPolicy(UnitGraph graph, std::unique_ptr<GraphEncoder> encoder,
                      const MakePlacer& make_placer, double uniform,
                      std::shared_ptr<Parameters> parameters);

  const GraphEncoder& encoder() const { return *encoder_; }
  const UnitGraph& graph() const { return graph_; }
  // What a policy around this one goes on with, of a placer that decides all units independently; with
  // gradients.
  struct Scored {
    at::Tensor embeddings;  // [N, width] of the encoder
    at::Tensor logits;      // [N, devices]
  };
  Scored Score() const;
  // Noise [..., K, N, devices] for K placements, shared among units as UnitGraph::shared has it.
  at::Tensor Shared(const at::Tensor& noise, Random& random, const Exploration& exploration) const;
  // From now on the encoder is not trained: Table 1 of Mars trains placers on fixed representations.
  void FreezeEncoder();

  at::Tensor Sample(int64_t count, Random& random, const Exploration& exploration) const override;
  Evaluated Evaluate(const at::Tensor& decisions) const override;
  std::vector<int64_t> parts() const override { return {graph_.forbidden.size(0)}; }
  std::vector<DeviceId> DevicesOf(const at::Tensor& row) const override;
  at::Tensor DecisionsFor(std::span<const DeviceId> device_of) const override;
  at::Tensor Varied(const at::Tensor& row, Random& random) const override;
  const Parameters& parameters() const override { return *parameters_; }

 private:
  PlacerInputs Inputs() const;

  const UnitGraph graph_;
  const double uniform_;
  std::shared_ptr<Parameters> parameters_;
  std::unique_ptr<GraphEncoder> encoder_;
  std::unique_ptr<PlacerNet> placer_;
  at::Tensor frozen_;  // the representations, where the encoder is frozen
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_ENCODER_PLACER_H_
