#include "search/sfb/sfb_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/random.h"
#include "search/sfb/test_cbc.h"

namespace placewright {
namespace {

// The MatMul of Fig. 4 of the paper: H1 = 300, H2 = 200, a batch of B on D = 2 devices, 4 bytes an element,
// 1 GB/s; it takes 5 us for one replica's slice.
SfbProgram OneMatMul(int64_t batch) {
  SfbProgram program;
  program.devices = 2;
  program.bandwidth = BytesPerSecond(1'000'000'000);
  program.times = {Nanos(5000)};
  program.tensors = {{SfbProgram::kOutside, 0, Bytes(200 * batch / 2 * 4)},
                     {SfbProgram::kOutside, 0, Bytes(300 * batch / 2 * 4)}};
  program.gradient_bytes = Bytes(300 * 200 * 4);
  return program;
}

// B = 4: S = 2 * 1/2 * 240,000 B / 1 GB/s = 240 us; the factors' slices of 1,600 and 2,400 B go 2 * 1 times,
// 8 us; (D-1) T = 5 us: -227 us.
TEST(SfbProgram, DuplicatesAMatMulOfASmallBatch) {
  SfbSolver solver;
  const SfbSolution& solution = solver.Solve(OneMatMul(4));
  EXPECT_EQ(solution.objective, -227'000'000);
  EXPECT_TRUE(solution.duplicated[0]);
}

// B = 200: the factors take 400 us.
TEST(SfbProgram, SynchronisesThatOfALargeBatch) {
  SfbSolver solver;
  const SfbSolution& solution = solver.Solve(OneMatMul(200));
  EXPECT_EQ(solution.objective, 0);
  EXPECT_FALSE(solution.duplicated[0]);
}

// D = 4: 2 * 3 * 240 us are pushed and pulled, 2 * 3/4 * 240 us = 360 us go round a ring.
TEST(SfbProgram, ServersTakePushAndPull) {
  SfbProgram program = OneMatMul(4);
  program.devices = 4;
  EXPECT_EQ(program.Synchronisation(), 360'000'000);
  program.exchange = GradientExchange::kServers;
  EXPECT_EQ(program.Synchronisation(), 1'440'000'000);
  EXPECT_EQ(program.CostOfOp(0), 15'000'000);
  EXPECT_EQ(program.CostOfTensor(program.tensors[0]), 12 * 1'600'000);
}

// 1 B at 3 B/s, paid twice: 666,666,666,667 ps; saved: half of that, rounded down.
TEST(SfbProgram, RoundsCostsUpAndSavingsDown) {
  SfbProgram program;
  program.bandwidth = BytesPerSecond(3);
  program.times = {Nanos(0)};
  program.tensors = {{SfbProgram::kOutside, 0, Bytes(1)}};
  program.gradient_bytes = Bytes(1);
  EXPECT_EQ(program.CostOfTensor(program.tensors[0]), 666'666'666'667);
  EXPECT_EQ(program.Synchronisation(), 333'333'333'333);
  program.gradient_bytes = Bytes(kMaxQuantity);
  EXPECT_EQ(program.Synchronisation(), kMaxQuantity / 2);  // saturated before it is divided by D
}

// 0 makes 1 MB out of 1 kB, from which 1 makes the gradient: with both duplicated 1 kB crosses.
TEST(SfbProgram, GoesBackToWhereTensorsAreSmall) {
  SfbProgram program;
  program.bandwidth = BytesPerSecond(1'000'000'000);
  program.times = {Nanos(1000), Nanos(1000)};
  program.tensors = {{SfbProgram::kOutside, 0, Bytes(1000)}, {0, 1, Bytes(1'000'000)}};
  program.gradient = 1;
  program.gradient_bytes = Bytes(500'000);
  SfbSolver solver;
  // -500 us + 2 us of ops + 2 us of 1 kB.
  EXPECT_EQ(solver.Solve(program).objective, -496'000'000);
  // Another reader of 0's parts of a sum stays replicated: neither.
  program.together = {{0, SfbProgram::kOutside}};
  EXPECT_EQ(solver.Solve(program).objective, 0);
}

SfbProgram RandomProgram(Random& random) {
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(limit)));
  };
  SfbProgram program;
  const auto ops = static_cast<int32_t>(1 + below(9));
  program.devices = 2 + below(3);
  program.bandwidth = BytesPerSecond(1'000'000 + below(1'000'000));
  program.exchange = below(2) == 0 ? GradientExchange::kAllReduce : GradientExchange::kServers;
  for (int32_t op = 0; op < ops; ++op) {
    program.times.push_back(Nanos(below(40'000)));
    for (int64_t reads = below(3); reads > 0; --reads) {
      const auto from = static_cast<int32_t>(below(op + 1)) - 1;  // an earlier one, or outside
      program.tensors.push_back({from, op, Bytes(below(60))});
    }
    if (op > 0 && below(8) == 0) {
      program.together.push_back(
          {static_cast<int32_t>(below(op)), below(4) == 0 ? SfbProgram::kOutside : op});
    }
  }
  program.gradient = static_cast<int32_t>(below(ops));
  program.gradient_bytes = Bytes(below(400));
  return program;
}

// The printed program, alpha_l free and (g, l) in E: the minimum over all alpha.
int64_t ByBruteForce(const SfbProgram& program) {
  const auto ops = static_cast<int32_t>(program.times.size());
  int64_t best = std::numeric_limits<int64_t>::max();
  for (uint32_t bits = 0; bits < (1U << (ops + 1)); ++bits) {
    std::vector<bool> alpha;
    for (int32_t op = 0; op < ops; ++op) alpha.push_back((bits >> op & 1U) != 0);
    const bool of_l = (bits >> ops & 1U) != 0;
    std::vector<bool> asked(alpha.size(), true);
    bool allowed = true;
    for (const SfbProgram::Together& pair : program.together) {
      const bool reader =
          pair.reader != SfbProgram::kOutside && alpha[static_cast<size_t>(pair.reader)];
      if (pair.reader != SfbProgram::kOutside) asked[static_cast<size_t>(pair.reader)] = false;
      if (alpha[static_cast<size_t>(pair.one)] && !reader) allowed = false;
    }
    for (int32_t k = 0; k < ops; ++k) {
      if (!alpha[static_cast<size_t>(k)] || !asked[static_cast<size_t>(k)]) continue;
      int64_t consumers = k == program.gradient && of_l ? 1 : 0;
      for (const SfbProgram::Tensor& tensor : program.tensors) {
        if (tensor.from == k && alpha[static_cast<size_t>(tensor.to)]) ++consumers;
      }
      if (consumers == 0) allowed = false;
    }
    if (!allowed) continue;
    int64_t objective = ObjectiveOf(program, alpha);
    if (of_l && !alpha[static_cast<size_t>(program.gradient)]) {
      objective += program.CostOfTensor({program.gradient, 0, program.gradient_bytes});
    }
    best = std::min(best, objective);
  }
  return best;
}

TEST(SfbProgram, AgreesWithBruteForceOverAllChoices) {
  Random random(11);
  SfbSolver solver;
  int duplicating = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const SfbProgram program = RandomProgram(random);
    const SfbSolution& solution = solver.Solve(program);
    ASSERT_EQ(solution.objective, ByBruteForce(program)) << "trial " << trial;
    ASSERT_EQ(ObjectiveOf(program, solution.duplicated), solution.objective) << "trial " << trial;
    duplicating += solution.objective < 0 ? 1 : 0;
  }
  EXPECT_GT(duplicating, 100);  // the programs are no trivial ones
}

TEST(SfbProgram, AgreesWithCbc) {
  if (!HasCbc()) GTEST_SKIP() << "Cbc is not installed (coinor-cbc)";
  const CbcFolder folder;
  Random random(13);
  SfbSolver solver;
  for (int trial = 0; trial < 60; ++trial) {
    const SfbProgram program = RandomProgram(random);
    ASSERT_EQ(solver.Solve(program).objective, ByCbc(program, folder.path)) << FormatLp(program);
  }
}

}  // namespace
}  // namespace placewright
