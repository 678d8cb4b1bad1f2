// Whether a split may move from one axis to another by an all-to-all (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_EXCHANGE_TIMES_H_
#define PLACEWRIGHT_COMPILE_EXCHANGE_TIMES_H_

#include <vector>

#include "compile/emitter.h"
#include "compile/tensor_state.h"

namespace placewright {

// Whether the all-to-all is estimated to take at most as long as an all-gather of the pieces, behind which each device
// cuts its part. `taken`: as EmitAllToAll has it. By models of the cluster alone, so that a plan means one step whatever
// was measured. True where there is no way between two of the devices, either: that is refused when the step is priced.
bool ExchangePays(const Emitter& emitter, const std::vector<Piece>& pieces,
                  const std::vector<AxisPart>& taken);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_EXCHANGE_TIMES_H_
