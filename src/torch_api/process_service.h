// A run over several processes, on one machine or several, as the program sees it.
#ifndef PLACEWRIGHT_TORCH_API_PROCESS_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_PROCESS_SERVICE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cluster/cluster.h"

namespace placewright {

class Channel;  // runtime/process/channel.h

struct JoinRequest {
  // What all ranks must have alike, by name, in the order in which they are compared.
  std::vector<std::pair<std::string, std::string>> facts;
  std::chrono::milliseconds timeout{20'000};  // for ranks to come, and of one that is not heard of
  // For one message of a rank that goes on counting.
  std::chrono::milliseconds message_timeout{600'000};
  // Tensors cross between GPUs of ranks by the host's memory, whatever LibTorch has.
  bool no_nccl = false;
  // Why this rank cannot take part: said to the others, and what Join returns.
  std::optional<Error> failure{};
  const std::atomic<bool>* interrupted = nullptr;  // ends the waiting for others
};

class Processes {
 public:
  virtual ~Processes() = default;
  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;
  virtual const std::vector<std::string>& hosts() const = 0;  // [rank]: the names of their machines
  // Called by all ranks in one order: rank 0's text. Errors: kExecution.
  virtual Result<std::string> Share(std::string text) = 0;
  // This rank cannot go on: ends the run on all. Returns what has ended it first, on whichever rank.
  virtual Error Fail(const Error& error) = 0;
  // All ranks have come to the end. Errors: as Fail.
  virtual Status Finish() = 0;
  // For ExecutionService: messages to the other ranks; JoinRequest's.
  virtual Channel& channel() = 0;
  virtual bool no_nccl() const = 0;
};

// [device]: its rank. Devices are taken machine by machine, in the cluster's order, in runs: where the number of
// ranks is a multiple of that of machines, and each machine has devices enough, every machine has as many ranks
// as the others; else the runs are of all devices. Runs are as long as one another, but for one device.
// Errors: kUsage (more ranks than devices).
Result<IdVector<DeviceId, int32_t>> RanksOfDevices(const Cluster& cluster, int32_t ranks);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_PROCESS_SERVICE_H_
