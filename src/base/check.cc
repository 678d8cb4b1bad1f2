#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace placewright {

void CheckFailed(const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "placewright: internal error at %s:%d: %s\n", file, line, message.c_str());
  std::abort();
}

}  // namespace placewright
