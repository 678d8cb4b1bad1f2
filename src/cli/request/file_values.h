// Which tensor of a file each value of an executed step is, or is a part of.
#ifndef PLACEWRIGHT_CLI_REQUEST_FILE_VALUES_H_
#define PLACEWRIGHT_CLI_REQUEST_FILE_VALUES_H_

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright {

// What is executed: a graph, or what was compiled of one. Files call values by the names of that one.
struct ExecutedStep {
  const Graph* graph = nullptr;
  const Graph* original = nullptr;                        // nullptr: the graph is no compiled one
  std::span<const DistributedStep::InputPiece> pieces{};  // of a compiled one: all its inputs

  const Graph& named() const { return original == nullptr ? *graph : *original; }
};

class FileValues {
 public:
  // Kinds of tensors that a file gives.
  using Gives = std::function<bool(const Graph& graph, const Tensor& tensor)>;
  // A value of the step, and the tensor of the file that it is of.
  struct Source {
    const SafeTensor* tensor = nullptr;                // nullptr: the file has none
    const Tensor* like = nullptr;                      // what that one must be
    const DistributedStep::InputPiece* cut = nullptr;  // which part of it; nullptr: it is all of it
  };

  // `bare`: names are those of tensors, or what is behind their colon. All must outlive it.
  FileValues(const ExecutedStep& step, const SafeTensors& file, bool bare, Gives gives);

  // Values that the file may give: inputs of the executed graph.
  const std::vector<TensorId>& all() const { return values_; }
  // What has a name of its own in the file (a checkpoint's, of the same plan) is that; else it is its part of what the
  // original has.
  Source Find(TensorId value);
  // kPlanMismatch: a name in the file that reaches none of these values, but for `others`. Once all were asked for.
  // `what` they are: "input"; `remedy` comes behind the names that there are.
  Status CheckAllFound(std::string_view others, std::string_view what,
                       std::string_view remedy) const;

  // The bytes of `whole`, one of the source's tensors, that the value is.
  static std::string BytesFor(const Source& source, std::string_view whole);

 private:
  const SafeTensor* FindByName(const Tensor& tensor);

  std::vector<std::string> Names() const;

  const ExecutedStep step_;
  const SafeTensors& file_;
  const bool bare_;
  const Gives gives_;
  std::vector<TensorId> values_;
  IdVector<TensorId, const DistributedStep::InputPiece*> piece_of_;
  std::set<std::string, std::less<>> found_;
};

// "a.b" of "param:a.b".
std::string_view BareName(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_FILE_VALUES_H_
