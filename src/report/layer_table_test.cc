#include "report/layer_table.h"

#include <gmock/gmock.h>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A forward op of 10 ns and an optimizer op of 1 ns, which writes the parameter of 1,024 B, for
// each module; where each pair runs is the test's.
class LayerTable : public testing::Test {
 protected:
  void AddLayer(const std::string& module, int32_t device, int32_t update_on = -1) {
    const std::string n = std::to_string(ops_.size());
    const TensorId w =
        builder_.AddInput("w" + n, TensorKind::kParameter, DType::kF32, {256}).Take();
    AddOp("f" + n, Phase::kForward, module, {w}, {}, device, Nanos(10));
    AddOp("u" + n, Phase::kOptimizer, module, {w}, {0}, update_on < 0 ? device : update_on,
          Nanos(1));
  }

  std::vector<LayerRow> Rows(size_t lines = 24) {
    graph_.emplace(std::move(builder_).Build().Take());
    Placement placement(graph_->op_count(), DeviceId(0));
    Schedule schedule;
    schedule.ops.assign(graph_->op_count(), {});
    for (OpId op : graph_->ops()) {
      placement[op] = DeviceId(ops_[op.index()].first);
      schedule.ops[op] = {Nanos(100), Nanos(100) + ops_[op.index()].second};
    }
    return LayersByDevice(*graph_, placement, schedule, lines);
  }

  static Cluster Pair() {
    ClusterBuilder cluster("pair");
    const int32_t kind = cluster.AddKind({.name = "K"}).Take();
    for (const char* name : {"d0", "d1"}) {
      EXPECT_TRUE(cluster.AddDevice({.name = name, .kind = kind}).ok());
    }
    return std::move(cluster).Build().Take();
  }

  static std::vector<std::string> Names(const std::vector<LayerRow>& rows) {
    std::vector<std::string> names;
    for (const LayerRow& row : rows) names.push_back(row.name);
    return names;
  }

 private:
  void AddOp(const std::string& name, Phase phase, const std::string& module,
             std::vector<TensorId> inputs, std::vector<int32_t> writes, int32_t device,
             Nanos time) {
    OpSpec spec;
    spec.name = name;
    spec.type = "test.op";
    spec.phase = phase;
    spec.module = module;
    spec.inputs = std::move(inputs);
    spec.writes.assign(writes.begin(), writes.end());
    if (writes.empty()) {
      OutputSpec output;
      output.name = name;
      output.shape = {1};
      spec.outputs = {output};
    }
    ASSERT_TRUE(builder_.AddOp(std::move(spec)).ok());
    ops_.emplace_back(device, time);
  }

  GraphBuilder builder_{"net", "aten"};
  std::vector<std::pair<int32_t, Nanos>> ops_;
  std::optional<Graph> graph_;
};

TEST_F(LayerTable, RepeatedModulesOnOneDeviceAreOneRow) {
  AddLayer("embed", 0);
  for (int i = 0; i < 12; ++i) AddLayer("layers." + std::to_string(i) + ".mlp", i < 5 ? 0 : 1);
  AddLayer("head", 1);
  const std::vector<LayerRow> rows = Rows();
  EXPECT_THAT(Names(rows), ElementsAre("embed", "layers.0-4", "layers.5-11", "head"));
  EXPECT_EQ(rows[1].modules.size(), 5u);
  EXPECT_EQ(rows[1].modules[4], "layers.4");
  // Seven layers of two ops, 10 + 1 ns and 1,024 B each.
  ASSERT_EQ(rows[2].shares.size(), 1u);
  EXPECT_EQ(rows[2].shares[0].device, DeviceId(1));
  EXPECT_EQ(rows[2].shares[0].ops, 14);
  EXPECT_EQ(rows[2].shares[0].time, Nanos(77));
  EXPECT_EQ(rows[2].shares[0].memory, Bytes(7 * 1024));
}

// What lies apart is said line by line, and the shares sum to the whole.
TEST_F(LayerTable, LayersSplitAcrossDevicesAreShownAsSuch) {
  for (int i = 0; i < 4; ++i) AddLayer("layers." + std::to_string(i), 0, i < 2 ? -1 : 1);
  AddLayer("", 1);
  const std::vector<LayerRow> rows = Rows();
  EXPECT_THAT(Names(rows), ElementsAre("layers.0-1", "layers.2-3", "(no module)"));
  ASSERT_EQ(rows[1].shares.size(), 2u);
  EXPECT_EQ(rows[1].shares[0].time, Nanos(20));  // largest time first: the two forward ops
  EXPECT_EQ(rows[1].shares[1].time, Nanos(2));
  const std::string text = RenderLayers(rows, Pair(), {});
  EXPECT_THAT(text, HasSubstr("layers.0-1   d0               4    22 ns     2.0 KiB\n"));
  // 20 of 22 ns: 91%
  EXPECT_THAT(text, HasSubstr("layers.2-3   d0 91%, d1 9%    4    22 ns     2.0 KiB\n"));
  EXPECT_THAT(text, HasSubstr("op time: of the module's ops"));
}

TEST_F(LayerTable, SharesOfManyDevicesAndOfMemoryAlone) {
  ClusterBuilder builder("four");
  const int32_t kind = builder.AddKind({.name = "K"}).Take();
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(builder.AddDevice({.name = name, .kind = kind}).ok());
  }
  const Cluster four = std::move(builder).Build().Take();
  const auto share = [](int32_t device, int64_t time, int64_t memory) {
    return LayerShare{DeviceId(device), 1, Nanos(time), Bytes(memory)};
  };
  EXPECT_EQ(DescribeShares({share(2, 0, 0)}, four), "c");
  EXPECT_EQ(DescribeShares({share(2, 500, 0), share(0, 499, 0), share(1, 1, 0)}, four),
            "c 50%, a 50%, b <1%");
  EXPECT_EQ(
      DescribeShares({share(3, 60, 0), share(2, 30, 0), share(1, 6, 0), share(0, 4, 0)}, four),
      "d 60%, c 30%, 2 more 10%");
  EXPECT_EQ(DescribeShares({share(1, 0, 3), share(0, 0, 1)}, four), "b 75%, a 25%");
  EXPECT_EQ(DescribeShares({share(1, 0, 0), share(0, 0, 0)}, four), "b, a");
}

// "model" itself separates nothing, its layers do.
TEST_F(LayerTable, LayersBelowOtherModulesAreFound) {
  for (int i = 0; i < 8; ++i) AddLayer("model.layers." + std::to_string(i), i / 4);
  AddLayer("model.embed", 0);
  AddLayer("lm_head", 1);
  AddLayer("score", 1);
  EXPECT_THAT(Names(Rows()), ElementsAre("model.layers.0-3", "model.layers.4-7", "model.embed",
                                         "lm_head", "score"));
}

// Towers are opened alike, down to their layers and no further.
TEST_F(LayerTable, LayersOfEveryTowerAreShown) {
  for (const std::string tower : {"left", "right"}) {
    AddLayer(tower + ".tokens", 0);
    for (int i = 0; i < 2; ++i) {
      const std::string layer = tower + ".layers." + std::to_string(i);
      AddLayer(layer + ".norm1", i);
      AddLayer(layer + ".norm2", 1 - i, tower == "left" ? -1 : 2);
    }
  }
  EXPECT_THAT(Names(Rows()),
              ElementsAre("left.tokens", "left.layers.0-1", "right.tokens", "right.layers.0-1"));
}

// Layers that search has scattered are distinguished all the same, and the one that was pinned is.
TEST_F(LayerTable, ScatteredLayersAreRowsOfTheirOwn) {
  for (int i = 0; i < 8; ++i)
    AddLayer("layers." + std::to_string(i), i % 2, i == 3 ? 1 : 1 - i % 2);
  EXPECT_THAT(Names(Rows()),
              ElementsAre("layers.0-2", "layers.3", "layers.4-7"));  // by their devices
}

// Where every layer lies apart differently, the table keeps to its lines: neighbours are
// distinguished by where they spend most time, and of too many modules the longest are shown.
TEST_F(LayerTable, KeepsToItsLines) {
  for (int i = 0; i < 40; ++i) AddLayer("h." + std::to_string(i), i / 20, i % 3);
  const std::vector<LayerRow> rows = Rows(12);
  EXPECT_THAT(Names(rows), ElementsAre("h.0-19", "h.20-39"));
  EXPECT_EQ(rows[0].shares.size(), 3u);
}

TEST_F(LayerTable, ManyModulesOfOneLevelAreCut) {
  for (int i = 0; i < 100; ++i) AddLayer("block_" + std::string(1 + i, 'x'), 0);
  const std::vector<LayerRow> rows = Rows(24);
  ASSERT_EQ(rows.size(), 24u);  // the last is the rest
  EXPECT_EQ(rows.back().name, "77 other modules");
  int64_t ops = 0;
  for (const LayerRow& row : rows) ops += row.shares[0].ops;
  EXPECT_EQ(ops, 200);
}

TEST_F(LayerTable, PathsWithSlashes) {
  for (int i = 0; i < 3; ++i) AddLayer("/encoder/layer." + std::to_string(i) + "/attn", i == 2);
  EXPECT_THAT(Names(Rows()), ElementsAre("/encoder/layer.0-1", "/encoder/layer.2"));
}

TEST_F(LayerTable, NoModulesNoTable) {
  AddLayer("", 0);
  EXPECT_TRUE(Rows().empty());
  EXPECT_EQ(RenderLayers({}, Pair(), {}), "");
}

}  // namespace
}  // namespace placewright
