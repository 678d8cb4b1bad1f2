// Softmaxes, their logarithms and the backward of these, which several ops compute in parts of the dimension that they
// are along (internal to the checker).
//
// None of these ops is an instance of a rule. Each makes of what it reads a formula in the softmax's inputs, for some of
// the rows, and for each element or as one number a row; of the latter it is known over which elements. So a sum over
// [0, 4) and one over [4, 8) add up to one over [0, 8), and the logarithms of two sums of exponentials to that of both.
// What is read beside elements has to be over all of them. A tensor whose formula is one of these is the result:
//
//   log softmax: x - logsumexp(x)                  its backward: g - exp(y) sum(g)
//   softmax:     exp(x - logsumexp(x))             its backward: y (g - sum(g y))
//
// All else is between the ops, and may not be read in place of a result. Why this proves it: formulas are followed from
// operator to operator by what these mean, whatever ops there are; which of them a compiler writes is not assumed.
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_SOFTMAX_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_SOFTMAX_CHECK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/movement.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "sharding/softmax_call.h"

namespace placewright::check {

class SoftmaxCheck {
 public:
  // `contents` gets what the ops make; `movement` is asked about members of collectives.
  SoftmaxCheck(const Graph& original, const DistributedStep& step, Contents& contents,
               const Movement& movement)
      : original_(original), step_(step), contents_(contents), movement_(movement) {}

  // The op of the original is computed by these ops of the step. False where it is no softmax, or one of them is none
  // that is known here: it is not proven.
  bool Follow(OpId softmax, const std::vector<OpId>& ops);
  bool Follows(OpId op) const { return calls_.contains(op); }

  // One of these ops. kNotProven: it reads what is not proven.
  MaybeViolation Run(OpId op);
  // Which elements one of these ops has read; nothing where it reads numbers of rows alone.
  std::optional<Part> PartRead(OpId op) const {
    const auto found = part_read_.find(op);
    return found == part_read_.end() ? std::nullopt : std::optional<Part>(found->second);
  }
  // An op of no op of the original, or the first member of a collective for all of them, moves what is between them.
  bool Moves(OpId op) const;
  MaybeViolation Move(OpId op);

 private:
  struct Term {
    OpId of;  // the softmax
    std::string formula;
    Part part;               // each: of the softmax's tensors; else of their rows
    bool each = true;        // a number for each element
    std::vector<Part> over;  // one a row: of which elements along the dimension
    bool apart = false;      // of each of these a number of its own, behind one another
  };

  int32_t DimensionOf(OpId softmax) const;
  MaybeViolation Read(OpId op, size_t input, Term& term) const;
  MaybeViolation CheckHeld(OpId op, size_t input, const Held& held, size_t role) const;
  // What the op makes of these; nothing where its operator or arguments are none that are known here.
  std::optional<Term> Make(OpId op, const std::vector<Term>& read) const;
  std::optional<Term> Reduced(const Op& made, const Term& of) const;
  // Elements are those of one part, and numbers of rows those of all of its rows, over all of them.
  MaybeViolation CheckBeside(OpId op, const std::vector<Term>& read) const;
  MaybeViolation CheckOver(OpId op, const Term& term) const;
  MaybeViolation Keep(OpId op, Term term);
  std::string Due(OpId softmax) const;

  std::vector<OpId> MembersOf(OpId op) const;
  MaybeViolation Meet(const std::vector<OpId>& members);
  MaybeViolation Join(const std::vector<OpId>& members, const std::vector<Term>& terms,
                      Term& joined) const;
  // In which order the terms lie behind one another; nothing where they do not.
  std::optional<std::vector<size_t>> OrderOf(const std::vector<OpId>& members, size_t count,
                                             int32_t dimension) const;
  std::optional<Content::Knowledge> Behind(const std::vector<OpId>& ops) const;
  MaybeViolation SetAll(const std::vector<OpId>& ops, Content::Knowledge knowledge);
  Violation Wrong(OpId op, ViolationKind kind, const std::string& message) const;
  std::string NameOfInput(OpId op, size_t input) const;

  const Graph& original_;
  const DistributedStep& step_;
  Contents& contents_;
  const Movement& movement_;
  std::map<OpId, SoftmaxCall> calls_;
  std::map<TensorId, Term> terms_;  // what is between the ops
  std::map<OpId, Part> part_read_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_SOFTMAX_CHECK_H_
