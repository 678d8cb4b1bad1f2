#include "search/strategies/layer_program.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace placewright {
namespace {

constexpr int64_t kNoStage = std::numeric_limits<int64_t>::max();
constexpr int32_t kFirst = -1;

// Of the layers of a stage so far: a choice for the last one, behind a point for those before it.
struct StagePoint {
  int64_t time = 0, memory = 0;
  int32_t before = kFirst;
  size_t choice = 0;
};

// Of the stages so far.
struct RowPoint {
  int64_t sum = 0, largest = 0;
  size_t begin = 0;  // of the last stage
  size_t before = 0;
};

class LayerSolver {
 public:
  explicit LayerSolver(const LayerProgram& program)
      : program_(program),
        stages_(program.choices.size()),
        layers_(stages_ == 0 ? 0 : program.choices.front().size()) {}

  std::optional<LayerSolution> Solve() {
    if (stages_ == 0 || layers_ < stages_) return std::nullopt;
    FindStageTimes();
    JoinStages();
    const std::vector<RowPoint>& last = rows_[stages_][layers_];
    const auto time = [&](const RowPoint& row) {
      return row.sum + (program_.micro_batches - 1) * row.largest;
    };
    const auto best =
        std::min_element(last.begin(), last.end(),
                         [&](const RowPoint& a, const RowPoint& b) { return time(a) < time(b); });
    if (best == last.end()) return std::nullopt;
    LayerSolution solution{time(*best), std::vector<size_t>(stages_), std::vector<size_t>(layers_)};
    const RowPoint* row = &*best;
    for (size_t stage = stages_, end = layers_; stage > 0; --stage) {
      solution.first[stage - 1] = row->begin;
      SetChoices(stage - 1, row->begin, end, solution);
      end = row->begin;
      row = &rows_[stage - 1][end][row->before];
    }
    return solution;
  }

 private:
  int64_t MemoryOf(const LayerChoice& choice) const {
    return (choice.memory + program_.grain - 1) / program_.grain * program_.grain;
  }

  // Points of the layers from `begin` on, as far as they fit; `visit(end, front)` behind each layer, the fastest first.
  template <class Visit>
  void Extend(size_t stage, size_t begin, size_t end, const Visit& visit) {
    points_.clear();
    std::vector<int32_t> front;
    for (size_t layer = begin; layer < end; ++layer) {
      const std::vector<LayerChoice>& choices = program_.choices[stage][layer];
      std::vector<int32_t> next;
      for (size_t c = 0; c < choices.size(); ++c) {
        const LayerChoice& choice = choices[c];
        std::vector<StagePoint> of_choice;
        const int64_t memory = MemoryOf(choice);
        const auto add = [&](int64_t time, int64_t all, int32_t before) {
          if (all <= program_.capacity[stage]) of_choice.push_back({time, all, before, c});
        };
        if (layer == begin) add(choice.time, memory, kFirst);
        for (const int32_t at : front) {
          const StagePoint& before = points_[static_cast<size_t>(at)];
          const int64_t change =
              program_.conversion.empty() ? 0 : program_.conversion[before.choice][c];
          add(before.time + change + choice.time, before.memory + memory, at);
        }
        KeepFront(of_choice, next);
      }
      std::stable_sort(next.begin(), next.end(), [&](int32_t a, int32_t b) {
        return points_[static_cast<size_t>(a)].time < points_[static_cast<size_t>(b)].time;
      });
      front = std::move(next);
      if (front.empty()) return;
      visit(layer + 1, front);
    }
  }

  void KeepFront(std::vector<StagePoint>& points, std::vector<int32_t>& kept) {
    std::stable_sort(points.begin(), points.end(), [](const StagePoint& a, const StagePoint& b) {
      return std::tie(a.time, a.memory) < std::tie(b.time, b.memory);
    });
    int64_t smallest = kNoStage;
    for (const StagePoint& point : points) {
      if (point.memory >= smallest) continue;
      smallest = point.memory;
      kept.push_back(static_cast<int32_t>(points_.size()));
      points_.push_back(point);
    }
  }

  void FindStageTimes() {
    times_.assign(stages_, {});
    for (size_t stage = 0; stage < stages_; ++stage) {
      times_[stage].assign(layers_, std::vector<int64_t>(layers_ + 1, kNoStage));
      // Every stage behind it has a layer, and the first begins with the first.
      const size_t last = layers_ - (stages_ - 1 - stage);
      for (size_t begin = stage; begin < (stage == 0 ? 1 : last); ++begin) {
        Extend(stage, begin, last, [&](size_t end, const std::vector<int32_t>& front) {
          times_[stage][begin][end] = points_[static_cast<size_t>(front.front())].time;
        });
      }
    }
  }

  void JoinStages() {
    rows_.assign(stages_ + 1, std::vector<std::vector<RowPoint>>(layers_ + 1));
    rows_[0][0].emplace_back();
    for (size_t stage = 0; stage < stages_; ++stage) {
      for (size_t end = stage + 1; end <= layers_; ++end) {
        std::vector<RowPoint> points;
        for (size_t begin = stage; begin < end; ++begin) {
          const int64_t time = times_[stage][begin][end];
          if (time == kNoStage) continue;
          const bool crosses = begin > 0 && !program_.crossing.empty();
          const int64_t crossing = crosses ? program_.crossing[begin - 1] : 0;
          const std::vector<RowPoint>& earlier = rows_[stage][begin];
          for (size_t i = 0; i < earlier.size(); ++i) {
            points.push_back(
                {earlier[i].sum + crossing + time, std::max(earlier[i].largest, time), begin, i});
          }
        }
        std::stable_sort(points.begin(), points.end(), [](const RowPoint& a, const RowPoint& b) {
          return std::tie(a.sum, a.largest) < std::tie(b.sum, b.largest);
        });
        int64_t smallest = kNoStage;
        for (const RowPoint& point : points) {
          if (point.largest >= smallest) continue;
          smallest = point.largest;
          rows_[stage + 1][end].push_back(point);
        }
      }
    }
  }

  void SetChoices(size_t stage, size_t begin, size_t end, LayerSolution& solution) {
    int32_t at = kFirst;
    Extend(stage, begin, end,
           [&](size_t, const std::vector<int32_t>& front) { at = front.front(); });
    for (size_t layer = end; layer > begin; --layer) {
      const StagePoint& point = points_[static_cast<size_t>(at)];
      solution.choice[layer - 1] = point.choice;
      at = point.before;
    }
  }

  const LayerProgram& program_;
  const size_t stages_, layers_;
  std::vector<StagePoint> points_;                        // of the stage that is extended
  std::vector<std::vector<std::vector<int64_t>>> times_;  // by stage, first layer, end
  std::vector<std::vector<std::vector<RowPoint>>> rows_;  // by stages so far, layers in them
};

}  // namespace

std::optional<LayerSolution> SolveLayers(const LayerProgram& program) {
  return LayerSolver(program).Solve();
}

}  // namespace placewright
