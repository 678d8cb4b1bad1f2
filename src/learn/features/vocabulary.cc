#include "learn/features/vocabulary.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "graph/aliasing/op_schema.h"

namespace placewright::vocabulary {
namespace {

// Sorted. What recorded training steps hold of convolutional, recurrent and attention networks, and
// the names that ONNX and TensorFlow have for the heavy ones.
constexpr std::array<std::string_view, 101> kWords = {
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool2d_backward",
    "_log_softmax",
    "_log_softmax_backward_data",
    "_reshape_alias",
    "_softmax",
    "_softmax_backward_data",
    "_to_copy",
    "_unsafe_view",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "arange",
    "averagepool",
    "avg_pool2d",
    "avg_pool2d_backward",
    "batchmatmulv2",
    "bernoulli",
    "biasadd",
    "bmm",
    "cat",
    "clamp",
    "clone",
    "concat",
    "constant_pad_nd",
    "conv",
    "conv2d",
    "conv2dbackpropfilter",
    "conv2dbackpropinput",
    "convolution",
    "convolution_backward",
    "copy",
    "div",
    "embedding",
    "embedding_dense_backward",
    "empty_like",
    "eq",
    "exp",
    "expand",
    "fill",
    "gather",
    "ge",
    "gelu",
    "gelu_backward",
    "gemm",
    "hardsigmoid",
    "hardsigmoid_backward",
    "hardswish",
    "hardswish_backward",
    "index",
    "index_put",
    "index_select",
    "layernormalization",
    "log",
    "masked_fill",
    "matmul",
    "max_pool2d_with_indices",
    "max_pool2d_with_indices_backward",
    "mean",
    "mm",
    "mul",
    "mv",
    "native_batch_norm",
    "native_batch_norm_backward",
    "native_dropout",
    "native_layer_norm",
    "native_layer_norm_backward",
    "neg",
    "nll_loss_backward",
    "nll_loss_forward",
    "norm",
    "ones_like",
    "permute",
    "pow",
    "relu",
    "rsub",
    "scalar_tensor",
    "select",
    "select_backward",
    "sigmoid",
    "sigmoid_backward",
    "slice",
    "slice_backward",
    "softmax",
    "split",
    "split_with_sizes",
    "sqrt",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "t",
    "tanh",
    "tanh_backward",
    "threshold_backward",
    "transpose",
    "unsqueeze",
    "view",
    "where",
    "zeros",
};
static_assert(std::is_sorted(kWords.begin(), kWords.end()));

// FNV-1a.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

std::span<const std::string_view> Words() { return kWords; }

size_t Size() { return kWords.size() + kShared; }

std::string Word(std::string_view op_type) {
  std::string_view name = AtenBaseName(op_type);
  if (name.empty()) name = op_type.substr(op_type.rfind('.') + 1);  // npos + 1 is 0
  std::string word(name);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (word.size() > 1 && word.back() == '_') word.pop_back();
  return word;
}

size_t IndexOf(std::string_view op_type) {
  const std::string word = Word(op_type);
  const auto* const found = std::lower_bound(kWords.begin(), kWords.end(), word);
  if (found != kWords.end() && *found == word) return static_cast<size_t>(found - kWords.begin());
  return kWords.size() + Hash(word) % kShared;
}

}  // namespace placewright::vocabulary
