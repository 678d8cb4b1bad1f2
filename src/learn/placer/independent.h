// Placers whose decisions are independent of each other once the units are embedded: all logits come
// in one pass, and a draw is one draw of each row.
#ifndef PLACEWRIGHT_LEARN_PLACER_INDEPENDENT_H_
#define PLACEWRIGHT_LEARN_PLACER_INDEPENDENT_H_

#include <string>
#include <vector>

#include "learn/nn/parameters.h"
#include "learn/placer/placer_net.h"

namespace placewright {

// Centred, the scores of each device are those less their mean over the units, and a number of the
// device's own. Not in the papers: what moves all units alike has as many times the gradient of what
// distinguishes one from another as there are units, and a policy whose units are drawn independently comes to
// put all of them on one device before it learns anything else.
class IndependentPlacer : public PlacerNet {
 public:
  at::Tensor Sample(const PlacerInputs& inputs, const at::Tensor& noise) const override;
  at::Tensor Logits(const PlacerInputs& inputs, const at::Tensor& devices) const override;

 protected:
  // [B, N, devices]; what is forbidden is added by the callers.
  virtual at::Tensor Scores(const PlacerInputs& inputs) const = 0;
  // What centred scores add for each device; undefined: scores are not centred.
  virtual at::Tensor Preference(const PlacerInputs& inputs) const = 0;

 private:
  at::Tensor Decided(const PlacerInputs& inputs) const;  // scores, centred where they are to be
};

// W x + b with first values of Glorot.
struct Affine {
  at::Tensor weight, bias;  // [out, in], [out]

  Affine(const std::string& name, int64_t out, int64_t in, Parameters& parameters);
  at::Tensor operator()(const at::Tensor& x) const;
};

// Two layers: W2 relu(W1 x + b1) + b2, unit by unit (Mars sec. 3.3: "the simplest placer").
class MlpPlacer : public IndependentPlacer {
 public:
  MlpPlacer(int64_t inputs, int64_t devices, int64_t width, const std::string& name,
            Parameters& parameters, bool centred = false);

 protected:
  at::Tensor Scores(const PlacerInputs& inputs) const override;
  at::Tensor Preference(const PlacerInputs&) const override { return preference_; }

 private:
  Affine hidden_, output_;
  at::Tensor preference_;  // [devices]; undefined: not centred
};

// Two graph convolutions with ReLU between them (EAGLE sec. III-C): A relu(A x W1) W2 with the
// normalised adjacency A.
class GcnPlacer : public IndependentPlacer {
 public:
  GcnPlacer(int64_t inputs, int64_t devices, int64_t width, const std::string& name,
            Parameters& parameters, bool centred = false);

 protected:
  at::Tensor Scores(const PlacerInputs& inputs) const override;
  at::Tensor Preference(const PlacerInputs&) const override { return preference_; }

 private:
  at::Tensor hidden_, output_;  // [inputs, width], [width, devices]
  at::Tensor preference_;       // [devices]; undefined: not centred
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLACER_INDEPENDENT_H_
