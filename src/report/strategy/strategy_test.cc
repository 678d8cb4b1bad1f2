#include <gmock/gmock.h>

#include <optional>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"
#include "report/strategy/strategy_averages.h"
#include "report/strategy/strategy_table.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Layers of a forward op that makes a value for each of 8 samples, a backward op that makes the gradient of 256
// elements, and an update of the parameter; and what a compiler would make of them on two devices, with the gradients
// brought together as each test says. Forward and backward ops take 10 ns on every device, all others 1 ns.
class ReportedStrategy : public testing::Test {
 protected:
  static constexpr int64_t kElements = 256, kSamples = 8;
  enum class Way {
    kAllReduce,
    kBuckets,
    kServer,
    kScatter,
    kScatterTwice,
    kScatterReduce,
    kRecompute,
    kPlace
  };

  void AddLayer(const std::string& module, Way way) {
    const std::string n = std::to_string(layers_++);
    const TensorId x = Input(original_, "x" + n, TensorKind::kInput, kSamples);
    const TensorId w = Input(original_, "w" + n, TensorKind::kParameter, kElements);
    const TensorId f = Op(original_, "f" + n, "test.f", Phase::kForward, module, {x, w}, kSamples);
    const OpId forward = original_.added().tensors[f].producer;
    const TensorId g = Op(original_, "g" + n, "test.g", Phase::kBackward, module, {f}, kElements);
    const OpId backward = original_.added().tensors[g].producer;
    OpId sum;
    if (way == Way::kScatterTwice) {
      const TensorId added =
          Op(original_, "s" + n, "aten.add.Tensor", Phase::kBackward, module, {g, g}, kElements);
      sum = original_.added().tensors[added].producer;
    }
    Update(original_, "u" + n, module, w, g);
    const OpId update(original_.added().ops.size() - 1);

    const int devices = way == Way::kPlace ? 1 : 2;
    std::vector<TensorId> gradients;
    for (int d = 0; d < devices; ++d) {
      const std::string at = n + "@d" + std::to_string(d);
      const int64_t samples = kSamples / devices;
      const TensorId part = Input(step_, "x" + at, TensorKind::kInput, samples);
      weights_[d] = Input(step_, "w" + at, TensorKind::kParameter,
                          IsScattered(way) ? kElements / 2 : kElements);
      const TensorId made = Instance("f" + at, "test.f", Phase::kForward, module,
                                     {part, weights_[d]}, samples, d, forward);
      const bool whole = way == Way::kRecompute;
      if (whole) factor_[d] = made;
      gradients.push_back(whole ? TensorId()
                                : Instance("g" + at, "test.g", Phase::kBackward, module, {made},
                                           kElements, d, backward));
    }
    Synchronise(way, n, module, gradients, backward, sum, update);
  }

  StepStrategy Find(const LayoutSpec* spec = nullptr) {
    whole_.emplace(std::move(original_).Build().Take());
    compiled_.emplace(std::move(step_).Build().Take());
    Placement placement(compiled_->op_count(), DeviceId(0));
    Schedule schedule;
    schedule.ops.assign(compiled_->op_count(), {});
    for (const OpId op : compiled_->ops()) {
      placement[op] = DeviceId(device_of_[op.index()]);
      const bool of_model = compiled_->op(op).type.starts_with("test.") &&
                            compiled_->op(op).phase != Phase::kOptimizer;
      schedule.ops[op] = {Nanos(100), Nanos(of_model ? 110 : 101)};
    }
    return FindStrategy({*whole_, *compiled_, origin_, placement, schedule, cluster_,
                         std::vector<const LayoutSpec*>(whole_->group_count(), spec)});
  }
  std::vector<StrategyRow> Rows(size_t max = 20, const LayoutSpec* spec = nullptr) {
    const StepStrategy found = Find(spec);
    return TabulateStrategy(*whole_, found, max);
  }
  static std::vector<std::string> Names(const std::vector<StrategyRow>& rows) {
    std::vector<std::string> names;
    for (const StrategyRow& row : rows) names.push_back(row.name);
    return names;
  }
  static Cluster Pair() {
    ClusterBuilder cluster("pair");
    const int32_t kind = cluster.AddKind({.name = "K"}).Take();
    for (const char* name : {"d0", "d1"}) {
      EXPECT_TRUE(cluster.AddDevice({.name = name, .kind = kind}).ok());
    }
    return std::move(cluster).Build().Take();
  }

  const Cluster cluster_ = Pair();
  std::optional<Graph> whole_, compiled_;

 private:
  static TensorId Input(GraphBuilder& builder, const std::string& name, TensorKind kind,
                        int64_t size) {
    return builder.AddInput(name, kind, DType::kF32, {size}).Take();
  }
  static TensorId Op(GraphBuilder& builder, const std::string& name, const std::string& type,
                     Phase phase, const std::string& module, std::vector<TensorId> inputs,
                     int64_t size) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.phase = phase;
    spec.module = module;
    spec.inputs = std::move(inputs);
    spec.outputs = {{.name = name, .shape = {size}}};
    return builder.AddOp(std::move(spec)).Take().front();
  }
  static void Update(GraphBuilder& builder, const std::string& name, const std::string& module,
                     TensorId weight, TensorId gradient) {
    OpSpec spec;
    spec.name = name;
    spec.type = "test.update";
    spec.phase = Phase::kOptimizer;
    spec.module = module;
    spec.inputs = {weight, gradient};
    spec.writes = {0};
    ASSERT_TRUE(builder.AddOp(std::move(spec)).ok());
  }
  TensorId Instance(const std::string& name, const std::string& type, Phase phase,
                    const std::string& module, std::vector<TensorId> inputs, int64_t size,
                    int device, OpId origin) {
    device_of_.push_back(device);
    origin_.push_back(origin);
    return Op(step_, name, type, phase, module, std::move(inputs), size);
  }
  // What moves or joins pieces.
  TensorId Move(const std::string& name, const std::string& type, const std::string& module,
                std::vector<TensorId> inputs, int64_t size, int device) {
    return Instance(name, "placewright." + type + ".default", Phase::kBackward, module,
                    std::move(inputs), size, device, OpId());
  }

  static bool IsScattered(Way way) {
    return way == Way::kScatter || way == Way::kScatterTwice || way == Way::kScatterReduce;
  }
  void Synchronise(Way way, const std::string& n, const std::string& module,
                   std::vector<TensorId> gradients, OpId backward, OpId added, OpId update) {
    for (int d = 0; d < 2; ++d) {
      const std::string at = n + "@d" + std::to_string(d);
      TensorId sum = gradients[static_cast<size_t>(d) % gradients.size()];
      switch (way) {
        case Way::kAllReduce:
          sum = Move("r" + at, "all_reduce", module, {sum}, kElements, d);
          break;
        case Way::kBuckets:
          sum = Move("p" + at, "pack", module, {sum}, kElements, d);
          sum = Move("r" + at, "all_reduce", module, {sum}, kElements, d);
          sum = Move("v" + at, "unpack", module, {sum}, kElements, d);
          break;
        case Way::kServer:
          if (d == 1) return;  // the update is on d0 alone
          sum = Move("a" + at, "add_n", module, gradients, kElements, d);
          break;
        case Way::kScatter:
          sum = Move("s" + at, "reduce_scatter", module, {sum}, kElements / 2, d);
          break;
        case Way::kScatterTwice: {
          const TensorId first = Move("s" + at, "reduce_scatter", module, {sum}, kElements / 2, d);
          const TensorId second = Move("t" + at, "reduce_scatter", module, {sum}, kElements / 2, d);
          sum = Instance("a" + at, "aten.add.Tensor", Phase::kBackward, module, {first, second},
                         kElements / 2, d, added);
          break;
        }
        case Way::kScatterReduce:
          sum = Move("s" + at, "reduce_scatter", module, {sum}, kElements / 2, d);
          sum = Move("r" + at, "all_reduce", module, {sum}, kElements / 2, d);
          break;
        case Way::kRecompute:
          sum = Move("c" + at, "all_gather", module, {factor_[d]}, kSamples, d);
          sum =
              Instance("g" + at, "test.g", Phase::kBackward, module, {sum}, kElements, d, backward);
          break;
        case Way::kPlace:
          if (d == 1) return;
      }
      Update(step_, "u" + at, module, weights_[d], sum);
      device_of_.push_back(d);
      origin_.push_back(update);
    }
  }

  GraphBuilder original_{"net", "aten"}, step_{"net", "aten"};
  std::vector<int> device_of_;
  IdVector<OpId, OpId> origin_;
  TensorId weights_[2], factor_[2];
  int layers_ = 0;
};

TEST_F(ReportedStrategy, NamesHowGradientsComeTogether) {
  AddLayer("a", Way::kAllReduce);
  AddLayer("b", Way::kBuckets);
  AddLayer("c", Way::kServer);
  AddLayer("d", Way::kScatter);
  AddLayer("e", Way::kRecompute);
  AddLayer("f", Way::kPlace);
  AddLayer("g", Way::kScatterTwice);  // in each of two micro-batches
  AddLayer("h", Way::kScatterReduce);
  const StepStrategy found = Find();
  std::vector<SyncKind> kinds;
  for (const ParameterStrategy& parameter : found.parameters) kinds.push_back(parameter.sync);
  EXPECT_THAT(kinds, ElementsAre(SyncKind::kAllReduce, SyncKind::kAllReduce, SyncKind::kServer,
                                 SyncKind::kReduceScatter, SyncKind::kEverywhere, SyncKind::kNone,
                                 SyncKind::kReduceScatter, SyncKind::kReduceScatterAllReduce));
  EXPECT_FALSE(found.parameters[0].in_buckets);
  EXPECT_TRUE(found.parameters[1].in_buckets);
  EXPECT_THAT(found.parameters[2].devices, ElementsAre(DeviceId(0)));
  EXPECT_THAT(found.parameters[3].devices, ElementsAre(DeviceId(0), DeviceId(1)));
}

// Each forward op is in parts on two devices; the gradient that each device recomputes is a copy.
TEST_F(ReportedStrategy, TellsPartsFromCopies) {
  AddLayer("a", Way::kAllReduce);
  AddLayer("b", Way::kRecompute);
  AddLayer("c", Way::kPlace);
  const StepStrategy found = Find();
  const auto kind_of = [&](const char* op) { return found.ops[whole_->FindOp(op)].kind; };
  EXPECT_EQ(kind_of("f0"), ComputeKind::kSplit);
  EXPECT_EQ(kind_of("g0"), ComputeKind::kSplit);  // a sum of parts: it reads less
  EXPECT_EQ(kind_of("f1"), ComputeKind::kSplit);
  EXPECT_EQ(kind_of("g1"), ComputeKind::kCopied);
  EXPECT_EQ(kind_of("f2"), ComputeKind::kPlaced);
  EXPECT_EQ(found.times[whole_->FindOp("f0")], Nanos(20));
  EXPECT_EQ(found.times[whole_->FindOp("f2")], Nanos(10));
}

TEST_F(ReportedStrategy, LayersThatAreTreatedAlikeAreOneRow) {
  AddLayer("embed", Way::kPlace);
  for (int i = 0; i < 6; ++i) {
    AddLayer("encoder.layer." + std::to_string(i), i < 4 ? Way::kBuckets : Way::kServer);
  }
  AddLayer("head", Way::kBuckets);
  LayoutSpec spec;
  spec.axis = "batch";
  spec.devices = {{"d0", {{"", 0, 4}}}, {"d1", {{"", 4, 8}}}};
  const std::vector<StrategyRow> rows = Rows(20, &spec);
  ASSERT_THAT(Names(rows), ElementsAre("embed", "encoder.layer.0-3", "encoder.layer.4-5", "head"));
  EXPECT_EQ(DescribeCompute(rows[0]), "placed");
  EXPECT_EQ(DescribeComputeDevices(rows[0], cluster_), "d0");
  EXPECT_EQ(DescribeSync(rows[0], cluster_, Bytes()), "none");
  EXPECT_EQ(rows[1].modules.size(), 4u);
  EXPECT_EQ(DescribeCompute(rows[1]), "split by batch (4 each)");
  EXPECT_EQ(DescribeComputeDevices(rows[1], cluster_), "d0-1");
  EXPECT_EQ(DescribeSync(rows[1], cluster_, Bytes(int64_t{64} << 20)),
            "all-reduce in buckets of 64.0 MiB");
  EXPECT_EQ(DescribeSync(rows[2], cluster_, Bytes()), "parameter server d0");
  // A layer takes 2 * (10 + 10 + 1) ns on two devices, with a server 1 ns less, and 21 ns placed: 4 * 42 of
  // 21 + 4 * 42 + 2 * 41 + 42 ns. A parameter has 1,024 B.
  EXPECT_EQ(rows[1].time, Nanos(168));
  EXPECT_DOUBLE_EQ(rows[1].time_share, 168.0 / 313);
  EXPECT_EQ(rows[1].parameters, Bytes(4096));
  const std::string text = RenderStrategy(rows, cluster_, Bytes(), {});
  EXPECT_THAT(
      text, HasSubstr("encoder.layer.4-5  split by batch (4 each)  d0-1     parameter server d0"));
  EXPECT_THAT(text, HasSubstr("computed: forward and backward"));
}

// A layer is not opened; what it is made of is said in shares of its time: 40 of 60 ns are of split ops.
TEST_F(ReportedStrategy, SaysSharesOfWhatIsMixed) {
  AddLayer("layers.0.a", Way::kAllReduce);
  AddLayer("layers.0.b", Way::kPlace);
  AddLayer("layers.1.a", Way::kAllReduce);
  AddLayer("layers.1.b", Way::kPlace);
  const std::vector<StrategyRow> rows = Rows();
  ASSERT_THAT(Names(rows), ElementsAre("layers.0-1"));
  EXPECT_EQ(DescribeCompute(rows[0]), "split 67%, placed 33%");
  EXPECT_EQ(DescribeComputeDevices(rows[0], cluster_), "d0-1 67%, d0 33%");
  EXPECT_EQ(DescribeSync(rows[0], cluster_, Bytes()), "none 50%, all-reduce 50%");
}

TEST_F(ReportedStrategy, OpensWhatIsNotUniform) {
  AddLayer("body.left", Way::kAllReduce);
  AddLayer("body.right", Way::kPlace);
  AddLayer("tail.left", Way::kPlace);
  AddLayer("tail.right", Way::kPlace);
  EXPECT_THAT(Names(Rows()), ElementsAre("body.left", "body.right", "tail"));
}

// Twenty rows would be 19 with most time and one for the rest; here 3.
TEST_F(ReportedStrategy, TheRestIsOneRow) {
  AddLayer("a", Way::kPlace);
  AddLayer("b", Way::kAllReduce);
  AddLayer("c", Way::kPlace);
  AddLayer("d", Way::kAllReduce);
  const std::vector<StrategyRow> rows = Rows(3);
  ASSERT_THAT(Names(rows), ElementsAre("b", "d", "2 other modules"));
  EXPECT_THAT(rows[2].modules, ElementsAre("a", "c"));
  EXPECT_EQ(rows[2].time, Nanos(42));
  double shares = 0;
  for (const StrategyRow& row : rows) shares += row.time_share;
  EXPECT_DOUBLE_EQ(shares, 1);
}

// Of eight ops of the model six are on both devices: 2 * 6 + 2 of 8. Of four gradients two are reduced.
TEST_F(ReportedStrategy, AveragesAreThoseOfTagsTable) {
  AddLayer("a", Way::kAllReduce);
  AddLayer("b", Way::kAllReduce);
  AddLayer("c", Way::kServer);
  AddLayer("d", Way::kPlace);
  const StepStrategy found = Find();
  const StrategyAverages averages = AverageStrategy(*whole_, found, cluster_);
  EXPECT_THAT(averages.devices, ElementsAre(std::pair<std::string, double>("K", 1.75)));
  EXPECT_THAT(averages.gradients,
              ElementsAre(std::pair(SyncKind::kAllReduce, 0.5), std::pair(SyncKind::kNone, 0.25),
                          std::pair(SyncKind::kServer, 0.25)));
  EXPECT_EQ(DescribeAverages(averages),
            "on average an op runs on 1.8 K; gradients: all-reduce 50.0%, none 25.0%, "
            "parameter-server 25.0%");
}

TEST_F(ReportedStrategy, NoModulesNoTable) {
  AddLayer("", Way::kAllReduce);
  const std::vector<StrategyRow> rows = Rows();
  EXPECT_THAT(rows, IsEmpty());
  EXPECT_EQ(RenderStrategy(rows, cluster_, Bytes(), {}), "");
}

}  // namespace
}  // namespace placewright
