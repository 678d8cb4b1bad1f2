// A step, the machines and a strategy in parts as a graph of plain numbers, which TAG's network sees (Zhang et al.,
// sec. 4.2.1, Table 1): units of ops and groups of devices as nodes, every pair of device groups and of a unit and a
// device group as an edge, and data between units.
//
// T: the root of the sum of squares of the units' times on the fastest device group; B: the greatest bandwidth; S: T B.
//
//   unit      time for the whole batch, a half, a quarter, an eighth of it, mean over kinds of device / T (paper: one
//             time); bytes of parameters / S; bytes of tensors within it / S; its option, one-hot, and whether it is still
//             to be decided; last end - first start / T; idle before its output goes on / T; decided, next
//   device    log2(GPUs) / 3; memory / (64 S); bandwidth within / B; peak / memory, at most 2; 1 - busy; time of the step on one
//             of its GPUs / (8 T)
//   data      bytes / S; the share of the step in which it waits
//   machines  bandwidth / B; latency / 100 us; 1 - busy of the narrowest link
//   place     the share of the unit's batch there; whether it is there at all; its four times there / T
//
// Feedback (makespan, idle, peak, busy) is that of the strategy's simulated step, or 0 where it is switched off (Fig. 7).
// Bytes and times enter as log2(1 + 64 x) / 6, so that great and small models look alike; the time of the step on a GPU
// and feedback in shares as they are.
// The numbers of a node do not depend on how nodes are numbered.
#ifndef PLACEWRIGHT_SEARCH_TAG_FEATURES_H_
#define PLACEWRIGHT_SEARCH_TAG_FEATURES_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "search/tag/strategies.h"
#include "search/tag/strategy_feedback.h"
#include "search/tag/strategy_work.h"

namespace placewright {

inline constexpr size_t kUnitFeatures = 19, kDeviceFeatures = 6, kDataFeatures = 2,
                        kMachineFeatures = 3, kPlaceFeatures = 6;
inline constexpr size_t kSliceOptionCount = 7;  // of SliceOption

struct TagGraph {
  size_t units = 0, devices = 0;  // nodes; devices: groups of them
  std::vector<float> unit;        // [units][kUnitFeatures]
  std::vector<float> device;      // [devices][kDeviceFeatures]
  struct Data {
    int32_t from, to;  // units
  };
  std::vector<Data> data;
  std::vector<float> data_features;  // [data][kDataFeatures]
  std::vector<float> machine;        // [from][to][kMachineFeatures]; a group to itself, too
  std::vector<float> place;          // [units][devices][kPlaceFeatures]
};

// What a network sees; all but the first are controls of what it learns from.
enum class TagView : uint8_t {
  kOwn,
  kEdgeless,  // the numbers of edges are 0
  kShuffled,  // device groups have the numbers of others
};

// A graph as such a network sees it.
TagGraph SeenAs(TagView view, TagGraph graph);
// With zeros for what simulated steps did.
TagGraph WithoutFeedback(TagGraph graph);

class TagFeatures {
 public:
  // All must outlive it.
  TagFeatures(const LayoutProblem& problem, const Strategies& strategies, const StrategyWork& work,
              TagView view = TagView::kOwn);

  // Of a strategy with the first units decided. `feedback`: of its step; nullptr: all of it is 0.
  TagGraph Of(std::span<const int32_t> decided, const StrategyFeedback* feedback) const;

 private:
  void FindTimes();
  void FindBytes();
  void FindMachines();

  const LayoutProblem& problem_;
  const Strategies& strategies_;
  const StrategyWork& work_;
  const TagView view_;
  std::vector<std::array<double, 4>> times_;     // [unit][device group], ns, of the batch's shares
  double time_ = 1, bandwidth_ = 1, bytes_ = 1;  // T in ns, B in bytes/ns, S
  TagGraph still_;                               // what no strategy changes
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_FEATURES_H_
