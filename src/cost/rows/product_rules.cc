// Matrix products. macs = |out| * k, as the public figures count them; flops = 2 * macs.
#include <algorithm>
#include <array>
#include <string>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

// cuBLAS scratch per handle: PyTorch's default CUBLAS_WORKSPACE_CONFIG is :4096:2:16:8, that is
// 2 * 4096 KiB + 8 * 16 KiB (docs/costs.md).
constexpr int64_t kBlasWorkspace = (2 * 4096 + 8 * 16) * 1024;

int64_t Dim(const Tensor* tensor, int64_t from_end) {
  if (tensor == nullptr) return 1;
  const int64_t rank = static_cast<int64_t>(tensor->shape.size());
  return from_end <= rank ? tensor->shape[static_cast<size_t>(rank - from_end)] : 1;
}

int64_t OutputElements(const OpView& op) { return op.output(0) ? Elements(*op.output(0)) : 0; }

// |out| = batch * m * n, with m and n the last two dims of the output.
ProductShape FromOutput(const OpView& op, int64_t k) {
  const Tensor* out = op.output(0);
  ProductShape shape{1, Dim(out, 2), Dim(out, 1), k};
  const int64_t plane = std::max<int64_t>(SaturatingMultiply(shape.m, shape.n), 1);
  shape.batch = OutputElements(op) / plane;
  return shape;
}

void CountProduct(const OpView& op, int64_t k, Work& work) {
  SetProduct(op, FromOutput(op, k), work);
  work.macs = SaturatingMultiply(OutputElements(op), k);
}

}  // namespace

void SetProduct(const OpView& op, const ProductShape& shape, Work& work) {
  const double macs = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                      static_cast<double>(shape.n) * static_cast<double>(shape.k);
  if (work.op_class == OpClass::kGemm && std::min({shape.m, shape.n, shape.k}) <= 1) {
    work.op_class = OpClass::kGemv;
  }
  work.flops = 2 * macs;
  work.depth = shape.k;
  work.bytes_read = Bytes(op.InputBytes());
  work.bytes_written = Bytes(op.OutputBytes());
  work.workspace = Bytes(kBlasWorkspace);
}

void MatrixProduct(const OpView& op, const WorkRow&, Work& work) {
  CountProduct(op, Dim(op.TensorArg(0), 1), work);
}

void BiasedProduct(const OpView& op, const WorkRow&, Work& work) {
  CountProduct(op, Dim(op.TensorArg(1), 1), work);
}

// Rows, or the summed dimension, in consecutive groups, each with a matrix of its own: [t, k] by
// [g, k, n] and [g, m, k] by [k, t] are as one product of the whole, [m, t] by [t, n] to [g, m, n]
// is g products over t / g, [g, m, k] by [g, k, n] is bmm.
void GroupedProduct(const OpView& op, const WorkRow&, Work& work) {
  const Tensor *a = op.TensorArg(0), *out = op.output(0);
  const bool sums_groups = a && out && a->shape.size() == 2 && out->shape.size() == 3;
  const int64_t groups = sums_groups ? std::max<int64_t>(out->shape[0], 1) : 1;
  CountProduct(op, Dim(a, 1) / groups, work);
}

void LinearLayer(const OpView& op, const WorkRow&, Work& work) {
  const Tensor* x = op.TensorArg(0);
  const int64_t k = Dim(x, 1);
  const int64_t rows = x && k > 0 ? Elements(*x) / k : 1;
  SetProduct(op, {1, rows, Dim(op.output(0), 1), k}, work);
  work.macs = SaturatingMultiply(OutputElements(op), k);
}

void UncountedProduct(const OpView& op, const WorkRow& row, Work& work) {
  int64_t largest = 0;
  for (size_t i = 0; i < op.input_count(); ++i) {
    largest = std::max(largest, Elements(*op.input(i)));
  }
  if (row.op_class == OpClass::kGemm) {
    SetProduct(op, FromOutput(op, Dim(op.input(0), 1)), work);
    return;
  }
  work.flops = 2 * static_cast<double>(largest);
  work.bytes_read = Bytes(op.InputBytes());
  work.bytes_written = Bytes(op.OutputBytes());
}

void OnnxGemm(const OpView& op, const WorkRow&, Work& work) {
  const bool transposed = OpView::IntegerOr(op.Attribute("transA"), 0) != 0;
  CountProduct(op, Dim(op.input(0), transposed ? 2 : 1), work);
}

namespace {

// Extents of the 52 letters and of what "..." covers, from an equation such as "bij,bjk->bik".
struct EinsumSizes {
  std::array<int64_t, 256> of_letter{};  // 0: not met
  int64_t ellipsis = 1;
};

std::vector<std::string> TermsOf(std::string_view equation) {
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, equation.find("->"))) {
    if (c == ',') {
      terms.emplace_back();
    } else if (c != ' ') {
      terms.back() += c;
    }
  }
  return terms;
}

void ReadTerm(const std::string& term, const Tensor& tensor, EinsumSizes& sizes) {
  const size_t dots = term.find("...");
  const size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
  const size_t rank = tensor.shape.size();
  if (letters > rank) return;
  size_t dim = 0;
  int64_t covered = 1;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (size_t end = dim + rank - letters; dim < end; ++dim) {
        covered = SaturatingMultiply(covered, tensor.shape[dim]);
      }
      i += 2;
    } else if (dim < rank) {
      int64_t& size = sizes.of_letter[static_cast<unsigned char>(term[i])];
      size = std::max(size, tensor.shape[dim++]);
    }
  }
  sizes.ellipsis = std::max(sizes.ellipsis, covered);
}

// Indices of one operand alone that the result lacks are summed over before anything is multiplied.
void DropSums(std::string_view equation, const std::vector<std::string>& terms,
              EinsumSizes& sizes) {
  const size_t arrow = equation.find("->");
  if (arrow == equation.npos) return;  // the result has all that stand once
  const std::string_view result = equation.substr(arrow + 2);
  for (size_t c = 0; c < sizes.of_letter.size(); ++c) {
    const char letter = static_cast<char>(c);
    const auto holders = std::count_if(terms.begin(), terms.end(), [&](const std::string& term) {
      return term.find(letter) != term.npos;
    });
    if (holders == 1 && result.find(letter) == result.npos) sizes.of_letter[c] = 0;
  }
}

}  // namespace

void OnnxEinsum(const OpView& op, const WorkRow&, Work& work) {
  const Value* attribute = op.Attribute("equation");
  const std::string* equation = attribute ? attribute->AsString() : nullptr;
  EinsumSizes sizes;
  const std::vector<std::string> terms = TermsOf(equation ? *equation : "");
  for (size_t i = 0; i < terms.size() && i < op.input_count(); ++i) {
    ReadTerm(terms[i], *op.input(i), sizes);
  }
  DropSums(equation ? *equation : "", terms, sizes);
  int64_t macs = sizes.ellipsis;
  for (int64_t size : sizes.of_letter) macs = SaturatingMultiply(macs, std::max<int64_t>(size, 1));
  const int64_t out = std::max<int64_t>(OutputElements(op), 1);
  SetProduct(op, FromOutput(op, macs / out), work);
  work.flops = 2 * static_cast<double>(macs);
  work.macs = macs;
}

}  // namespace placewright
