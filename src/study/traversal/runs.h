// The runs of the traversal-order study (Wang et al., sec. IV): Placeto's agent on graphs of the
// families, in each of the six orders and with several seeds, as far as episodes go.
//
// They are made in chunks, each a graph on so many devices under one policy, with all orders and a block of
// repeats, and kept order by order; all are independent of each other, and equal whatever the number of threads.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_RUNS_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_RUNS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "graph/analysis/traversal.h"
#include "study/traversal/families.h"

namespace placewright {

// Who draws devices.
enum class TraversalPolicy : uint8_t {
  kPublished,    // values=published, whose reward has the study's sign
  kImprovement,  // the same, but with the sign of Placeto
  kUniform,      // draws uniformly: a control
  kUntrained,    // draws by the network's first values, which nothing changes: the other control
};
std::span<const TraversalPolicy> AllTraversalPolicies();
std::string_view ToString(
    TraversalPolicy policy);  // "published", "improvement", "uniform", "untrained"

struct TraversalChunk {
  GraphFamily family = GraphFamily::kCifar10;
  int graph = 0, devices = 3;
  TraversalPolicy policy = TraversalPolicy::kPublished;
  int first_repeat = 0;  // of kRepeats
  int64_t episodes = 50;

  static constexpr int kRepeats = 5;
  friend auto operator<=>(const TraversalChunk&, const TraversalChunk&) = default;
};

// After how many episodes the best step so far is noted: 10, 20 and 50 are the study's 9, 19 and 49.
std::vector<int64_t> TraversalCheckpoints(int64_t episodes);

// Nanoseconds of the best step so far, [order][repeat][checkpoint], orders as AllTraversalOrders has
// them; rounded from Placeto's doubles. Placements of greedy episodes do not count.
using TimesOfOrder = std::vector<std::vector<int64_t>>;
using TraversalTimes = std::vector<TimesOfOrder>;

// The chunk's runs in one order. `folder` has the files of real graphs. Errors: kCancelled (the budget ended before
// they were done); those of LoadRealGraph.
Result<TimesOfOrder> MakeRuns(const TraversalChunk& chunk, TraversalOrder order,
                              const std::string& folder, const Budget& budget);

// The study's designs, in the order in which they are made.
struct TraversalDesign {
  int graphs = 10, repeats = 5;  // of each family; repeats in blocks of kRepeats
  // Graphs of each family that are also followed for 500 episodes, under all policies.
  int long_graphs = 3;
  bool real = false;  // the real graphs, too
};
std::vector<TraversalChunk> ChunksOf(const TraversalDesign& design);

// What the times of a line in the store mean. Lines of other rules are refused: in 1, which lines did not state, topo
// went generation by generation, and greedy episodes counted.
inline constexpr int kTraversalRules = 2;

// Chunks in a text file, a line of JSON for each of their orders.
class TraversalStore {
 public:
  // Those of the file; none where there is no file. Errors: kSyntax, kField, kFileUnreadable.
  static Result<TraversalStore> Load(const std::string& path);
  // Where all its orders are there.
  const TraversalTimes* Find(const TraversalChunk& chunk) const;
  bool Has(const TraversalChunk& chunk, TraversalOrder order) const;
  // Appends, to what the file holds by then: other processes may add to it at the same time. Errors:
  // kFileUnwritable, kFileUnreadable.
  Status Add(const TraversalChunk& chunk, TraversalOrder order, TimesOfOrder times);
  // Those of which all orders are there.
  const std::map<TraversalChunk, TraversalTimes>& chunks() const { return chunks_; }

 private:
  void Keep(const TraversalChunk& chunk, TraversalOrder order, TimesOfOrder times);

  std::string path_;
  std::map<TraversalChunk, TraversalTimes> chunks_;
  std::map<TraversalChunk, std::map<TraversalOrder, TimesOfOrder>> begun_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_RUNS_H_
