// Models of the zoo in the place of graph files: recorded by the library of LibTorch when asked
// for.
#ifndef PLACEWRIGHT_CLI_REQUEST_MODELS_H_
#define PLACEWRIGHT_CLI_REQUEST_MODELS_H_

#include <atomic>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/request/configurations.h"
#include "formats/input.h"
#include "torch_api/capture_service.h"
#include "torch_api/torch_library.h"

namespace placewright {

// What records models in `library`. Errors: kMissingRuntime where it does not.
Result<const CaptureService*> CaptureServiceOf(const TorchLibrary& library);

// True if `graph` could name a model ("bert-base", "inception-v3@mars") and names no file: a file
// wins over a model, a folder does not.
bool MayBeModel(const std::string& graph);

// A recorded step, and the file of it.
struct RecordedModel {
  Capture capture;
  std::string bytes;  // the ATen training graph, as stored: gzip where the name asks for it
};

// Records a step. `file`: the name under which it shall be stored (".gz": compressed). Errors:
// those of CaptureService::CaptureModel, naming the model; kMissingRuntime where the library is not
// here; kNotExpressible.
Result<RecordedModel> RecordModel(const CaptureRequest& request, const std::string& file);

// "bert-base" -> "bert-base.step.json.gz"; of a file: "models/net.pt" -> "net.step.json.gz"
std::string RecordedPath(const std::string& model);

// Where the recorded step of a model lies that a plan at `plan_path` is made of, or the graph that
// came on standard input ("-"): beside the plan, so that the plan can name it. "" where `graph` is
// a file. Steps of several batch sizes lie side by side: "mlp-batch64.step.json.gz" where one was
// asked for.
std::string StoredPath(const std::string& graph, std::optional<int64_t> batch,
                       const std::string& plan_path);

// Where a cluster from standard input lies that a plan at `plan_path` is made of; "" for others.
std::string StoredClusterPath(const std::string& cluster, const std::string& plan_path);

// The file, or else a training step with Adam of the model of that name: stored at `store`, which
// is then its path (as it is that of what came on standard input), or where that is empty as if it
// had been stored. A file with that very content is left as it is. Errors: those of LoadGraph and
// RecordModel; kUnknownName where it is neither; kFileUnwritable; kUsage where a file that shall be
// kept has other content; kInterrupted once the flag is set while a model is recorded. `say`: how a recording by the
// exporter gets on.
struct StepStore {
  std::string path;
  bool kept = false;  // the file there belongs to a plan: it shall not change
};
Result<LoadedGraph> LoadGraphOrModel(const std::string& graph, const GraphInputOptions& options,
                                     const StepStore& store = {},
                                     const std::atomic<bool>* interrupted = nullptr,
                                     const RecordingSays& say = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_MODELS_H_
