// Which process of how many this is, as what started it says in the environment.
//
//   torchrun   RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT: all but LOCAL_RANK are needed
//   mpirun     OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (Open MPI)
//   srun       SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID; only where
//              SLURM_STEP_ID says that this is a task of a step: a batch script is none
//
// They are looked for in that order. MASTER_ADDR and MASTER_PORT come before what the others
// imply: mpirun on one machine means the loopback address, srun the first of SLURM_STEP_NODELIST;
// the port is 29500.
#ifndef PLACEWRIGHT_TORCH_API_PROCESS_ENVIRONMENT_H_
#define PLACEWRIGHT_TORCH_API_PROCESS_ENVIRONMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace placewright {

struct ProcessEnvironment {
  int32_t rank = 0, size = 1;
  int32_t local_rank = 0;  // among those of this machine
  std::string address;     // where rank 0 listens
  uint16_t port = 0;
};

// The value of a variable; none where it is not set or empty.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
EnvironmentLookup ThisEnvironment();

// None: this process was started alone, or is the only one. Errors: kUsage (a variable that is missing or
// no number, a rank that is not below the number of ranks), with the variable as place.
Result<std::optional<ProcessEnvironment>> ReadProcessEnvironment(const EnvironmentLookup& lookup);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_PROCESS_ENVIRONMENT_H_
