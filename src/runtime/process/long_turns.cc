#include "runtime/process/long_turns.h"

#include <sched.h>

namespace placewright {
namespace {

bool SetPolicy(int policy) {
  const sched_param parameters{};
  return sched_setscheduler(0, policy, &parameters) == 0;  // of the calling thread
}

}  // namespace

LongTurns::LongTurns() : set_(sched_getscheduler(0) == SCHED_OTHER && SetPolicy(SCHED_BATCH)) {}

LongTurns::~LongTurns() {
  if (set_) SetPolicy(SCHED_OTHER);
}

}  // namespace placewright
