// Sizes of what is fed from outside.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_PLACEHOLDERS_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_PLACEHOLDERS_H_

#include <map>
#include <vector>

#include "formats/graphdef/reader.h"
#include "formats/graphdef/records.h"

namespace placewright::graphdef {

using PlaceholderShapes = std::map<size_t, Shape>;  // by node; those with known rank

// Fills in open dimensions as GraphDefOptions says. Errors: kGraphShape (dimensions without a
// value, named), kUnknownName, kUsage, kField (values below 1 or above 2^31 - 1).
Result<PlaceholderShapes> SizePlaceholders(const std::vector<Node>& nodes,
                                           const GraphDefOptions& options, GraphDefReport* report);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_PLACEHOLDERS_H_
