// The arguments of a call as a recorded graph holds them: numbers, texts, lists and references to
// tensors, in the spelling of the ATen graph format (docs/formats/aten-graph.md).
#ifndef PLACEWRIGHT_CAPTURE_RECORDER_ARGUMENTS_H_
#define PLACEWRIGHT_CAPTURE_RECORDER_ARGUMENTS_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "capture/recorder/dispatch.h"
#include "graph/value.h"

namespace placewright {

struct CallArguments {
  std::vector<Value> positional;    // without those at the end that have their default
  std::vector<NamedValue> keyword;  // keyword-only ones that do not have their default
  std::vector<at::Tensor> tensors;  // InputRef i is tensors[i]; may repeat
  std::vector<int32_t> written;     // tensors that the schema says are written; ascending
};

// A number of the host that LibTorch made a tensor of (the 2 in the gradient of x / 2).
bool IsHostNumber(const at::Tensor& tensor);

// Devices are all written "cpu": where an op runs is a matter of plans. Host numbers for which
// `is_number` holds are written as numbers, unless the call writes them. Throws TorchFailure
// (kNotRecordable) for arguments that no graph can hold.
CallArguments ReadArguments(const TorchCall& call,
                            const std::function<bool(const at::Tensor&)>& is_number);

// "aten.mm.default"
std::string TargetOf(const c10::FunctionSchema& schema);

// The tensors of the results, in order; undefined ones where an output was not computed. `listed`:
// whether the op returns a list. Results of other types are left out.
std::vector<at::Tensor> ResultTensors(const TorchCall& call, bool* listed);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_ARGUMENTS_H_
