// A step that several devices execute whole, each for itself, by turns: every device alone, then all at
// the same time; and what was seen of it.
#ifndef PLACEWRIGHT_RUNTIME_PROFILER_TURNS_H_
#define PLACEWRIGHT_RUNTIME_PROFILER_TURNS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/executor/team.h"
#include "torch_api/profiling_service.h"

namespace placewright {

// Memory is new and caches are cold.
inline constexpr int64_t kWarmUpTurns = 3;

// Nearest rank. It reorders them.
int64_t Quantile(std::vector<int64_t>& values, double share);

// The steps of one device.
class StepSamples {
 public:
  explicit StepSamples(const Graph& graph)
      : graph_(graph), times_(graph.op_count()), workspace_(graph.op_count(), 0) {}
  void Add(const Execution::Step& step, const Execution& execution);
  void Clear();
  double SumOfMedians();  // of all ops
  StepProfile Profile();  // without a state of the machine

 private:
  const Graph& graph_;
  IdVector<OpId, std::vector<int64_t>> times_;  // by step
  IdVector<OpId, int64_t> workspace_;
  std::vector<int64_t> steps_, covered_;  // ns; millionths
};

class Turns {
 public:
  // `alone` [device]: whether it also has turns by itself; `loaded`: whether all have turns together.
  // `graph` outlives it. Errors: those of StartExecution.
  static Result<std::unique_ptr<Turns>> Start(const Graph& graph,
                                              const std::vector<ExecutionDevice>& devices,
                                              const std::vector<bool>& alone, bool loaded,
                                              uint64_t seed);

  // One turn of each kind. Errors: those of Execution::Run.
  Status Run(bool samples);
  size_t devices() const { return members_.size(); }
  StepSamples& alone(size_t device) { return members_[device]->alone; }
  StepSamples& loaded(size_t device) { return members_[device]->loaded; }

 private:
  struct Member {
    explicit Member(const Graph& graph) : alone(graph), loaded(graph) {}
    Status Step(StepSamples* samples);

    std::unique_ptr<Execution> execution;
    StepSamples alone, loaded;
    Status status = Ok();
  };
  Turns() = default;
  void RunTogether(Member& member);

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<bool> alone_;
  // Of a turn of all: their steps need not take equally long; each goes on until all have had theirs.
  std::atomic<size_t> left_ = 0;
  bool sampling_ = false;
  std::optional<Team> team_;  // last: its threads use the others
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROFILER_TURNS_H_
