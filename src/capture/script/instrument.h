// Makes the functions of a script module report which module is running, and takes out what the
// interpreter would do past LibTorch's dispatcher. Changes of the functions' graphs:
//   a method of a module    begins with placewright::enter_module(its path), ends with leave_module
//   a loop                  every turn begins with placewright::turn(), which ends endless ones
//   torch.tensor(...)       is made as it is, behind the recorder's back: it writes into memory
//   x.tolist()              kDataDependent: it reads memory
//   fork, wait              run one after the other, in the order of the code
//   print, warn             taken out
//   devices                 `device`, whatever the code says: plans decide where an op runs; code
//                           that asks for a tensor's device gets the CPU
//   _convolution(...)       is the convolution that it is in eager code
//   repeat_interleave(x, n) is given the size of its result, which LibTorch would read from a
//                           tensor
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_INSTRUMENT_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_INSTRUMENT_H_

#include <torch/csrc/jit/api/module.h>

#include <set>
#include <string>

namespace placewright {

// Before anything of the module has run. Adds to `named` the devices that the code names, other
// than the CPU. Throws TorchFailure: kNotRecordable for functions that reach beyond the step
// (files, other machines).
void Instrument(torch::jit::Module& module, c10::Device device, std::set<std::string>& named);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_INSTRUMENT_H_
