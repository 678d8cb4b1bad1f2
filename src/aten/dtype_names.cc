#include "aten/dtype_names.h"

#include <array>
#include <utility>

namespace placewright {
namespace {

struct TypeRow {
  c10::ScalarType type;
  DType dtype;
  std::string_view word;
};
constexpr std::array<TypeRow, 12> kTypes = {{
    {c10::ScalarType::Float, DType::kF32, "torch.float32"},
    {c10::ScalarType::Double, DType::kF64, "torch.float64"},
    {c10::ScalarType::Half, DType::kF16, "torch.float16"},
    {c10::ScalarType::BFloat16, DType::kBF16, "torch.bfloat16"},
    {c10::ScalarType::Long, DType::kI64, "torch.int64"},
    {c10::ScalarType::Int, DType::kI32, "torch.int32"},
    {c10::ScalarType::Short, DType::kI16, "torch.int16"},
    {c10::ScalarType::Char, DType::kI8, "torch.int8"},
    {c10::ScalarType::Byte, DType::kU8, "torch.uint8"},
    {c10::ScalarType::Bool, DType::kBool, "torch.bool"},
    {c10::ScalarType::ComplexFloat, DType::kC64, "torch.complex64"},
    {c10::ScalarType::ComplexDouble, DType::kC128, "torch.complex128"},
}};

template <class T>
using Spelling = std::pair<T, std::string_view>;
constexpr std::array<Spelling<c10::Layout>, 2> kLayouts = {
    {{c10::Layout::Strided, "torch.strided"}, {c10::Layout::Sparse, "torch.sparse_coo"}}};
constexpr std::array<Spelling<c10::MemoryFormat>, 4> kFormats = {
    {{c10::MemoryFormat::Contiguous, "torch.contiguous_format"},
     {c10::MemoryFormat::Preserve, "torch.preserve_format"},
     {c10::MemoryFormat::ChannelsLast, "torch.channels_last"},
     {c10::MemoryFormat::ChannelsLast3d, "torch.channels_last_3d"}}};

template <class T, size_t n>
std::string Spell(const std::array<Spelling<T>, n>& spellings, T value) {
  for (const auto& [known, word] : spellings) {
    if (known == value) return std::string(word);
  }
  return "";
}

template <class T, size_t n>
std::optional<T> Read(const std::array<Spelling<T>, n>& spellings, std::string_view text) {
  for (const auto& [value, word] : spellings) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DType> DTypeOf(c10::ScalarType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.dtype;
  }
  return std::nullopt;
}

std::optional<c10::ScalarType> ScalarTypeOf(DType type) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == type) return row.type;
  }
  return std::nullopt;
}

std::string WordOf(c10::ScalarType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return std::string(row.word);
  }
  return "";
}
std::string WordOf(c10::Layout layout) { return Spell(kLayouts, layout); }
std::string WordOf(c10::MemoryFormat format) { return Spell(kFormats, format); }

std::optional<c10::ScalarType> ScalarTypeOf(std::string_view word) {
  for (const TypeRow& row : kTypes) {
    if (row.word == word) return row.type;
  }
  return std::nullopt;
}
std::optional<c10::Layout> LayoutOf(std::string_view word) { return Read(kLayouts, word); }
std::optional<c10::MemoryFormat> MemoryFormatOf(std::string_view word) {
  return Read(kFormats, word);
}

}  // namespace placewright
