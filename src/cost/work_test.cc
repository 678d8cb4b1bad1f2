#include "cost/work.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

Value In(int32_t index) { return Value(InputRef{index}); }
Value Int(int64_t value) { return Value(value); }
Value Ints(std::initializer_list<int64_t> values) {
  Value::List list;
  for (int64_t value : values) list.emplace_back(value);
  return Value(std::move(list));
}

// One op over fresh inputs, and its work.
class OneOp {
 public:
  explicit OneOp(std::string type) : builder_("one", "aten") {
    spec_.name = "op";
    spec_.type = std::move(type);
  }
  OneOp& Input(std::vector<int64_t> shape, DType dtype = DType::kF32,
               TensorKind kind = TensorKind::kInput) {
    const std::string name = "in" + std::to_string(spec_.inputs.size());
    spec_.inputs.push_back(builder_.AddInput(name, kind, dtype, std::move(shape)).Take());
    return *this;
  }
  OneOp& Output(std::vector<int64_t> shape, DType dtype = DType::kF32, bool in_place = false) {
    OutputSpec output;
    output.name = "op:" + std::to_string(spec_.outputs.size());
    output.shape = std::move(shape);
    output.dtype = dtype;
    if (in_place) {
      output.alias = OutputSpec::Alias::kInPlace;
      output.alias_of = 0;
    }
    spec_.outputs.push_back(output);
    return *this;
  }
  OneOp& Args(std::vector<Value> args) {
    spec_.args = std::move(args);
    return *this;
  }
  OneOp& Attribute(std::string name, Value value) {
    spec_.attributes.push_back({std::move(name), std::move(value)});
    return *this;
  }
  Work Get() {
    EXPECT_TRUE(builder_.AddOp(spec_).ok());
    const Graph graph = std::move(builder_).Build().Take();
    return WorkOf(graph, graph.FindOp("op"));
  }

 private:
  GraphBuilder builder_;
  OpSpec spec_;
};

TEST(Work, MatrixProduct) {
  const Work work = OneOp("aten.mm.default").Input({20, 30}).Input({30, 50}).Output({20, 50}).Get();
  EXPECT_EQ(work.op_class, OpClass::kGemm);
  EXPECT_EQ(work.macs, 30'000);   // 20 * 50 * 30
  EXPECT_EQ(work.flops, 60'000);  // 2 a multiply-accumulate
  EXPECT_EQ(work.depth, 30);
  EXPECT_EQ(work.bytes_read, Bytes(8400));     // (600 + 1500) * 4
  EXPECT_EQ(work.bytes_written, Bytes(4000));  // 1000 * 4
}

// q, k, v of 2 batches, 3 heads, 5 rows, 7 keys, width 4: 2 * 3 * 5 * 7 * (4 + 4) = 1,680; the
// backward pass makes five such products where the forward pass makes two.
TEST(Work, AttentionAsOneOp) {
  const std::vector<int64_t> q = {2, 3, 5, 4}, k = {2, 3, 7, 4};
  EXPECT_EQ(OneOp("aten._scaled_dot_product_flash_attention_for_cpu.default")
                .Input(q)
                .Input(k)
                .Input(k)
                .Output(q)
                .Get()
                .macs,
            1680);
  EXPECT_EQ(OneOp("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
                .Input(q)
                .Input(q)
                .Input(k)
                .Input(k)
                .Output(q)
                .Get()
                .macs,
            4200);
}

// Causal: half of the scores are made, 2 * 3 * 8 * 8 * (2 * (4 + 4) + 8) / 2 flops; public figures count the
// products of all, 2 * 3 * 8 * 8 * 8. Math multiplies whole matrices. The efficient kernel's mask is a number.
TEST(Work, CausalAttentionMakesHalfOfTheScores) {
  const std::vector<int64_t> q = {2, 3, 8, 4};
  const auto work = [&](std::string_view type, std::vector<Value> args) {
    return OneOp(std::string(type))
        .Input(q)
        .Input(q)
        .Input(q)
        .Input(q)
        .Output(q)
        .Args(std::move(args))
        .Get();
  };
  const auto forward = [&](bool causal) {
    return work("aten._scaled_dot_product_flash_attention.default",
                {In(0), In(1), In(2), Value(0.0), Value(causal)});
  };
  EXPECT_EQ(forward(false).flops, 9216);
  EXPECT_EQ(forward(true).flops, 4608);
  EXPECT_EQ(forward(true).macs, 3072);
  EXPECT_EQ(forward(true).bytes_read, forward(false).bytes_read);
  const auto backward = [&](bool causal) {
    return work("aten._scaled_dot_product_flash_attention_backward.default",
                {In(0), In(1), In(2), In(3), Value(), Value(), Value(), Value(), Value(int64_t{8}),
                 Value(int64_t{8}), Value(0.0), Value(causal)});
  };
  EXPECT_EQ(backward(true).flops, backward(false).flops / 2);
  EXPECT_EQ(backward(true).flops, 2.5 * 4608);
  EXPECT_EQ(work("aten._scaled_dot_product_attention_math.default",
                 {In(0), In(1), In(2), Value(), Value(0.0), Value(true)})
                .flops,
            9216);
  const auto efficient = [&](int64_t mask) {
    return work("aten._efficient_attention_forward.default",
                {In(0), In(1), In(2), Value(), Value(), Value(), Value(), Value(), Value(0.0),
                 Value(mask)});
  };
  EXPECT_EQ(efficient(1).flops, efficient(0).flops / 2);
  EXPECT_EQ(efficient(2).flops, efficient(1).flops);
}

// Of eight places the last two see seven and eight keys, the first two one and two; on average as [from, to) says.
TEST(Work, AQueryOfAPartSeesTheKeysUpToItsOwn) {
  const auto work = [&](int64_t from, int64_t to) {
    const auto integers = [](std::vector<int64_t> of) {
      Value::List list;
      for (const int64_t one : of) list.push_back(Value(one));
      return Value(std::move(list));
    };
    return OneOp("placewright.causal_attention_part.default")
        .Input({2, 3, to - from, 4})
        .Input({2, 3, 8, 4})
        .Input({2, 3, 8, 4})
        .Output({2, 3, to - from, 4})
        .Args({In(0), In(1), In(2), Value(0.0), Value(true), integers({2, 1, 8, from, to})})
        .Get();
  };
  EXPECT_EQ(work(0, 8).flops, 4608);
  EXPECT_EQ(work(0, 2).flops, 9216. / 4 / 8);
  EXPECT_EQ(work(6, 8).flops, 9216. / 4 * 7 / 8);
  EXPECT_EQ(work(0, 2).flops + work(2, 7).flops + work(7, 8).flops, work(0, 8).flops);
  EXPECT_EQ(work(6, 8).macs, 2 * 3 * 2 * 8 * 8);
}

// 12 rows in 3 groups by [3, 5, 7]: 12 * 5 * 7 = 420, and so much for each gradient: of the rows
// [12, 7] by [3, 7, 5], of the matrices [5, 12] by [12, 7] to [3, 5, 7].
TEST(Work, GroupedProducts) {
  const auto macs = [](std::vector<int64_t> a, std::vector<int64_t> b, std::vector<int64_t> out) {
    return OneOp("aten._grouped_mm.default")
        .Input(std::move(a))
        .Input(std::move(b))
        .Output(std::move(out))
        .Args({In(0), In(1)})
        .Get()
        .macs;
  };
  EXPECT_EQ(macs({12, 5}, {3, 5, 7}, {12, 7}), 420);
  EXPECT_EQ(macs({12, 7}, {3, 7, 5}, {12, 5}), 420);
  EXPECT_EQ(macs({5, 12}, {12, 7}, {3, 5, 7}), 420);
  EXPECT_EQ(macs({3, 5, 12}, {3, 12, 7}, {3, 5, 7}), 1260);  // 3 * 5 * 7 * 12
}

TEST(Work, BatchedAndBiasedProducts) {
  // 3 * 4 * 6 * 5 = 360
  EXPECT_EQ(
      OneOp("aten.bmm.default").Input({3, 4, 5}).Input({3, 5, 6}).Output({3, 4, 6}).Get().macs,
      360);
  // The bias is added, not multiplied: 4 * 6 * 5 = 120.
  EXPECT_EQ(
      OneOp("aten.addmm.default").Input({6}).Input({4, 5}).Input({5, 6}).Output({4, 6}).Get().macs,
      120);
}

// The public figures count matrix-vector products as nothing; the device works all the same.
TEST(Work, MatrixVectorProductsCountNoMacs) {
  const Work work = OneOp("aten.mv.default").Input({100, 50}).Input({50}).Output({100}).Get();
  EXPECT_EQ(work.macs, 0);
  EXPECT_EQ(work.flops, 10'000);  // 2 * 100 * 50
  EXPECT_EQ(work.op_class, OpClass::kGemv);
}

OneOp Convolution(std::vector<int64_t> weight, int64_t stride, int64_t groups) {
  OneOp op("aten.convolution.default");
  op.Input({2, 16, 8, 8}).Input(std::move(weight)).Output({2, 32, 8, 8});
  op.Args({In(0), In(1), Value(), Ints({stride, stride}), Ints({1, 1}), Ints({1, 1}), Value(false),
           Ints({0, 0}), Int(groups)});
  return op;
}

TEST(Work, ConvolutionCountsOutputTimesFilter) {
  const Work work = Convolution({32, 16, 3, 3}, 1, 1).Get();
  // |out| * |W[1:]| = (2 * 32 * 8 * 8) * (16 * 3 * 3) = 4096 * 144
  EXPECT_EQ(work.macs, 589'824);
  EXPECT_EQ(work.op_class, OpClass::kConvWinograd);
  // Transformed filters: 32 * 16 * 3 * 3 * 4 bytes = 18432, times 16 / 9.
  EXPECT_EQ(work.workspace, Bytes(32'768));
}

TEST(Work, ConvolutionClasses) {
  EXPECT_EQ(Convolution({32, 16, 1, 1}, 1, 1).Get().op_class, OpClass::kConvPointwise);
  EXPECT_EQ(Convolution({32, 16, 3, 3}, 2, 1).Get().op_class, OpClass::kConvDense);
  EXPECT_EQ(Convolution({32, 16, 5, 5}, 1, 1).Get().op_class, OpClass::kConvWinograd);
  EXPECT_EQ(Convolution({32, 16, 1, 7}, 1, 1).Get().op_class, OpClass::kConvDense);
  EXPECT_EQ(Convolution({32, 1, 3, 3}, 1, 16).Get().op_class, OpClass::kConvDepthwise);
  EXPECT_EQ(Convolution({32, 4, 3, 3}, 1, 4).Get().op_class, OpClass::kConvDense);
}

Work ConvolutionBackward(bool input, bool weight) {
  OneOp op("aten.convolution_backward.default");
  op.Input({2, 32, 8, 8}).Input({2, 16, 8, 8}).Input({32, 16, 3, 3});
  if (input) op.Output({2, 16, 8, 8});
  if (weight) op.Output({32, 16, 3, 3});
  op.Args({In(0), In(1), In(2), Value(), Ints({1, 1}), Ints({1, 1}), Ints({1, 1}), Value(false),
           Ints({0, 0}), Int(1), Value(Value::List{Value(input), Value(weight), Value(false)})});
  return op.Get();
}

TEST(Work, ConvolutionBackwardCountsWantedGradientsAlone) {
  EXPECT_EQ(ConvolutionBackward(true, true).macs, 2 * 589'824);
  EXPECT_EQ(ConvolutionBackward(false, true).macs, 589'824);
  EXPECT_EQ(ConvolutionBackward(true, false).macs, 589'824);
  // dy 16384 B is read for each gradient, x 8192 B for the weight's, w 18432 B for the input's.
  EXPECT_EQ(ConvolutionBackward(true, true).bytes_read, Bytes(2 * 16'384 + 8'192 + 18'432));
  EXPECT_EQ(ConvolutionBackward(false, true).bytes_read, Bytes(16'384 + 8'192));
}

TEST(Work, OnnxProducts) {
  // transA: A is 30 x 20, so k = 30: 20 * 50 * 30.
  EXPECT_EQ(OneOp("Gemm")
                .Input({30, 20})
                .Input({30, 50})
                .Output({20, 50})
                .Attribute("transA", Int(1))
                .Get()
                .macs,
            30'000);
  // Sizes b 2, i 3, j 4, k 5: 2 * 3 * 4 * 5 = 120.
  EXPECT_EQ(OneOp("Einsum")
                .Input({2, 3, 4})
                .Input({2, 4, 5})
                .Output({2, 3, 5})
                .Attribute("equation", Value(std::string("bij, bjk -> bik")))
                .Get()
                .macs,
            120);
  // "..." covers 2 x 3: 6 * 4 * 5 * 7 = 840.
  EXPECT_EQ(OneOp("Einsum")
                .Input({2, 3, 4, 5})
                .Input({5, 7})
                .Output({2, 3, 4, 7})
                .Attribute("equation", Value(std::string("...ij,jk->...ik")))
                .Get()
                .macs,
            840);
  // The 7 of x are summed first: 3 * 4 * 5.
  EXPECT_EQ(OneOp("Einsum")
                .Input({3, 4, 7})
                .Input({4, 5})
                .Output({3, 5})
                .Attribute("equation", Value(std::string("ijx,jk->ik")))
                .Get()
                .macs,
            60);
  // |in| * |W[1:]| = (2*16*8*8) * (32*2*2) = 2048 * 128.
  EXPECT_EQ(OneOp("ConvTranspose")
                .Input({2, 16, 8, 8})
                .Input({16, 32, 2, 2})
                .Output({2, 32, 16, 16})
                .Get()
                .macs,
            262'144);
  // s 7, b 2, d 1, i 3, h 5: 7 * 2 * 1 * 4 * 5 * (3 + 5) = 2240.
  EXPECT_EQ(OneOp("LSTM")
                .Input({7, 2, 3})
                .Input({1, 20, 3})
                .Input({1, 20, 5})
                .Output({7, 1, 2, 5})
                .Get()
                .macs,
            2'240);
}

TEST(Work, EmbeddingReadsTheGatheredRowsOnly) {
  const Work work = OneOp("aten.embedding.default")
                        .Input({30'000, 100}, DType::kF32, TensorKind::kParameter)
                        .Input({8}, DType::kI64)
                        .Output({8, 100})
                        .Get();
  EXPECT_EQ(work.bytes_read, Bytes(8 * 100 * 4 + 8 * 8));
  EXPECT_EQ(work.bytes_written, Bytes(8 * 100 * 4));
}

TEST(Work, EmbeddingGradientWritesTheWholeTable) {
  const Work work = OneOp("aten.embedding_dense_backward.default")
                        .Input({8, 100})
                        .Input({8}, DType::kI64)
                        .Output({1000, 100})
                        .Get();
  // Zeroes 400,000 B, then adds 3,200 B: those are read and written once more.
  EXPECT_EQ(work.bytes_written, Bytes(400'000 + 3'200));
  EXPECT_EQ(work.bytes_read, Bytes(3'200 + 64 + 3'200));
}

TEST(Work, EmbeddingBagsReadARowPerIndex) {
  const Work work = OneOp("aten._embedding_bag.default")
                        .Input({1000, 16}, DType::kF32, TensorKind::kParameter)
                        .Input({40}, DType::kI64)
                        .Input({4}, DType::kI64)
                        .Output({4, 16})
                        .Get();
  // 40 rows of 64 B, 40 indices and 4 offsets of 8 B; 4 sums of 64 B.
  EXPECT_EQ(work.bytes_read, Bytes(40 * 64 + 44 * 8));
  EXPECT_EQ(work.bytes_written, Bytes(256));
}

TEST(Work, CreationReadsNothingAndEmptyDoesNothing) {
  const Work ones = OneOp("aten.ones_like.default").Input({10}).Output({10}).Get();
  EXPECT_EQ(ones.bytes_read, Bytes(0));
  EXPECT_EQ(ones.bytes_written, Bytes(40));
  const Work empty = OneOp("aten.empty_like.default").Input({10}).Output({10}).Get();
  EXPECT_EQ(empty.bytes_read + empty.bytes_written, Bytes(0));
  EXPECT_EQ(empty.flops, 0);
}

TEST(Work, InPlaceOpsReadAndWriteTheirOperand) {
  const Work add =
      OneOp("aten.add_.Tensor").Input({10}).Input({10}).Output({10}, DType::kF32, true).Get();
  EXPECT_EQ(add.bytes_read, Bytes(80));
  EXPECT_EQ(add.bytes_written, Bytes(40));
  // bernoulli_ overwrites: the old content is not read.
  const Work mask =
      OneOp("aten.bernoulli_.float").Input({10}).Output({10}, DType::kF32, true).Get();
  EXPECT_EQ(mask.bytes_read, Bytes(0));
  EXPECT_EQ(mask.bytes_written, Bytes(40));
}

TEST(Work, ARepeatedInputIsReadOnce) {
  GraphBuilder builder("g", "aten");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {10}).Take();
  OpSpec spec;
  spec.name = "square";
  spec.type = "aten.mul.Tensor";
  spec.inputs = {x, x};
  OutputSpec output;
  output.name = "square";
  output.shape = {10};
  spec.outputs = {output};
  ASSERT_TRUE(builder.AddOp(spec).ok());
  const Graph graph = std::move(builder).Build().Take();
  EXPECT_EQ(WorkOf(graph, OpId(0)).bytes_read, Bytes(40));
}

TEST(Work, AnExpandedInputCountsWhatItTouches) {
  GraphBuilder builder("g", "aten");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {10, 1}).Take();
  const auto add = [&](std::string name, std::string type, TensorId in, bool view) {
    OpSpec spec;
    spec.name = name;
    spec.type = std::move(type);
    spec.inputs = {in};
    spec.args = {In(0), Ints({10, 100})};
    OutputSpec output;
    output.name = std::move(name);
    output.shape = {10, 100};
    if (view) {
      output.alias = OutputSpec::Alias::kView;
      output.alias_of = 0;
    }
    spec.outputs = {output};
    return builder.AddOp(std::move(spec)).Take().front();
  };
  const TensorId wide = add("wide", "aten.expand.default", x, true);
  add("copy", "aten.clone.default", wide, false);
  const Graph graph = std::move(builder).Build().Take();
  const Work view = WorkOf(graph, graph.FindOp("wide"));
  EXPECT_EQ(view.op_class, OpClass::kView);
  EXPECT_EQ(view.bytes_read + view.bytes_written, Bytes(0));
  const Work copy = WorkOf(graph, graph.FindOp("copy"));
  EXPECT_EQ(copy.bytes_read, Bytes(40));  // 10 floats, not 1000
  EXPECT_EQ(copy.bytes_written, Bytes(4000));
}

TEST(Work, BatchNormalizationReadsTwiceWhenTraining) {
  const auto work = [](bool training) {
    return OneOp("aten.native_batch_norm.default")
        .Input({2, 3, 4, 4})
        .Input({3})
        .Input({3})
        .Input({3})
        .Input({3})
        .Output({2, 3, 4, 4})
        .Args({In(0), In(1), In(2), In(3), In(4), Value(training), Value(0.1), Value(1e-5)})
        .Get();
  };
  // 96 floats = 384 B, and four vectors of 12 B.
  EXPECT_EQ(work(true).bytes_read, Bytes(2 * 384 + 48));
  EXPECT_EQ(work(false).bytes_read, Bytes(384 + 48));
}

TEST(Work, UnknownTypesCostTheirBytesAndSaySo) {
  const Work work = OneOp("org.example.Mystery").Input({10}).Output({20}).Get();
  EXPECT_FALSE(work.known);
  EXPECT_EQ(work.op_class, OpClass::kOther);
  EXPECT_EQ(work.bytes_read, Bytes(40));
  EXPECT_EQ(work.bytes_written, Bytes(80));
  EXPECT_EQ(work.macs, 0);
}

TEST(Work, BatchNormalizationsSumsAreOnePass) {
  const auto work = [](bool gradient_of_x) {
    OneOp op("aten.native_batch_norm_backward.default");
    op.Input({2, 3, 4, 4}).Input({2, 3, 4, 4});
    for (int i = 0; i < 5; ++i) op.Input({3});
    if (gradient_of_x) op.Output({2, 3, 4, 4});
    op.Output({3}).Output({3});
    return op
        .Args({In(0), In(1), In(2), In(3), In(4), In(5), In(6), Value(true), Value(1e-5),
               Value(Value::List{Value(gradient_of_x), Value(true), Value(true)})})
        .Get();
  };
  // 96 floats = 384 B of x and of its gradient, five vectors of 12 B.
  EXPECT_EQ(work(true).bytes_read, Bytes(2 * 768 + 60));
  EXPECT_EQ(work(true).bytes_written, Bytes(384 + 24));
  EXPECT_EQ(work(false).bytes_read, Bytes(768 + 60));
  EXPECT_EQ(work(false).bytes_written, Bytes(24));
}

// Ops that lack what their rule needs must not bring the program down.
TEST(Work, MalformedOpsAreCostedSomehow) {
  for (const char* type : {"aten.mm.default",
                           "aten.addmm.default",
                           "aten.convolution.default",
                           "aten.convolution_backward.default",
                           "aten.embedding.default",
                           "aten.native_batch_norm.default",
                           "aten.max_pool2d_with_indices.default",
                           "aten.nll_loss_forward.default",
                           "Conv",
                           "ConvTranspose",
                           "Gemm",
                           "Einsum",
                           "LSTM",
                           "Gather",
                           "Slice",
                           "aten.index_put_.default",
                           "aten._scaled_dot_product_flash_attention.default",
                           "com.microsoft.Attention",
                           "QLinearConv",
                           "aten.slice_backward.default"}) {
    EXPECT_GE(OneOp(type).Get().macs, 0) << type;
    EXPECT_GE(OneOp(type).Input({}).Output({}).Get().macs, 0) << type;
    EXPECT_GE(OneOp(type).Input({0}).Input({3}).Input({2}).Output({0}).Get().macs, 0) << type;
    EXPECT_GE(
        OneOp(type).Input({3, 4}).Input({5}).Args({In(1), Value(), In(0)}).Output({3}).Get().macs,
        0)
        << type;
  }
}

TEST(Work, SizesSaturate) {
  const int64_t big = int64_t{1} << 28;
  const Work work =
      OneOp("aten.mm.default").Input({big, big}).Input({big, big}).Output({big, big}).Get();
  EXPECT_EQ(work.macs, kMaxQuantity);  // 2^84 in fact
  EXPECT_GT(work.flops, 1e25);
}

TEST(Work, ComputeDTypeIsTheFirstFloatingOne) {
  GraphBuilder builder("g", "aten");
  const TensorId index = builder.AddInput("i", TensorKind::kInput, DType::kI64, {4}).Take();
  const TensorId half = builder.AddInput("h", TensorKind::kInput, DType::kF16, {4}).Take();
  OpSpec spec;
  spec.name = "op";
  spec.type = "aten.mul.Tensor";
  spec.inputs = {index, half};
  OutputSpec output;
  output.name = "op";
  output.shape = {4};
  spec.outputs = {output};
  ASSERT_TRUE(builder.AddOp(spec).ok());
  const Graph graph = std::move(builder).Build().Take();
  EXPECT_EQ(ComputeDType(graph, OpId(0)), DType::kF16);
}

// What compiled steps are put together with: 4-byte elements, derived by hand.
TEST(Work, PartsOfCompiledSteps) {
  // Rows [2, 4) of [8 16]: 32 elements are read and written.
  const Work split = OneOp("placewright.split.default").Input({8, 16}).Output({2, 16}).Get();
  EXPECT_EQ(split.bytes_read, Bytes(128));
  EXPECT_EQ(split.bytes_written, Bytes(128));
  const Work concat =
      OneOp("placewright.concat.default").Input({2, 16}).Input({6, 16}).Output({8, 16}).Get();
  EXPECT_EQ(concat.bytes_read, Bytes(512));
  EXPECT_EQ(concat.bytes_written, Bytes(512));
  // Three parts: two additions for each of 128 elements.
  const Work sum = OneOp("placewright.add_n.default")
                       .Input({8, 16})
                       .Input({8, 16})
                       .Input({8, 16})
                       .Output({8, 16})
                       .Get();
  EXPECT_EQ(sum.bytes_read, Bytes(3 * 512));
  EXPECT_EQ(sum.flops, 256);
  // As embeddings of these sizes.
  const Work lookup = OneOp("placewright.embedding_part.default")
                          .Input({10'000, 100}, DType::kF32, TensorKind::kParameter)
                          .Input({8}, DType::kI64)
                          .Output({8, 100})
                          .Get();
  EXPECT_EQ(lookup.bytes_read, Bytes(8 * 100 * 4 + 8 * 8));
  EXPECT_EQ(lookup.bytes_written, Bytes(8 * 100 * 4));
  const Work gradient = OneOp("placewright.embedding_dense_backward_part.default")
                            .Input({8, 100})
                            .Input({8}, DType::kI64)
                            .Output({1000, 100})
                            .Get();
  EXPECT_EQ(gradient.bytes_written, Bytes(400'000 + 3'200));
  EXPECT_TRUE(gradient.known);
  for (const char* const type : {"all_reduce", "all_gather", "reduce_scatter", "broadcast"}) {
    const Work member =
        OneOp(std::string("placewright.") + type + ".default").Input({8, 16}).Output({8, 16}).Get();
    EXPECT_EQ(member.bytes_read + member.bytes_written, Bytes(0)) << type;
    EXPECT_EQ(member.flops, 0) << type;
    EXPECT_TRUE(member.known) << type;
  }
}

}  // namespace
}  // namespace placewright
