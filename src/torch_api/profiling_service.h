// What ops and transfers take on this machine: what the program asks of `runtime`, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_PROFILING_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_PROFILING_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/stop.h"
#include "base/units.h"
#include "cost/communication/collective_kind.h"
#include "cost/machine_state.h"
#include "graph/graph.h"
#include "torch_api/execution_service.h"

namespace placewright {

struct ProfilingOptions {
  uint64_t seed = 0;      // of inputs and random ops
  int64_t min_steps = 5;  // beyond those that warm up (TAG, section 4.1.2)
  int64_t max_steps = 60;
  double stable = 0.005;   // ends when half as many steps more change the sums of medians by less
  double min_seconds = 5;  // but not before
  std::optional<double> seconds;  // at the most, once min_steps are done
  StopToken stop;                 // ends with what there is once min_steps are done
  std::function<void(const std::string&)> progress;  // may be empty
};

// A step as one device executes it.
struct StepProfile {
  struct OpTime {
    Nanos median, low, high;  // over the steps; a tenth of them below `low`, a tenth above `high`
    Bytes workspace;          // in use while it was called, beyond before and after
  };
  IdVector<OpId, OpTime> ops;  // with the views behind them; of views: 0
  Nanos step;                  // median of the steps' times
  double covered = 0;          // median of the share of a step that its ops take
  int64_t steps = 0;           // without those that warm up
  bool stable = false;         // half as many steps more no longer changed the sum of medians
  MachineState state;          // of the machine beside them, on the same device
};

struct TransferSample {
  Bytes bytes;
  Nanos median;  // from the end of what made them to the begin of what reads them elsewhere
  int64_t runs = 0;
};

// The whole step on one device, by itself and while the others do the same.
struct DeviceProfile {
  std::optional<StepProfile> alone, loaded;  // as far as asked for
};

struct DeviceState {
  MachineState alone, loaded;  // unknown where not asked for
  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

// The devices of a run over several processes, and whose each is (RanksOfDevices).
struct RankDevices {
  std::vector<ExecutionDevice> devices;
  IdVector<DeviceId, int32_t> rank_of;
  Processes* processes = nullptr;
};

// What devices of several ranks do together: a collective, or a transfer from the first to the second.
struct Exchange {
  std::optional<CollectiveKind> collective;
  std::vector<DeviceId> devices;  // at least two; of a transfer two, of two ranks
};

struct ExchangeProfile {
  std::vector<TransferSample> times;
  bool stopped = false;  // on whichever rank: sizes are missing
  bool by_nccl = false;  // where all devices are GPUs
};

// What a machine's state is known by.
class MachineReference {
 public:
  virtual ~MachineReference() = default;
  // By device. It takes some 0.1 s for each that is asked for, and the caches. Errors: those of
  // Execution::Run.
  virtual Result<std::vector<DeviceState>> Measure() = 0;
};

class ProfilingService {
 public:
  virtual ~ProfilingService() = default;
  // `alone` [device]: whether to profile it so. `loaded`: all of them at the same time, too, by turns
  // with the others, so that both are measured of the machine in the same state. Errors: those of
  // ExecutionService::Start and Execution::Run; kCancelled (stopped before min_steps).
  virtual Result<std::vector<DeviceProfile>> ProfileStep(
      const Graph& graph, const std::vector<ExecutionDevice>& devices,
      const std::vector<bool>& alone, bool loaded, const ProfilingOptions& options) const = 0;
  // `alone` and `loaded` as above. Errors: those of ExecutionService::Start and Execution::Run.
  virtual Result<std::unique_ptr<MachineReference>> StartReference(
      const std::vector<ExecutionDevice>& devices, const std::vector<bool>& alone,
      bool loaded) const = 0;
  // Sizes double from 1 KiB to `max`; fewer where it is stopped. Errors: as above, but kCancelled.
  virtual Result<std::vector<TransferSample>> ProfileTransfers(
      const ExecutionDevice& from, const ExecutionDevice& to, Bytes max,
      const ProfilingOptions& options) const = 0;
  // Called by all ranks alike. Sizes, of a collective's whole tensor, grow fourfold from 1 KiB to `max`.
  // Times are rank 0's, the others' are 0. Errors: as above, of whichever rank.
  virtual Result<ExchangeProfile> ProfileExchange(const RankDevices& ranks,
                                                  const Exchange& exchange, Bytes max,
                                                  const ProfilingOptions& options) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_PROFILING_SERVICE_H_
