// Every shape function against a real run on the CPU: sizes, strides and types.
#include "capture/meta/shape_functions.h"

#include <ATen/ATen.h>
#include <ATen/core/Reduction.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <set>

#include "aten/failure.h"
#include "capture/meta/meta_run.h"
#include "capture/recorder/arguments.h"

namespace placewright {
namespace {

// Runs a function of LibTorch and keeps what every call of a shape function's operator gave.
struct Shapes {
  std::string op;
  std::vector<std::string> results;
  friend bool operator==(const Shapes&, const Shapes&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Shapes& shapes) {
    out << shapes.op;
    for (const std::string& result : shapes.results) out << " " << result;
    return out;
  }
};

class ShapeWatcher : public CallHandler {
 public:
  explicit ShapeWatcher(bool on_meta) : on_meta_(on_meta) {}
  void Handle(TorchCall& call) override {
    if (on_meta_) {
      RunOnMeta(call, CallPlace(call.schema()));
    } else {
      RunBelow(call);
    }
    if (FindShapeFunction(call.schema()) == nullptr) return;
    bool listed = false;
    Shapes shapes{TargetOf(call.schema()), {}};
    for (const at::Tensor& result : ResultTensors(call, &listed)) {
      std::ostringstream text;
      if (result.defined()) {
        text << result.scalar_type() << result.sizes() << "/" << result.strides();
      } else {
        text << "none";
      }
      shapes.results.push_back(text.str());
    }
    seen.push_back(std::move(shapes));
  }
  std::vector<Shapes> seen;

 private:
  bool on_meta_;
};

// `body` makes its own tensors, and may call backward.
std::vector<Shapes> Watch(const std::function<void()>& body, bool on_meta) {
  ShapeWatcher watcher(on_meta);
  const Status status = CatchFailure([&] {
    const HandlerScope scope(watcher);
    body();
  });
  EXPECT_TRUE(status.ok()) << status.error().ToString();
  return std::move(watcher.seen);
}

at::Tensor Leaf(at::IntArrayRef sizes) { return at::randn(sizes).requires_grad_(); }

struct Example {
  const char* name;
  std::function<void()> body;
  friend std::ostream& operator<<(std::ostream& out, const Example& e) { return out << e.name; }
};

void Train(const at::Tensor& result) { result.sum().backward(); }

const std::vector<Example>& Examples() {
  static const std::vector<Example> examples = {
      {"convolution_1d",
       [] {
         Train(at::conv1d(Leaf({2, 3, 11}), Leaf({4, 3, 2}), Leaf({4}), at::IntArrayRef(1),
                          at::IntArrayRef(0), at::IntArrayRef(3)));
       }},
      {"convolution_2d",
       [] {
         Train(at::conv2d(Leaf({2, 3, 9, 8}), Leaf({4, 3, 3, 2}), Leaf({4}), {2, 1}, {1, 0}));
       }},
      {"convolution_groups",
       [] {
         Train(at::conv2d(Leaf({2, 4, 9, 8}), Leaf({4, 1, 3, 3}), {}, 2, 1, 1, 4));
       }},
      {"convolution_3d",
       [] {
         Train(at::conv3d(Leaf({1, 2, 5, 6, 7}), Leaf({3, 2, 1, 2, 3})));
       }},
      {"convolution_transposed",
       [] {
         Train(at::conv_transpose2d(Leaf({2, 4, 5, 4}), Leaf({4, 3, 3, 3}), Leaf({6}), 2, 1, 1, 2,
                                    1));
       }},
      {"batch_norm_training",
       [] {
         Train(at::batch_norm(Leaf({4, 3, 5, 2}), Leaf({3}), Leaf({3}), at::zeros({3}),
                              at::ones({3}), true, 0.1, 1e-5, false));
       }},
      {"batch_norm_inference",
       [] {
         at::batch_norm(at::randn({4, 3, 5}), at::ones({3}), at::ones({3}), at::zeros({3}),
                        at::ones({3}), false, 0.1, 1e-5, false);
       }},
      {"layer_norm",
       [] {
         Train(at::layer_norm(Leaf({2, 5, 6}), {6}, Leaf({6}), Leaf({6}), 1e-5));
       }},
      {"layer_norm_two_dimensions",
       [] {
         Train(at::layer_norm(Leaf({2, 5, 6}).transpose(0, 1), {2, 6}, Leaf({2, 6}), {}));
       }},
      {"group_norm",
       [] {
         Train(at::group_norm(Leaf({2, 6, 5}), 3, Leaf({6}), Leaf({6})));
       }},
      {"embedding",
       [] {
         Train(at::embedding(Leaf({9, 4}), at::zeros({2, 3}, at::kLong)));
       }},
      {"embedding_of_a_vector",
       [] {
         Train(at::embedding(Leaf({9, 4}), at::zeros({3}, at::kLong)));
       }},
      {"index_select",
       [] {
         Train(at::index_select(Leaf({5, 4, 3}), -2, at::zeros({7}, at::kLong)));
       }},
      {"flip",
       [] {
         Train(at::flip(Leaf({5, 4}).t(), {0}));
       }},
      {"roll",
       [] {
         Train(at::roll(Leaf({5, 4}).t(), 2, 0));
       }},
      {"relu",
       [] {
         Train(at::relu(Leaf({5, 4, 2}).transpose(0, 1)));
       }},
      {"relu_in_place",
       [] {
         at::Tensor x = Leaf({5, 4}).t() * 2.0;
         Train(at::relu_(x));
       }},
      {"hardswish",
       [] {
         at::hardswish(at::randn({5, 4}).t());
       }},
      {"hardswish_in_place",
       [] {
         at::Tensor x = at::randn({5, 4});
         at::hardswish_(x);
       }},
      {"hardtanh",
       [] {
         at::hardtanh(at::randn({5, 4}).t());
       }},
      {"hardtanh_in_place",
       [] {
         at::Tensor x = at::randn({5, 4});
         at::hardtanh_(x);
       }},
      {"where",
       [] {
         Train(at::where(at::ones({3, 4}, at::kBool), Leaf({2, 3, 4}), at::zeros({})));
       }},
      {"where_transposed",
       [] {
         Train(at::where(at::ones({4, 3}, at::kBool).t(), Leaf({4, 3}).t(), Leaf({4, 3}).t()));
       }},
      {"where_doubles",
       [] { at::where(at::ones({3}, at::kBool), at::randn({3}), at::zeros({3}, at::kDouble)); }},
      {"native_dropout",
       [] {
         Train(std::get<0>(at::native_dropout(Leaf({5, 4}).t(), 0.3, true)));
       }},
      {"abs",
       [] {
         Train(at::abs(Leaf({5, 4}).t()));
       }},
      {"logsumexp",
       [] {
         Train(at::logsumexp(Leaf({2, 3, 4}), at::IntArrayRef{0, -1}, false));
         at::logsumexp(at::randn({2, 3, 4}), at::IntArrayRef{1}, true);
       }},
      {"adaptive_average_pool",
       [] {
         Train(at::adaptive_avg_pool2d(Leaf({2, 3, 9, 7}), {4, 3}));
       }},
      {"nll_loss_2d",
       [] {
         Train(at::nll_loss2d(at::log_softmax(Leaf({2, 3, 4, 5}), 1),
                              at::zeros({2, 4, 5}, at::kLong)));
       }},
      {"nll_loss_2d_unreduced",
       [] {
         Train(at::nll_loss2d(at::log_softmax(Leaf({2, 3, 4, 5}), 1),
                              at::zeros({2, 4, 5}, at::kLong), {}, at::Reduction::None));
       }},
      {"mse_loss",
       [] {
         Train(at::mse_loss(Leaf({3, 4}), at::zeros({3, 4})));
       }},
      {"mse_loss_transposed",
       [] {
         Train(at::mse_loss(Leaf({4, 3}).t(), at::zeros({3, 4})));
       }},
      {"smooth_l1_loss",
       [] {
         Train(at::smooth_l1_loss(Leaf({4, 3}).t(), at::zeros({3, 4})));
         Train(at::smooth_l1_loss(Leaf({4, 3}).t(), at::zeros({3, 4}), at::Reduction::None));
       }},
      {"huber_loss",
       [] {
         Train(at::huber_loss(Leaf({3, 4}), at::zeros({3, 4})));
         Train(at::huber_loss(Leaf({4, 3}).t(), at::zeros({3, 4}), at::Reduction::None));
       }},
      {"binary_cross_entropy",
       [] {
         Train(at::binary_cross_entropy(at::sigmoid(Leaf({3, 4})), at::zeros({3, 4})));
         Train(at::binary_cross_entropy(at::sigmoid(Leaf({4, 3}).t()), at::zeros({3, 4}), {},
                                        at::Reduction::None));
       }},
      {"hardswish_gradient",
       [] {
         Train(at::hardswish(Leaf({5, 4})));
         at::hardswish_backward(at::randn({5, 4}).t(), at::randn({4, 5}));
         at::hardswish_backward(at::randn({5, 4, 3}).transpose(0, 1),
                                at::randn({5, 4, 3}).transpose(0, 1));
       }},
      {"hardtanh_gradient",
       [] {
         Train(at::hardtanh(Leaf({5, 4})));
         at::hardtanh_backward(at::randn({5, 4}).t(), at::randn({5, 4}).t(), -1, 1);
       }},
      {"prelu",
       [] {
         Train(at::prelu(Leaf({2, 3, 4}), Leaf({3})));
         Train(at::prelu(Leaf({4, 3, 2}).transpose(0, 2), Leaf({1})));
       }},
      {"log_sigmoid",
       [] {
         Train(at::log_sigmoid(Leaf({2, 3, 4})));
         Train(at::log_sigmoid(Leaf({4, 3, 2}).transpose(0, 2)) *
               at::randn({4, 3, 2}).transpose(0, 2));
       }},
      {"logit_and_isnan",
       [] {
         at::logit(at::randn({3, 4}).t());
         at::isnan(at::randn({3, 4}).t());
         at::nan_to_num(at::randn({3, 4}).t());
         Train(at::abs(Leaf({5, 4, 3}).transpose(0, 1)));
       }},
      {"logical",
       [] {
         const at::Tensor flags = at::ones({3, 4}, at::kBool);
         at::logical_not(at::randn({3, 4}).t());
         at::logical_and(flags.t(), at::randn({3}));
         at::logical_or(flags, flags);
         at::logical_xor(flags.t(), flags.t());
         at::Tensor written = at::ones({3, 4}, at::kBool);
         written.logical_and_(flags).logical_or_(flags).logical_xor_(flags).logical_not_();
       }},
      {"adaptive_average_pool_3d",
       [] {
         Train(at::adaptive_avg_pool3d(Leaf({2, 3, 9, 7, 5}), {4, 3, 2}));
       }},
      {"max_pool_3d",
       [] {
         Train(at::max_pool3d(Leaf({2, 3, 9, 7, 8}), {2, 3, 2}, {2, 2, 3}, {1, 1, 0}));
         Train(at::max_pool3d(Leaf({2, 3, 9, 7, 8}), 2, {}, 0, 1, true));
         Train(at::max_pool3d(Leaf({3, 9, 7, 8}), 2, 1, 0, 2));
       }},
      {"padding",
       [] {
         Train(at::reflection_pad2d(Leaf({2, 3, 5, 4}), {1, 2, 3, 0}));
         Train(at::reflection_pad2d(Leaf({3, 5, 4}), {1, 2, 3, 0}));
         Train(at::replication_pad2d(Leaf({2, 3, 5, 4}), {1, 2, 3, 0}));
         Train(at::replication_pad3d(Leaf({2, 3, 5, 4, 3}), {1, 2, 3, 0, 1, 1}));
       }},
      {"patches",
       [] {
         Train(at::im2col(Leaf({2, 3, 7, 6}), {2, 3}, {1, 2}, {1, 0}, {2, 1}));
         Train(at::im2col(Leaf({3, 7, 6}), {2, 3}, {1, 1}, {0, 0}, {1, 1}));
         Train(at::col2im(Leaf({2, 12, 9}), {6, 6}, {2, 2}, {1, 1}, {0, 0}, {2, 2}));
         Train(Leaf({4, 9}).unfold(1, 3, 2));
       }},
      {"grid_sampler",
       [] {
         Train(at::grid_sampler(Leaf({2, 3, 5, 4}), Leaf({2, 6, 7, 2}), 0, 0, false));
         Train(at::grid_sampler(Leaf({2, 3, 5, 4, 3}), Leaf({2, 6, 7, 2, 3}), 0, 0, false));
         Train(at::grid_sampler(at::randn({2, 3, 5, 4}), Leaf({2, 6, 7, 2}), 0, 0, false));
       }},
      {"channel_shuffle",
       [] {
         at::channel_shuffle(at::randn({2, 4, 3, 3}), 2);
         at::channel_shuffle(at::randn({2, 4, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast), 2);
       }},
      {"variance",
       [] {
         Train(at::var(Leaf({4, 3, 5}), true));
         Train(at::var(Leaf({4, 3, 5}).transpose(0, 1), {1, -1}, true, true));
         Train(at::std(Leaf({4, 3, 5}), {1}, false));
         Train(std::get<0>(at::var_mean(Leaf({4, 3, 5}), {0}, true)));
         at::std_mean(at::randn({4, 3}), {0}, true, true);
       }},
      {"extremes_dot_and_trace",
       [] {
         at::max(at::randn({4, 3}));
         at::min(at::randn({4, 3}));
         Train(at::dot(Leaf({4}), Leaf({4})));
         at::trace(at::randn({3, 3}));
       }},
      {"log_cumulative_sum",
       [] {
         at::logcumsumexp(at::randn({4, 3}).t(), 1);
         Train(at::logsumexp(Leaf({4, 3, 2}), {1, -1}));
         Train(at::logsumexp(Leaf({4, 3}), {0}, true));
       }},
      {"distances",
       [] {
         Train(at::cdist(Leaf({2, 5, 3}), Leaf({4, 3}), 1.0));
       }},
      {"weight_norm",
       [] {
         const auto both =
             at::_weight_norm_interface(at::randn({4, 3, 2}), at::randn({4, 1, 1}), 0);
         at::_weight_norm_interface_backward(at::randn({4, 3, 2}), at::randn({4, 3, 2}),
                                             at::randn({4, 1, 1}), std::get<1>(both), 0);
       }},
      {"multinomial",
       [] {
         at::multinomial(at::rand({3, 5}), 2);
         at::multinomial(at::rand({5}), 3);
       }},
      {"take",
       [] {
         Train(at::take(Leaf({3, 5}), at::zeros({2, 2}, at::kLong)));
       }},
      {"embedding_bag",
       [] {
         const auto bag = [](int64_t mode, bool last, const at::Tensor& scale, int64_t padding) {
           const at::Tensor offsets = at::arange(0, 12, 3, at::kLong);
           const at::Tensor ends =
               last ? at::cat({offsets, at::full({1}, 12, at::kLong)}) : offsets;
           Train(std::get<0>(at::embedding_bag(Leaf({9, 4}), at::zeros({12}, at::kLong), ends,
                                               false, mode, false, scale, last, padding)));
         };
         bag(0, false, {}, -1);
         bag(0, true, {}, -1);
         bag(0, false, at::rand({12}).requires_grad_(), -1);
         bag(0, false, {}, 2);
         bag(1, false, {}, -1);
         bag(2, true, {}, -1);
         at::_embedding_bag_forward_only(at::randn({9, 4}), at::zeros({12}, at::kLong),
                                         at::arange(0, 12, 3, at::kLong));
       }},
      {"normal_draws",
       [] {
         at::normal(0.0, at::ones({4, 3}).t());
         at::normal(at::zeros({4, 3}).t(), 1.0);
         at::normal(at::zeros({4, 1}), at::ones({3}));
       }},
      {"whole_division",
       [] {
         at::floor_divide(at::full({3, 4}, 7, at::kLong), at::full({4}, 2, at::kLong));
         at::floor_divide(at::rand({4, 3}).t(), at::full({3, 1}, 2, at::kLong));
       }},
      {"medians",
       [] {
         at::median(at::randn({4, 3}));
         Train(std::get<0>(at::median(Leaf({4, 3, 2}), 1)));
         at::median(at::randn({4, 3}).t(), -1, true);
       }},
      {"counts",
       [] {
         at::count_nonzero(at::randn({4, 3, 2}));
         at::count_nonzero(at::randn({4, 3, 2}), TorchOptional<int64_t>(-1));
         at::count_nonzero(at::randn({4, 3, 2}), {0, 2});
       }},
      {"sum_of_products",
       [] {
         Train(at::addbmm(Leaf({2, 4}), Leaf({5, 2, 3}), Leaf({5, 3, 4})));
       }},
      {"places_in_order",
       [] {
         at::bucketize(at::randn({3, 2}).t(), at::arange(0, 4, at::kFloat));
         at::bucketize(at::randn({3, 2}), at::arange(0, 4, at::kFloat), true);
         at::searchsorted(at::arange(0, 4, at::kFloat), at::randn({3, 2}));
       }},
      {"permutation_and_triangles",
       [] {
         at::randperm(5);
         at::randperm(5, at::kInt);
         for (const int64_t offset : {-2, 0, 1, 9}) {
           at::tril_indices(3, 5, offset);
           at::triu_indices(5, 3, offset);
         }
       }},
      {"repeats",
       [] { at::repeat_interleave(at::full({3}, 2, at::kLong), TorchOptional<int64_t>(6)); }},
      {"glu",
       [] {
         Train(at::glu(Leaf({3, 4}), 0 + 1));
       }},
  };
  return examples;
}

class ShapeFunctions : public ::testing::TestWithParam<Example> {};

TEST_P(ShapeFunctions, AreThoseOfTheCpu) {
  const std::vector<Shapes> real = Watch(GetParam().body, false);
  ASSERT_FALSE(real.empty()) << "no shape function was needed";
  EXPECT_EQ(Watch(GetParam().body, true), real);
}

INSTANTIATE_TEST_SUITE_P(Examples, ShapeFunctions, ::testing::ValuesIn(Examples()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ShapeFunctions, EveryOneHasAnExample) {
  std::set<std::string> seen;
  for (const Example& example : Examples()) {
    for (const Shapes& shapes : Watch(example.body, true)) seen.insert(shapes.op);
  }
  for (std::string name : ShapeFunctionNames()) {
    const bool overloaded = name.find('.') != std::string::npos;
    name.replace(name.find("::"), 2, ".");
    EXPECT_EQ(seen.count(overloaded ? name : name + ".default"), 1u) << name;
  }
}

}  // namespace
}  // namespace placewright
