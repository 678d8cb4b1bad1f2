#include "transforms/recompute.h"
namespace placewright {
Result<std::unique_ptr<Graph>> WithRecomputation(const Graph&, const std::vector<std::string>&) {
  return MakeError(ErrorCode::kUsage, "not there");
}
}  // namespace placewright
