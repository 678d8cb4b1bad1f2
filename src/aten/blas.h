// Which BLAS library this process's LibTorch multiplies matrices with.
#ifndef PLACEWRIGHT_ATEN_BLAS_H_
#define PLACEWRIGHT_ATEN_BLAS_H_

#include <string>

namespace placewright {

// The path of the library's file, links resolved; "" where LibTorch holds a BLAS of its own (as
// PyTorch's packages do).
std::string BlasLibrary();

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_BLAS_H_
