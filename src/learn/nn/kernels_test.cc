// The kernels of single precision against the same layers in double precision, whose gradients are
// checked numerically (nn_test.cc).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "learn/nn/attention_decoder.h"
#include "learn/nn/lstm.h"
#include "learn/nn/packed_matrix.h"

namespace placewright {
namespace {

at::Tensor Waves(at::IntArrayRef sizes, int seed) {
  return at::sin(at::arange(c10::multiply_integers(sizes), at::kDouble) * 12.9898 + seed * 78.233)
      .reshape(sizes)
      .contiguous();
}

TEST(PackedMatrix, MultipliesAnyNumberOfRowsAndColumns) {
  for (const int64_t rows : {1, 2, 3, 7, 9, 10, 11, 20, 21, 33}) {
    for (const int64_t columns : {1, 5, 31, 32, 33, 100}) {
      const at::Tensor x = Waves({rows, 19}, 1), matrix = Waves({columns, 19}, 2).t();
      const at::Tensor start = Waves({rows, columns}, 3);
      at::Tensor out = start.to(at::kFloat);
      PackedMatrix(matrix.to(at::kFloat)).AddProduct(x.to(at::kFloat), out);
      const at::Tensor expected = start + at::mm(x, matrix);
      EXPECT_LT((out - expected).abs().max().item<double>(), 1e-5) << rows << " x " << columns;
      // Rows that lie apart.
      at::Tensor wide = at::zeros({rows, columns + 3}, at::kFloat);
      const at::Tensor wide_x = at::cat({x, x}, 1).to(at::kFloat).narrow(1, 19, 19);
      PackedMatrix(matrix.to(at::kFloat)).AddProduct(wide_x, wide.narrow(1, 1, columns));
      EXPECT_LT((wide.narrow(1, 1, columns) - at::mm(x, matrix)).abs().max().item<double>(), 1e-5);
      EXPECT_EQ(wide.select(1, 0).abs().sum().item<double>(), 0);
      EXPECT_EQ(wide.narrow(1, columns + 1, 2).abs().sum().item<double>(), 0);
    }
  }
}

// The value of a function and its gradients in both precisions.
void ExpectAlike(const std::vector<at::Tensor>& inputs,
                 const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function) {
  std::vector<at::Tensor> results[2];
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(input.to(type).clone().requires_grad_());
    }
    const at::Tensor value = function(leaves);
    (value * Waves(value.sizes(), 9).to(type)).sum().backward();
    auto& into = results[type == at::kFloat ? 1 : 0];
    into.push_back(value.detach());
    for (const at::Tensor& leaf : leaves) into.push_back(leaf.grad());
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    const double largest = results[0][i].abs().max().item<double>();
    EXPECT_LT((results[0][i] - results[1][i]).abs().max().item<double>(), 2e-5 * (1 + largest))
        << (i == 0 ? "the value" : "gradient") << " " << i;
  }
}

TEST(Kernels, LstmsAreThoseOfDoublePrecision) {
  for (const bool reversed : {false, true}) {
    ExpectAlike({Waves({20, 4}, 1), Waves({20, 5}, 2), Waves({20}, 3), Waves({7, 3, 4}, 4)},
                [&](const std::vector<at::Tensor>& in) {
                  const LstmWeights weights{in[0], in[1], in[2]};
                  return RunLstm(weights, in[3], ZeroState(3, weights), reversed).outputs;
                });
  }
}

// Keys of 16 go to the kernels, of 5 to LibTorch; in the second sequence the last two are padding.
TEST(Kernels, AttentionIsThatOfDoublePrecision) {
  for (const int64_t width : {16, 48, 5}) {
    ExpectAlike(
        {Waves({2, 6, width}, 1), Waves({2, 6, 3}, 2), Waves({width}, 3), Waves({2, 4, width}, 4)},
        [&](const std::vector<at::Tensor>& in) {
          at::Tensor padding = at::zeros({2, 1, 6}, in[0].options().requires_grad(false));
          padding[1].narrow(1, 4, 2).fill_(-INFINITY);
          return Attend({in[0], in[1], in[2], padding}, in[3]);
        });
  }
}

TEST(Kernels, DecodersAreThoseOfDoublePrecision) {
  ExpectAlike({Waves({12, 4 + 3}, 1), Waves({16, 3}, 2), Waves({2, 5, 16}, 3), Waves({2, 5, 4}, 4),
               Waves({16}, 5), Waves({6, 4, 12}, 6), Waves({4, 3}, 7), Waves({4, 3}, 8)},
              [&](const std::vector<at::Tensor>& in) {
                return RunAttentionDecoder({in[0], in[1]}, {in[2], in[3], in[4], at::Tensor()},
                                           in[5], {in[6], in[7]});
              });
}

}  // namespace
}  // namespace placewright
