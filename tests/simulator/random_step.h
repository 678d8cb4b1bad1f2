// Small random training steps with everything the rules speak of: views, in-place writes, storages
// of many versions, hidden writes, explicit order, zero sizes and durations, shared and slow links.
#ifndef PLACEWRIGHT_TESTS_SIMULATOR_RANDOM_STEP_H_
#define PLACEWRIGHT_TESTS_SIMULATOR_RANDOM_STEP_H_

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "shuffle.h"
#include "sim/tiny_step.h"

namespace placewright {

class RandomStep {
 public:
  explicit RandomStep(uint64_t seed) : random_(seed) {}

  TinyProblem Make() {
    devices_ = 1 + Draw(4);
    TinyStep step(devices_, 1 + static_cast<int64_t>(Draw(4000)));
    AddLinks(step);
    coarse_ = Draw(2) == 0;
    const int32_t inputs = Draw(4);
    for (int32_t i = 0; i < inputs; ++i) {
      static constexpr TensorKind kKinds[] = {TensorKind::kInput, TensorKind::kParameter,
                                              TensorKind::kBuffer, TensorKind::kOptimizerState};
      Remember(step.Input("i" + std::to_string(i), kKinds[Draw(4)], bytes_ = Size()));
    }
    const int32_t ops = 1 + Draw(24);
    for (int32_t i = 0; i < ops; ++i) AddOp(step, "o" + std::to_string(i));
    TinyProblem problem = step.Build();
    problem.placement = RandomPlacement(problem);
    return problem;
  }

  // Whole colocation groups at random.
  Placement RandomPlacement(const TinyProblem& problem) {
    IdVector<GroupId, DeviceId> device(problem.graph.group_count());
    for (DeviceId& d : device) d = DeviceId(Draw(devices_));
    Placement placement;
    for (OpId op : problem.graph.ops()) placement.push_back(device[problem.graph.group(op)]);
    return placement;
  }

  int32_t Draw(int32_t bound) { return static_cast<int32_t>(random_.Below(bound)); }

 private:
  // Few links that many routes share, or one of its own for every pair of devices.
  void AddLinks(TinyStep& step) {
    const bool mesh = Draw(3) == 0;
    std::vector<int32_t> links;
    const int32_t count = 1 + Draw(6);
    for (int32_t i = 0; i < count; ++i) {
      static constexpr int64_t kRates[] = {1'000'000'000, 300'000'000, 7'000'000'000};
      links.push_back(step.Link(kRates[Draw(3)], Draw(3) * 10));
    }
    for (int32_t from = 0; from < devices_; ++from) {
      for (int32_t to = 0; to < devices_; ++to) {
        if (from == to) continue;
        if (mesh) {
          step.Route(from, to, {step.Link(int64_t{1'000'000'000} * (1 + Draw(3)), Draw(3) * 10)});
          continue;
        }
        std::vector<int32_t> route = links;
        Shuffle(random_, route);
        route.resize(std::min<size_t>(route.size(), 1 + Draw(3)));
        step.Route(from, to, route);
      }
    }
  }

  // Few distinct values make ties, many make none.
  int64_t Time() { return coarse_ ? 100 * Draw(3) : Draw(1000); }
  int64_t Size() { return coarse_ ? 100 * Draw(4) : Draw(2000); }

  void Remember(TensorId id) {
    tensors_.push_back(id);
    sizes_.push_back(bytes_);
  }
  size_t AnyTensor() {
    const size_t count = tensors_.size();
    const size_t near = std::min<size_t>(count, 6);
    return Draw(3) == 0 ? Draw(static_cast<int32_t>(count))
                        : count - 1 - Draw(static_cast<int32_t>(near));
  }

  void AddOp(TinyStep& step, const std::string& name) {
    TinyOpOptions options;
    if (Draw(10) == 0 && !names_.empty()) {
      options.after.push_back(names_[Draw(static_cast<int32_t>(names_.size()))]);
    }
    if (Draw(5) == 0) options.phase = Phase::kBackward;
    const int32_t what = Draw(10);
    if (what < 3 && !tensors_.empty()) {
      const size_t of = AnyTensor();
      const int64_t begin = Draw(static_cast<int32_t>(sizes_[of]) + 1);
      bytes_ =
          Draw(2) == 0 ? sizes_[of] - begin : Draw(static_cast<int32_t>(sizes_[of] - begin) + 1);
      Remember(step.View(name, 0, tensors_[of], begin, bytes_, options));
    } else {
      std::vector<size_t> inputs;
      for (int32_t i = Draw(4); i > 0 && !tensors_.empty(); --i) inputs.push_back(AnyTensor());
      std::vector<TensorId> ids;
      for (size_t input : inputs) ids.push_back(tensors_[input]);
      for (int32_t d = 0; d < devices_; ++d) options.times.push_back(Time());
      if (!ids.empty() && Draw(8) == 0)
        options.writes.push_back(Draw(static_cast<int32_t>(ids.size())));
      if (what < 6 && !ids.empty()) {
        bytes_ = sizes_[inputs[0]];
        Remember(step.InPlace(name, 0, 0, ids, options));
      } else {
        AddFresh(step, name, ids, options);
      }
    }
    names_.push_back(name);
  }

  void AddFresh(TinyStep& step, const std::string& name, const std::vector<TensorId>& inputs,
                const TinyOpOptions& options) {
    std::vector<int64_t> sizes;
    for (int32_t i = Draw(10) == 0 ? 0 : 1 + Draw(2); i > 0; --i) sizes.push_back(Size());
    const std::vector<TensorId> outputs = step.Op(name, 0, 0, inputs, sizes, options);
    for (size_t i = 0; i < outputs.size(); ++i) {
      bytes_ = sizes[i];
      Remember(outputs[i]);
    }
  }

  Random random_;
  int32_t devices_ = 1;
  bool coarse_ = false;
  int64_t bytes_ = 0;
  std::vector<TensorId> tensors_;
  std::vector<int64_t> sizes_;
  std::vector<std::string> names_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_SIMULATOR_RANDOM_STEP_H_
