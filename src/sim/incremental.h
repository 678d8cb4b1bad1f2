// Simulates placements that differ from an incumbent in a few ops, for local search: the run starts
// again from the last state of the incumbent's run that the change cannot have touched.
//
// A result equals a full simulation's in every field (a property test holds it to that); only
// `busy`, memory and step time of an abandoned run are those of the instant at which it stopped.
// Graphs with collectives, and in the order of the program those with ops that move pieces, are run in full each time.
#ifndef PLACEWRIGHT_SIM_INCREMENTAL_H_
#define PLACEWRIGHT_SIM_INCREMENTAL_H_

#include <cstddef>
#include <memory>
#include <span>

#include "plan/placement.h"
#include "sim/simulator.h"

namespace placewright {

// One per thread; holds the arrays of one SimGraph and the states of one incumbent run.
class IncrementalSimulator {
 public:
  // `sim_graph` must outlive this. About `memory_limit` bytes of saved states are kept at most.
  IncrementalSimulator(const SimGraph& sim_graph, SchedulingPolicy policy,
                       size_t memory_limit = size_t{64} << 20);
  ~IncrementalSimulator();
  IncrementalSimulator(IncrementalSimulator&&) noexcept;

  // Simulates `placement` in full and makes it the incumbent. Its precondition is that of
  // Simulator::Run, and holds for every placement tried.
  const SimResult& SetIncumbent(const Placement& placement);
  const Placement& incumbent() const;
  const SimResult& incumbent_result() const;

  // The incumbent with `moves` applied; `abandoned` exactly if its step time is above
  // `abandon_above`. The reference is valid until the next call. Each op at most once.
  const SimResult& Try(std::span<const OpMove> moves, Nanos abandon_above = Nanos(kMaxQuantity));

  // Makes the placement of the last Try the incumbent, whether or not it was abandoned.
  void Accept();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_INCREMENTAL_H_
