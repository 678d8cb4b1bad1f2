// PipeDream profiles as a graph format.
#ifndef PLACEWRIGHT_FORMATS_PIPEDREAM_FORMAT_H_
#define PLACEWRIGHT_FORMATS_PIPEDREAM_FORMAT_H_

#include "formats/graph_format.h"

namespace placewright {

// LoadedGraph::details are a PipeDreamProfile.
extern const GraphFormat kPipeDreamFormat;

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_PIPEDREAM_FORMAT_H_
