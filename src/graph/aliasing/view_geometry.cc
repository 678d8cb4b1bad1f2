#include "graph/aliasing/view_geometry.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "graph/aliasing/op_schema.h"

namespace placewright {
namespace {

// Longer lists of sizes are not looked at: each of the outputs would walk the list.
constexpr size_t kMaxNumbers = 1024;

// The arguments of a view op: by position, else by keyword.
class Arguments {
 public:
  explicit Arguments(const Op& op) : op_(op) {}

  const Value* Find(size_t position, std::string_view keyword) const {
    if (position < op_.args.size()) return &op_.args[position];
    for (const NamedValue& named : op_.attributes) {
      if (named.name == keyword) return &named.value;
    }
    return nullptr;
  }
  // The integer there; `missing` if there is none or it is null; nullopt if something else.
  std::optional<int64_t> Int(size_t position, std::string_view keyword,
                             std::optional<int64_t> missing = std::nullopt) const {
    const Value* value = Find(position, keyword);
    if (value == nullptr || value->IsNone()) return missing;
    return value->AsInt() ? std::optional<int64_t>(*value->AsInt()) : std::nullopt;
  }
  // A list of integers, or one number as a list of one.
  std::optional<std::vector<int64_t>> Ints(size_t position, std::string_view keyword) const {
    const Value* value = Find(position, keyword);
    if (value == nullptr) return std::nullopt;
    if (value->AsInt()) return std::vector<int64_t>{*value->AsInt()};
    if (!value->AsList() || value->AsList()->size() > kMaxNumbers) return std::nullopt;
    std::vector<int64_t> numbers;
    for (const Value& item : *value->AsList()) {
      if (!item.AsInt()) return std::nullopt;
      numbers.push_back(*item.AsInt());
    }
    return numbers;
  }

 private:
  const Op& op_;
};

MaybeLayout AsStrided(const Arguments& arguments, const StridedLayout& base) {
  const auto size = arguments.Ints(1, "size"), stride = arguments.Ints(2, "stride");
  const auto offset = arguments.Int(3, "storage_offset", base.offset);
  if (!size || !stride || !offset || size->size() != stride->size() || *offset < 0) {
    return std::nullopt;
  }
  for (size_t i = 0; i < size->size(); ++i) {
    if ((*size)[i] < 0 || (*stride)[i] < 0) return std::nullopt;
  }
  return StridedLayout{base.dtype, *size, *stride, *offset};
}

MaybeLayout Diagonal(const Arguments& arguments, const StridedLayout& base) {
  const auto shift = arguments.Int(1, "offset", 0), a = arguments.Int(2, "dim1", 0),
             b = arguments.Int(3, "dim2", 1);
  if (!shift || !a || !b) return std::nullopt;
  const auto i = Dimension(*a, base.rank()), j = Dimension(*b, base.rank());
  if (!i || !j || *i == *j) return std::nullopt;
  const int64_t down = std::max<int64_t>(0, -std::max(*shift, -base.shape[*i]));
  const int64_t right = std::max<int64_t>(0, std::min(*shift, base.shape[*j]));
  const int64_t length =
      std::max<int64_t>(0, std::min(base.shape[*i] - down, base.shape[*j] - right));
  StridedLayout layout{base.dtype, {}, {}, base.offset};
  if (length > 0) layout.offset += down * base.strides[*i] + right * base.strides[*j];
  for (size_t d = 0; d < base.shape.size(); ++d) {
    if (d == *i || d == *j) continue;
    layout.shape.push_back(base.shape[d]);
    layout.strides.push_back(base.strides[d]);
  }
  layout.shape.push_back(length);
  layout.strides.push_back(base.strides[*i] + base.strides[*j]);
  return layout;
}

MaybeLayout Unfold(const Arguments& arguments, const StridedLayout& base) {
  const auto dim = arguments.Int(1, "dimension"), size = arguments.Int(2, "size"),
             step = arguments.Int(3, "step");
  if (!dim || !size || !step || *size < 0 || *step < 1) return std::nullopt;
  const auto d = Dimension(*dim, base.rank());
  if (!d || *size > base.shape[*d]) return std::nullopt;
  StridedLayout layout = base;
  layout.shape[*d] = (base.shape[*d] - *size) / *step + 1;
  const int64_t jump = layout.shape[*d] > 1 ? *step : 1;
  if (!CheckedMultiply(base.strides[*d], jump, layout.strides[*d])) return std::nullopt;
  layout.shape.push_back(*size);
  layout.strides.push_back(base.strides[*d]);
  return layout;
}

// Start and end of piece `k` along the split dimension of size `size`.
struct Piece {
  int64_t start, end;
};

std::optional<Piece> PieceOfSizes(const std::vector<int64_t>& sizes, int64_t size, size_t k) {
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > size - start) return std::nullopt;
    if (i == k) return Piece{start, start + sizes[i]};
    start += sizes[i];
  }
  return std::nullopt;
}

// tensor_split: `n` pieces, the first size % n of them one longer; or cuts at the given indices.
std::optional<Piece> PieceOfTensorSplit(const Arguments& arguments, int64_t size, size_t k) {
  const int64_t piece = static_cast<int64_t>(k);
  const Value* how = arguments.Find(1, "sections");
  if (how != nullptr && how->AsInt()) {
    const int64_t n = *how->AsInt();
    if (n < 1 || piece >= n) return std::nullopt;
    const auto cut = [&](int64_t i) { return i * (size / n) + std::min(i, size % n); };
    return Piece{cut(piece), cut(piece + 1)};
  }
  const auto cuts = arguments.Ints(1, "indices");
  if (!cuts || k > cuts->size()) return std::nullopt;
  const auto cut = [&](size_t i) {
    const int64_t at = (*cuts)[i] < 0 ? (*cuts)[i] + size : (*cuts)[i];
    return std::clamp<int64_t>(at, 0, size);
  };
  const int64_t start = k == 0 ? 0 : cut(k - 1);
  return Piece{start, std::max(start, k == cuts->size() ? size : cut(k))};
}

std::optional<Piece> PieceOf(std::string_view name, const Arguments& arguments, int64_t size,
                             size_t k) {
  if (name == "tensor_split") return PieceOfTensorSplit(arguments, size, k);
  const Value* how = arguments.Find(1, "split_size");
  if (how == nullptr) how = arguments.Find(1, "split_sizes");
  if (how != nullptr && how->AsList()) {
    const auto sizes = arguments.Ints(1, "split_sizes");
    return sizes ? PieceOfSizes(*sizes, size, k) : std::nullopt;
  }
  auto length = arguments.Int(1, name.ends_with("chunk") ? "chunks" : "split_size");
  if (!length || *length < 1) return std::nullopt;
  if (name.ends_with("chunk")) length = std::max<int64_t>(1, (size - 1) / *length + 1);
  int64_t start = 0;
  if (!CheckedMultiply(static_cast<int64_t>(k), *length, start) || start > size)
    return std::nullopt;
  return Piece{start, start + std::min(*length, size - start)};
}

MaybeLayout Split(std::string_view name, const Arguments& arguments, const StridedLayout& base,
                  size_t k) {
  const auto dim = arguments.Int(2, "dim", 0);
  const auto d = dim ? Dimension(*dim, base.rank()) : std::nullopt;
  if (!d) return std::nullopt;
  const auto piece = PieceOf(name, arguments, base.shape[*d], k);
  return piece ? SliceDim(base, *d, piece->start, piece->end, 1) : std::nullopt;
}

MaybeLayout SliceOrNarrow(std::string_view name, const Arguments& arguments,
                          const StridedLayout& base) {
  const bool narrow = name == "narrow";
  const auto dim = arguments.Int(1, "dim", 0);
  const auto d = dim ? Dimension(*dim, base.rank()) : std::nullopt;
  if (!d) return std::nullopt;
  const auto start = arguments.Int(2, "start", 0);
  auto end = arguments.Int(3, narrow ? "length" : "end", INT64_MAX);
  const auto step = narrow ? 1 : arguments.Int(4, "step", 1);
  if (!start || !end || !step) return std::nullopt;
  if (narrow) {
    const int64_t size = base.shape[*d], first = *start < 0 ? *start + size : *start;
    if (first < 0 || *end < 0 || first > size || *end > size - first) return std::nullopt;
    return SliceDim(base, *d, first, first + *end, 1);
  }
  return SliceDim(base, *d, *start, *end, *step);
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

MaybeLayout DeriveTransposed(std::string_view name, const Arguments& arguments,
                             const StridedLayout& base) {
  const int64_t rank = base.rank();
  if (name == "t") return rank < 2 ? MaybeLayout(base) : SwapDims(base, 0, 1);
  if (IsOneOf(name, {"mT", "mH", "adjoint"})) return SwapDims(base, -2, -1);
  if (name == "numpy_T") {
    std::vector<int64_t> dims(base.shape.size());
    std::iota(dims.rbegin(), dims.rend(), 0);
    return PermuteDims(base, dims);
  }
  if (IsOneOf(name, {"transpose", "swapaxes", "swapdims"})) {
    const auto a = arguments.Int(1, name == "swapaxes" ? "axis0" : "dim0"),
               b = arguments.Int(2, name == "swapaxes" ? "axis1" : "dim1");
    return a && b ? SwapDims(base, *a, *b) : std::nullopt;
  }
  if (name == "permute") {
    const auto dims = arguments.Ints(1, "dims");
    return dims ? PermuteDims(base, *dims) : std::nullopt;
  }
  const auto from = arguments.Ints(1, "source"), to = arguments.Ints(2, "destination");
  return from && to ? MoveDims(base, *from, *to) : std::nullopt;
}

MaybeLayout DeriveByName(std::string_view name, const Op& op, const StridedLayout& base,
                         const Tensor& output) {
  const Arguments arguments(op);
  if (name.ends_with("_")) name.remove_suffix(1);  // t_, squeeze_, ...: change the view, not bytes
  const size_t k = static_cast<size_t>(output.output_index);
  if (IsOneOf(name, {"t", "mT", "mH", "adjoint", "numpy_T", "transpose", "swapaxes", "swapdims",
                     "permute", "movedim", "moveaxis"})) {
    return DeriveTransposed(name, arguments, base);
  }
  if (IsOneOf(name, {"expand", "expand_as", "broadcast_to"}))
    return ExpandLayout(base, output.shape);
  if (IsOneOf(name, {"slice", "narrow"})) return SliceOrNarrow(name, arguments, base);
  if (IsOneOf(name, {"split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes",
                     "chunk", "unsafe_chunk", "tensor_split"})) {
    return Split(name, arguments, base, k);
  }
  if (IsOneOf(name, {"select", "unbind"})) {
    const auto dim = arguments.Int(1, "dim", 0);
    const auto d = dim ? Dimension(*dim, base.rank()) : std::nullopt;
    const auto index = name == "unbind" ? std::optional<int64_t>(static_cast<int64_t>(k))
                                        : arguments.Int(2, "index");
    return d && index ? SelectDim(base, *d, *index) : std::nullopt;
  }
  if (name == "as_strided") return AsStrided(arguments, base);
  if (name == "diagonal") return Diagonal(arguments, base);
  if (name == "unfold") return Unfold(arguments, base);
  if (name == "view_as_real") return ViewAsReal(base, output.dtype);
  if (name == "view_as_complex") return ViewAsComplex(base, output.dtype);
  if (IsOneOf(name, {"real", "imag"}) && output.dtype != base.dtype) {
    const MaybeLayout pairs = ViewAsReal(base, output.dtype);
    return pairs ? SelectDim(*pairs, base.shape.size(), name == "imag" ? 1 : 0) : std::nullopt;
  }
  if (name == "view" && output.dtype != base.dtype) return Reinterpret(base, output.dtype);
  // The rest keeps the order of elements: view, squeeze, unsqueeze, flatten, detach, alias, ...
  return ReshapeLayout(base, output.shape);
}

}  // namespace

MaybeLayout DeriveView(const Op& op, const StridedLayout& base, const Tensor& output) {
  const std::string_view name = AtenBaseName(op.type);
  MaybeLayout layout =
      name.empty() ? ReshapeLayout(base, output.shape) : DeriveByName(name, op, base, output);
  if (!layout || layout->shape != output.shape || layout->dtype != output.dtype) {
    return std::nullopt;
  }
  // Strides of dimensions of size 1 are arbitrary: one form for each layout.
  for (size_t i = layout->shape.size(); i-- > 0;) {
    if (layout->shape[i] > 1) continue;
    layout->strides[i] = i + 1 == layout->shape.size()
                             ? 1
                             : SaturatingMultiply(layout->strides[i + 1],
                                                  std::max<int64_t>(layout->shape[i + 1], 1));
  }
  return layout;
}

}  // namespace placewright
