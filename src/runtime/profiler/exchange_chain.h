// Steps that do one thing between devices again and again, each time with what the last one gave, so that
// the time between two of them, by one device's clock, is that of one: clocks of several processes need
// not agree, nor need these begin a step together.
#ifndef PLACEWRIGHT_RUNTIME_PROFILER_EXCHANGE_CHAIN_H_
#define PLACEWRIGHT_RUNTIME_PROFILER_EXCHANGE_CHAIN_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "torch_api/profiling_service.h"

namespace placewright {

struct ExchangeChain {
  Graph graph;
  Placement placement;
  Bytes bytes;  // of one transfer, or of a collective's whole tensor
  int repeats = 0;
  // Ops that run between the first and the last repeat, one after the other.
  std::vector<OpId> between;

  // What one repeat takes, in a step that ran like that.
  Nanos TimeOf(const Schedule& schedule) const;
};

// A transfer goes there and back, four times in all; a collective is made five times. About `bytes`: as many
// elements as all members have alike.
Result<ExchangeChain> MakeExchangeChain(const Exchange& exchange, Bytes bytes);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROFILER_EXCHANGE_CHAIN_H_
