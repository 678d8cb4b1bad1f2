// Named axes of real ONNX files: what multiplies has a rule, and where the batch is proven, the axis that
// rules find is what readings at several sizes prove.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cost/work.h"
#include "formats/onnx/reader.h"
#include "formats/text/file.h"
#include "graph/batch/at_batch.h"
#include "sharding/named_axes.h"

namespace placewright {
namespace {

using testing::IsEmpty;

const std::string kData = PLACEWRIGHT_SHARED_DATA;
constexpr int64_t kBatch = 6;

// All files of the folder, of other tools too, in the order of their paths.
std::vector<std::string> OnnxFiles() {
  std::vector<std::string> files;
  for (const char* folder : {"/onnx", "/public/onnx-light", "/public/onnxruntime"}) {
    std::error_code missing;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(kData + folder, missing)) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

#define SKIP_WITHOUT_DATA() \
  if (OnnxFiles().empty()) GTEST_SKIP() << "no ONNX files at " << kData

// At a batch of kBatch if the file can be read so, else at its own.
Graph ReadProven(const std::string& file) {
  OnnxOptions options;
  options.prove_batch = true;
  options.assume_dimensions = true;
  const std::string bytes = ReadFile(file).Take();
  options.batch = kBatch;
  Result<Graph> at_batch = ReadOnnx(bytes, options);
  if (at_batch.ok()) return std::move(at_batch).Take();
  options.batch.reset();
  return ReadOnnx(bytes, options).Take();
}

bool IsProven(const Graph& graph) {
  return graph.batch_scaling() != nullptr && graph.batch_scaling()->reason.empty();
}

// "Conv of file" for each op of the graph for which `holds`.
template <class Predicate>
std::set<std::string> OpsWhere(const Graph& graph, const std::string& file,
                               const Predicate& holds) {
  std::set<std::string> ops;
  for (const OpId op : graph.ops()) {
    if (holds(op)) {
      ops.insert(std::string(graph.op(op).type) + " of " +
                 std::filesystem::path(file).filename().string());
    }
  }
  return ops;
}

// Of a file whose batch is stated: the axis of the first input's dimension that is as long; or none.
AxisId StatedBatchAxis(const Graph& graph, const NamedAxes& axes) {
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kInput || graph.batch() < 2) continue;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      if (tensor.shape[d] == graph.batch() && axes.factors(id, d).size() == 1) {
        return axes.factors(id, d)[0];
      }
    }
  }
  return AxisId();
}

// The batch dimensions of every tensor: each that follows it, and no other.
void ExpectAxesFollow(const Graph& graph, const NamedAxes& axes, const std::string& file) {
  for (const TensorId id : graph.tensors()) {
    std::map<size_t, int64_t> slopes;
    std::set<size_t> products;  // of the batch with itself
    for (const DimensionLaw& item : graph.batch_scaling()->dimensions[id]) {
      if (!item.product.empty()) products.insert(static_cast<size_t>(item.dimension));
      slopes[static_cast<size_t>(item.dimension)] = item.slope;
    }
    for (size_t d = 0; d < graph.tensor(id).shape.size(); ++d) {
      if (products.contains(d)) continue;
      int64_t slope = 0;
      for (const AxisId factor : axes.factors(id, d)) {
        if (factor == axes.batch()) slope = graph.tensor(id).shape[d] / graph.batch();
      }
      const OpId maker = graph.tensor(id).producer;
      EXPECT_EQ(slope, slopes[d]) << file << ": " << graph.tensor(id).name << " dimension " << d
                                  << " of " << (maker.valid() ? graph.op(maker).type : "input");
    }
  }
}

// Of every op that the batch splits: at three sizes its outputs have the verdict's shape.
void ExpectVerdictsFollow(const Graph& graph, const NamedAxes& axes, const std::string& file) {
  for (const OpId op : graph.ops()) {
    if (!axes.SplitBy(op, axes.batch()).valid()) continue;
    for (size_t i = 0; i < graph.op(op).outputs.size(); ++i) {
      const TensorId output = graph.op(op).outputs[i];
      const bool parts = axes.verdict(op, axes.batch(), i) == PartVerdict::kConcat;
      for (const int64_t size : graph.batch_scaling()->sizes) {
        std::vector<int64_t> expected = graph.tensor(output).shape;
        for (size_t d = 0; parts && d < expected.size(); ++d) {
          for (const AxisId factor : axes.factors(output, d)) {
            if (factor == axes.batch()) expected[d] = expected[d] / graph.batch() * size;
          }
        }
        EXPECT_EQ(ShapeAt(graph, output, size).Take(), expected)
            << file << ": " << graph.op(op).name << " " << graph.op(op).type << " at " << size;
      }
    }
  }
}

TEST(OnnxAxes, WhatMultipliesHasARule) {
  SKIP_WITHOUT_DATA();
  std::map<std::string, int> without;
  for (const std::string& file : OnnxFiles()) {
    const Graph graph = ReadProven(file);
    EXPECT_THAT(OpsWhere(graph, file,
                         [&](OpId op) {
                           return WorkOf(graph, op).macs > 0 && !RuleOf(graph, op).has_value();
                         }),
                IsEmpty());
    for (const OpId op : graph.ops()) {
      if (!RuleOf(graph, op)) ++without[std::string(graph.op(op).type)];
    }
  }
  // Sub-graphs.
  for (const auto& [type, count] : without) {
    EXPECT_TRUE(type == "Scan" || type == "com.microsoft.BeamSearch") << count << " of " << type;
  }
}

TEST(OnnxAxes, TheBatchIsWhatReadingsProve) {
  SKIP_WITHOUT_DATA();
  int proven = 0;
  for (const std::string& file : OnnxFiles()) {
    const Graph graph = ReadProven(file);
    const NamedAxes axes(graph);
    EXPECT_EQ(axes.batch().valid(), IsProven(graph) && graph.batch() > 1) << file;
    if (!axes.batch().valid()) continue;
    ++proven;
    ExpectAxesFollow(graph, axes, file);
    ExpectVerdictsFollow(graph, axes, file);
    EXPECT_THAT(OpsWhere(graph, file,
                         [&](OpId op) {
                           return WorkOf(graph, op).macs > 0 && axes.Touches(op, axes.batch()) &&
                                  !axes.SplitBy(op, axes.batch()).valid();
                         }),
                IsEmpty());
  }
  // Of files whose constants do not fix the batch.
  EXPECT_GE(proven, 18);
}

// Where constants fix the batch, nothing proves it, and the rules find it all the same: what the first input
// is split by goes through the whole model.
TEST(OnnxAxes, ABatchThatConstantsFixGoesThrough) {
  SKIP_WITHOUT_DATA();
  int fixed = 0;
  for (const std::string& file : OnnxFiles()) {
    const Graph graph = ReadProven(file);
    if (IsProven(graph)) continue;
    const NamedAxes axes(graph);
    const AxisId batch = StatedBatchAxis(graph, axes);
    if (!batch.valid()) continue;
    int64_t split = 0, all = 0;
    for (const OpId op : graph.ops()) {
      if (WorkOf(graph, op).macs == 0) continue;
      ++all;
      split += axes.SplitBy(op, batch).valid() ? 1 : 0;
    }
    if (all == 0) continue;
    ++fixed;
    // Projections of the relative positions are for all samples.
    const bool has_positions = file.find("transformer_xl") != std::string::npos;
    EXPECT_EQ(all - split, has_positions ? 13 : 0) << file;
  }
  EXPECT_GE(fixed, 12);
}

}  // namespace
}  // namespace placewright
