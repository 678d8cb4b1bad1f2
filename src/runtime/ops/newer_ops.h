// Operators of newer LibTorch versions that are compositions of those of this one, where this one lacks them: steps
// recorded there run here. Library "aten".
//
//   _safe_softmax(x, dim, dtype)                        softmax, rows of nothing but -inf are 0       (from 2.5)
//   _scaled_dot_product_flash_attention_for_cpu         softmax(q k' scale + mask) v, and the log of the sums  (2.2)
//   _scaled_dot_product_flash_attention_for_cpu_backward
//   _grouped_mm(a, b, ends)                             a product for each group of rows, columns or inner elements (2.8)
//
// Results have the sizes, types and order in memory of the fused kernels; the matrix of scores is made, which these do
// not make: more memory and time than on the version that the step was recorded on.
#ifndef PLACEWRIGHT_RUNTIME_OPS_NEWER_OPS_H_
#define PLACEWRIGHT_RUNTIME_OPS_NEWER_OPS_H_

#include <string>
#include <vector>

namespace placewright {

// Once in a process; further calls do nothing.
void RegisterNewerOps();

// Whether the operator ("aten._safe_softmax.default") is one of these, here.
bool IsComposed(const std::string& type);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_OPS_NEWER_OPS_H_
