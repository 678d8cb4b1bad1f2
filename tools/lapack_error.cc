// What LAPACK calls of an argument that it does not take. In place of the reference's, which writes
// by Fortran's runtime (tools/build_wheel).
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" [[noreturn]] void xerbla_(const char* routine, const int* argument, std::size_t length) {
  std::fprintf(stderr, "LAPACK: argument %d of %.*s is out of range\n", *argument,
               static_cast<int>(length), routine);
  std::abort();
}
