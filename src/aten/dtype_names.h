// LibTorch's types of elements, layouts and memory formats as the words of a recorded graph, and
// back: "torch.float32", "torch.strided", "torch.contiguous_format", as PyTorch prints them.
#ifndef PLACEWRIGHT_ATEN_DTYPE_NAMES_H_
#define PLACEWRIGHT_ATEN_DTYPE_NAMES_H_

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace placewright {

// nullopt for types that a graph does not know (quantized numbers).
std::optional<DType> DTypeOf(c10::ScalarType type);
// nullopt for types that this LibTorch has no tensors of (strings, unsigned numbers).
std::optional<c10::ScalarType> ScalarTypeOf(DType type);

// "" for what has no word.
std::string WordOf(c10::ScalarType type);
std::string WordOf(c10::Layout layout);
std::string WordOf(c10::MemoryFormat format);

std::optional<c10::ScalarType> ScalarTypeOf(std::string_view word);
std::optional<c10::Layout> LayoutOf(std::string_view word);
std::optional<c10::MemoryFormat> MemoryFormatOf(std::string_view word);

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_DTYPE_NAMES_H_
