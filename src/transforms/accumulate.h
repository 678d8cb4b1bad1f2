#ifndef T_accumulate
#define T_accumulate
#include <memory>
#include "base/result.h"
#include "graph/graph.h"
namespace placewright {
Result<std::unique_ptr<Graph>> WithAccumulation(const Graph& step, int64_t set);
}
#endif
