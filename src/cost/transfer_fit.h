// The time of a transfer as a function of its size, from measured sizes: pieces of lines.
#ifndef PLACEWRIGHT_COST_TRANSFER_FIT_H_
#define PLACEWRIGHT_COST_TRANSFER_FIT_H_

#include <span>
#include <utility>
#include <vector>

#include "base/units.h"

namespace placewright {

using SizeAndTime = std::pair<Bytes, Nanos>;

// From `from` bytes up to the next segment's: latency + bytes / bandwidth.
struct TransferSegment {
  Bytes from;
  Nanos latency;             // >= 0
  BytesPerSecond bandwidth;  // >= 1
};

// The line with the smallest sum of squared relative errors. At least one size, ascending.
TransferSegment FitLine(std::span<const SizeAndTime> sizes);

// At most `max` lines, each over three sizes or more (over all, where there are fewer), with the
// smallest sum of squared relative errors; one line more is taken where it halves that sum, as long as
// that is above (1%)^2 a size.
std::vector<TransferSegment> FitSegments(std::span<const SizeAndTime> sizes, size_t max = 3);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_TRANSFER_FIT_H_
