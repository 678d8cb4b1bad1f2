#include "bench/costs/mixed_rows.h"

#include <vector>

#include "bench/costs/rescale.h"
#include "capture/step/model_step.h"
#include "cluster/catalogue.h"

namespace placewright::bench {
namespace {

constexpr auto kAsIs = CapturePrecision::kAsIs, kF16 = CapturePrecision::kF16;
constexpr auto kFp32 = FloatPrecision::kFp32, kTf32 = FloatPrecision::kTf32;
constexpr bool kFit = true, kHeldOut = false;

// DLE21: NVIDIA DeepLearningExamples, PyTorch, container 21.03 (ResNet-50 v1.5) and 21.11 (BERT-Large,
// SQuAD); mixed precision of images in channels-last layout.
// LB20, LB22, LB24: Lambda's benchmarks of the same models, containers 20.01 and 20.10, 22.09, 24.03.
// TIMM: benchmarks of pytorch-image-models, PyTorch 1.12, channels-last layout.
const std::vector<MixedRow>& Rows() {
  static const std::vector<MixedRow> rows = {
      {"V100-16GB", "resnet-50", 112, kAsIs, kFp32, 367, kHeldOut, "DLE21"},
      {"V100-16GB", "resnet-50", 256, kF16, kFp32, 1200, kFit, "DLE21"},
      {"V100-32GB", "resnet-50", 256, kF16, kFp32, 1156, kHeldOut, "DLE21"},
      {"V100-16GB", "bert-base", 24, kAsIs, kFp32, 42, kHeldOut, "LB22"},
      {"V100-16GB", "bert-base", 48, kF16, kFp32, 189, kHeldOut, "LB22"},
      {"V100-16GB", "bert-large", 8, kAsIs, kFp32, 12, kHeldOut, "LB22"},
      {"V100-16GB", "bert-large", 16, kF16, kFp32, 57, kHeldOut, "LB22"},
      {"V100-32GB", "bert-large", 16, kF16, kFp32, 52, kHeldOut, "DLE21"},
      {"RTX-2080Ti", "bert-base", 10, kAsIs, kFp32, 30, kHeldOut, "LB20"},
      {"RTX-2080Ti", "bert-base", 20, kF16, kFp32, 88, kFit, "LB20"},
      {"RTX-2080Ti", "bert-large", 4, kF16, kFp32, 23, kHeldOut, "LB20"},
      {"A100-80GB", "resnet-50", 256, kAsIs, kTf32, 938, kHeldOut, "DLE21"},
      {"A100-80GB", "resnet-50", 256, kF16, kTf32, 2470, kFit, "DLE21"},
      {"A100-80GB", "bert-large", 32, kAsIs, kTf32, 61.5, kHeldOut, "DLE21"},
      {"A100-80GB", "bert-large", 32, kF16, kTf32, 110.5, kHeldOut, "DLE21"},
      {"A100-80GB", "bert-base", 172, kAsIs, kTf32, 239, kHeldOut, "LB22"},
      {"A100-80GB", "bert-base", 320, kF16, kTf32, 443, kFit, "LB22"},
      {"A100-80GB", "bert-large", 64, kAsIs, kTf32, 75, kHeldOut, "LB22"},
      {"A100-80GB", "bert-large", 112, kF16, kTf32, 152, kHeldOut, "LB22"},
      {"A100-40GB", "bert-base", 48, kAsIs, kTf32, 154, kHeldOut, "LB20"},
      {"A100-40GB", "bert-base", 88, kF16, kTf32, 335, kHeldOut, "LB20"},
      {"A100-40GB", "bert-large", 32, kF16, kTf32, 107, kHeldOut, "LB20"},
      {"RTX-3090", "resnet-50", 512, kF16, kTf32, 1218, kFit, "TIMM"},
      {"RTX-3090", "resnet-101", 256, kF16, kTf32, 748, kHeldOut, "TIMM"},
      {"RTX-3090", "vgg-16", 384, kF16, kTf32, 546, kFit, "TIMM"},
      {"RTX-3090", "vgg-19", 384, kF16, kTf32, 457, kHeldOut, "TIMM"},
      {"RTX-3090", "bert-base", 48, kAsIs, kTf32, 85, kHeldOut, "LB22"},
      {"RTX-3090", "bert-base", 96, kF16, kTf32, 172, kFit, "LB22"},
      {"RTX-3090", "bert-large", 28, kF16, kTf32, 52, kHeldOut, "LB22"},
      {"RTX-4090", "bert-base", 48, kAsIs, kTf32, 137, kHeldOut, "LB22"},
      {"RTX-4090", "bert-base", 96, kF16, kTf32, 297, kHeldOut, "LB22"},
      {"RTX-4090", "bert-large", 16, kAsIs, kTf32, 44, kHeldOut, "LB22"},
      {"RTX-4090", "bert-large", 28, kF16, kTf32, 93, kHeldOut, "LB22"},
      {"H100", "bert-base", 172, kAsIs, kTf32, 432, kHeldOut, "LB24"},
      {"H100", "bert-base", 320, kF16, kTf32, 858, kHeldOut, "LB24"},
      {"H100", "bert-large", 64, kAsIs, kTf32, 145, kHeldOut, "LB24"},
      {"H100", "bert-large", 112, kF16, kTf32, 311, kHeldOut, "LB24"},
      {"H100-PCIe", "bert-base", 320, kF16, kTf32, 580, kHeldOut, "LB24"},
      {"H100-PCIe", "bert-large", 112, kF16, kTf32, 204, kHeldOut, "LB24"},
  };
  return rows;
}

}  // namespace

std::span<const MixedRow> MixedRows() { return Rows(); }

Result<Graph> Record(const MixedRow& row) {
  const bool texts = row.model.starts_with("bert");
  CaptureRequest request{std::string(row.model), texts ? Training::kAdam : Training::kSgd,
                         row.values};
  request.values["batch"] = static_cast<double>(row.batch);
  request.precision = row.amp;
  request.prove_batch = false;
  PW_ASSIGN(Capture capture, CaptureZooModel(request));
  return std::move(capture.graph);
}

double PredictedPerSecond(const MixedRow& row, const Graph& graph) {
  const Nanos time = StepTime(graph, *FindKind(row.kind), 1, row.precision);
  return static_cast<double>(row.batch) / Seconds(time);
}

}  // namespace placewright::bench
