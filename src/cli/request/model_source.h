// What the MODEL of `capture` is: a name of the zoo, or a file by its content.
#ifndef PLACEWRIGHT_CLI_REQUEST_MODEL_SOURCE_H_
#define PLACEWRIGHT_CLI_REQUEST_MODEL_SOURCE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "torch_api/capture_service.h"

namespace placewright {

// What belongs to one kind of model only; as given on the command line.
struct ModelOptions {
  std::string loss;                     // --loss, or empty
  std::vector<std::string> inputs;      // --input
  std::vector<std::string> dimensions;  // --dim
  std::string input_file;               // --inputs, or empty
};

// Fills in where `request.model` comes from, and what only files have. Errors: kUsage (options that
// do not belong to such a model), those of reading the file; kFormatUnknown for a file of another
// kind (a recorded step, a state dict, ...), saying what it is and what to do with it.
Status ChooseSource(const ModelOptions& options, CaptureRequest* request);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_MODEL_SOURCE_H_
