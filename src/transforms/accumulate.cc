#include "transforms/accumulate.h"
namespace placewright {
Result<std::unique_ptr<Graph>> WithAccumulation(const Graph&, int64_t) {
  return MakeError(ErrorCode::kUsage, "not there");
}
}  // namespace placewright
