// What a reader assumed or could not carry, said aloud.
#ifndef PLACEWRIGHT_CLI_REQUEST_ASSUMPTIONS_H_
#define PLACEWRIGHT_CLI_REQUEST_ASSUMPTIONS_H_

#include <string>
#include <vector>

#include "cli/request/inputs.h"
#include "formats/input.h"
#include "formats/text/json.h"

namespace placewright {

// "assumed batch=1; give --batch or --dim for real sizes", "assumed the output shapes of 2 ops:
// ...": a line each, the first few names only; then NotesOn. None where nothing was assumed.
std::vector<std::string> DescribeAssumptions(const LoadedGraph& loaded);
// As above, then the precision.
std::vector<std::string> DescribeAssumptions(const Inputs& inputs);

// The reader's notes; of an ONNX model without a training step, that it is a forward pass alone and
// which command records a training step of it.
std::vector<std::string> NotesOn(const LoadedGraph& loaded);

// In which precision modelled float32 products and convolutions are timed on GPUs that have TF32 (NVIDIA
// Ampere and later); "" where there are none.
std::string DescribePrecision(const Inputs& inputs);

// Adds `assumed_shapes`, a list of "op (type)" cut at 100 of them.
void AddAssumedShapes(const LoadedGraph& loaded, Json* object);
// Adds `notes`, a list of sentences: NotesOn, and of inputs the precision.
void AddNotes(const LoadedGraph& loaded, Json* object);
void AddNotes(const Inputs& inputs, Json* object);
// Adds `assumed_dimensions`, {symbol: value}.
void AddAssumedDimensions(const LoadedGraph& loaded, Json* object);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_ASSUMPTIONS_H_
