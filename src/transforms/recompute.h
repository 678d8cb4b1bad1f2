#ifndef T_recompute
#define T_recompute
#include <memory>

#include "base/result.h"
#include "graph/graph.h"
namespace placewright {
Result<std::unique_ptr<Graph>> WithRecomputation(const Graph& step,
                                                 const std::vector<std::string>& set);
}
#endif
