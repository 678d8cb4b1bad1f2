// Where Accelerate runs the forward ops of a model under a device_map. docs/formats/accelerate.md
// has the rules and their sources.
#ifndef PLACEWRIGHT_FORMATS_ACCELERATE_EXECUTION_H_
#define PLACEWRIGHT_FORMATS_ACCELERATE_EXECUTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace placewright {

constexpr int32_t kCpu = -1;       // every CPU of a host is PyTorch's one "cpu"
constexpr int32_t kAnywhere = -2;  // made, or given, where it is needed

// A parameter or buffer of the model.
struct ModelTensor {
  std::string_view path;  // as PyTorch names it
  bool parameter = false;
  std::optional<int32_t> device;  // a GPU's number or kCpu; nothing: no op of the graph touches it
};

// A model with hooks. Paths are as PyTorch names them; "" is the model.
struct DispatchedModel {
  std::vector<ModelTensor> tensors;
  IdVector<StorageId, int32_t> tensor_of;               // index into `tensors`, or -1
  std::map<std::string, int32_t, std::less<>> entries;  // of the map; none below another
  int32_t main_device = kCpu;
};

// The device of the entry at or above the path, for which its module, or the tensor itself, is
// named; nothing where the map does not say.
std::optional<int32_t> DeviceOf(const DispatchedModel& model, std::string_view path);

// An op outside of all modules that the map names as a whole, and two tensors of different devices
// that it reads: PyTorch refuses it.
struct Mixture {
  OpId op;
  TensorId tensors[2];
  int32_t devices[2];
};

struct DispatchedExecution {
  IdVector<OpId, int32_t> device;  // of forward ops; kAnywhere for all others
  std::vector<Mixture> mixtures;
};

// What runs an op: the innermost module, "" where there is none.
struct Runner {
  std::string_view module;
  bool sure = false;    // else near to it: an op that reads two devices then runs as planned
  int32_t planned = 0;  // device
};

// An op of a module that an entry names, or that lies below one, runs on the entry's device, to
// which the hooks have moved the arguments of `forward`. Any other runs where the tensors are that
// it reads; the model's own lie on the main device. `runners`: by op. Complexity: edges times the
// logarithm of the number of entries.
DispatchedExecution Execute(const Graph& graph, const DispatchedModel& model,
                            const IdVector<OpId, Runner>& runners);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ACCELERATE_EXECUTION_H_
