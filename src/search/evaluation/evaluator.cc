#include "search/evaluator.h"

namespace placewright {

Bytes Evaluation::TotalOver() const {
  int64_t total = 0;
  for (const Device& device : devices) total = SaturatingAdd(total, device.over.count);
  return Bytes(total);
}

Evaluation Evaluator::EvaluateOne(const Placement& candidate, const EvaluationOptions& options) {
  return std::move(Evaluate({&candidate, 1}, options).front());
}

}  // namespace placewright
