// LibTorch's recurrent layers (lstm, gru, rnn_tanh, rnn_relu of whole sequences) as they run on the
// CPU, whatever the device: there the products of all steps with the inputs are one, elsewhere each
// step has its own, and gradients differ in their last bits. Source: aten/src/ATen/native/RNN.cpp,
// FullLayer and FullBidirectionalLayer.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_RECURRENT_LAYERS_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_RECURRENT_LAYERS_H_

#include <ATen/core/stack.h>

namespace placewright {

// The arguments of a call with overload `input` on the stack become its results. Arguments that do
// not fit together are left to LibTorch, which says so.
void RunLstm(torch::jit::Stack& stack);
void RunGru(torch::jit::Stack& stack);
void RunTanhRnn(torch::jit::Stack& stack);
void RunReluRnn(torch::jit::Stack& stack);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_RECURRENT_LAYERS_H_
