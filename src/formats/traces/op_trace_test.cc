#include "formats/traces/op_trace.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

using testing::HasSubstr;

// Two ops, one inside the other, on the CPU.
constexpr const char* kCpu = R"({"schemaVersion": 1, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 100.5, "dur": 50.25,
   "args": {"External id": 1, "Input Dims": [[8, 4], [3, 4], [3]],
            "Input type": ["float", "float", "float"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 110, "dur": 30.125,
   "args": {"External id": 2, "Input Dims": [[3], [8, 4], [4, 3], [], []],
            "Input type": ["float", "c10::Half", "float", "Scalar", "Scalar"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::cat", "pid": 7, "tid": 8, "ts": 111, "dur": 1,
   "args": {"External id": 3, "Input Dims": [[[2, 3], [4, 3]], []],
            "Input type": ["TensorList", "Scalar"]}}
], "traceName": "x.json"})";

TEST(OpTrace, ReadsOpsOfPyTorchWithTheirInputs) {
  const Result<OpTrace> read = ReadOpTrace(kCpu);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  const OpTrace& trace = read.value();
  EXPECT_EQ(trace.source, "PyTorch");
  EXPECT_FALSE(trace.on_device);
  ASSERT_EQ(trace.ops.size(), 3u);
  EXPECT_EQ(trace.ops[0].time, Nanos(50'250));
  EXPECT_EQ(trace.ops[0].parent, -1);
  EXPECT_EQ(trace.ops[1].parent, 0);
  EXPECT_EQ(trace.ops[1].time, Nanos(30'125));
  EXPECT_EQ(trace.ops[2].parent, -1);  // another thread
  ASSERT_EQ(trace.ops[1].inputs.size(), 3u);
  EXPECT_EQ(trace.ops[1].inputs[1].dtype, DType::kF16);
  EXPECT_EQ(trace.ops[1].inputs[1].shape, (std::vector<int64_t>{8, 4}));
  ASSERT_EQ(trace.ops[2].inputs.size(), 2u);
  EXPECT_EQ(trace.ops[2].inputs[1].shape, (std::vector<int64_t>{4, 3}));
}

// Kernels belong to the op that launched them, by its id or by the time of the launch.
TEST(OpTrace, CountsTheKernelsOfAnOpAndOfThoseInsideIt) {
  const std::string text = R"([
  {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 100, "dur": 50,
   "args": {"External id": 1, "Input Dims": [[8, 4]], "Input type": ["float"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 110, "dur": 30,
   "args": {"External id": 2, "Input Dims": [[8, 4]], "Input type": ["float"]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 120,
   "dur": 5, "args": {"correlation": 11}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 145,
   "dur": 5, "args": {"correlation": 12}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 500, "dur": 20,
   "args": {"External id": 2, "correlation": 10}},
  {"ph": "X", "cat": "kernel", "name": "bias", "pid": 0, "tid": 7, "ts": 520, "dur": 3,
   "args": {"correlation": 11}},
  {"ph": "X", "cat": "kernel", "name": "relu", "pid": 0, "tid": 7, "ts": 530, "dur": 4,
   "args": {"correlation": 12}},
  {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 540, "dur": 900, "args": {}}
])";
  const Result<OpTrace> read = ReadOpTrace(text);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_TRUE(read.value().on_device);
  EXPECT_EQ(read.value().ops[0].time, Nanos(27'000));
  EXPECT_EQ(read.value().ops[1].time, Nanos(23'000));
  EXPECT_EQ(read.value().lost, Nanos(900'000));
}

// An inner op whose end was rounded behind the outer one's is inside all the same.
TEST(OpTrace, NestsByTimesThatAreRounded) {
  const std::string text = R"([
  {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 1689861288827753.0,
   "dur": 10.1, "args": {"Input Dims": [[8, 4]], "Input type": ["float"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 1689861288827755.0,
   "dur": 8.3, "args": {"Input Dims": [[8, 4]], "Input type": ["c10::Float8_e4m3fn"]}}
])";
  const Result<OpTrace> read = ReadOpTrace(text);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().ops[1].parent, 0);
  EXPECT_EQ(read.value().ops[1].inputs[0].dtype, DType::kOpaque);  // no float of 32 bits
}

TEST(OpTrace, HugeTimesAreNone) {
  std::string text = "[";
  for (int i = 0; i < 20; ++i) {
    text +=
        R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 3.5e9, "args": {"External id": 1}},)";
  }
  text +=
      R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 9e14, "args": {"External id": 1}},)";
  text += R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2,
              "args": {"External id": 1, "Input Dims": [[1]]}}])";
  const Result<OpTrace> read = ReadOpTrace(text);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().ops[0].time, Nanos(20 * int64_t{3'500'000'000'000}));
}

TEST(OpTrace, ReadsNodesOfOnnxRuntime) {
  const std::string text = R"([
  {"cat": "Session", "pid": 1, "tid": 1, "dur": 900, "ts": 1, "ph": "X", "name": "model_run",
   "args": {}},
  {"cat": "Node", "pid": 1, "tid": 1, "dur": 1, "ts": 2, "ph": "X", "name": "conv1_fence_before",
   "args": {"op_name": "Conv"}},
  {"cat": "Node", "pid": 1, "tid": 1, "dur": 120, "ts": 3, "ph": "X", "name": "conv1_kernel_time",
   "args": {"op_name": "Conv", "provider": "CUDAExecutionProvider",
            "input_type_shape": [{"float": [1, 3, 8, 8]}, {"float": [4, 3, 3, 3]}],
            "output_type_shape": [{"float": [1, 4, 6, 6]}]}},
  {"cat": "Kernel", "pid": -1, "tid": 1, "dur": 77, "ts": 5, "ph": "X", "name": "implicit_gemm",
   "args": {}}
])";
  const Result<OpTrace> read = ReadOpTrace(text);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().source, "ONNX Runtime");
  EXPECT_TRUE(read.value().on_device);
  ASSERT_EQ(read.value().ops.size(), 1u);
  EXPECT_EQ(read.value().ops[0].name, "conv1");
  EXPECT_EQ(read.value().ops[0].type, "Conv");
  EXPECT_EQ(read.value().ops[0].time, Nanos(77'000));  // not the host's 120
  EXPECT_EQ(read.value().ops[0].inputs[1].shape, (std::vector<int64_t>{4, 3, 3, 3}));
  ASSERT_EQ(read.value().ops[0].outputs.size(), 1u);
  EXPECT_EQ(read.value().ops[0].outputs[0].shape, (std::vector<int64_t>{1, 4, 6, 6}));
  EXPECT_TRUE(read.value().leaves_weights_out);
}

TEST(OpTrace, RefusesWhatHasNoTimesOfOps) {
  const auto error = [](const char* text) { return ReadOpTrace(text).error(); };
  EXPECT_EQ(error("").code, ErrorCode::kFormatUnknown);
  EXPECT_EQ(error("ts,dur").code, ErrorCode::kFormatUnknown);
  EXPECT_EQ(error("{\"ops\": []}").code, ErrorCode::kFormatUnknown);
  EXPECT_EQ(error("{\"traceEvents\": []}").code, ErrorCode::kFormatUnknown);
  EXPECT_EQ(error("[{\"ph\": \"X\", \"cat\": \"cpu_op\"").code, ErrorCode::kSyntax);
  EXPECT_EQ(error("[{\"cat\": \"Node\", \"name\": \"a_fence_before\"}]").code, ErrorCode::kField);
  EXPECT_EQ(error("[3, null, {\"ph\": 7}]").code, ErrorCode::kField);
  const Error shapes = error(
      "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"ts\": 1, \"dur\": 2}]");
  EXPECT_EQ(shapes.code, ErrorCode::kField);
  EXPECT_THAT(shapes.remedy, HasSubstr("record_shapes=True"));
  // Times that no op can have are left out.
  EXPECT_EQ(
      error("[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"ts\": 1, \"dur\": -2}]").code,
      ErrorCode::kField);
}

}  // namespace
}  // namespace placewright
