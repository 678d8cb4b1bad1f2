// The BLAS below LibTorch, and which of its kernels it chose for this CPU.
//
// OpenBLAS before 0.3.25 takes SSE3 kernels ("Prescott") on every Intel CPU that is newer than itself
// (OpenMathLib/OpenBLAS issue 4267), as Debian 12's 0.3.21 does on Emerald Rapids: matrix products take four
// times as long. OPENBLAS_CORETYPE in the environment decides otherwise, and is read before main.
#ifndef PLACEWRIGHT_TORCH_API_BLAS_H_
#define PLACEWRIGHT_TORCH_API_BLAS_H_

#include <string>
#include <string_view>

namespace placewright {

struct CpuInstructions {
  bool avx2 = false;    // with FMA
  bool avx512 = false;  // F, CD, BW, DQ and VL

  static CpuInstructions OfThis();
};

// The kernels that the OpenBLAS that the program is linked to (Clp brings LAPACK along) chose, as it names them
// ("Haswell"); "" where there is none. Debian's LibTorch takes the same one.
std::string BlasKernels();

// "FILE (KERNELS)" where the file is an OpenBLAS; the file otherwise.
std::string WithBlasKernels(std::string file);

// OPENBLAS_CORETYPE for a CPU with these instructions where `chosen` knows nothing of AVX; "" where the choice
// may stand.
std::string_view BetterBlasKernels(std::string_view chosen, const CpuInstructions& cpu);

// Of a program, first thing in main: starts it again with OPENBLAS_CORETYPE set where it is not and kernels
// are better (BetterBlasKernels). Returns where there is nothing to do, or it cannot be started.
void StartAgainForBlasKernels(char** argv);

// What to install or set where, with this BLAS (TorchApi::blas), learned planners are slow or devices of one
// machine take one another's cores; "" where it is as it should be.
std::string BlasAdvice(const std::string& blas,
                       const CpuInstructions& cpu = CpuInstructions::OfThis());

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_BLAS_H_
