// exp and log from additions, products and quotients alone, so that what is decided by them is equal
// on every machine; libm's may differ in their last bits. Relative error below 1e-13.
#ifndef PLACEWRIGHT_BASE_ELEMENTARY_H_
#define PLACEWRIGHT_BASE_ELEMENTARY_H_

#include <cmath>

namespace placewright {

// e^x; 0 below -708, and what it is at 708 above that.
inline double PortableExp(double x) {
  constexpr double kLimit = 708, kLog2 = 0.693147180559945309;
  if (x < -kLimit) return 0;
  if (x > kLimit) x = kLimit;
  // x = n log 2 + r, |r| <= log 2 / 2; e^r by its series.
  const double n = std::floor(x / kLog2 + 0.5), r = x - n * kLog2;
  double sum = 1;
  for (int i = 15; i >= 1; --i) sum = 1 + r * sum / i;
  return std::ldexp(sum, static_cast<int>(n));
}

// log x of a normal x > 0.
inline double PortableLog(double x) {
  constexpr double kLog2 = 0.693147180559945309, kRoot = 0.707106781186547524;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  if (mantissa < kRoot) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)) = 2 (z + z^3 / 3 + z^5 / 5 + ...), |z| < 0.172
  const double z = (mantissa - 1) / (mantissa + 1), square = z * z;
  double sum = 0;
  for (int i = 19; i >= 1; i -= 2) sum = sum * square + 1.0 / i;
  return 2 * z * sum + exponent * kLog2;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_ELEMENTARY_H_
