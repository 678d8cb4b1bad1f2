// What the type of a TensorFlow op says beyond its arithmetic.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_ROLES_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_ROLES_H_

#include <cstdint>
#include <string_view>

namespace placewright::graphdef {

enum class Role : uint8_t {
  kCompute,
  kVariable,     // holds a tensor that outlives the step
  kConstant,     // Const
  kPlaceholder,  // fed from outside
  kView,         // output 0 is input 0 unchanged: Identity, Reshape, ReadVariableOp
  kAssign,       // writes the variable that is input 0: Assign, AssignAdd, ScatterUpdate
  kApply         // an optimizer's update: writes the variables that its first inputs are
};

Role RoleOf(std::string_view op);

// Writers of a variable by its handle return nothing; those of a reference return it.
bool ByHandle(std::string_view op);

// Ops without outputs, for files that list no output shapes.
bool ReturnsNothing(std::string_view op);

// Ops with output 0 and no other: variables, constants, placeholders, views.
bool HasOneOutput(std::string_view op);

// The op runs in a loop of TensorFlow 1 and hands its input to the next round.
inline bool IsNextIteration(std::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}
inline bool IsMerge(std::string_view op) { return op == "Merge" || op == "RefMerge"; }

// A node of the backward pass by its name (a scope called gradients, gradients_1 or gradient_tape)
// or by its type (ReluGrad, Conv2DBackpropInput).
bool IsBackward(std::string_view name, std::string_view op);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_ROLES_H_
