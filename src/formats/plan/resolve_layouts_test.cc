#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "formats/plan/layout_words.h"
#include "graph/graph_builder.h"
#include "graph/module_globs.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two layers y = x w, z = y v of modules m.first and m.second; nothing proves the batch.
struct TwoLayers {
  TwoLayers() {
    GraphBuilder builder("two-layers", "aten");
    const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {8, 4}).Take();
    TensorId last = x;
    for (const char* layer : {"first", "second"}) {
      const TensorId w =
          builder
              .AddInput(std::string("param:") + layer, TensorKind::kParameter, DType::kF32, {4, 4})
              .Take();
      OpSpec op{.name = std::string(layer) + ".mm", .type = "aten.mm.default"};
      op.module = std::string("m.") + layer;
      op.inputs = {last, w};
      op.args = {Value(InputRef{0}), Value(InputRef{1})};
      op.outputs = {{.name = op.name, .dtype = DType::kF32, .shape = {8, 4}}};
      last = builder.AddOp(std::move(op)).Take()[0];
      OpSpec update{.name = std::string(layer) + ".update",
                    .type = "aten.mul_.Tensor",
                    .phase = Phase::kOptimizer};
      update.module = std::string("m.") + layer;
      update.inputs = {w, w};
      update.args = {Value(InputRef{0}), Value(InputRef{1})};
      update.outputs = {{.name = update.name,
                         .dtype = DType::kF32,
                         .shape = {4, 4},
                         .alias = AliasKind::kInPlace,
                         .alias_of = 0}};
      (void)builder.AddOp(std::move(update)).Take();
    }
    builder.SetOutputs({last});
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
    axes = std::make_unique<NamedAxes>(*graph);
    ClusterBuilder machines("three");
    const int32_t kind = machines.AddKind({.name = "K"}).Take();
    for (const char* name : {"d0", "d1", "d2"}) {
      (void)machines.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
    }
    cluster = std::make_unique<Cluster>(std::move(machines).Build().Take());
  }

  Result<Layouts> Resolve(const LayoutSpecs& specs) const {
    PW_ASSIGN(ResolvedLayouts resolved, ResolveLayouts(*graph, *axes, *cluster, specs));
    return std::move(resolved.layouts);
  }
  const Layout& Of(const Layouts& layouts, std::string_view op) const {
    return layouts.Of(graph->group(graph->FindOp(op)));
  }
  std::string ErrorOf(const LayoutSpecs& specs) const { return Resolve(specs).error().ToString(); }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  std::unique_ptr<Cluster> cluster;
};

constexpr const char* kRows = "input:x[0]";

LayoutSpec Spec(std::string groups, std::string axis, std::vector<LayoutSpec::Device> devices,
                LayoutOption option) {
  return {std::move(groups), GroupId(), std::move(axis), std::move(devices), option};
}

LayoutSpec Everywhere() { return Spec("*", kRows, {{"d*", {}}}, LayoutOption::kAllReduce); }

TEST(LayoutSpecs, SharesAreEqualWhereNoneIsStated) {
  const TwoLayers step;
  const Layouts layouts = step.Resolve({Everywhere()}).Take();
  EXPECT_EQ(step.Of(layouts, "first.mm"),
            SplitOver(step.axes->Find(kRows), {DeviceId(0), DeviceId(1), DeviceId(2)}, {2, 3, 3}));
  EXPECT_EQ(layouts.layouts.size(), 1u);
}

TEST(LayoutSpecs, ABoxMayNameTheAxis) {
  const TwoLayers step;
  const std::vector<LayoutSpec::Device> named = {{"d0", {{kRows, 0, 3}}}, {"d1", {{kRows, 3, 8}}}};
  const Layouts layouts = step.Resolve({Spec("*", kRows, named, LayoutOption::kAllReduce)}).Take();
  EXPECT_EQ(step.Of(layouts, "first.mm"),
            SplitOver(step.axes->Find(kRows), {DeviceId(0), DeviceId(1)}, {3, 5}));
}

constexpr const char* kColumns = "param:first[1]";

// On two hosts of two.
struct OnHosts : TwoLayers {
  OnHosts() {
    ClusterBuilder machines("four");
    const int32_t kind = machines.AddKind({.name = "K"}).Take();
    for (int32_t i = 0; i < 4; ++i) {
      (void)machines
          .AddDevice({.name = "host" + std::to_string(i / 2) + "/gpu" + std::to_string(i % 2),
                      .kind = kind,
                      .host = i / 2,
                      .capacity = Bytes(1 << 20)})
          .Take();
    }
    cluster = std::make_unique<Cluster>(std::move(machines).Build().Take());
  }
  static LayoutSpec Mesh(std::vector<LayoutSpec::MeshAxis> mesh) {
    LayoutSpec spec = Spec("*", "", {{"host*", {}}}, LayoutOption::kAllReduce);
    spec.mesh = std::move(mesh);
    return spec;
  }
  // "0-4,0-2 ...": what each device has of rows and columns.
  std::string BoxesOf(std::vector<LayoutSpec::MeshAxis> mesh) const {
    const Layouts layouts = Resolve({Mesh(std::move(mesh))}).Take();
    std::string text;
    for (const Share& share : Of(layouts, "first.mm").shares) {
      for (const char* const axis : {kRows, kColumns}) {
        const Interval interval = share.Along(axes->Find(axis));
        text += std::to_string(interval.from) + "-" + std::to_string(interval.to) + " ";
      }
    }
    return text;
  }
};

TEST(LayoutSpecs, AMeshIsABoxForEachDevice) {
  const OnHosts step;
  const LayoutSpec::MeshAxis rows_over_hosts = {kRows, MeshOver::kHosts, 0};
  const LayoutSpec::MeshAxis columns_in_hosts = {kColumns, MeshOver::kGpusOfHost, 0};
  const std::string rows_outside = "0-4 0-2 0-4 2-4 4-8 0-2 4-8 2-4 ";
  EXPECT_EQ(step.BoxesOf({rows_over_hosts, columns_in_hosts}), rows_outside);
  EXPECT_EQ(step.BoxesOf({columns_in_hosts, rows_over_hosts}), rows_outside);
  EXPECT_EQ(step.BoxesOf({{kRows, MeshOver::kParts, 2}, {kColumns, MeshOver::kParts, 2}}),
            rows_outside);
  EXPECT_EQ(step.BoxesOf({rows_over_hosts, {kColumns, MeshOver::kParts, 2}}), rows_outside);
  EXPECT_EQ(step.BoxesOf({{kColumns, MeshOver::kParts, 2}, {kRows, MeshOver::kParts, 2}}),
            "0-4 0-2 4-8 0-2 0-4 2-4 4-8 2-4 ");
  // An axis within itself, and replicas.
  EXPECT_EQ(step.BoxesOf({rows_over_hosts, {kRows, MeshOver::kGpusOfHost, 0}}),
            "0-2 0-0 2-4 0-0 4-6 0-0 6-8 0-0 ");
  EXPECT_EQ(step.BoxesOf({{"", MeshOver::kHosts, 0}, {kRows, MeshOver::kGpusOfHost, 0}}),
            "0-4 0-0 4-8 0-0 0-4 0-0 4-8 0-0 ");
}

TEST(LayoutSpecs, AMeshThatCannotBeIsAnError) {
  const OnHosts step;
  const LayoutSpec::MeshAxis rows = {kRows, MeshOver::kHosts, 0};
  EXPECT_THAT(step.ErrorOf({step.Mesh({rows})}),
              HasSubstr("layouts[0].mesh: the mesh is of 2 devices, and the layout of 4 devices"));
  EXPECT_THAT(step.ErrorOf({step.Mesh({rows, {kColumns, MeshOver::kParts, 3}})}),
              HasSubstr("the mesh is of 6 devices, and the layout of 4 devices"));
  LayoutSpec three = step.Mesh({rows});
  three.devices = {{"host0/*", {}}, {"host1/gpu0", {}}};
  EXPECT_THAT(step.ErrorOf({three}),
              HasSubstr("the mesh goes over hosts, of which one has 2 of the devices"));
  EXPECT_THAT(step.ErrorOf({step.Mesh({{"rows", MeshOver::kParts, 4}})}),
              HasSubstr("layouts[0].mesh[0].axis: no axis is called \"rows\""));
  three.mesh = {{kRows, MeshOver::kParts, 3}};
  EXPECT_THAT(
      step.ErrorOf({three}),
      HasSubstr("layouts[0].mesh[0].axis: \"input:x[0]\" has 8, which 3 parts do not divide"));
  LayoutSpec beside = step.Mesh({rows, {kColumns, MeshOver::kParts, 2}});
  beside.axis = kRows;
  EXPECT_THAT(step.ErrorOf({beside}), HasSubstr("shares are stated beside a mesh"));
}

TEST(LayoutSpecs, BoxesMayBeUneven) {
  const TwoLayers step;
  const auto boxes = [&](int64_t to) {
    return Spec("*", "",
                {{"d0", {{kRows, 0, 3}}},
                 {"d1", {{kRows, 3, 8}, {kColumns, 0, to}}},
                 {"d2", {{kRows, 3, 8}, {kColumns, 3, 4}}}},
                LayoutOption::kAllReduce);
  };
  const Layouts layouts = step.Resolve({boxes(3)}).Take();
  const Layout& layout = step.Of(layouts, "first.mm");
  EXPECT_EQ(layout.shares[0].Along(step.axes->Find(kColumns)), (Interval{0, 4}));
  EXPECT_EQ(layout.shares[1].Along(step.axes->Find(kColumns)), (Interval{0, 3}));
  EXPECT_FALSE(layout.axis().valid());
  EXPECT_THAT(step.ErrorOf({boxes(2)}),
              HasSubstr("layouts[0].devices: its shares cover 27 of the 32"));
  EXPECT_THAT(step.ErrorOf({boxes(4)}), HasSubstr("have some of"));
}

// Two devices for each part.
TEST(LayoutSpecs, SharesMayBeReplicas) {
  const OnHosts step;
  const LayoutSpec twice = Spec("*", kRows,
                                {{"host0/gpu0", {{"", 0, 4}}},
                                 {"host0/gpu1", {{"", 4, 8}}},
                                 {"host1/gpu0", {{"", 0, 4}}},
                                 {"host1/gpu1", {{"", 4, 8}}}},
                                LayoutOption::kAllReduce);
  const Layouts layouts = step.Resolve({twice}).Take();
  EXPECT_EQ(step.Of(layouts, "first.mm").shares[2].Along(step.axes->Find(kRows)), (Interval{0, 4}));
}

TEST(LayoutSpecs, LaterOnesWin) {
  const TwoLayers step;
  const Layouts layouts =
      step.Resolve({Everywhere(), Spec("m.second", "", {{"d1", {}}}, LayoutOption::kPlace)}).Take();
  EXPECT_EQ(step.Of(layouts, "first.mm").shares.size(), 3u);
  EXPECT_EQ(step.Of(layouts, "second.mm"), PlacedOn(DeviceId(1)));
}

TEST(LayoutSpecs, ParameterServersTakeTurns) {
  const TwoLayers step;
  LayoutSpec spec = Everywhere();
  spec.option = LayoutOption::kParameterServer;
  const Layouts layouts = step.Resolve({spec}).Take();
  EXPECT_EQ(step.Of(layouts, "first.mm").shares.size(), 3u);
  EXPECT_EQ(step.Of(layouts, "first.update"), PlacedOn(DeviceId(0)));
  EXPECT_EQ(step.Of(layouts, "second.update"), PlacedOn(DeviceId(1)));
}

TEST(LayoutSpecs, ExceptionsLeaveTheOtherParametersWhereTheyAre) {
  const TwoLayers step;
  LayoutSpec servers = Everywhere();
  servers.option = LayoutOption::kParameterServer;
  const Layouts layouts =
      step.Resolve({servers, Spec("m.first", "", {{"d2", {}}}, LayoutOption::kPlace)}).Take();
  EXPECT_EQ(step.Of(layouts, "first.update"), PlacedOn(DeviceId(2)));
  EXPECT_EQ(step.Of(layouts, "second.update"), PlacedOn(DeviceId(1)));  // as without the exception
}

// Parameter servers with exceptions at random are stated and resolved to what they were.
TEST(LayoutSpecs, StatedServersResolveToTheSame) {
  const TwoLayers step;
  LayoutSpec servers = Everywhere();
  servers.option = LayoutOption::kParameterServer;
  const Layouts base = step.Resolve({servers}).Take();
  int stated = 0;
  for (const char* op : {"first.mm", "first.update", "second.mm", "second.update"}) {
    for (int32_t device = 0; device < 3; ++device) {
      Layouts wanted = base;
      wanted.layouts.push_back(PlacedOn(DeviceId(device)));
      wanted.of_group[step.graph->group(step.graph->FindOp(op))] =
          LayoutId(wanted.layouts.size() - 1);
      const LayoutSpecs specs = StateLayouts(*step.graph, *step.axes, *step.cluster, wanted);
      stated += specs[0].option == LayoutOption::kParameterServer;
      const Layouts resolved = step.Resolve(specs).Take();
      for (const GroupId group : IdRange<GroupId>(step.graph->group_count())) {
        EXPECT_EQ(resolved.Of(group), wanted.Of(group)) << op << " " << device;
      }
    }
  }
  EXPECT_GT(stated, 0);
}

TEST(LayoutSpecs, ModelParallelGroupsAreLeftOpen) {
  const TwoLayers step;
  const ResolvedLayouts resolved =
      ResolveLayouts(*step.graph, *step.axes, *step.cluster,
                     {Everywhere(),
                      Spec("m.second", "", {{"d1", {}}, {"d0", {}}}, LayoutOption::kModelParallel)})
          .Take();
  EXPECT_EQ(step.Of(resolved.layouts, "first.mm").shares.size(), 3u);
  ASSERT_EQ(resolved.open.size(), 1u);
  EXPECT_EQ(resolved.open[0].groups, NamedGroups(*step.graph).By("m.second"));
  EXPECT_THAT(resolved.open[0].devices, ElementsAre(DeviceId(1), DeviceId(0)));
}

TEST(LayoutSpecs, OneGroupByNumber) {
  const TwoLayers step;
  LayoutSpec one = Spec("", "", {{"d0", {}}, {"d2", {}}}, LayoutOption::kDuplicate);
  one.group = step.graph->group(step.graph->FindOp("second.mm"));
  const Layouts layouts = step.Resolve({Everywhere(), one}).Take();
  EXPECT_EQ(step.Of(layouts, "second.mm"), CopiesOn({DeviceId(0), DeviceId(2)}));
  EXPECT_EQ(step.Of(layouts, "second.update").axis(), step.axes->Find(kRows));
}

TEST(LayoutSpecs, ErrorsNameThePlace) {
  const TwoLayers step;
  const auto all = [](std::string axis, std::vector<LayoutSpec::Device> devices,
                      LayoutOption option = LayoutOption::kAllReduce) {
    return LayoutSpecs{Spec("*", std::move(axis), std::move(devices), option)};
  };
  EXPECT_THAT(step.ErrorOf({Spec("m.third", "", {{"d0", {}}}, LayoutOption::kPlace)}),
              HasSubstr("layouts[0].groups: \"m.third\" matches no module"));
  EXPECT_THAT(step.ErrorOf({Spec("m.first", "", {{"d0", {}}}, LayoutOption::kPlace)}),
              HasSubstr("no layout is given for the op \"second.mm\" of the module m.second"));
  EXPECT_THAT(step.ErrorOf(all("rows", {{"d*", {}}})),
              HasSubstr("layouts[0].axis: no axis is called \"rows\""));
  EXPECT_THAT(step.ErrorOf(all("", {{"d*", {}}})), HasSubstr("nothing proves how the step"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d7", {}}})),
              HasSubstr("layouts[0].devices[0]: the cluster three has no device d7"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d0", {}}, {"d*", {}}})),
              HasSubstr("layouts[0].devices[1]: d0 stands there twice"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d0", {{"", 0, 3}}}, {"d1", {{"", 4, 8}}}})),
              HasSubstr("layouts[0].devices[1]: [4, 8) stands where a share from 3 is due"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d0", {{"", 0, 3}}}, {"d1", {{"", 3, 7}}}})),
              HasSubstr("the shares cover 7 of the 8"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d0", {{"", 0, 3}}}, {"d1", {}}})),
              HasSubstr("some devices have shares and others have none"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d0", {{"", 0, 3}}}, {"d1", {{"", 3, 8}, {"k", 0, 1}}}})),
              HasSubstr("layouts[0].devices[1].box: a box of another axis than that of the entry"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d0", {{"k", 0, 8}}}})),
              HasSubstr("layouts[0].devices[0].box: a box of another axis than that of the entry"));
  EXPECT_THAT(step.ErrorOf(all("", {{"d*", {}}}, LayoutOption::kPlace)),
              HasSubstr("3 devices for one place"));
  EXPECT_THAT(step.ErrorOf(all(kRows, {{"d*", {}}}, LayoutOption::kDuplicate)),
              HasSubstr("layouts[0].axis: the option duplicate splits no axis"));
  LayoutSpec update = Spec("", kRows, {{"d*", {}}}, LayoutOption::kAllReduce);
  update.group = step.graph->group(step.graph->FindOp("first.update"));
  EXPECT_THAT(step.ErrorOf({Everywhere(), update}),
              HasSubstr("layouts[1].axis: none of the ops that \"groups\" names can be split"));
  LayoutSpec many = Everywhere();
  many.axis = "param:first[1]";
  EXPECT_THAT(step.ErrorOf({Spec("*", "param:first[9]", {{"d*", {}}}, LayoutOption::kAllReduce)}),
              HasSubstr("no axis is called"));
}

TEST(LayoutSpecs, ExpandedSpecsMeanTheSame) {
  const TwoLayers step;
  const LayoutSpecs specs = {Everywhere(),
                             Spec("m.second", "", {{"d1", {}}}, LayoutOption::kPlace)};
  const LayoutSpecs expanded = ExpandSpecs(*step.axes, *step.cluster, specs);
  EXPECT_EQ(expanded[0].devices,
            (std::vector<LayoutSpec::Device>{
                {"d0", {{"", 0, 2}}}, {"d1", {{"", 2, 5}}}, {"d2", {{"", 5, 8}}}}));
  const Layouts before = step.Resolve(specs).Take(), after = step.Resolve(expanded).Take();
  EXPECT_EQ(before.layouts, after.layouts);
}

}  // namespace
}  // namespace placewright
