// Ops that move, cut, join and add pieces: of no op of the original (internal to the checker). What they make
// follows from what they read, whatever they are called.
#ifndef CHECK_PLAN_DISTRIBUTED_MOVEMENT_H_
#define CHECK_PLAN_DISTRIBUTED_MOVEMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/sums.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

class Movement {
 public:
  Movement(const Graph& original, const DistributedStep& step, const Facets& facets,
           Contents& contents, Sums& sums)
      : original_(original), step_(step), facets_(facets), contents_(contents), sums_(sums) {}

  // An op that is in no collective, or the first member of one for all of them. Where something is wrong or
  // not known, what they make is unknown or not proven.
  MaybeViolation Run(OpId op);

  // Members of one kind, each with one input (of a broadcast: or none), on devices of their own; what they read is
  // of one tensor. Of a collective of several tensors each has as many inputs, and so it is with each of these.
  MaybeViolation CheckMembers(const std::vector<OpId>& members) const;

 private:
  MaybeViolation CheckArguments(const std::vector<OpId>& members) const;
  MaybeViolation RunOne(OpId op);
  MaybeViolation Split(OpId op);
  MaybeViolation Concat(OpId op);
  MaybeViolation AddN(OpId op);
  MaybeViolation Zeros(OpId op);
  MaybeViolation Divide(OpId op);
  MaybeViolation Copy(OpId op);
  MaybeViolation Zero(OpId op);
  MaybeViolation Pack(OpId op);
  MaybeViolation Unpack(OpId op);
  MaybeViolation RunTogether(const std::vector<OpId>& members);
  MaybeViolation CheckRead(const std::vector<OpId>& members, size_t tensor) const;
  MaybeViolation RunTensor(std::string_view type, const std::vector<OpId>& members);
  MaybeViolation AllReduce(const std::vector<OpId>& members);
  MaybeViolation AllReduceBuffers(const std::vector<OpId>& members);
  MaybeViolation AllGather(const std::vector<OpId>& members);
  struct Stated {
    OpId member;
    Held held;
    AxisPart part;  // of what is gathered, or scattered
  };
  MaybeViolation ReadGathered(OpId member, Stated& stated) const;
  MaybeViolation CheckGathered(const Stated& stated, const Held& joined) const;
  // All of one axis; ascending then.
  MaybeViolation Order(std::vector<Stated>& all) const;
  MaybeViolation ReduceScatter(const std::vector<OpId>& members);
  MaybeViolation Broadcast(const std::vector<OpId>& members);
  MaybeViolation AllToAll(const std::vector<OpId>& members);
  struct Exchanged;
  MaybeViolation ReadExchanged(OpId member, Exchanged& exchanged) const;
  MaybeViolation CheckGiven(const std::vector<Exchanged>& all) const;

  // The sum of what the ops read, or what is wrong with it.
  MaybeViolation Sum(OpId op, const std::vector<Held>& read, Held& sum);
  // The parts, one behind the other: in the dimension in which they differ, or in that one.
  MaybeViolation Join(OpId op, const std::vector<Held>& read, int32_t dimension,
                      Held& joined) const;
  MaybeViolation TakePart(OpId op, Held& held) const;
  MaybeViolation CheckSame(OpId op, const Held& first, const Held& other) const;
  // One of them is not known: what is made of them is not, either.
  bool SetUnknownIf(const std::vector<OpId>& ops, const std::vector<Held>& read);
  MaybeViolation Make(OpId op, const Held& held);
  // Of the tensor of a collective of which it is the turn: what the member reads, and what its arguments state.
  Held ReadBy(OpId member) const { return contents_.Read(member, turn_); }
  const Tensor& InputOf(OpId member) const {
    return step_.graph.tensor(step_.graph.op(member).inputs[turn_]);
  }
  std::vector<int64_t> NumbersBy(OpId member) const;
  std::vector<Held> ReadAll(OpId op) const;
  DeviceId HomeOf(TensorId tensor) const;
  bool OfBuffers(const std::vector<OpId>& members) const;
  // Rows in an order of each part's own: a part beside another is no part of the whole, and a part cut out of all of
  // them is none of the parts.
  MaybeViolation CheckOrder(const std::vector<OpId>& members) const;
  Violation Wrong(OpId op, ViolationKind kind, const std::string& message) const;
  std::string NameOfTensor(const Held& held) const;

  const Graph& original_;
  const DistributedStep& step_;
  const Facets& facets_;
  Contents& contents_;
  Sums& sums_;
  size_t turn_ = 0;  // which tensor of a collective of several
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_MOVEMENT_H_
