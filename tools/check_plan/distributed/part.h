// Which elements of a tensor of the original step a piece has, and in which way an instance cuts its op: intervals
// along some axes, each of which repeats.
#ifndef CHECK_PLAN_DISTRIBUTED_PART_H_
#define CHECK_PLAN_DISTRIBUTED_PART_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "plan/distributed_step.h"
#include "sharding/op_rule.h"

namespace placewright::check {

// A dimension is `outer` periods of `period` elements, of each of which it has [from, to).
struct PartAlong {
  int32_t dimension = -1;
  int64_t outer = 1, period = 1;
  int64_t from = 0, to = 0;
  // [from, to) stands for its length alone: all parts of that length are equal (a number that has been
  // expanded), or which one it is cannot be said. outer is 1.
  bool somewhere = false;

  int64_t length() const { return outer * (to - from); }
  int32_t key() const { return dimension; }
  friend auto operator<=>(const PartAlong&, const PartAlong&) = default;
};

// An interval of an axis of an op's rule; repeated, where it belongs to a factor of that axis.
struct CutAlong {
  RuleAxisId axis;
  int64_t outer = 1, period = 1;
  int64_t from = 0, to = 0;
  bool somewhere = false;  // as of PartAlong

  int64_t length() const { return outer * (to - from); }
  RuleAxisId key() const { return axis; }
  friend auto operator<=>(const CutAlong&, const CutAlong&) = default;
};

// What is in all of them. Those of one dimension or axis nest: an interval is of whole periods of the next one.
template <class One>
struct Intervals {
  SmallVector<One> along;  // ascending; all of what is not there

  bool whole() const { return along.empty(); }
  bool somewhere() const {
    return std::any_of(along.begin(), along.end(), [](const One& one) { return one.somewhere; });
  }
  friend bool operator==(const Intervals&, const Intervals&) = default;
};

// The same elements have one form, whatever axes stand for them; so a tensor of samples and tokens that has been
// flattened is cut by its samples (outer 1) or by its tokens (outer: the samples).
using Part = Intervals<PartAlong>;
using Cut = Intervals<CutAlong>;

// Their one form: all of an axis is as if it were not there, an interval of a single period of another one is an
// interval of that one.
Part Merged(std::vector<PartAlong> all);
Cut Merged(std::vector<CutAlong> all);

Part PartAt(const TensorBox& box);
// Of a tensor of `shape`; nothing where the part does not fit it.
std::optional<std::vector<int64_t>> ShapeOf(const std::vector<int64_t>& shape, const Part& part);
// What a tensor with `shape` has where only the sizes of a piece of it are known; nothing where one is larger.
std::optional<Part> PartByShape(const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& piece);
std::string ToString(const Part& part);  // "all", "[0, 4) of 16 in dimension 1", ...
std::string ToString(const Cut& cut);    // "all", "[0, 4) of 16", ...

// The cut of an op whose tensor with these axes has this part; nothing where it is no intervals of axes.
std::optional<Cut> CutOf(const OpRule& rule, const TensorAxes& tensor, const Part& part);
// What a tensor of `shape` with these axes has in the cut; all of the axes that it does not have.
Part PartIn(const OpRule& rule, const TensorAxes& tensor, const std::vector<int64_t>& shape,
            const Cut& cut);

// Of the axes of a cut, each once.
std::vector<RuleAxisId> AxesOf(const Cut& cut);
// Without the other axes.
Cut Along(const Cut& cut, const std::vector<RuleAxisId>& axes);
// Of an axis of that size.
int64_t LengthAlong(const Cut& cut, RuleAxisId axis, int64_t size);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_PART_H_
