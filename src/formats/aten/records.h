// The ATen training graph as plain records, before names are resolved: one record for each line of
// the file, every field checked for its type and range.
#ifndef PLACEWRIGHT_FORMATS_ATEN_RECORDS_H_
#define PLACEWRIGHT_FORMATS_ATEN_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/text/json.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright {

// Of an input of a distributed step: what it is of the original's input `input`.
struct NamedPiece {
  std::string input;
  TensorBox box;
};

struct AtenInput {
  std::string name;
  TensorKind kind = TensorKind::kInput;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<DimensionLaw> slopes;
  int64_t below = 0;  // Tensor::below
  std::optional<NamedPiece> of;
};

struct AtenOutput {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<DimensionLaw> slopes;
};

struct AtenOp {
  enum class Mark : uint8_t { kNone, kView, kInPlace };
  std::string name, target, device, of;  // empty where the file says nothing
  std::optional<std::string> scope;      // "" is the model itself
  Phase phase = Phase::kForward;
  Mark mark = Mark::kNone;
  std::vector<std::string> inputs, after, holds;
  std::vector<Value> args;
  std::vector<NamedValue> kwargs;
  std::vector<ArgumentLaw> laws;
  std::vector<std::string> formulas;               // of numbers that change from step to step
  std::vector<std::optional<AtenOutput>> outputs;  // nullopt: null
};

struct AtenCollective {
  std::string name;
  std::vector<std::string> members;
};

struct AtenFile {
  std::string name;
  int64_t batch = 0;  // 0: not stated
  std::optional<int64_t> ops_stated, edges_stated;
  std::optional<bool> wrapped;
  std::optional<BatchScaling> batch_scaling;  // sizes and reason; the laws are with inputs and ops
  std::vector<AtenInput> inputs;
  std::vector<std::string> hyper;  // names of inputs that are numbers of the program
  std::vector<AtenOp> ops;
  std::vector<std::string> outputs, parameters;
  std::vector<AtenCollective> collectives;
};

// The words of the format: "f32", "fwd", "param", "view"; "" for what it has no word for.
std::string_view AtenWord(DType dtype);
std::string_view AtenWord(Phase phase);
std::string_view AtenWord(TensorKind kind);
std::string_view AtenWord(AtenOp::Mark mark);

// Errors: those of ParseJson; kField with a place like "ops[12] (add_1).outputs[0].dtype".
Result<AtenFile> ReadAtenRecords(std::string_view text);

// "ops[12] (add_1)"
std::string PlaceOfOp(size_t index, std::string_view name);

// The same result, the place of its error (if any) within `place()`.
template <class T, class Place>
Result<T> InPlace(const Place& place, Result<T> result) {
  if (result.ok()) return result;
  Error error = std::move(result.error());
  error.place = error.place.empty() ? place() : place() + "." + error.place;
  return error;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_RECORDS_H_
