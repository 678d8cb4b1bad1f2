#include "search/layouts/pipelines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cluster/cluster_builder.h"
#include "cost/cost_table.h"
#include "graph/graph_builder.h"
#include "sim/simulator.h"
#include "transforms/pipeline.h"
#include "transforms/split_backward.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Times {
  int64_t forward, backward, weights;
};
constexpr int64_t kSaved = 1024;  // bytes that a forward op keeps for its backward op

// Layers "layers.C", one after the other, of a step in micro-batches. What crosses between layers has no bytes.
// `convolutions`: one op makes the gradients of a layer's input and weight.
class LayeredStep {
 public:
  LayeredStep(int32_t layers, int32_t micro_batches, const Times& times, bool convolutions = false)
      : layers_(layers), times_of_(times), convolutions_(convolutions) {
    last_ = builder_.AddInput("input:x", TensorKind::kInput, DType::kU8, {0}).Take();
    for (int32_t k = 1; k <= micro_batches; ++k) AddMicroBatch(k);
    for (int32_t c = 0; c < layers; ++c) {
      Add(fmt::format("u{}", c), c, Phase::kOptimizer, {sums_[static_cast<size_t>(c)]}, {0}, 0);
    }
  }

  Graph Build(int32_t micro_batches) {
    Transforms made;
    if (micro_batches > 1) {
      made = {{.kind = Transform::kAccumulate, .micro_batches = micro_batches}};
    }
    return WithTransforms(std::move(builder_).Build().Take(), made);
  }

  // In the order of the program, layer c on device c mod `stages`, or on the one that is stated for it.
  SimResult Run(const Graph& graph, int32_t stages,
                const std::vector<int32_t>& device_of_layer = {}) const {
    ClusterBuilder cluster("tiny");
    const int32_t kind =
        cluster.AddKind(DeviceKind{.name = "kind", .memory = Bytes(int64_t{1} << 40)}).Take();
    std::vector<DeviceId> devices;
    for (int32_t d = 0; d < stages; ++d) {
      devices.push_back(cluster
                            .AddDevice({.name = fmt::format("d{}", d),
                                        .kind = kind,
                                        .capacity = Bytes(int64_t{1} << 40)})
                            .Take());
    }
    for (const DeviceId from : devices) {
      for (const DeviceId to : devices) {
        if (from == to) continue;
        const LinkId link = cluster
                                .AddLink({.name = fmt::format("{}>{}", from.index(), to.index()),
                                          .bandwidth = BytesPerSecond(1'000'000'000)})
                                .Take();
        PW_CHECK(cluster.AddRoute(from, to, {link}).ok());
      }
    }
    const Cluster built = std::move(cluster).Build().Take();
    CostTable costs(graph.op_count(), devices.size());
    Placement placement;
    for (const OpId op : graph.ops()) {
      for (const DeviceId device : devices) {
        costs.SetTime(op, device, Nanos(times_.at(graph.op(op).name)));
      }
      const std::string& path = graph.module_path(graph.op(op).module);
      const int32_t layer = std::stoi(path.substr(std::string("layers.").size()));
      const int32_t device =
          device_of_layer.empty() ? layer % stages : device_of_layer[static_cast<size_t>(layer)];
      placement.push_back(devices[static_cast<size_t>(device)]);
    }
    const SimGraph sim_graph = BuildSimGraph(graph, built, costs);
    return Simulator(sim_graph).Run(placement, {.policy = SchedulingPolicy::kProgram});
  }

 private:
  void AddMicroBatch(int32_t k) {
    std::vector<TensorId> saved;
    TensorId x = last_;
    for (int32_t c = 0; c < layers_; ++c) {
      const auto made =
          Add(fmt::format("f{}@{}", c, k), c, Phase::kForward, {x}, {0, kSaved}, times_of_.forward);
      x = made[0];
      saved.push_back(made[1]);
    }
    for (int32_t c = layers_ - 1; c >= 0; --c) {
      const auto at = static_cast<size_t>(c);
      if (convolutions_) {
        const auto made = AddConvolutionBackward(fmt::format("b{}@{}", c, k), c, x, saved[at]);
        x = made[0];
        AddUp(c, k, made[1]);
        continue;
      }
      // A product's gradients: that of its weight first, so that the stage before waits for both.
      const auto weights = Add(fmt::format("w{}@{}", c, k), c, Phase::kBackward, {x, saved[at]},
                               {0}, times_of_.weights);
      x = Add(fmt::format("b{}@{}", c, k), c, Phase::kBackward, {x, saved[at]}, {0},
              times_of_.backward)[0];
      AddUp(c, k, weights[0]);
    }
  }

  void AddUp(int32_t layer, int32_t k, TensorId gradient) {
    if (k == 1) {
      sums_.insert(sums_.begin(), gradient);
      return;
    }
    TensorId& sum = sums_[static_cast<size_t>(layer)];
    sum = Add(fmt::format("w{}.sum@{}", layer, k), layer, Phase::kBackward, {sum, gradient}, {0},
              0)[0];
  }

  std::vector<TensorId> AddConvolutionBackward(const std::string& name, int32_t layer, TensorId x,
                                               TensorId saved) {
    OpSpec spec{.name = name, .type = "aten.convolution_backward.default"};
    spec.phase = Phase::kBackward;
    spec.module = fmt::format("layers.{}.lin", layer);
    spec.inputs = {x, saved};
    for (int32_t i = 0; i < 10; ++i) spec.args.push_back(Value(int64_t{i}));
    spec.args.push_back(Value(Value::List{Value(true), Value(true), Value(false)}));
    for (int32_t i = 0; i < 2; ++i) {
      OutputSpec output{.name = fmt::format("{}:{}", name, i), .dtype = DType::kU8};
      output.shape = {0};
      output.output_index = i;
      spec.outputs.push_back(output);
    }
    times_[name] = times_of_.backward;
    times_[name + ".weights"] = times_of_.weights;
    return builder_.AddOp(std::move(spec)).Take();
  }

  std::vector<TensorId> Add(const std::string& name, int32_t layer, Phase phase,
                            std::vector<TensorId> inputs, const std::vector<int64_t>& bytes,
                            int64_t time) {
    OpSpec spec{.name = name, .type = "test.op", .phase = phase};
    spec.module = fmt::format("layers.{}.lin", layer);
    spec.inputs = std::move(inputs);
    for (size_t i = 0; i < bytes.size(); ++i) {
      OutputSpec output{.name = i == 0 ? name : name + ":1", .dtype = DType::kU8};
      output.shape = {bytes[i]};
      spec.outputs.push_back(output);
    }
    times_[name] = time;
    return builder_.AddOp(std::move(spec)).Take();
  }

  const int32_t layers_;
  const Times times_of_;
  const bool convolutions_;
  GraphBuilder builder_{"layers", "aten"};
  TensorId last_;
  std::vector<TensorId> sums_;
  std::map<std::string, int64_t> times_;
};

Transform Of(const std::string& schedule, int64_t stages, int64_t chunks = 1) {
  return {.kind = Transform::kPipeline, .schedule = schedule, .stages = stages, .chunks = chunks};
}

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const OpId op : graph.ops()) names.push_back(graph.op(op).name);
  return names;
}

TEST(Pipelines, OneForwardOneBackwardIsThisOrder) {
  const Graph step = LayeredStep(2, 2, {1, 1, 1}).Build(2);
  const auto made = WithPipeline(step, Of("1f1b", 2)).Take();
  EXPECT_THAT(NamesOf(*made),
              ElementsAre("f0@1", "f0@2", "f1@1", "w1@1", "b1@1", "w0@1", "b0@1", "f1@2", "w1@2",
                          "b1@2", "w1.sum@2", "w0@2", "b0@2", "w0.sum@2", "u0", "u1"));
}

TEST(Pipelines, WeightGradientsOfTheLastStageWait) {
  const Graph step = LayeredStep(2, 2, {1, 1, 1}).Build(2);
  const auto made = WithPipeline(step, Of("zb-h1", 2)).Take();
  EXPECT_THAT(NamesOf(*made),
              ElementsAre("f0@1", "f0@2", "f1@1", "b1@1", "b0@1", "f1@2", "w0@1", "b1@2", "b0@2",
                          "w1@1", "w0@2", "w0.sum@2", "w1@2", "w1.sum@2", "u0", "u1"));
}

TEST(Pipelines, TheSimulatorSeesTheirClosedForms) {
  for (const Times& t : {Times{600, 600, 600}, Times{1200, 2400, 600}}) {
    const int64_t all = t.forward + t.backward + t.weights;
    for (int32_t p = 2; p <= 4; ++p) {
      for (int32_t m = p; m <= 2 * p; m += p) {
        const auto time = [&](const std::string& schedule, int32_t chunks) {
          LayeredStep layers(p * chunks, m,
                             {t.forward / chunks, t.backward / chunks, t.weights / chunks});
          const Graph step = layers.Build(m);
          const auto made = WithPipeline(step, Of(schedule, p, chunks)).Take();
          return layers.Run(*made, p).step_time.count;
        };
        EXPECT_EQ(time("gpipe", 1), (m + p - 1) * all);
        EXPECT_EQ(time("1f1b", 1), (m + p - 1) * all);
        EXPECT_EQ(time("interleaved", 2), m * all + (p - 1) * all / 2);
        EXPECT_EQ(time("zb-h1", 1), m * all + (p - 1) * (t.forward + t.backward - t.weights));
      }
    }
  }
}

// One op that makes both gradients would be a backward pass of B + W; apart, its weights' gradients wait.
TEST(Pipelines, WeightGradientsOfConvolutionsWait) {
  for (const Times& t : {Times{600, 600, 600}, Times{1200, 2400, 600}}) {
    for (int32_t p = 2; p <= 4; ++p) {
      const int32_t m = 2 * p;
      LayeredStep layers(p, m, t, /*convolutions=*/true);
      const Graph whole = layers.Build(m);
      const Graph apart =
          WithTransforms(std::move(*WithSplitBackward(whole).Take()), whole.transforms());
      const auto made = WithPipeline(apart, Of("zb-h1", p)).Take();
      EXPECT_EQ(layers.Run(*made, p).step_time.count,
                m * (t.forward + t.backward + t.weights) +
                    (p - 1) * (t.forward + t.backward - t.weights));
    }
  }
  EXPECT_EQ(Describe(TransformsFor({.micro_batches = 4, .schedule = "zb-h1", .stages = 2})),
            "counted-draws, split-backward, accumulate 4, pipeline zb-h1 2");
}

TEST(Pipelines, StagesHoldAsManyActivationsAsTheirScheduleSays) {
  for (int32_t p = 2; p <= 4; ++p) {
    for (const int32_t m : {1, 2, 4, 8}) {
      LayeredStep layers(p, m, {600, 600, 600});
      const Graph step = layers.Build(m);
      const auto peaks = [&](const std::string& schedule) {
        const auto made = WithPipeline(step, Of(schedule, p)).Take();
        return layers.Run(*made, p).devices;
      };
      const auto one = peaks("1f1b"), late = peaks("zb-h1"), all = peaks("gpipe");
      for (int32_t stage = 0; stage < p; ++stage) {
        const auto at = static_cast<size_t>(stage);
        EXPECT_EQ(one[at].tensor_peak.count, std::min(m, p - stage) * kSaved);
        EXPECT_LE(late[at].tensor_peak.count, std::min(m, p) * kSaved);
        EXPECT_EQ(all[at].tensor_peak.count, m * kSaved);
      }
    }
  }
}

TEST(Pipelines, ChunksAreTheSameBehindTheTransform) {
  const Graph step = LayeredStep(6, 4, {1, 1, 1}).Build(4);
  const Transform pipeline = Of("zb-h1", 3);
  const auto before = PipelineChunks(step, pipeline).Take();
  const auto made = WithPipeline(step, pipeline).Take();
  const auto behind = PipelineChunks(*made, pipeline).Take();
  for (const OpId op : step.ops()) {
    EXPECT_EQ(before[op], behind[made->FindOp(step.op(op).name)]) << step.op(op).name;
  }
  EXPECT_EQ(before[step.FindOp("f1@3")], 0);
  EXPECT_EQ(before[step.FindOp("b4@2")], 2);
}

TEST(Pipelines, StagesHaveTheLayersThatAreStated) {
  const Graph step = LayeredStep(6, 4, {1, 1, 1}).Build(4);
  for (const char* const schedule : {"gpipe", "1f1b", "zb-h1"}) {
    Transform pipeline = Of(schedule, 3);
    pipeline.layers = {3, 1, 2};
    const auto made = WithPipeline(step, pipeline).Take();
    const auto chunk_of = PipelineChunks(*made, pipeline).Take();
    std::vector<int32_t> of_layer;
    for (int32_t i = 0; i < 6; ++i) {
      of_layer.push_back(chunk_of[made->FindOp(fmt::format("f{}@2", i))]);
      EXPECT_EQ(of_layer.back(), chunk_of[made->FindOp(fmt::format("b{}@3", i))]);
    }
    EXPECT_THAT(of_layer, ElementsAre(0, 0, 0, 1, 2, 2)) << schedule;
  }
  Transform pipeline = Of("interleaved", 2, 2);
  pipeline.layers = {2, 1, 1, 2};
  const auto chunk_of = PipelineChunks(step, pipeline).Take();
  EXPECT_EQ(chunk_of[step.FindOp("f1@1")], 0);
  EXPECT_EQ(chunk_of[step.FindOp("f3@1")], 2);
  EXPECT_EQ(chunk_of[step.FindOp("f4@1")], 3);
}

// Two stages of three layers and of one, a layer 600 us forward and 1,200 backward: 4 forward passes of 1,800, the last one
// of the other stage, its first backward pass, and beside its others 4 of 3,600.
TEST(Pipelines, TheLongestStageIsTheStepsLength) {
  LayeredStep layers(4, 4, {600, 600, 600});
  const Graph step = layers.Build(4);
  Transform pipeline = Of("gpipe", 2);
  pipeline.layers = {3, 1};
  const auto made = WithPipeline(step, pipeline).Take();
  EXPECT_EQ(layers.Run(*made, 2, {0, 0, 0, 1}).step_time.count, 4 * 1800 + 600 + 1200 + 4 * 3600);
}

TEST(Pipelines, LayersThatAreNotThoseOfTheStepAreRefused) {
  const Graph step = LayeredStep(6, 4, {1, 1, 1}).Build(4);
  const std::vector<std::vector<int64_t>> wrong = {
      {3, 2}, {2, 2, 2}, {6, 0}, {7, -1}, {INT64_MAX, INT64_MAX}};
  for (const std::vector<int64_t>& layers : wrong) {
    Transform pipeline = Of("1f1b", 2);
    pipeline.layers = layers;
    const Error error = WithPipeline(step, pipeline).error();
    EXPECT_EQ(error.code, ErrorCode::kTransform);
    EXPECT_THAT(error.remedy, HasSubstr("2 numbers from 1 on that add up to 6"));
  }
}

// Hosts of 2, 1 and 4 GPUs: three stages have a host each, two have 3 and 4 GPUs.
TEST(Pipelines, AsManyStagesAsHostsHaveAHostEach) {
  std::vector<std::vector<DeviceId>> hosts = {std::vector<DeviceId>(2), std::vector<DeviceId>(1),
                                              std::vector<DeviceId>(4)};
  using Run = std::pair<int64_t, int64_t>;
  EXPECT_EQ(RunOfStage(hosts, 0, 3), Run(0, 2));
  EXPECT_EQ(RunOfStage(hosts, 1, 3), Run(2, 3));
  EXPECT_EQ(RunOfStage(hosts, 2, 3), Run(3, 7));
  EXPECT_EQ(RunOfStage(hosts, 0, 2), Run(0, 3));
  EXPECT_EQ(RunOfStage(hosts, 1, 2), Run(3, 7));
}

TEST(Pipelines, NeedAsManyLayersAsChunks) {
  const Graph step = LayeredStep(3, 4, {1, 1, 1}).Build(4);
  const Error error = WithPipeline(step, Of("1f1b", 4)).error();
  EXPECT_EQ(error.code, ErrorCode::kTransform);
  EXPECT_THAT(error.message, HasSubstr("4 stages of one chunk need as many layers"));
}

}  // namespace
}  // namespace placewright
