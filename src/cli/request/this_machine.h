// The machine that the program runs on, as a description of a cluster starts from it.
#ifndef PLACEWRIGHT_CLI_REQUEST_THIS_MACHINE_H_
#define PLACEWRIGHT_CLI_REQUEST_THIS_MACHINE_H_

#include <string>
#include <vector>

#include "cluster/discovery/detect.h"

namespace placewright {

// What NVIDIA's driver says of the GPUs; where there is no driver, or no GPU, a note says so. Errors:
// TakeInventory's.
Status AskGpuDriver(DetectInput& input, std::vector<std::string>& notes);

// Its CPUs, and with `gpus` its GPUs, if the driver answers and the catalogue has them; else a note says why
// not. Errors: those of the system and of DetectMachine.
Result<ClusterBuilder> DescribeThisMachine(bool gpus, std::vector<std::string>& notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_THIS_MACHINE_H_
