// A rank of a run that states another version of Placewright than any program has: what a mixture of installed
// versions does. It says how joining ended, and ends with 1 where that was refused.
#include <cstdio>

#include "runtime/service/processes.h"

int main() {
  placewright::JoinRequest request;
  request.facts = {{"the version of Placewright", "0.0.0-other"}};
  const auto joined = placewright::JoinProcesses(request);
  if (joined.ok()) {
    std::puts(joined.value() == nullptr ? "alone" : "joined");
    return 0;
  }
  std::puts(joined.error().ToString().c_str());
  return 1;
}
