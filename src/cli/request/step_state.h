// Values of an executed step outside the program: checkpoints, and batches from files. All are
// safetensors.
#ifndef PLACEWRIGHT_CLI_REQUEST_STEP_STATE_H_
#define PLACEWRIGHT_CLI_REQUEST_STEP_STATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/request/file_values.h"
#include "graph/graph.h"
#include "torch_api/capture_service.h"
#include "torch_api/execution_service.h"

namespace placewright {

// Everything that a step leaves for the next one: parameters, buffers, optimizer state, the state of
// the random generator. A run of n steps and one of m from its checkpoint are a run of n + m.
// Over several processes all ranks call it, and one `writes`. Errors: kFileUnwritable.
Status SaveState(const std::string& path, const Graph& graph, const Execution& execution,
                 int64_t steps, bool writes = true);

struct LoadedState {
  int64_t steps = 0;  // that it has behind it; 0 where the file does not say
  std::vector<std::string>
      kept;  // tensors of the graph that the file has not: they stay as they were
};
// A file's content: a checkpoint, or a file of others with the parameters' names, with or without "param:". Of a
// compiled step each device gets its part of what has the original's name; a checkpoint of the same plan has the
// parts by their own names. Errors: those of the reader; kFileCorrupt (not what its SHA-256 says); kPlanMismatch (no
// tensor of the graph, another shape or dtype, a name that reaches none, a checkpoint that lacks one).
Result<LoadedState> LoadState(const std::string& bytes, const std::string& path,
                              const ExecutedStep& step, Execution& execution);

// kField: a constant that ops read, of a graph whose file holds no content, that no loaded file has given. `kept`: of
// the file that was loaded; nullptr: none was. Seeded values of it would be another step.
Status CheckConstants(const ExecutedStep& step, const std::vector<std::string>* kept);

// What a recorded model's file says that its parameters and constants hold (Capture::contents), for
// LoadState. Errors: kNotExpressible (complex numbers), kFileUnwritable.
Status SaveWeights(const std::string& path, const Capture& capture);
// Tensors that a step of `capture` reads and the file does not hold, by name.
std::vector<std::string> MissingWeights(const Capture& capture);

// --inputs: values of the step's inputs by name, with or without "input:", cut as LoadState does. A tensor with one
// dimension more than the graph says holds one batch after the other.
class InputFile {
 public:
  // The step must outlive it. Errors: as LoadState.
  static Result<InputFile> Open(const std::string& path, const ExecutedStep& step);
  std::string Digest() const;  // of all that it holds
  // Before step `step`, counted from the training's first; batches begin again behind the last one.
  // `first` of this execution: what is the same in every step is set, too.
  Status Set(int64_t step, bool first, Execution& execution) const;

 private:
  struct Input {
    TensorId tensor;                // of the executed graph
    FileValues::Source source;      // without the file's tensor
    int64_t batches = 1, size = 0;  // bytes of one
    size_t offset = 0;              // in `bytes_`
  };
  Status Read(const ExecutedStep& step);

  std::string path_, bytes_;
  std::vector<Input> inputs_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_STEP_STATE_H_
