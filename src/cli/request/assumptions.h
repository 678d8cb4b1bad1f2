// What a reader assumed or could not carry, said aloud.
#ifndef PLACEWRIGHT_CLI_REQUEST_ASSUMPTIONS_H_
#define PLACEWRIGHT_CLI_REQUEST_ASSUMPTIONS_H_

#include <string>
#include <vector>

#include "formats/input.h"
#include "formats/text/json.h"

namespace placewright {

// "assumed batch=1; give --batch or --dim for real sizes", "assumed the output shapes of 2 ops:
// ...": a line each, the first few names only; then the graph's notes. None where nothing was
// assumed.
std::vector<std::string> DescribeAssumptions(const LoadedGraph& loaded);

// Adds `assumed_shapes`, a list of "op (type)" cut at 100 of them.
void AddAssumedShapes(const LoadedGraph& loaded, Json* object);
// Adds `notes`, a list of sentences.
void AddNotes(const LoadedGraph& loaded, Json* object);
// Adds `assumed_dimensions`, {symbol: value}.
void AddAssumedDimensions(const LoadedGraph& loaded, Json* object);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_ASSUMPTIONS_H_
