// Amounts with units as people write them: "12 GB/s", "100 Gbps", "11.5 GiB", "5us", "9.3 TFLOP/s".
// A number without a unit is refused, except 0: what 12 means is not guessed. What the
// program prints (FormatBytes, FormatBandwidth, FormatNanos, FormatCount with a unit) is read.
#ifndef PLACEWRIGHT_FORMATS_TEXT_QUANTITY_H_
#define PLACEWRIGHT_FORMATS_TEXT_QUANTITY_H_

#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace placewright {

// Exact decimal arithmetic, rounded to the nearest whole unit (halves up); at most kMaxQuantity, at
// most 18 digits. Commas may separate thousands ("12,288 MiB"). Errors: kField without a place; the
// message lists the units.
//
// B, kB, MB, GB, TB (powers of 1,000), KiB, MiB, GiB, TiB (powers of 1,024).
Result<Bytes> ParseBytes(std::string_view text);
// Any of those with "/s"; bps, kbps, Mbps, Gbps, Tbps (bits; also b/s, ..., Tb/s and bit/s, ...,
// Tbit/s).
Result<BytesPerSecond> ParseBandwidth(std::string_view text);
// A share of a whole in millionths, at most 1,000,000: "5%", "2.5 %".
Result<int32_t> ParsePercentage(std::string_view text);
// ns, us, ms, s, min.
Result<Nanos> ParseDuration(std::string_view text);
// FLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s; also ...FLOPS and ...OP/s, ...OPS.
Result<double> ParseRate(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_QUANTITY_H_
