#include "torch_api/blas.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>

namespace placewright {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

// What OpenBLAS has for x86 without AVX.
constexpr std::array<std::string_view, 16> kOldKernels = {
    "generic", "katmai",     "coppermine", "northwood", "prescott", "banias",    "atom", "core2",
    "penryn",  "dunnington", "nehalem",    "athlon",    "opteron",  "barcelona", "nano", "bobcat"};

bool IsOld(std::string_view chosen) {
  std::string name(chosen);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kOldKernels.begin(), kOldKernels.end(),
                     [&](std::string_view old) { return name.starts_with(old); });
}

}  // namespace

CpuInstructions CpuInstructions::OfThis() {
  CpuInstructions cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
  return cpu;
}

std::string BlasKernels() {
  using CoreName = const char* (*)();
  const auto name = reinterpret_cast<CoreName>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  const char* const kernels = name == nullptr ? nullptr : name();
  return kernels == nullptr ? "" : kernels;
}

std::string WithBlasKernels(std::string file) {
  const std::string kernels = BlasKernels();
  if (file.find("openblas") == std::string::npos || kernels.empty()) return file;
  return fmt::format("{} ({})", file, kernels);
}

std::string_view BetterBlasKernels(std::string_view chosen, const CpuInstructions& cpu) {
  if (!cpu.avx2 || !IsOld(chosen)) return "";
  return cpu.avx512 ? "SKYLAKEX" : "HASWELL";
}

void StartAgainForBlasKernels(char** argv) {
  // Started by way of the dynamic loader, the program is the loader.
  if (std::getenv(kVariable) != nullptr || getauxval(AT_BASE) == 0) return;
  const std::string better(BetterBlasKernels(BlasKernels(), CpuInstructions::OfThis()));
  if (better.empty()) return;
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error || setenv(kVariable, better.c_str(), /*overwrite=*/0) != 0) return;
  execv(program.c_str(), argv);
  unsetenv(kVariable);  // that of children would be another
}

std::string BlasAdvice(const std::string& blas, const CpuInstructions& cpu) {
  // Debian's reference BLAS lies in a folder of that name, OpenBLAS in openblas-openmp, -pthread, -serial.
  if (blas.find("/blas/libblas") != std::string::npos) {
    return "The reference BLAS makes learned planners ten times slower: install "
           "libopenblas0-openmp.";
  }
  if (blas.find("openblas-pthread") != std::string::npos) {
    return "This OpenBLAS computes on all cores whatever a device's share is: install "
           "libopenblas0-openmp.";
  }
  const size_t open = blas.rfind(" (");
  if (open == std::string::npos) return "";
  const std::string chosen = blas.substr(open + 2, blas.rfind(')') - open - 2);
  const std::string_view better = BetterBlasKernels(chosen, cpu);
  if (better.empty()) return "";
  const char* const stated = std::getenv(kVariable);
  if (stated != nullptr && stated == better) {
    return fmt::format(
        "This OpenBLAS has {} kernels alone, which make learned planners half as fast: install "
        "libopenblas0-openmp.",
        chosen);
  }
  return fmt::format(
      "OpenBLAS takes {} kernels on this CPU, which make learned planners half as "
      "fast: set {}={} in the environment.",
      chosen, kVariable, better);
}

}  // namespace placewright
