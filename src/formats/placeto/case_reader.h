// Cases of Placeto's simulator: JSON as docs/formats/placeto.md says.
#ifndef PLACEWRIGHT_FORMATS_PLACETO_CASE_READER_H_
#define PLACEWRIGHT_FORMATS_PLACETO_CASE_READER_H_

#include <string_view>

#include "base/result.h"
#include "plan/placeto_case.h"

namespace placewright {

// The result has the invariants of PlacetoCase; cycles are found when it is compiled. Errors: those
// of ParseJson; kField (missing, of another type, out of range, unknown), kDuplicateName; each with
// its place, "ops[3].cost_us".
Result<PlacetoCase> ReadPlacetoCase(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PLACETO_CASE_READER_H_
