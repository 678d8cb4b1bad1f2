// Script modules for tests, saved as torch.jit.save does.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_TEST_MODULES_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_TEST_MODULES_H_

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace placewright {

// Image [N,3,H,W] -> conv (4 channels) -> norm -> relu -> dropout -> mean -> fc -> 5 classes.
torch::jit::Module MakeConvNet();
// Tokens [N,T] below 11 -> embed (16) -> two blocks of attention (2 heads) and a feed-forward layer
// -> head -> 11 classes a token; the head's weight is the embedding's.
torch::jit::Module MakeTransformer();
// Sequences of 3 features a step -> recurrent layers of width 4 (`op`: "lstm", "gru", "rnn_tanh",
// "rnn_relu"), called as the modules of torch.nn call them -> the outputs and last states.
struct RecurrentOptions {
  int layers = 1;
  bool biases = true, bidirectional = false, batch_first = false;
  double dropout = 0;
  int projected = 0;  // width of an LSTM's outputs, if it projects them
};
torch::jit::Module MakeRecurrent(const std::string& op, const RecurrentOptions& options);
// A module with these parameters, of sizes [4], and this forward function.
torch::jit::Module MakeModule(const std::string& code,
                              const std::vector<std::string>& parameters = {"w"});

// Where the module was saved, below the tests' own folder.
std::string Saved(const torch::jit::Module& module, const std::string& name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_TEST_MODULES_H_
