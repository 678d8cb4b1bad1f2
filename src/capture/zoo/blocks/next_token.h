// What models that learn the next token of a text share: their data and their loss.
#ifndef PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_NEXT_TOKEN_H_
#define PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_NEXT_TOKEN_H_

#include <cstdint>
#include <vector>

#include "capture/zoo/blocks/basic.h"
#include "capture/zoo/model.h"

namespace placewright {

// Outputs are the scores of every next token, [batch, sequence, vocabulary], and the balance of each router, whose
// sum is in the loss with the weight `balance`. Of no weight it is left out, so that no sample depends on others.
class NextTokenModel : public Model {
 public:
  // "targets" are the tokens, one further.
  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> tokens = {batch_, sequence_};
    return {{"ids", at::randint(vocabulary_, tokens, at::kLong)},
            {"targets", at::randint(vocabulary_, tokens, at::kLong)}};
  }

  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) override {
    at::Tensor loss = CrossEntropy(outputs[0].view({-1, vocabulary_}), inputs[1].view({-1}));
    if (balance_ == 0) return loss;
    for (size_t i = 1; i < outputs.size(); ++i) loss = loss + outputs[i] * balance_;
    return loss;
  }

 protected:
  NextTokenModel(int64_t batch, int64_t sequence, int64_t vocabulary, double balance)
      : batch_(batch), sequence_(sequence), vocabulary_(vocabulary), balance_(balance) {}

 private:
  int64_t batch_, sequence_, vocabulary_;
  double balance_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ZOO_BLOCKS_NEXT_TOKEN_H_
