#include "transforms/accumulate.h"
namespace placewright {
Result<std::unique_ptr<Graph>> WithAccumulation(const Graph&, int64_t) {
  return MakeError(ErrorCode::kUsage, "not there");
}
int32_t MicroBatchOf(const Op& op) {
  int64_t number = 0;
  const size_t at = op.name.find('@');
  for (size_t i = at == std::string::npos ? op.name.size() : at + 1; i < op.name.size(); ++i) {
    if (op.name[i] < '0' || op.name[i] > '9' || number > INT32_MAX / 10) break;
    number = number * 10 + (op.name[i] - '0');
  }
  return static_cast<int32_t>(number);
}
}
