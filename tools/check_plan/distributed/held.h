// What a tensor of a compiled step is of the original one.
#ifndef CHECK_PLAN_DISTRIBUTED_HELD_H_
#define CHECK_PLAN_DISTRIBUTED_HELD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "check_plan/distributed/part.h"
#include "check_plan/violation.h"

namespace placewright::check {

// What is added up to a tensor: all of it, nothing (zeros), or some shares of a sum.
struct Addend {
  enum Kind : uint8_t { kWhole, kZero, kSome };
  Kind kind = kWhole;
  int32_t sum = -1;             // of kSome: which sum, as Sums numbers them
  std::vector<int32_t> shares;  // of it, as Sums numbers them, ascending
  friend bool operator==(const Addend&, const Addend&) = default;
};

// By what it must still be divided: a number, or all of another tensor of the original.
struct Division {
  std::optional<int64_t> number;
  TensorId tensor;
  bool due() const { return number.has_value() || tensor.valid(); }
  friend bool operator==(const Division&, const Division&) = default;
};

// One content of a storage: a version of a storage of the original. Tensors of it (views) are parts.
struct Content {
  // kUnknown: behind a violation. kInner: between the ops of a norm in parts, and of no tensor of the original.
  enum Knowledge : uint8_t { kUnknown, kNotProven, kInner, kKnown };
  Knowledge knowledge = kUnknown;
  int32_t version = -1;
  Addend addend;
  Division division;
  int32_t buffer = -1;  // it is a buffer of several tensors, as Contents numbers them
  // A part that is somewhere (zeros, whose parts are all alike) is this one since something of a place was written
  // there: of that tensor of the original. None: `placed` is all.
  TensorId placed_tensor;
  Part placed;
};

// A tensor as an op reads it.
struct Held {
  TensorId tensor;  // of the original: the first that has its bytes
  Part part;
  Content content;
  int64_t length = 0;  // elements, of a tensor in a buffer
  bool known() const { return content.knowledge == Content::kKnown && tensor.valid(); }
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_HELD_H_
