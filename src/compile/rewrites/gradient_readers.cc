#include "compile/rewrites/gradient_readers.h"

#include "transforms/accumulate.h"

namespace placewright {

bool IsReadByUpdate(const Graph& original, const StepArrays& arrays, const ArrayReaders& readers,
                    const ArrayOp& op) {
  bool any = false;
  for (const TensorId made : arrays.MadeBy(op)) {
    if (!readers.Knows(made)) return false;
    for (const OpId id : readers.Of(made)) {
      any = true;
      const ArrayOp& reader = arrays.ops[id];
      if (reader.phase == Phase::kOptimizer) continue;
      if (reader.origin.valid() && IsMicroBatchSum(original.op(reader.origin))) continue;
      const bool hands_on = reader.is_view || !reader.IsInstance();
      if (hands_on && IsReadByUpdate(original, arrays, readers, reader)) continue;
      return false;
    }
  }
  return any;
}

}  // namespace placewright
