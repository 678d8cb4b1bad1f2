// Cost graphs that tests write for themselves: tiny, timed by hand where numbers matter.
#ifndef PLACEWRIGHT_TESTS_CLI_SMALL_GRAPHS_H_
#define PLACEWRIGHT_TESTS_CLI_SMALL_GRAPHS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace placewright {

inline constexpr int64_t kPlenty = 1 << 20;  // bytes; more than any graph here needs

// Two devices d0 and d1 with `memory` bytes each, joined both ways by links of 1 GB/s without
// latency, and a chain op0 -> op1 -> ... of `ops` ops of 100 ns. Op i reads its own parameter w_i
// and the output y_(i-1) of the op before (op0: the input x) and makes y_i; every tensor has
// 1,000 bytes.
inline nlohmann::json ChainGraph(int ops, int64_t memory) {
  nlohmann::json graph = {
      {"schema", "placewright.costgraph/1"},
      {"name", "chain"},
      {"devices",
       {{{"name", "d0"}, {"memory_bytes", memory}}, {{"name", "d1"}, {"memory_bytes", memory}}}},
      {"links",
       {{{"name", "d0>d1"}, {"bandwidth", 1000000000}, {"latency_ns", 0}},
        {{"name", "d1>d0"}, {"bandwidth", 1000000000}, {"latency_ns", 0}}}},
      {"routes",
       {{{"from", "d0"}, {"to", "d1"}, {"links", {"d0>d1"}}},
        {{"from", "d1"}, {"to", "d0"}, {"links", {"d1>d0"}}}}},
      {"tensors", {{{"name", "x"}, {"bytes", 1000}, {"kind", "input"}}}},
      {"ops", nlohmann::json::array()}};
  for (int i = 0; i < ops; ++i) {
    const std::string n = std::to_string(i);
    graph["tensors"].push_back({{"name", "w" + n}, {"bytes", 1000}, {"kind", "parameter"}});
    graph["tensors"].push_back({{"name", "y" + n}, {"bytes", 1000}});
    const std::string before = i == 0 ? "x" : "y" + std::to_string(i - 1);
    graph["ops"].push_back({{"name", "op" + n},
                            {"time_ns", {100, 100}},
                            {"inputs", {"w" + n, before}},
                            {"outputs", {"y" + n}}});
  }
  return graph;
}

// `chains` chains as above side by side, `length` ops each: something to search in.
inline nlohmann::json BroadGraph(int chains, int length, int64_t memory) {
  nlohmann::json graph = ChainGraph(0, memory);
  graph["name"] = "broad";
  for (int c = 0; c < chains; ++c) {
    for (int i = 0; i < length; ++i) {
      const std::string n = std::to_string(c) + "_" + std::to_string(i);
      const int time = 500 + 37 * ((c * 7 + i * 3) % 11);
      graph["tensors"].push_back({{"name", "w" + n}, {"bytes", 1000}, {"kind", "parameter"}});
      graph["tensors"].push_back({{"name", "y" + n}, {"bytes", 100 + 10 * ((c + i) % 5)}});
      const std::string before =
          i == 0 ? "x" : "y" + std::to_string(c) + "_" + std::to_string(i - 1);
      graph["ops"].push_back({{"name", "op" + n},
                              {"time_ns", {time, time + 20}},
                              {"inputs", {"w" + n, before}},
                              {"outputs", {"y" + n}}});
    }
  }
  return graph;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_CLI_SMALL_GRAPHS_H_
