// The processes of a run as the program asks for them.
#ifndef PLACEWRIGHT_RUNTIME_SERVICE_PROCESSES_H_
#define PLACEWRIGHT_RUNTIME_SERVICE_PROCESSES_H_

#include <memory>

#include "torch_api/process_service.h"

namespace placewright {

// As ExecutionService::Join. The version of LibTorch is a fact beside those of the request.
Result<std::unique_ptr<Processes>> JoinProcesses(const JoinRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_SERVICE_PROCESSES_H_
