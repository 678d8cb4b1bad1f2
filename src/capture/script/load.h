// Script modules from the bytes of torch.jit.save.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_LOAD_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_LOAD_H_

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace placewright {

struct ScriptFile {
  std::string path;
  // Places, [begin, end), that hold the contents of tensors: not read where tensors have none.
  std::vector<std::pair<int64_t, int64_t>> weights;
};

struct LoadedScript {
  torch::jit::Module module;
  std::set<std::string> devices;  // that code and weights name, other than the CPU: "cuda:1"
};

// The module of the file, instrumented (instrument.h). Every parameter, buffer and other tensor
// has memory of its own, or on meta none: two that were one tensor when they were saved are one
// again. Constants of code with one element keep it. Throws TorchFailure: kFileCorrupt (LibTorch
// cannot read it), kNotRecordable (tensors that overlap but are not one; what Instrument refuses).
LoadedScript LoadScript(const ScriptFile& file, bool on_meta);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_LOAD_H_
