#include "compile/op_kinds.h"

#include <algorithm>
#include <map>
#include <vector>

namespace placewright {

// Type, arguments, and the types of what ops read and make are those of their rule. What remains is which
// inputs they write, and which input an output lies in.
IdVector<OpId, int32_t> KindsOfOps(const Graph& graph, const NamedAxes& axes) {
  std::map<std::vector<int32_t>, int32_t> kinds;
  IdVector<OpId, int32_t> kind_of;
  std::vector<int32_t> key;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    key = {axes.rule_number(id)};
    for (const TensorId input : op.inputs) {
      key.push_back(std::count(op.writes.begin(), op.writes.end(), input) > 0 ? 1 : 0);
    }
    for (const TensorId output : op.outputs) {
      const auto base = std::find_if(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
        return graph.tensor(input).storage == graph.tensor(output).storage;
      });
      key.push_back(static_cast<int32_t>(base - op.inputs.begin()));
    }
    kind_of.push_back(kinds.emplace(key, static_cast<int32_t>(kinds.size())).first->second);
  }
  return kind_of;
}

}  // namespace placewright
