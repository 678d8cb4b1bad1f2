// Products of matrices.
#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "capture/onnx/operators/table.h"

namespace placewright::lowering {
namespace {

// Vectors become matrices of one row or column, so that every product is one of matrices.
at::Tensor Product(const at::Tensor& a, const at::Tensor& b) {
  const bool row = a.dim() == 1, column = b.dim() == 1;
  at::Tensor result = at::matmul(row ? at::unsqueeze(a, 0) : a, column ? at::unsqueeze(b, 1) : b);
  if (column) result = at::squeeze(result, -1);
  if (row) result = at::squeeze(result, column ? -1 : -2);
  return result;
}

Values MatMul(const NodeCall& call) {
  const at::Tensor a = call.In(0), b = call.In(1);
  if (a.dim() == 0 || b.dim() == 0) call.Invalid("an operand without dimensions");
  return {Product(a, b)};
}

// alpha A' B' + beta C; A and B have two dimensions.
Values Gemm(const NodeCall& call) {
  at::Tensor a = call.In(0), b = call.In(1);
  if (call.version < 7 && a.dim() > 2) a = at::flatten(a, 1);
  if (a.dim() != 2 || b.dim() != 2) call.Invalid("operands are no matrices");
  if (call.Int("transA", 0) != 0) a = at::t(a);
  if (call.Int("transB", 0) != 0) b = at::t(b);
  const double alpha = call.Real("alpha", 1.0), beta = call.Real("beta", 1.0);
  if (call.Has(2) && beta != 0) {
    const at::Tensor c = call.In(2);
    if (at::isFloatingType(a.scalar_type())) return {at::addmm(c, a, b, beta, alpha)};
    return {at::addmm(c, a, b, static_cast<int64_t>(beta), static_cast<int64_t>(alpha))};
  }
  const at::Tensor product = at::mm(a, b);
  return {alpha == 1.0 ? product : at::mul(product, alpha)};
}

// "ij,k->kij": no index is summed over or shared.
bool IsOuter(const std::string& a, const std::string& b, const std::string& out) {
  std::string both = a + b, sorted = out;
  std::sort(both.begin(), both.end());
  std::sort(sorted.begin(), sorted.end());
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  return both == sorted && std::all_of(both.begin(), both.end(), is_letter) &&
         std::adjacent_find(both.begin(), both.end()) == both.end();
}

// LibTorch multiplies element by element there; as a product of a column and a row it counts as
// one.
std::optional<at::Tensor> Outer(const std::string& equation,
                                const std::vector<at::Tensor>& operands) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (operands.size() != 2 || comma == std::string::npos || arrow == std::string::npos ||
      comma > arrow) {
    return std::nullopt;
  }
  const std::string a = equation.substr(0, comma), out = equation.substr(arrow + 2),
                    b = equation.substr(comma + 1, arrow - comma - 1);
  if (!IsOuter(a, b, out) || static_cast<int64_t>(a.size()) != operands[0].dim() ||
      static_cast<int64_t>(b.size()) != operands[1].dim()) {
    return std::nullopt;
  }
  std::vector<int64_t> sizes = operands[0].sizes().vec(), order;
  sizes.insert(sizes.end(), operands[1].sizes().begin(), operands[1].sizes().end());
  for (const char index : out) order.push_back(static_cast<int64_t>((a + b).find(index)));
  const at::Tensor product =
      at::mm(at::reshape(operands[0], {-1, 1}), at::reshape(operands[1], {1, -1}));
  return at::permute(at::reshape(product, sizes), order);
}

Values Einsum(const NodeCall& call) {
  std::vector<at::Tensor> operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(call.In(i));
  std::string equation;
  for (const char c : call.Text("equation", "")) {
    if (c != ' ') equation += c;
  }
  if (equation.empty()) call.Invalid("no equation");
  if (const auto outer = Outer(equation, operands)) return {*outer};
  return {at::einsum(equation, operands)};
}

at::Tensor WithoutZero(const NodeCall& call, size_t i, size_t zero) {
  const at::Tensor x = call.In(i).to(at::kInt);
  return call.Has(zero) ? at::sub(x, call.In(zero).to(at::kInt)) : x;
}

Values MatMulInteger(const NodeCall& call) {
  return {Product(WithoutZero(call, 0, 2), WithoutZero(call, 1, 3))};
}

// com.microsoft: alpha A' B'
Values FusedMatMul(const NodeCall& call) {
  at::Tensor a = call.In(0), b = call.In(1);
  if (call.Int("transBatchA", 0) != 0 || call.Int("transBatchB", 0) != 0) {
    call.Unsupported("transBatchA or transBatchB");
  }
  if (call.Int("transA", 0) != 0 && a.dim() > 1) a = at::transpose(a, -1, -2);
  if (call.Int("transB", 0) != 0 && b.dim() > 1) b = at::transpose(b, -1, -2);
  const double alpha = call.Real("alpha", 1.0);
  const at::Tensor product = Product(a, b);
  return {alpha == 1.0 ? product : at::mul(product, alpha)};
}

}  // namespace

void AddProductOperators(OperatorTable& table) {
  table["Einsum"] = Einsum;
  table["Gemm"] = Gemm;
  table["MatMul"] = MatMul;
  table["MatMulInteger"] = MatMulInteger;
  table["com.microsoft.FusedMatMul"] = FusedMatMul;
}

}  // namespace placewright::lowering
