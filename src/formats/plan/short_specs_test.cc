#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cluster/cluster_builder.h"
#include "formats/plan/layout_words.h"
#include "sharding/test_product.h"

namespace placewright {
namespace {

constexpr const char* kSampleRows = "input:x[0]";
constexpr const char* kWeightColumns = "param:w[1]";

// y = x w, of 64 x 32 and 32 x 64, on hosts of a CPU and eight GPUs.
struct OneProduct {
  explicit OneProduct(int32_t hosts) {
    graph = std::make_unique<Graph>(GraphOfOneProduct());
    axes = std::make_unique<NamedAxes>(*graph);
    ClusterBuilder machines("hosts");
    const int32_t kind = machines.AddKind({.name = "K"}).Take();
    for (int32_t host = 0; host < hosts; ++host) {
      for (int32_t i = 0; i < 9; ++i) {
        const std::string name =
            "host" + std::to_string(host) + (i == 8 ? "/cpu" : "/gpu" + std::to_string(i));
        (void)machines.AddDevice({.name = name, .kind = kind, .host = host, .capacity = Bytes(1)})
            .Take();
        if (i < 8) gpus.push_back(name);
      }
    }
    cluster = std::make_unique<Cluster>(std::move(machines).Build().Take());
  }
  Layout Resolved(const LayoutSpec& spec) const {
    return ResolveLayouts(*graph, *axes, *cluster, {spec}).Take().layouts.Of(GroupId(0));
  }
  LayoutSpec Short(const LayoutSpec& spec) const {
    return ShortenSpecs(*axes, *cluster, {spec}).front();
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  std::unique_ptr<Cluster> cluster;
  std::vector<std::string> gpus;
};

LayoutSpec OnAll(std::vector<LayoutSpec::Device> devices, const char* axis, LayoutOption option) {
  return {"*", GroupId(), axis, std::move(devices), option};
}

TEST(ShortSpecs, EqualSharesAndCopiesAreOneGlob) {
  const OneProduct step(4);
  std::vector<LayoutSpec::Device> shares, copies;
  for (size_t i = 0; i < 32; ++i) {
    const auto from = static_cast<int64_t>(2 * i);
    shares.push_back({step.gpus[i], {{"", from, from + 2}}});
    copies.push_back({step.gpus[i], {}});
  }
  for (const LayoutSpec& spec : {OnAll(shares, kSampleRows, LayoutOption::kAllReduce),
                                 OnAll(copies, "", LayoutOption::kDuplicate)}) {
    const LayoutSpec made = step.Short(spec);
    ASSERT_EQ(made.devices.size(), 1u);
    EXPECT_EQ(made.devices[0], (LayoutSpec::Device{"host*/gpu*", {}}));
    EXPECT_EQ(ExpandSpecs(*step.axes, *step.cluster, {made}).front(), spec);
    EXPECT_EQ(step.Resolved(made), step.Resolved(spec));
  }
}

// Groups that lie alike have the same words, each with its own name.
TEST(ShortSpecs, AlikeGroupsKeepTheirNames) {
  const OneProduct step(4);
  std::vector<LayoutSpec::Device> shares, copies;
  for (size_t i = 0; i < 32; ++i) {
    const auto from = static_cast<int64_t>(2 * i);
    shares.push_back({step.gpus[i], {{"", from, from + 2}}});
    copies.push_back({step.gpus[i], {}});
  }
  LayoutSpecs specs;
  for (int32_t i = 0; i < 6; ++i) {
    specs.push_back(i % 2 == 0 ? OnAll(shares, kSampleRows, LayoutOption::kAllReduce)
                               : OnAll(copies, "", LayoutOption::kDuplicate));
    specs.back().groups = i < 3 ? "layers." + std::to_string(i) : "";
    if (i >= 3) specs.back().group = GroupId(i);
  }
  const LayoutSpecs made = ShortenSpecs(*step.axes, *step.cluster, specs);
  ASSERT_EQ(made.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    LayoutSpec one = step.Short(specs[i]);
    EXPECT_EQ(made[i], one);
    EXPECT_EQ(made[i].groups, specs[i].groups);
    EXPECT_EQ(made[i].group, specs[i].group);
    EXPECT_EQ(made[i].devices.size(), 1u);
  }
  EXPECT_EQ(ExpandSpecs(*step.axes, *step.cluster, made), specs);
}

// The stage of a pipeline: every device of hosts 8 to 31, in their order.
TEST(ShortSpecs, HostsInARowAreAFewGlobs) {
  const OneProduct step(40);
  std::vector<LayoutSpec::Device> devices;
  for (size_t i = 64; i < 256; ++i) devices.push_back({step.gpus[i], {}});
  const LayoutSpec spec = OnAll(devices, "", LayoutOption::kDuplicate), made = step.Short(spec);
  EXPECT_EQ(made.devices,
            (std::vector<LayoutSpec::Device>{
                {"host[8-9]/gpu*", {}}, {"host[1-2]?/gpu*", {}}, {"host3[0-1]/gpu*", {}}}));
  EXPECT_EQ(ExpandSpecs(*step.axes, *step.cluster, {made}).front(), spec);
}

// Every run of hosts that begins anywhere, one device short of it, too.
TEST(ShortSpecs, RunsOfHostsMeanTheSame) {
  const OneProduct step(102);
  for (size_t from = 0; from < 102; from += 7) {
    for (size_t to = from + 2; to <= 102; to += 9) {
      std::vector<LayoutSpec::Device> devices;
      for (size_t i = 8 * from; i < 8 * to; ++i) devices.push_back({step.gpus[i], {}});
      LayoutSpec spec = OnAll(devices, "", LayoutOption::kDuplicate);
      const LayoutSpec made = step.Short(spec);
      EXPECT_LE(made.devices.size(), 6u) << from << " " << to;
      EXPECT_EQ(ExpandSpecs(*step.axes, *step.cluster, {made}).front(), spec);
      spec.devices.pop_back();
      EXPECT_EQ(step.Short(spec), spec);
    }
  }
}

// Replicas over hosts, of columns in eight parts within each.
TEST(ShortSpecs, ShardsWithinHostsAreAMesh) {
  const OneProduct step(4);
  std::vector<LayoutSpec::Device> devices;
  for (size_t i = 0; i < 32; ++i) {
    const auto from = static_cast<int64_t>(8 * (i % 8));
    devices.push_back({step.gpus[i], {{kWeightColumns, from, from + 8}}});
  }
  const LayoutSpec spec = OnAll(devices, "", LayoutOption::kAllReduce), made = step.Short(spec);
  EXPECT_EQ(made.mesh, (std::vector<LayoutSpec::MeshAxis>{{"", MeshOver::kParts, 4},
                                                          {kWeightColumns, MeshOver::kParts, 8}}));
  EXPECT_EQ(step.Resolved(made), step.Resolved(spec));
}

// Boxes of several axes are long for each device: of one host they are a mesh, too, and equal shares are not.
TEST(ShortSpecs, BoxesOfOneHostAreAMesh) {
  const OneProduct step(1);
  std::vector<LayoutSpec::Device> devices, shares;
  for (size_t i = 0; i < 8; ++i) {
    const auto row = static_cast<int64_t>(16 * (i / 2)),
               column = static_cast<int64_t>(32 * (i % 2));
    devices.push_back(
        {step.gpus[i], {{kSampleRows, row, row + 16}, {kWeightColumns, column, column + 32}}});
    const auto from = static_cast<int64_t>(8 * i);
    shares.push_back({step.gpus[i], {{"", from, from + 8}}});
  }
  const LayoutSpec spec = OnAll(devices, "", LayoutOption::kAllReduce), made = step.Short(spec);
  EXPECT_EQ(made.devices, (std::vector<LayoutSpec::Device>{{"host*/gpu*", {}}}));
  EXPECT_EQ(made.mesh, (std::vector<LayoutSpec::MeshAxis>{{kSampleRows, MeshOver::kParts, 4},
                                                          {kWeightColumns, MeshOver::kParts, 2}}));
  EXPECT_EQ(step.Resolved(made), step.Resolved(spec));
  const LayoutSpec one_axis = OnAll(shares, kSampleRows, LayoutOption::kAllReduce);
  EXPECT_EQ(step.Short(one_axis), one_axis);
}

// What no glob or mesh says stays: other lengths, another order, some devices, or few of them.
TEST(ShortSpecs, OtherDevicesAreNamed) {
  const OneProduct step(4);
  std::vector<LayoutSpec::Device> devices;
  for (size_t i = 0; i < 32; ++i) devices.push_back({step.gpus[i], {}});
  std::vector<LayoutSpec::Device> swapped = devices, some(devices.begin(), devices.end() - 1),
                                  few(devices.begin(), devices.begin() + 8), uneven = devices;
  std::swap(swapped[3], swapped[4]);
  for (size_t i = 0; i < 32; ++i) {
    const auto from = static_cast<int64_t>(i == 0 ? 0 : 2 * i + 1);
    uneven[i].box = {{"", from, i == 31 ? 64 : static_cast<int64_t>(2 * i + 3)}};
  }
  for (const auto& named : {swapped, some, few}) {
    const LayoutSpec spec = OnAll(named, "", LayoutOption::kDuplicate);
    EXPECT_EQ(step.Short(spec), spec);
  }
  const LayoutSpec spec = OnAll(uneven, kSampleRows, LayoutOption::kAllReduce);
  EXPECT_EQ(step.Short(spec), spec);
}

// Drawn boxes, most of them of meshes, some with two devices exchanged: in fewer words or not, they mean the same.
TEST(ShortSpecs, MeanTheSame) {
  const OneProduct step(4);
  Random random(7);
  int shortened = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t rows = int64_t{1} << random.Below(4), columns = int64_t{1} << random.Below(3);
    const bool rows_first = random.Below(2) == 0;
    std::vector<LayoutSpec::Device> devices;
    for (int64_t at = 0; at < 32; ++at) {
      const int64_t row = rows_first ? at / columns % rows : at % rows;
      const int64_t column = rows_first ? at % columns : at / rows % columns;
      const int64_t height = 64 / rows, width = 64 / columns;
      devices.push_back({step.gpus[static_cast<size_t>(at)],
                         {{kSampleRows, row * height, (row + 1) * height},
                          {kWeightColumns, column * width, (column + 1) * width}}});
    }
    if (i % 4 == 0) std::swap(devices[0].box, devices[1].box);
    const LayoutSpec spec = OnAll(devices, "", LayoutOption::kAllReduce), made = step.Short(spec);
    EXPECT_EQ(step.Resolved(made), step.Resolved(spec)) << i;
    shortened += made.devices.size() == 1 ? 1 : 0;
  }
  EXPECT_GT(shortened, 50);
}

}  // namespace
}  // namespace placewright
