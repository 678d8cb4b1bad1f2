#include "base/out_of_memory.h"

#include <utility>

namespace placewright {

Error OutOfMemory(std::string place) {
  return MakeError(ErrorCode::kOutOfMemory, "out of memory", std::move(place),
                   "Free some memory, raise a limit (ulimit -v), or give a smaller graph.");
}

}  // namespace placewright
