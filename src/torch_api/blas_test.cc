#include "torch_api/blas.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace placewright {
namespace {

using ::testing::HasSubstr;

constexpr CpuInstructions kOld{}, kAvx2{.avx2 = true}, kAvx512{.avx2 = true, .avx512 = true};

TEST(BlasKernels, ThoseWithoutAvxGiveWay) {
  EXPECT_EQ(BetterBlasKernels("Prescott", kAvx512), "SKYLAKEX");
  EXPECT_EQ(BetterBlasKernels("Prescott", kAvx2), "HASWELL");
  EXPECT_EQ(BetterBlasKernels("Opteron_SSE3", kAvx2), "HASWELL");
  EXPECT_EQ(BetterBlasKernels("Prescott", kOld), "");
  for (const char* known : {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids",
                            "Sandybridge", "neoversen1", ""}) {
    EXPECT_EQ(BetterBlasKernels(known, kAvx512), "") << known;
  }
}

TEST(BlasAdvice, NamesWhatIsSlow) {
  const std::string folder = "/usr/lib/x86_64-linux-gnu/";
  EXPECT_THAT(BlasAdvice(folder + "blas/libblas.so.3.11.0", kAvx512), HasSubstr("reference BLAS"));
  EXPECT_THAT(BlasAdvice(folder + "openblas-pthread/libopenblasp-r0.3.21.so (SkylakeX)", kAvx512),
              HasSubstr("all cores"));
  const std::string openmp = folder + "openblas-openmp/libopenblasp-r0.3.21.so";
  EXPECT_THAT(BlasAdvice(openmp + " (Prescott)", kAvx512), HasSubstr("OPENBLAS_CORETYPE=SKYLAKEX"));
  EXPECT_THAT(BlasAdvice(openmp + " (Prescott)", kAvx2), HasSubstr("OPENBLAS_CORETYPE=HASWELL"));
  ASSERT_EQ(setenv("OPENBLAS_CORETYPE", "HASWELL", 1), 0);  // and it changed nothing
  EXPECT_THAT(BlasAdvice(openmp + " (Prescott)", kAvx2), HasSubstr("install libopenblas0-openmp"));
  unsetenv("OPENBLAS_CORETYPE");
  EXPECT_EQ(BlasAdvice(openmp + " (Prescott)", kOld), "");
  EXPECT_EQ(BlasAdvice(openmp + " (SkylakeX)", kAvx512), "");
  EXPECT_EQ(BlasAdvice(openmp, kAvx512), "");
  EXPECT_EQ(BlasAdvice("", kAvx512), "");
}

}  // namespace
}  // namespace placewright
