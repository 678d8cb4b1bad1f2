// How much memory this process has, and may still take.
#ifndef PLACEWRIGHT_BASE_AVAILABLE_MEMORY_H_
#define PLACEWRIGHT_BASE_AVAILABLE_MEMORY_H_

#include <optional>

#include "base/units.h"

namespace placewright {

// Address space in use, which libraries alone can take much of; 0 where the system does not say.
Bytes AddressSpace();

// What the machine, its control group and a limit of this process (ulimit -v) leave, whichever is less; nothing where the
// system does not say.
std::optional<Bytes> AvailableMemory();

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_AVAILABLE_MEMORY_H_
