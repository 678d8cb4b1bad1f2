// Products of matrices.
#include <ATen/ATen.h>

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

Values Einsum(const NodeCall& call) {
  std::vector<at::Tensor> operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(call.In(i));
  std::string equation;
  for (const char c : call.Text("equation", "")) {
    if (c != ' ') equation += c;
  }
  if (equation.empty()) call.Invalid("no equation");
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
