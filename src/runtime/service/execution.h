// The executor as the program asks for it.
#ifndef PLACEWRIGHT_RUNTIME_SERVICE_EXECUTION_H_
#define PLACEWRIGHT_RUNTIME_SERVICE_EXECUTION_H_

#include <memory>

#include "torch_api/execution_service.h"

namespace placewright {

// As ExecutionService::Start.
Result<std::unique_ptr<Execution>> StartExecution(ExecutionRequest request);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_SERVICE_EXECUTION_H_
