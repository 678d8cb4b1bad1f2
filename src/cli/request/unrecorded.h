// What users give in the place of a graph and is a model of theirs that no step has been recorded of: a program in Python, a
// notebook, weights, a configuration of transformers, a name of the Hugging Face hub.
#ifndef PLACEWRIGHT_CLI_REQUEST_UNRECORDED_H_
#define PLACEWRIGHT_CLI_REQUEST_UNRECORDED_H_

#include <string>

#include "base/result.h"

namespace placewright {

// `error` is what reading `graph` came to: with the command that records a step as its remedy, if `graph` is such
// a model, and else as it is. Looks at names and at the first bytes; nothing is fetched or run.
Error WithRecorder(Error error, const std::string& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_UNRECORDED_H_
