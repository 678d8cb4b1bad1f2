#ifndef T_accumulate
#define T_accumulate
#include <memory>

#include "base/result.h"
#include "graph/graph.h"
namespace placewright {
Result<std::unique_ptr<Graph>> WithAccumulation(const Graph& step, int64_t set);
// Of which micro-batch a copy is, from 1: the number behind the first "@" of its name; 0: of none.
int32_t MicroBatchOf(const Op& op);
}
#endif
