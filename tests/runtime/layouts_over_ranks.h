// Compiled steps over the ranks of a run, beside the same steps in one process.
#ifndef PLACEWRIGHT_TESTS_RUNTIME_LAYOUTS_OVER_RANKS_H_
#define PLACEWRIGHT_TESTS_RUNTIME_LAYOUTS_OVER_RANKS_H_

#include "base/result.h"
#include "runtime/process/rendezvous.h"

namespace placewright {

// Seven small models of the zoo, compiled for two to four devices: of each once data parallel over all of these, and
// `of_each` - 1 times by drawn layouts; each rank has one device, the others lie on ranks at random. Every rank
// executes two steps of each with the others, and both by itself, and compares: the loss, and what parameters, states
// and buffers hold. kInternal: other bits, and in which layout. Prints how many layouts have been compared.
Status RunDrawnLayouts(Rendezvous& ranks, int of_each);

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_RUNTIME_LAYOUTS_OVER_RANKS_H_
