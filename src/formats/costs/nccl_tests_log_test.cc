#include "formats/costs/nccl_tests_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace placewright {
namespace {

using testing::HasSubstr;

constexpr const char* kRanks =
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 agg "
    "iters: 1 validation: 1 graph: 0\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid    100 on     node1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid    101 on     node1 device  1 [0000:43:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid    102 on     node2 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid    103 on     node2 device  1 [0000:43:00] NVIDIA H100 80GB HBM3\n";
constexpr const char* kTable =
    "#                                                      out-of-place             in-place\n"
    "#       size   count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw "
    "#wrong\n"
    "#        (B)   (elements)                  (us)  (GB/s) (GB/s)         (us)  (GB/s) (GB/s)\n"
    "           0       0  float    sum    -1   0.10   0.00   0.00      0   0.10   0.00   0.00   "
    "0\n"
    "        1024     256  float    sum    -1  18.66   0.05   0.08      0  17.95   0.06   0.09   "
    "0\n"
    "        4096    1024  float    sum    -1  20.00   0.20   0.31    N/A  19.00   0.22   0.32 "
    "N/A\n"
    "        4096    1024  float    sum    -1  24.00   0.17   0.26      0  19.00   0.22   0.32   "
    "0\n"
    "        4096    1024  float    sum    -1  22.50   0.18   0.27      0  19.00   0.22   0.32   "
    "0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 0.2\n";
const std::string kNamed = "# nccl-tests version 2.18.3\n# Collective test starting: ";

std::string LogOf(const std::string& test) { return kNamed + test + "\n" + kRanks + kTable; }

std::string ErrorOf(const std::string& text, std::optional<CollectiveKind> kind = std::nullopt) {
  const Result<NcclTestsLog> log = ParseNcclTestsLog(text, kind);
  if (log.ok()) return "none";
  return log.error().ToString() + " " + std::string(log.error().Remedy());
}

TEST(NcclTestsLog, HasRanksAndTimesOutOfPlace) {
  const NcclTestsLog log = ParseNcclTestsLog(LogOf("all_reduce_perf"), std::nullopt).Take();
  EXPECT_EQ(log.kind, CollectiveKind::kAllReduce);
  ASSERT_EQ(log.ranks.size(), 4u);
  EXPECT_EQ(log.ranks[2].host, "node2");
  EXPECT_EQ(log.ranks[2].gpu, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(log.sizes.size(), 2u);
  EXPECT_EQ(log.sizes[0].bytes, Bytes(1024));
  EXPECT_EQ(log.sizes[0].time, Nanos(18660));
  EXPECT_EQ(log.sizes[0].runs, 20);
  EXPECT_EQ(log.sizes[1].time, Nanos(22500));  // the median of three
  EXPECT_EQ(log.sizes[1].runs, 60);
}

// nccl-tests states what a rank sends.
TEST(NcclTestsLog, AnAllToAllIsOfWhatAllRanksHave) {
  const NcclTestsLog log = ParseNcclTestsLog(LogOf("alltoall_perf"), std::nullopt).Take();
  EXPECT_EQ(log.kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(log.sizes[0].bytes, Bytes(4 * 1024));
}

TEST(NcclTestsLog, LaunchersNumberTheLines) {
  for (const char* const prefix : {"[1,0]<stdout>:", "0: "}) {
    std::string text;
    std::string line;
    for (const char c : LogOf("all_gather_perf")) {
      line += c;
      if (c != '\n') continue;
      text += prefix + line;
      line.clear();
    }
    const Result<NcclTestsLog> log = ParseNcclTestsLog(text, std::nullopt);
    ASSERT_TRUE(log.ok()) << prefix << log.error().ToString();
    EXPECT_EQ(log.value().ranks.size(), 4u);
    EXPECT_EQ(log.value().sizes.size(), 2u);
  }
}

// As before 2.14: without a name, a root, and groups.
TEST(NcclTestsLog, OldOnesAreNamedByTheUser) {
  const std::string old =
      "#   Rank  0 Pid   1320 on a device  0 [0x00] Tesla V100-SXM2-16GB\n"
      "#   Rank  1 Pid   1320 on a device  1 [0x0b] Tesla V100-SXM2-16GB\n"
      "#       size   count   type   redop   time  algbw  busbw  error   time  algbw  busbw  "
      "error\n"
      "     1048576  262144  float     sum  27.76  37.78  66.11  1e-07  27.49  38.15  66.76  "
      "1e-07\n";
  EXPECT_THAT(ErrorOf(old), HasSubstr("does not name its test"));
  EXPECT_THAT(ErrorOf(old), HasSubstr("--nccl-tests all-reduce=FILE"));
  const NcclTestsLog log = ParseNcclTestsLog(old, CollectiveKind::kReduceScatter).Take();
  EXPECT_EQ(log.kind, CollectiveKind::kReduceScatter);
  EXPECT_EQ(log.ranks[1].gpu, "Tesla V100-SXM2-16GB");
  ASSERT_EQ(log.sizes.size(), 1u);
  EXPECT_EQ(log.sizes[0].time, Nanos(27760));
  EXPECT_EQ(log.sizes[0].runs, 1);
}

TEST(NcclTestsLog, WhatIsNoneIsNamed) {
  EXPECT_THAT(ErrorOf(LogOf("sendrecv_perf")), HasSubstr("\"sendrecv\" is no collective"));
  EXPECT_THAT(ErrorOf(LogOf("sendrecv_perf")), HasSubstr("line 2"));
  EXPECT_THAT(ErrorOf(LogOf("all_reduce_perf"), CollectiveKind::kAllGather),
              HasSubstr("the log is of all-reduce and not of all-gather"));
  EXPECT_THAT(
      ErrorOf(LogOf("all_reduce_perf") + LogOf("all_gather_perf"), CollectiveKind::kAllReduce),
      HasSubstr("the log is of all-gather and not of all-reduce"));
  EXPECT_THAT(ErrorOf(LogOf("all_reduce_perf") + kNamed + "all_reduce_perf\n"),
              HasSubstr("a second test begins"));
  EXPECT_THAT(ErrorOf(kNamed + "all_reduce_perf\n" + kRanks + kRanks + kTable),
              HasSubstr("there are two ranks 0"));
  EXPECT_THAT(ErrorOf(kNamed + "all_reduce_perf\n" + kTable), HasSubstr("and the log has 0"));
  EXPECT_THAT(ErrorOf(kNamed + "all_reduce_perf\n" + kRanks), HasSubstr("there are no times"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("there are no times"));
  std::string bad = LogOf("all_reduce_perf");
  bad.replace(bad.find("18.66"), 5, "never");
  EXPECT_THAT(ErrorOf(bad), HasSubstr("\"never\" is no time in microseconds"));
}

}  // namespace
}  // namespace placewright
