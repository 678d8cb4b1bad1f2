// The processes of one run: they meet at rank 0's store, make sure that they are about to do the same thing,
// and end together, whatever happens to one of them.
//
// Each rank publishes what it has (facts: hashes of the plan and the graph, versions), or why it cannot take
// part; rank 0 compares the facts with its own, and says to all whether the run begins, or what keeps it from
// that. From then on a thread of each rank counts up in the store, twenty
// times in the time of silence; rank 0 looks at all counts, and a rank that does not count for that time
// has died or is stopped. What ends a rank is written there once, by the first that knows of it, and
// read by all others at their next count. Of rank 0 itself, which holds the store, the others learn by
// its silence.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_RENDEZVOUS_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_RENDEZVOUS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "runtime/process/channel.h"
#include "torch_api/process_environment.h"

namespace placewright {

struct RendezvousOptions {
  std::chrono::milliseconds start{30'000};    // for all ranks to come
  std::chrono::milliseconds silence{15'000};  // of a rank that is then given up
  ChannelOptions messages;
  // What all ranks must have alike, in this order: {"the plan", "sha256 ab12..."}.
  std::vector<std::pair<std::string, std::string>> facts;
  std::optional<Error> failure{};  // this rank cannot take part
  StopToken stop{};                // looked at while ranks come
};

class Rendezvous {
 public:
  // Returns when all ranks have come and agree. Errors: `failure`, or that of another rank; kMissingRuntime (the
  // port is in use; no way to rank 0; a rank that does not come in time, by its number), kPlanMismatch (facts that
  // differ, and whose), kInterrupted.
  static Result<std::unique_ptr<Rendezvous>> Join(const ProcessEnvironment& environment,
                                                  const RendezvousOptions& options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int32_t rank() const;
  int32_t size() const;
  const std::vector<std::string>& hosts() const;  // [rank]: the names of their machines
  Channel& channel();                             // to all ranks

  // The run cannot go on here: ends it on all ranks. Returns what has ended it first: `error`, or another
  // rank's, with its number. Waits for some seconds at most, so that the others learn of it.
  Error Fail(const Error& error);
  // All ranks have come to their end. Errors: as Fail's, of a rank that did not.
  Status Finish();

 private:
  class State;
  explicit Rendezvous(std::shared_ptr<State> state);

  std::shared_ptr<State>
      state_;  // its threads hold it, too: one may wait for a store that has stopped
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_RENDEZVOUS_H_
