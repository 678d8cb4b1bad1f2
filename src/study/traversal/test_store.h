// Stores of the traversal-order study for tests.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_TEST_STORE_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_TEST_STORE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "study/traversal/runs.h"

namespace placewright {

class TraversalFile : public testing::Test {
 protected:
  void TearDown() override {
    std::remove(path_.c_str());
    std::remove((path_ + ".lock").c_str());
  }
  const std::string path_ =
      testing::TempDir() + "placewright_traversal_" + std::to_string(getpid()) + ".jsonl";
};

inline bool AddAll(const TraversalChunk& chunk, const TraversalTimes& times,
                   TraversalStore& store) {
  bool added = true;
  for (size_t i = 0; i < times.size(); ++i) {
    added = added && store.Add(chunk, AllTraversalOrders()[i], times[i]).ok();
  }
  return added;
}

// Order 1 (reversed-topo) always 1, order 0 always 2, the others 3; the control 4.
inline TraversalStore MadeUpTraversalStore(const std::string& path) {
  TraversalStore store = TraversalStore::Load(path).Take();
  for (TraversalChunk chunk : ChunksOf({6, 5, 0})) {
    const bool wanted =
        chunk.policy == TraversalPolicy::kImprovement || chunk.policy == TraversalPolicy::kUniform;
    if (chunk.devices != 3 || !wanted) continue;
    TraversalTimes times(kTraversalOrders);
    for (size_t order = 0; order < kTraversalOrders; ++order) {
      const int64_t time = chunk.policy == TraversalPolicy::kUniform ? 4000
                           : order == 1                              ? 1000
                           : order == 0                              ? 2000
                                                                     : 3000;
      times[order].assign(5, std::vector<int64_t>(TraversalCheckpoints(50).size(), time));
    }
    EXPECT_TRUE(AddAll(chunk, times, store));
  }
  return store;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_TEST_STORE_H_
