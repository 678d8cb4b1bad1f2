// Tiny plans for the checker's tests, put together by hand and in memory.
#ifndef CHECK_PLAN_TEST_PLAN_H_
#define CHECK_PLAN_TEST_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check_plan/checker.h"
#include "graph/graph_builder.h"

namespace placewright::check {

// One op of a hand-made plan with its time, place and span.
struct TestOp {
  std::string name;
  std::string device;
  int64_t time = 0;  // on every device
  int64_t start = 0;
  std::vector<std::string> inputs = {};  // tensors; an op's output is called like the op
  int64_t bytes = -1;                    // of its output; -1: none
  enum Kind { kPlain, kView, kInPlace } kind = kPlain;  // of inputs[0]
  std::vector<std::string> after = {};
};

struct TestTransfer {
  std::string storage;
  int32_t version = 0;
  int64_t length = 0;
  std::string from, to;
  int64_t ready = 0, start = 0, end = 0;
};

struct TestInput {
  std::string name;
  TensorKind kind = TensorKind::kInput;
  int64_t bytes = 0;
};

// What the plan says of each of its two devices.
struct TestUse {
  int64_t tensor_peak = 0, busy = 0, ops = 0;
};

struct TestPlan {
  std::vector<TestInput> inputs;
  std::vector<TestOp> ops;
  std::vector<TestTransfer> transfers;
  int64_t step = 0, bound = 0;
  TestUse uses[2];
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  bool one_way = false;  // no link from d1 to d0

  // Devices d0 and d1 with 100,000 bytes, joined by one link a direction: 1 GB/s, 2 ns. All costs
  // are modelled. The document is written for the plan as it is.
  PlanInputs Build() const;
};

// After a change to inputs.plan: its document anew.
void Seal(PlanInputs& inputs);

// "queue-order" and the like, or "holds".
std::string Verdict(const PlanInputs& inputs);

}  // namespace placewright::check

#endif  // CHECK_PLAN_TEST_PLAN_H_
