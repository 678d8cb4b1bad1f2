// `bench traversal` makes what its store lacks: whatever the threads, and after an interruption.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// The blocks of runs of `--graphs 2 --long-graphs 0`, with made-up times, but for three of the smallest graph.
std::string StoreWithoutThree() {
  std::string text;
  for (const int graph : {0, 1}) {
    for (const std::string family : {"cifar10", "ptb", "nmt"}) {
      for (const int devices : {3, 5, 8}) {
        for (const std::string policy : {"published", "improvement", "uniform", "untrained"}) {
          int64_t time = 1000 + graph;
          for (const std::string order :
               {"topo", "reversed-topo", "dfs-preorder", "dfs-postorder", "bfs", "lexico"}) {
            time += 7;
            const bool left_out = graph == 1 && family == "nmt" && devices == 3 &&
                                  policy == "uniform" &&
                                  (order == "topo" || order.starts_with("dfs"));
            if (left_out) continue;
            const Json times(5, std::vector<int64_t>(8, time));
            text += Json{{"rules", 2},         {"family", family}, {"graph", graph},
                         {"devices", devices}, {"policy", policy}, {"first_repeat", 0},
                         {"episodes", 50},     {"order", order},   {"times_ns", times}}
                        .dump() +
                    "\n";
          }
        }
      }
    }
  }
  return text;
}

class BenchTraversal : public ProgramTest {
 protected:
  Outcome Make(const std::string& store, const std::string& threads,
               const RunOptions& options = {}) const {
    return RunJson({"bench", "traversal", "--graphs", "2", "--long-graphs", "0", "--store", store,
                    "--threads", threads, "-o", store + ".md"},
                   options);
  }
  std::vector<std::string> SortedLines(const std::string& name) const {
    std::vector<std::string> lines;
    std::istringstream in(Read(name));
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

TEST_F(BenchTraversal, ThreadsAndInterruptionsLeaveTheSameStoreAndTables) {
  const std::string begun = StoreWithoutThree();
  for (const char* store : {"one", "two", "cut"}) Write(store, begun);
  const Outcome one = Make("one", "1"), two = Make("two", "2");
  ASSERT_EQ(one.status, 0) << one.err;
  ASSERT_EQ(two.status, 0) << two.err;
  const std::vector<std::string> lines = SortedLines("one");
  EXPECT_EQ(lines.size(), 2U * 3 * 3 * 4 * 6);
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
  EXPECT_EQ(SortedLines("two"), lines);
  EXPECT_EQ(Read("two.md"), Read("one.md"));
  EXPECT_EQ(two.json(), one.json());

  RunOptions interrupt;
  interrupt.signal = SIGINT;
  interrupt.signal_behind = "cut.lock";  // it has begun
  const Outcome cut = Make("cut", "2", interrupt);
  const std::vector<std::string> kept = SortedLines("cut");
  EXPECT_EQ(cut.status, 130) << cut.err;
  EXPECT_TRUE(cut.json().contains("findings"));  // what is there is shown
  EXPECT_TRUE(std::includes(lines.begin(), lines.end(), kept.begin(), kept.end()));
  const Outcome rest = Make("cut", "1");
  ASSERT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(SortedLines("cut"), lines);
  EXPECT_EQ(Read("cut.md"), Read("one.md"));
  EXPECT_EQ(rest.json(), one.json());
}

// A time that ends before any block does keeps nothing, says so, and shows what is there.
TEST_F(BenchTraversal, ATimeThatIsTooShortKeepsWhatIsThere) {
  const std::string begun = StoreWithoutThree();
  Write("store", begun);
  const Outcome run = Run({"bench", "traversal", "--graphs", "2", "--long-graphs", "0", "--store",
                           "store", "--time", "1ms"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(Read("store"), begun);
  EXPECT_THAT(run.err, HasSubstr("nothing was kept"));
  EXPECT_THAT(run.err, HasSubstr("1 of 72 chunks are still to come"));
}

}  // namespace
}  // namespace placewright
