// Candidates evaluated by running them (`runtime`): what the program asks for, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_EVALUATOR_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_EVALUATOR_SERVICE_H_

#include <memory>

#include "base/result.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"

namespace placewright {

class EvaluatorService {
 public:
  virtual ~EvaluatorService() = default;
  // An evaluator of `problem`, which must outlive it, that measures on this machine's devices. It
  // is to be destroyed before the library is closed. Errors: kMissingRuntime (devices of the
  // problem that this machine lacks), kField (a graph that cannot be executed), kExecution.
  virtual Result<std::unique_ptr<Evaluator>> MakeMeasuringEvaluator(
      const Problem& problem) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_EVALUATOR_SERVICE_H_
