#include "cluster/discovery/topo_matrix.h"

#include <gmock/gmock.h>

namespace placewright {
namespace {

using testing::HasSubstr;

// As the tool prints it: an underlined header, tabs, a legend.
constexpr std::string_view kFour =
    "\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV4\tPXB\tSYS\tPIX\t0-15,32-47\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tPHB\tSYS\tNODE\t0-15,32-47\t0\t\tN/A\n"
    "GPU2\tPXB\tPHB\t X \tNV12\tSYS\t0-15,32-47\t0\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNV12\t X \tSYS\t16-31,48-63\t1-3\t\tN/A\n"
    "NIC0\tPIX\tNODE\tSYS\tSYS\t X \t\t\t\t\n"
    "\n"
    "Legend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n\nNIC Legend:\n\n"
    "  NIC0: mlx5_0\n\n";

TEST(TopoMatrix, ReadsPathsLanesAndAffinities) {
  const Result<TopoMatrix> table = ParseTopoMatrix(kFour);
  ASSERT_TRUE(table.ok()) << table.error().message;
  const TopoMatrix& matrix = table.value();
  ASSERT_EQ(matrix.nodes.size(), 5u);
  EXPECT_EQ(matrix.GpuCount(), 4u);
  EXPECT_EQ(matrix.nodes[4].name, "NIC0");
  EXPECT_EQ(matrix.nodes[4].gpu, -1);
  EXPECT_EQ(matrix.nodes[0].numa, 0);
  EXPECT_EQ(matrix.nodes[3].numa, 1);  // the first of 1-3
  EXPECT_EQ(matrix.nodes[4].numa, -1);
  EXPECT_EQ(matrix.cell(0, 2), (TopoCell{TopoPath::kPxb, 0}));
  EXPECT_EQ(matrix.cell(1, 4), (TopoCell{TopoPath::kNode, 0}));
  EXPECT_EQ(matrix.cell(0, 0), (TopoCell{TopoPath::kSelf, 0}));
  // NVLink hides the PCIe path: one NUMA node, and two.
  EXPECT_EQ(matrix.cell(1, 0), (TopoCell{TopoPath::kPhb, 4}));
  EXPECT_EQ(matrix.cell(2, 3), (TopoCell{TopoPath::kSys, 12}));
}

TEST(TopoMatrix, ReadsWhatWasPastedWithBlanksAndOlderWords) {
  const Result<TopoMatrix> table = ParseTopoMatrix(
      "\r\n        GPU0    GPU1    mlx5_0  CPU Affinity\r\n"
      "GPU0     X      SOC     PSB     0-7\r\n"
      "GPU1    SOC      X      PHB     8-15\r\n"
      "mlx5_0  PSB     PHB      X\r\n");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().cell(0, 1).path, TopoPath::kSys);
  EXPECT_EQ(table.value().cell(2, 0).path, TopoPath::kPix);
  EXPECT_EQ(table.value().nodes[0].numa, -1);
}

TEST(TopoMatrix, ReadsASingleGpu) {
  const Result<TopoMatrix> table =
      ParseTopoMatrix("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t\t\tN/A\n");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value().nodes.size(), 1u);
}

struct BadCase {
  const char *text, *place, *message;
};

TEST(TopoMatrix, BadTablesNameTheLineAndWhatToDo) {
  const BadCase cases[] = {
      {"", "line 1", "no table"},
      {"\n\nLegend:\n", "line 1", "no table"},
      {"command not found: nvidia-smi\n", "line 1", "GPU0"},
      {" GPU0 GPU2\n", "line 1", "\"GPU2\" stands where GPU1"},
      {" GPU0 GPUx\n", "line 1", "\"GPUx\" stands where GPU1"},
      {" NIC0 GPU0\n", "line 1", "\"GPU0\" stands where"},
      {" GPU0 NIC0 NIC0\n", "line 1", "two columns are called \"NIC0\""},
      {" GPU0 GPU1\nGPU0 X PIX\n", "line 2", "ends after 1 of 2 rows"},
      {" GPU0 GPU1\nGPU1 X PIX\n", "line 2", "\"GPU1\" stands where GPU0"},
      {" GPU0 GPU1\nGPU0 X\n", "line 2", "1 of 2 paths"},
      {" GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\nGPU2 X X\n", "line 4", "more than its 2 rows"},
      {" GPU0 GPU1\nGPU0 X FAR\nGPU1 FAR X\n", "line 2", "\"FAR\" is no path"},
      {" GPU0 GPU1\nGPU0 X NV0\nGPU1 NV0 X\n", "line 2", "\"NV0\" is no path"},
      {" GPU0 GPU1\nGPU0 X NV-1\nGPU1 NV-1 X\n", "line 2", "\"NV-1\" is no path"},
      {" GPU0 GPU1\nGPU0 X NV99999999999\n", "line 2", "is no path"},
      {" GPU0 GPU1\nGPU0 PIX X\nGPU1 X PIX\n", "line 2", "from GPU0 to GPU0 is \"PIX\""},
      {" GPU0 GPU1\nGPU0 X X\nGPU1 X X\n", "line 2", "from GPU0 to GPU1 is \"X\""},
      {" GPU0 GPU1\nGPU0 X PIX\nGPU1 PHB X\n", "line 3", "differs from the way back"},
      {" GPU0 GPU1\nGPU0 X NV2\nGPU1 NV4 X\n", "line 3", "differs from the way back"},
  };
  for (const BadCase& bad : cases) {
    const Result<TopoMatrix> table = ParseTopoMatrix(bad.text);
    ASSERT_FALSE(table.ok()) << bad.text;
    EXPECT_EQ(table.error().place, bad.place) << bad.text;
    EXPECT_THAT(table.error().message, HasSubstr(bad.message)) << bad.text;
    EXPECT_THAT(std::string(table.error().Remedy()), HasSubstr("nvidia-smi topo -m")) << bad.text;
  }
}

TEST(TopoMatrix, SizesAreLimited) {
  std::string header;
  for (int i = 0; i < 129; ++i) header += " GPU" + std::to_string(i);
  EXPECT_THAT(ParseTopoMatrix(header + "\n").error().message, HasSubstr("at most 128"));
  EXPECT_EQ(ParseTopoMatrix(std::string(1'100'000, ' ')).error().code, ErrorCode::kFileTooLarge);
}

}  // namespace
}  // namespace placewright
