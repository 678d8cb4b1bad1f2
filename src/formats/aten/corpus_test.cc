// Every recorded training step of the shared data: the figures of its index, and properties that
// hold for every such file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <ostream>
#include <set>

#include "formats/aten/reader.h"
#include "formats/text/file.h"
#include "graph/test_blocks.h"
#include "graph/uncovered_order_edges.h"

namespace placewright {
namespace {

struct Row {
  const char* file;
  size_t ops, edges;
  double mega_parameters;    // as the index prints them: one decimal
  size_t forward, backward;  // ops
  size_t views;              // ops marked as views in the file
  size_t groups;             // colocation groups
  size_t write_after_read;   // order edges that no data path implies
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.file; }
};

// Ops, edges, parameters and phases: the index. Groups and order edges of bert (1,004; 73),
// gnmt_l8 (16,574) and tiny_rnnlm (98) were computed independently; the others are this program's,
// held fast.
const Row kRows[] = {
    {"alexnet_b4_sgd", 143, 173, 61.1, 33, 46, 20, 64, 3},
    {"bert_base_qa_b24_s384_adam", 3667, 4325, 108.9, 862, 1213, 1089, 1004, 73},
    {"bert_base_qa_b24_s384_sgd", 2871, 3330, 108.9, 862, 1213, 1089, 1004, 73},
    {"gnmt_l2_b128_s40_adam", 8031, 13458, 118.7, 2707, 5100, 1511, 4910, 9},
    {"gnmt_l8_b128_s40_adam", 26931, 45330, 244.6, 9133, 17190, 5027, 16574, 21},
    {"gpt2_small_b4_s1024_adam", 3019, 3611, 124.4, 842, 993, 751, 1074, 48},
    {"mobilenet_v3_large_b64_sgd", 1194, 1409, 5.5, 261, 237, 23, 604, 23},
    {"nn_transformer_base_b32_s64_adam", 3551, 4301, 44.1, 892, 1187, 1011, 1098, 64},
    {"resnet50_b32_adam", 1705, 2058, 25.6, 231, 186, 9, 504, 1},
    {"resnet50_b32_sgd", 1061, 1253, 25.6, 231, 186, 9, 504, 1},
    {"rnnlm_2x650_b20_t35_sgd", 2761, 4648, 28.4, 944, 1777, 524, 1713, 2},
    {"tiny_bert_l2_b2_s64_adam", 707, 835, 38.0, 172, 223, 199, 204, 13},
    {"tiny_rnnlm_1x64_b2_t3_sgd", 184, 266, 0.1, 63, 97, 45, 98, 1},
    {"vgg19_b96_sgd", 279, 335, 143.7, 57, 70, 20, 123, 3},
    {"wavenet_10x4_b8_adam", 3334, 4059, 0.7, 1009, 1013, 616, 1495, 0},
};

class AtenCorpus : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    const std::string folder = std::string(PLACEWRIGHT_SHARED_DATA) + "/fx";
    if (!std::filesystem::is_directory(folder)) {
      GTEST_SKIP() << "no recorded graphs: " << folder << " is not there";
    }
    const Result<std::string> text = ReadFile(folder + "/" + GetParam().file + ".json.gz");
    ASSERT_TRUE(text.ok()) << text.error().ToString();
    Result<Graph> graph = ReadAtenGraph(text.value());
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    graph_ = std::move(graph).Take();
  }
  // WaveNet never uses the last of its 165 parameters: it has no gradient and no update.
  size_t TrainedParameters() const {
    size_t trained = 0;
    for (StorageId id : graph_.storages()) {
      const Storage& storage = graph_.storage(id);
      trained += storage.kind == TensorKind::kParameter && storage.versions.size() > 1 ? 1 : 0;
    }
    return trained;
  }
  Graph graph_;
};

TEST_P(AtenCorpus, FiguresOfTheIndex) {
  const Row& row = GetParam();
  EXPECT_EQ(graph_.op_count(), row.ops);
  EXPECT_EQ(graph_.edge_count(), row.edges);
  int64_t parameters = 0;
  for (StorageId id : graph_.storages()) {
    if (graph_.storage(id).kind == TensorKind::kParameter) {
      parameters += graph_.storage(id).bytes.count / 4;  // all are f32
    }
  }
  EXPECT_NEAR(static_cast<double>(parameters) / 1e6, row.mega_parameters, 0.0501);
  size_t phases[3] = {0, 0, 0};
  size_t views = 0;
  for (OpId id : graph_.ops()) {
    const Op& op = graph_.op(id);
    ++phases[static_cast<int>(op.phase)];
    // The index counts marks; these two kinds of views carry none.
    views += op.is_view && op.type != "aten._unsafe_view.default" &&
                     op.type != "aten.unsafe_split.Tensor"
                 ? 1
                 : 0;
  }
  EXPECT_EQ(phases[0], row.forward);
  EXPECT_EQ(phases[1], row.backward);
  EXPECT_EQ(phases[2], row.ops - row.forward - row.backward);
  EXPECT_EQ(views, row.views);
}

TEST_P(AtenCorpus, GroupsAndOrderEdges) {
  EXPECT_EQ(graph_.group_count(), GetParam().groups);
  EXPECT_EQ(OrderEdgesWithoutDataPath(graph_, OrderKind::kWriteAfterRead).size(),
            GetParam().write_after_read);
  for (const OrderEdge& edge : graph_.order_edges()) {
    const auto consumers = graph_.consumers(edge.from);
    EXPECT_EQ(std::count(consumers.begin(), consumers.end(), edge.to), 0);
  }
}

// Layers that are equal forward are so backward and in the update, whatever tensors they share.
TEST_P(AtenCorpus, EqualBlocksHaveEqualOps) {
  const BlockCensus census(graph_);
  EXPECT_THAT(census.differences(), ::testing::IsEmpty());
  // The layers of the language models read different things and stand alone.
  const std::map<std::string, size_t> kBlocks = {{"alexnet_b4_sgd", 18},
                                                 {"bert_base_qa_b24_s384_sgd", 12},
                                                 {"gnmt_l2_b128_s40_adam", 0},
                                                 {"resnet50_b32_adam", 78},
                                                 {"rnnlm_2x650_b20_t35_sgd", 0},
                                                 {"tiny_bert_l2_b2_s64_adam", 2},
                                                 {"tiny_rnnlm_1x64_b2_t3_sgd", 0},
                                                 {"vgg19_b96_sgd", 42},
                                                 {"wavenet_10x4_b8_adam", 161},
                                                 {"bert_base_qa_b24_s384_adam", 12},
                                                 {"gpt2_small_b4_s1024_adam", 36},
                                                 {"gnmt_l8_b128_s40_adam", 12},
                                                 {"nn_transformer_base_b32_s64_adam", 52},
                                                 {"resnet50_b32_sgd", 78},
                                                 {"mobilenet_v3_large_b64_sgd", 30}};
  const auto expected = kBlocks.find(GetParam().file);
  ASSERT_NE(expected, kBlocks.end());
  EXPECT_EQ(census.compared(), expected->second) << GetParam().file;
}

TEST_P(AtenCorpus, NoGroupSpansTwoParameters) {
  IdVector<GroupId, std::set<StorageId>> parameters(graph_.group_count());
  const auto touch = [&](OpId op, TensorId tensor) {
    const StorageId storage = graph_.tensor(tensor).storage;
    if (graph_.storage(storage).kind == TensorKind::kParameter) {
      parameters[graph_.group(op)].insert(storage);
    }
  };
  for (OpId id : graph_.ops()) {
    for (TensorId output : graph_.op(id).outputs) touch(id, output);
    for (TensorId written : graph_.op(id).writes) touch(id, written);
  }
  size_t groups_with_parameters = 0;
  for (const std::set<StorageId>& held : parameters) {
    EXPECT_LE(held.size(), 1u);
    groups_with_parameters += held.size();
  }
  EXPECT_EQ(groups_with_parameters, TrainedParameters());  // each is updated in one group
}

// Each trained parameter has one gradient, and its update lies in its group and module.
TEST_P(AtenCorpus, GradientsStateAndUpdates) {
  size_t gradients = 0;
  for (StorageId id : graph_.storages()) {
    gradients += graph_.storage(id).kind == TensorKind::kGradient ? 1 : 0;
  }
  EXPECT_EQ(gradients, TrainedParameters());
  for (OpId id : graph_.ops()) {
    const Op& op = graph_.op(id);
    if (op.phase != Phase::kOptimizer) continue;
    for (TensorId input : op.inputs) {
      const StorageId storage = graph_.tensor(input).storage;
      const TensorKind kind = graph_.storage(storage).kind;
      if (kind != TensorKind::kParameter && kind != TensorKind::kOptimizerState) continue;
      EXPECT_EQ(graph_.group(id), graph_.group(graph_.home_op(storage))) << op.name;
      // "param:m.fc.weight" and "opt_state:m.fc.weight.exp_avg" begin with the module's path
      const std::string& name = graph_.tensor(graph_.storage(storage).first).name;
      const std::string path = name.substr(name.find(':') + 1);
      const std::string& module = graph_.module_path(op.module);
      EXPECT_TRUE(path.starts_with(module + ".")) << op.name << ": " << module;
    }
  }
}

// What comes before the first layer (masks, positions) and behind the last (the loss) is in no
// module.
TEST_P(AtenCorpus, EveryOpBetweenLayersHasAModule) {
  std::vector<OpId> forward;
  for (OpId id : graph_.ops()) {
    const Op& op = graph_.op(id);
    if (op.phase == Phase::kForward) forward.push_back(id);
    if (op.phase == Phase::kOptimizer) {
      EXPECT_NE(op.module, ModuleId(0)) << op.name;
    }
  }
  const auto in_module = [&](OpId id) { return graph_.op(id).module != ModuleId(0); };
  const auto first = std::find_if(forward.begin(), forward.end(), in_module);
  const auto last = std::find_if(forward.rbegin(), forward.rend(), in_module).base();
  for (auto it = first; it != last; ++it) EXPECT_TRUE(in_module(*it)) << graph_.op(*it).name;
  EXPECT_LE(first - forward.begin(), 10);
  EXPECT_LE(forward.end() - last, 15);
}

std::string NameOfCase(const ::testing::TestParamInfo<Row>& info) { return info.param.file; }
INSTANTIATE_TEST_SUITE_P(Fx, AtenCorpus, ::testing::ValuesIn(kRows), NameOfCase);

}  // namespace
}  // namespace placewright
