// The ATen training graph (fx JSON): one whole step recorded op by op. docs/formats/aten-graph.md.
#ifndef PLACEWRIGHT_FORMATS_ATEN_READER_H_
#define PLACEWRIGHT_FORMATS_ATEN_READER_H_

#include <string_view>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// `text` is the expanded JSON. Errors name "ops[12] (add_1)" and the like.
Result<Graph> ReadAtenGraph(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_READER_H_
