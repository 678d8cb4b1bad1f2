#include "base/out_of_memory.h"

namespace placewright {

Error OutOfMemory() {
  return MakeError(ErrorCode::kInternal, "out of memory", "",
                   "Free some memory, or give a smaller graph.");
}

}  // namespace placewright
