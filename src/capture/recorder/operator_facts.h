// What the recorder must know of an operator beyond its arguments, worked out once for each.
#ifndef PLACEWRIGHT_CAPTURE_RECORDER_OPERATOR_FACTS_H_
#define PLACEWRIGHT_CAPTURE_RECORDER_OPERATOR_FACTS_H_

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <unordered_map>

namespace placewright {

struct OperatorFacts {
  std::string name;                 // "mm", the base of the names of ops
  std::string target;               // "aten.mm.default"
  bool result_is_argument = false;  // detach, lift_fresh: they make no tensor
  bool reads_values = false;        // its result, or the shape of it, depends on values
  bool returns_numbers = false;     // it returns something, but no tensor and no list
  bool draws_random = false;
  // index_add_ for index_add: autograd gathers a gradient in place, but apart where tensors are
  // without memory.
  std::optional<c10::OperatorHandle> gathers_in_place;
  // add_ of add.Tensor, where autograd sums gradients in place.
  std::optional<c10::OperatorHandle> sums_in_place;
};

class OperatorTable {
 public:
  // Valid as long as the table.
  const OperatorFacts& Of(const c10::OperatorHandle& op);

 private:
  std::unordered_map<const c10::FunctionSchema*, OperatorFacts> facts_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_OPERATOR_FACTS_H_
