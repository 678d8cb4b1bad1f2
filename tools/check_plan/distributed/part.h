// Which elements of a tensor of the original step a piece has, and in which way an instance cuts its op: intervals
// along some axes, each of which repeats. Several can be said; the checker does not prove them so far.
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
  friend auto operator<=>(const PartAlong&, const PartAlong&) = default;
};

// An interval of an axis of an op's rule; repeated, where it belongs to a factor of that axis.
struct CutAlong {
  RuleAxisId axis;
  int64_t outer = 1, period = 1;
  int64_t from = 0, to = 0;
  bool somewhere = false;  // as of PartAlong

  int64_t length() const { return outer * (to - from); }
  friend auto operator<=>(const CutAlong&, const CutAlong&) = default;
};

template <class One>
struct Intervals {
  SmallVector<One> along;  // ascending, of different axes; all of those that are not there

  bool whole() const { return along.empty(); }
  bool somewhere() const {
    return std::any_of(along.begin(), along.end(), [](const One& one) { return one.somewhere; });
  }
  // Without dimension or axis where there is none, or several.
  One only() const { return along.size() == 1 ? along.front() : One(); }
  friend bool operator==(const Intervals&, const Intervals&) = default;
};

// The same elements have one form, whatever axes stand for them; so a tensor of samples and tokens that has been
// flattened is cut by its samples (outer 1) or by its tokens (outer: the samples).
using Part = Intervals<PartAlong>;
using Cut = Intervals<CutAlong>;

// All of an axis is as if it were not there.
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

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_PART_H_
