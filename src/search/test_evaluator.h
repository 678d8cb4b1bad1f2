// For tests: an evaluator that simulates nothing. Step times come from a table that the test makes
// up, so that code that scores a candidate otherwise is noticed.
#ifndef PLACEWRIGHT_SEARCH_TEST_EVALUATOR_H_
#define PLACEWRIGHT_SEARCH_TEST_EVALUATOR_H_

#include <functional>
#include <memory>
#include <utility>

#include "search/evaluator.h"
#include "search/problem/problem.h"

namespace placewright {

// What a placement is said to take; every one fits unless it says otherwise.
using MadeUpResult = std::function<Evaluation(const Placement& placement)>;

class MadeUpMoves : public MoveEvaluator {
 public:
  MadeUpMoves(const Problem& problem, MadeUpResult of, int64_t* calls)
      : problem_(problem), of_(std::move(of)), calls_(calls) {}
  const Evaluation& SetIncumbent(const Placement& placement) override {
    incumbent_ = tried_ = placement;
    ++*calls_;
    return evaluation_ = of_(placement);
  }
  const Placement& incumbent() const override { return incumbent_; }
  const Evaluation& Try(std::span<const OpMove> moves, Nanos abandon_above) override {
    tried_ = incumbent_;
    for (const OpMove& move : moves) tried_[move.op] = move.device;
    ++*calls_;
    evaluation_ = of_(tried_);
    evaluation_.abandoned = evaluation_.step_time > abandon_above;
    return evaluation_;
  }
  void Accept() override { incumbent_ = tried_; }
  Nanos IncumbentBusy(DeviceId) const override { return Nanos(0); }
  const Schedule& IncumbentSchedule() override {  // everything at once
    schedule_.ops.assign(problem_.graph->op_count(), {Nanos(0), Nanos(1)});
    return schedule_;
  }

 private:
  const Problem& problem_;
  MadeUpResult of_;
  int64_t* calls_;
  Placement incumbent_, tried_;
  Evaluation evaluation_;
  Schedule schedule_;
};

class MadeUpEvaluator : public Evaluator {
 public:
  MadeUpEvaluator(const Problem& problem, MadeUpResult of)
      : problem_(problem), of_(std::move(of)) {}
  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions& options) override {
    std::vector<Evaluation> results;
    for (const Placement& candidate : candidates) {
      ++calls_;
      results.push_back(of_(candidate));
      results.back().abandoned = results.back().step_time > options.abandon_above;
    }
    return results;
  }
  std::unique_ptr<MoveEvaluator> StartMoves(size_t) override {
    return std::make_unique<MadeUpMoves>(problem_, of_, &calls_);
  }
  std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int) const override {
    return std::make_unique<MadeUpEvaluator>(variant, of_);
  }
  int64_t calls() const { return calls_; }  // placements evaluated; one thread

 private:
  const Problem& problem_;
  MadeUpResult of_;
  int64_t calls_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TEST_EVALUATOR_H_
