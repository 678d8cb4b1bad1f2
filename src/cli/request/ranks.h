// `run` over several processes: one of them prints and writes files, all execute.
#ifndef PLACEWRIGHT_CLI_REQUEST_RANKS_H_
#define PLACEWRIGHT_CLI_REQUEST_RANKS_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "formats/plan/plan_files.h"
#include "torch_api/execution_service.h"

namespace placewright {

class RunRanks {
 public:
  // With the processes that this one was started with, if it was. To the facts of the request come the
  // program's version, before them, and LibTorch's. Errors: ExecutionService::Join's, RanksOfDevices'.
  static Result<RunRanks> Join(const ExecutionService& service, const Cluster& cluster,
                               JoinRequest request);
  static bool StartedAsRank();       // by the variables that it was given
  static bool StartedBehindFirst();  // as another rank than 0
  // An error that keeps this process from joining, before it has a cluster: the others end with it, too. Returns
  // `error`. `timeout`, `interrupted`: JoinRequest's.
  static Error Refuse(const Error& error, std::chrono::milliseconds timeout,
                      const std::atomic<bool>& interrupted);
  // What all ranks that execute a plan must have alike.
  static std::vector<std::pair<std::string, std::string>> FactsOf(const PlanInputs& loaded);

  bool several() const { return processes_ != nullptr; }
  bool leads() const { return !several() || processes_->rank() == 0; }
  int32_t size() const { return several() ? processes_->size() : 1; }
  Processes* processes() const { return processes_.get(); }                // nullptr: alone
  const IdVector<DeviceId, int32_t>& rank_of() const { return rank_of_; }  // empty: alone
  // [device]: whether it is on this machine; empty: all are.
  const std::vector<bool>& here() const { return here_; }
  void Give(const PlanInputs& loaded, ExecutionRequest& request) const;
  // Rank 0's file, on all.
  Result<std::string> ReadFile(const std::string& path) const;
  // As Processes::Fail; `error` itself where there is one process.
  Error Fail(const Error& error) const;
  // The run has ended like that here: what it has come to on all ranks.
  Result<int> End(Result<int> ended);

 private:
  std::unique_ptr<Processes> processes_;  // none: alone
  IdVector<DeviceId, int32_t> rank_of_;
  std::vector<bool> here_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_RANKS_H_
