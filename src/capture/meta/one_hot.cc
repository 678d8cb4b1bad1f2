#include "capture/meta/one_hot.h"

#include <ATen/ops/one_hot_native.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "aten/failure.h"
#include "capture/recorder/dispatch.h"

namespace placewright {

at::Tensor OneHot(const at::Tensor& self, int64_t classes) {
  CallHandler* handler = CurrentHandler();
  if (handler == nullptr) return at::native::one_hot(self, classes);
  TORCH_CHECK(self.scalar_type() == at::kLong, "one_hot is only applicable to index tensor.");
  if (classes < 0) {
    const Error error =
        MakeError(ErrorCode::kDataDependent, "the number of classes would be read from a tensor",
                  "op one_hot", "Give one_hot its num_classes.");
    handler->KeepFailure(error);
    throw TorchFailure(error);
  }
  std::vector<int64_t> sizes = self.sizes().vec();
  sizes.push_back(classes);
  at::Tensor result = at::zeros(sizes, self.options());
  result.scatter_(-1, self.unsqueeze(-1), 1);
  return result;
}

}  // namespace placewright
