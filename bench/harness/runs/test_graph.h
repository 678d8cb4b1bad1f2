// Graphs for the tests of this folder.
#ifndef PLACEWRIGHT_BENCH_HARNESS_RUNS_TEST_GRAPH_H_
#define PLACEWRIGHT_BENCH_HARNESS_RUNS_TEST_GRAPH_H_

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "formats/text/json.h"

namespace placewright {

// A file with ops that wait for nothing, of the given nanoseconds on either of two devices.
inline void WriteTestGraph(const std::string& path, const std::vector<int>& times) {
  Json graph = {
      {"schema", "placewright.costgraph/1"},
      {"name", "ops"},
      {"devices",
       {{{"name", "d0"}, {"memory_bytes", 1 << 20}}, {{"name", "d1"}, {"memory_bytes", 1 << 20}}}},
      {"links",
       {{{"name", "d0>d1"}, {"bandwidth", 1000000000}, {"latency_ns", 0}},
        {{"name", "d1>d0"}, {"bandwidth", 1000000000}, {"latency_ns", 0}}}},
      {"routes",
       {{{"from", "d0"}, {"to", "d1"}, {"links", {"d0>d1"}}},
        {{"from", "d1"}, {"to", "d0"}, {"links", {"d1>d0"}}}}},
      {"tensors", Json::array()},
      {"ops", Json::array()}};
  for (size_t i = 0; i < times.size(); ++i) {
    const std::string n = std::to_string(i);
    graph["tensors"].push_back({{"name", "y" + n}, {"bytes", 8}});
    graph["ops"].push_back({{"name", "op" + n},
                            {"time_ns", {times[i], times[i]}},
                            {"inputs", Json::array()},
                            {"outputs", {"y" + n}}});
  }
  std::ofstream(path) << graph.dump();
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_RUNS_TEST_GRAPH_H_
