// The arithmetic between two steps of a recurrent layer and its derivative, for autograd functions
// that run their own loops. Everything works in place on [rows, 4 H] and [rows, H].
#ifndef PLACEWRIGHT_LEARN_NN_LSTM_CELL_H_
#define PLACEWRIGHT_LEARN_NN_LSTM_CELL_H_

#include <ATen/core/Tensor.h>

namespace placewright {

// gates: z in, the activated i, f, g, o out. Writes c and h.
void LstmCellForward(at::Tensor gates, const at::Tensor& c_before, at::Tensor c, at::Tensor h);

// gates: as activated in; dz out. dh: the gradient of h. dc: that of c from later steps in, that
// of c_before out.
void LstmCellBackward(const at::Tensor& gates, const at::Tensor& c_before, const at::Tensor& c,
                      const at::Tensor& dh, at::Tensor dc, at::Tensor dz);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_LSTM_CELL_H_
