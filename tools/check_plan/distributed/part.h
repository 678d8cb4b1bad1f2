// Which elements of a tensor of the original step a piece has, and in which way an instance cuts its op.
//
// A part is an interval that repeats: its dimension is `outer` periods of `period` elements, and it has
// [from, to) of each. The same elements have one form, whatever axes stand for them; so a tensor of samples
// and tokens that has been flattened is cut by its samples (outer 1) or by its tokens (outer: the samples).
#ifndef CHECK_PLAN_DISTRIBUTED_PART_H_
#define CHECK_PLAN_DISTRIBUTED_PART_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/distributed_step.h"
#include "sharding/op_rule.h"

namespace placewright::check {

struct Part {
  int32_t dimension = -1;  // -1: all of the tensor
  int64_t outer = 1, period = 1;
  int64_t from = 0, to = 0;
  // [from, to) stands for its length alone: all parts of that length are equal (a number that has been
  // expanded), or which one it is cannot be said. outer is 1.
  bool somewhere = false;

  bool whole() const { return dimension < 0; }
  friend bool operator==(const Part&, const Part&) = default;
};

// Of one axis at most. All of the axis is the whole tensor.
Part PartAt(const TensorBox& box);
// Of a tensor of `shape`; nothing where the part does not fit it.
std::optional<std::vector<int64_t>> ShapeOf(const std::vector<int64_t>& shape, const Part& part);
// What a tensor with `shape` has where only the sizes of a piece of it are known; nothing where more than
// one dimension differs or one is larger.
std::optional<Part> PartByShape(const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& piece);
std::string ToString(const Part& part);  // "all", "[0, 4) of 16 in dimension 1", ...

// An interval of an axis of an op's rule; repeated, where it belongs to a factor of that axis.
struct Cut {
  RuleAxisId axis;
  int64_t outer = 1, period = 1;
  int64_t from = 0, to = 0;
  bool somewhere = false;  // as of Part

  int64_t length() const { return outer * (to - from); }
  friend bool operator==(const Cut&, const Cut&) = default;
};
std::string ToString(const Cut& cut);  // "[0, 4) of 16"

// The cut of an op whose tensor with these axes has this part; nothing where it is no interval of one axis.
std::optional<Cut> CutOf(const OpRule& rule, const TensorAxes& tensor, const Part& part);
// What a tensor of `shape` with these axes has in the cut; all of it, where it does not have the axis.
Part PartIn(const OpRule& rule, const TensorAxes& tensor, const std::vector<int64_t>& shape,
            const Cut& cut);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_PART_H_
