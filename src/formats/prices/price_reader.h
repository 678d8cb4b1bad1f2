// What GPUs cost: docs/formats/prices.md. Placewright has no prices of its own.
#ifndef PLACEWRIGHT_FORMATS_PRICES_PRICE_READER_H_
#define PLACEWRIGHT_FORMATS_PRICES_PRICE_READER_H_

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace placewright {

struct GpuPrices {
  std::string currency;                    // as written: "USD"
  std::map<std::string, double> per_hour;  // of one GPU, by the catalogue's name of its kind
};

// Errors carry "line L, column C": kSyntax, kField (no prices, a price that is no number above 0), kUnknownName (a kind
// that the catalogue does not have), kDuplicateName (one kind by two names).
Result<GpuPrices> ReadGpuPrices(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PRICES_PRICE_READER_H_
