// The one exception that is not stopped where it arises: memory ran out. It travels to the code
// that still has something to save (a search its best plan), else to the program, and becomes this
// error.
#ifndef PLACEWRIGHT_BASE_OUT_OF_MEMORY_H_
#define PLACEWRIGHT_BASE_OUT_OF_MEMORY_H_

#include <string>

#include "base/result.h"

namespace placewright {

// kOutOfMemory: never the fault of the file that was being read. `place`: of what there was not enough memory.
Error OutOfMemory(std::string place = "memory");

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_OUT_OF_MEMORY_H_
