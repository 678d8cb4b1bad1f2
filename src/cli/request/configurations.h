// Models of transformers in the place of graph files: `hf:PATH` names a folder with a config.json, or such a
// file, and is recorded by the exporter for PyTorch users (python/placewright_export.py) in a Python that has
// PyTorch and transformers. `hf:PATH@NAME=VALUE,NAME=VALUE` changes what is recorded: `sequence`, `optimizer`,
// `dtype`, `task`, `lora` and `frozen-weights` are the exporter's options, other names are values of the configuration.
#ifndef PLACEWRIGHT_CLI_REQUEST_CONFIGURATIONS_H_
#define PLACEWRIGHT_CLI_REQUEST_CONFIGURATIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright {

// True for "hf:...".
bool IsConfiguration(const std::string& graph);

// "hf:models/Llama-3-8B/config.json@sequence=4096" -> "Llama-3-8B-sequence4096": for names of files.
std::string ConfigurationName(const std::string& graph);

// The Python that records: that of the variable PLACEWRIGHT_PYTHON, else `python3`.
std::string ExporterPython();
// The exporter, as installed or in the repository; its bare name where it is not there.
std::string ExporterPath();

struct RecordedConfiguration {
  std::string bytes;               // the ATen training graph, as stored
  std::vector<std::string> notes;  // the exporter's
};

// Takes sentences on how a long recording gets on, one every few seconds; may be empty.
using RecordingSays = std::function<void(std::string_view)>;

// Records a step by the exporter, as a file whose name ends as `file` does. `options`: more words for the
// exporter's command line. Errors: kUsage
// (an empty path, a change without a name), kMissingRuntime (no Python, no PyTorch, no transformers, no exporter),
// kNotRecordable with the exporter's own words, kInterrupted.
Result<RecordedConfiguration> RecordConfiguration(const std::string& graph,
                                                  std::optional<int64_t> batch,
                                                  const std::vector<std::string>& options,
                                                  const std::string& file,
                                                  const RecordingSays& say = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_CONFIGURATIONS_H_
