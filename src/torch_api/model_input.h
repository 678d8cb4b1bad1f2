// The inputs of a model from a file, as the option --input states them:
//   NAME=DTYPE[SIZES]<N     ids=i64[B,128]<30522, x=f32[32,3,224,224], x=[B,10], [32,10]
// NAME is an argument of the model's forward function; without one the inputs go by order. DTYPE is
// one of f32 (where none is given), f64, f16, bf16, i64, i32, i16, i8, u8, bool. A size is a number
// or B, the batch. N: integers are less than it where the model is run on real tensors.
#ifndef PLACEWRIGHT_TORCH_API_MODEL_INPUT_H_
#define PLACEWRIGHT_TORCH_API_MODEL_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

struct ModelInput {
  static constexpr int64_t kBatch = -1;  // the size B

  std::string name;  // "": by order
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  int64_t below = 1;  // on real tensors; 1: zeros

  // Whether B is among the sizes.
  bool HasBatch() const;
};

// Errors: kUsage, naming what cannot be read.
Result<ModelInput> ParseModelInput(std::string_view text);
// "ids=i64[B,128]<30522"; reads back to the same.
std::string ToString(const ModelInput& input);

// The batch that is meant: `asked`, else the first size of all inputs where they agree on one, else
// 0. Errors: kUsage (an input has the size B and nothing is asked).
Result<int64_t> BatchOf(const std::vector<ModelInput>& inputs, std::optional<int64_t> asked);
// The sizes of the input at a batch: in the place of B; where no input has a B and `batch` is not
// 0, in the place of the first size.
std::vector<int64_t> SizesAt(const ModelInput& input, bool any_has_batch, int64_t batch);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_MODEL_INPUT_H_
