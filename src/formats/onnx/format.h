// ONNX models as a graph format.
#ifndef PLACEWRIGHT_FORMATS_ONNX_FORMAT_H_
#define PLACEWRIGHT_FORMATS_ONNX_FORMAT_H_

#include "formats/graph_format.h"

namespace placewright {

extern const GraphFormat kOnnxFormat;

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ONNX_FORMAT_H_
