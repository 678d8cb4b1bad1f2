// A thread on which a policy is computed and learns.
#ifndef PLACEWRIGHT_LEARN_RL_LEARNING_THREAD_H_
#define PLACEWRIGHT_LEARN_RL_LEARNING_THREAD_H_

#include <ATen/Parallel.h>

#include "aten/denormals.h"

namespace placewright {

// While it lives, LibTorch computes on the calling thread alone (their number belongs to that thread).
class LearningThread {
 public:
  LearningThread() { at::set_num_threads(1); }

 private:
  const WithoutDenormals without_denormals_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_RL_LEARNING_THREAD_H_
