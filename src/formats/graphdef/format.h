// TensorFlow GraphDefs as a graph format.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_FORMAT_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_FORMAT_H_

#include "formats/graph_format.h"

namespace placewright {

extern const GraphFormat kGraphDefFormat;

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_FORMAT_H_
