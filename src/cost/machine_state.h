// How fast a device is at some time. The same step takes longer at one time than at another where
// something else uses the machine: another program, or on a virtual machine another guest, whose threads
// share a core's units or the memory's bandwidth. Three references are measured beside the ops, and again
// beside what is to be predicted; their ratios say how times have changed.
//
// time now / time then = a A + c C + m M,   a + c + m = 1
//
// A, C, M: the ratios (now / then) of a product that the caches hold, of a pass over what a core's own
// cache holds, and of a pass over what no cache holds; a, c, m by the class of op. These shares come from ops
// and references measured side by side on a virtual machine, ten times eight seconds (ops of no model;
// docs/lab/2026-11-22-validation.md): products go with A; convolutions 0.6 A + 0.4 C; pooling 0.7 A + 0.3 C; chains of
// elementwise ops on large tensors M, with a little C where the next finds in the cache what the last
// wrote. All of this is ours; the papers measure on machines of their own.
#ifndef PLACEWRIGHT_COST_MACHINE_STATE_H_
#define PLACEWRIGHT_COST_MACHINE_STATE_H_

#include <vector>

#include "base/units.h"
#include "cost/work.h"

namespace placewright {

struct MachineState {
  Nanos arithmetic;  // of a product of matrices that the caches hold
  Nanos cache;       // of a pass over what a core's own cache holds
  Nanos memory;      // of a pass over what no cache holds
  bool known() const { return arithmetic > Nanos(0) && cache > Nanos(0) && memory > Nanos(0); }
  friend bool operator==(const MachineState&, const MachineState&) = default;
};

// Of each reference by itself; of none: unknown. MeanOf leaves out those that are not known.
MachineState MedianOf(const std::vector<MachineState>& states);
MachineState MeanOf(const std::vector<MachineState>& states);

// c and m, each between 0 and 1, together at most 1.
struct StateShares {
  double cache = 0, memory = 0;
};
StateShares SharesOf(const Work& work);

// What a time of `then` is multiplied with to be one of `now`; 1 where either is not known.
double Slowdown(const Work& work, const MachineState& then, const MachineState& now);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_MACHINE_STATE_H_
