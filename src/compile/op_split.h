// In which parts the instances of one op compute it under a layout (internal to the module).
//
// Of a layout's axes an op is split by those that its rule lets it be split by; devices that differ in others alone are
// replicas, which compute the same.
#ifndef PLACEWRIGHT_COMPILE_OP_SPLIT_H_
#define PLACEWRIGHT_COMPILE_OP_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/small_vector.h"
#include "compile/emitter.h"
#include "compile/piece_boxes.h"
#include "plan/layout.h"
#include "sharding/axis_places.h"
#include "sharding/named_axes.h"
#include "sharding/part_call.h"

namespace placewright {

class OpSplit {
 public:
  // An axis of the layout, and which axis of the op's rule that is.
  struct By {
    AxisId axis;
    RuleAxisId of;
  };

  OpSplit(const NamedAxes& axes, OpId op, const Op& of, const Layout& layout)
      : axes_(axes), id_(op), op_(of), layout_(layout) {}

  // The axis as one to split the op by; nothing where its rule does not have it.
  std::optional<By> ByAxis(AxisId axis) const;
  // Of these axes it is split by as many as can be at once: one with an operator of its own for a part
  // (AxisPartOp), and of those over which there are statistics all or none.
  void Set(const SmallVector<By>& by);

  bool any() const { return !by_.empty(); }  // else every instance does everything
  bool Is(AxisId axis) const;                // split by it
  const SmallVector<By>& by() const { return by_; }
  bool IsSynchronised() const;
  bool IsSynchronised(const By& one) const {
    return rule().axes[one.of].parts == Parts::kSynchronised;
  }
  // Precondition: the op has a rule.
  const OpRule& rule() const { return *axes_.rule(id_); }

  Interval IntervalOf(const By& one, size_t share) const {
    return layout_.shares[share].Along(one.axis);
  }
  AxisPlace PlaceIn(const TensorAxes& tensor, const By& one) const {
    return PlaceInRule(axes_, id_, one.of, one.axis, tensor);
  }
  // What a share has of a tensor that the op reads or makes; and what each has, behind what is in `boxes`.
  TensorBox BoxIn(const TensorAxes& tensor, size_t share) const;
  void AddBoxesIn(const TensorAxes& tensor, std::vector<TensorBox>& boxes) const;
  // The latter alone, which may be known.
  PieceBoxes BoxesIn(const TensorAxes& tensor, BoxesOfSplits& known) const;
  // Whether these are what the shares need of an input.
  bool AreInputBoxes(size_t input, const PieceBoxes& boxes, BoxesOfSplits& known) const;
  TensorBox InputBox(size_t input, size_t share) const {
    return any() ? BoxIn(rule().inputs[input], share) : TensorBox();
  }
  TensorBox OutputBox(size_t output, size_t share) const {
    return any() ? BoxIn(rule().outputs[output], share) : TensorBox();
  }
  bool SplitsInput(size_t input) const;
  // What a share has of these axes.
  Box PartOf(const std::vector<AxisId>& axes, size_t share) const;
  // All of the input enters a sum over parts once: in those whose parts begin at 0.
  bool IsOnce(size_t input) const;
  bool EntersIn(size_t input, size_t share) const;

  // Whether keys of shares with equal lengths are equal, and instances with these keys the op on each of them.
  bool IsByLengthsAlone() const {
    return !any() || (rule().form == PartForm::kSameOp && rule().place_argument < 0 &&
                      rule().axis_parts.empty());
  }

  // Whether the share is less than all of some axis: else its instance is the op.
  bool IsPart(size_t share) const;
  PartCall CallOf(size_t share) const;
  InstanceKey KeyOf(size_t share) const;

  // Shares that have statistics together: alike in all axes but those that these are over, and with each part of these
  // once. Nothing where there are no such groups.
  std::optional<std::vector<std::vector<size_t>>> TogetherSynchronised() const;

 private:
  void KeepOneWithOperator();
  bool IsPartBy(const By& one, size_t share) const {
    return IntervalOf(one, share).length() < axes_.axis(one.axis).size;
  }
  bool IsOnceBy(const By& one, size_t input) const;
  InstanceKey::Part KeyPartOf(const By& one, size_t share) const;
  TensorBox StatedIn(const PlaceArgument& at, size_t share) const;

  const NamedAxes& axes_;
  const OpId id_;
  const Op& op_;
  const Layout& layout_;
  SmallVector<By> by_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_OP_SPLIT_H_
