// Softmaxes, norms, extrema, layer norms, and the backward of these, which several ops compute in parts of the dimensions
// that they are over (internal to the checker).
//
// None of these ops is an instance of a rule. Each makes of what it reads a formula in the inputs of the op of the
// original, for some of the rows or elements: for each element, as one number a row, of which it is known over which
// elements it is, or as one number for each element of a row, summed over rows. So a sum over [0, 4) and one over [4, 8)
// add up to one over [0, 8), and the logarithms of two sums of exponentials to that of both. What is read beside elements,
// or is computed with, has to be over all of them. A tensor whose formula is that of a result is the result:
//
//   log softmax  x - logsumexp(x)              its backward  g - exp(y) sum(g)
//   softmax      exp(x - logsumexp(x))         its backward  y (g - sum(g y))
//   norm         sqrt(sum(x x)); of other orders sum(abs(x)), sum(nonzero(x)), that of abs(x); amax, amin    that of x
//   layer norm   m = sum(x) / n, d = x - m, r = rsqrt(sum(d d) / n + eps), d r w + b; of an RMS norm d = x
//   its backward h = (x - m) r, k = g w:  r (k - sum(k) / n - h sum(k h) / n), rows summed of g h, and of g
//
// All else is between the ops, and may not be read in place of a result. Why this proves it: formulas are followed from
// operator to operator by what these mean, whatever ops there are; which of them a compiler writes is not assumed, but for
// how terms are bracketed.
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_FORMULA_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_FORMULA_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/movement.h"
#include "check_plan/distributed/sums.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

class FormulaCheck {
 public:
  // `contents` gets what the ops make, `sums` shares of sums over rows; `movement` is asked about members of collectives.
  FormulaCheck(const Graph& original, const DistributedStep& step, const Facets& facets,
               Contents& contents, Sums& sums, const Movement& movement)
      : original_(original),
        step_(step),
        facets_(facets),
        contents_(contents),
        sums_(sums),
        movement_(movement) {}

  // The op of the original can be followed so.
  static bool Knows(const Graph& original, OpId op);
  // An op of the step that has the operator of the original's, as norms and extrema in parts have: it is over a part of what
  // that is over, by its sizes.
  bool IsOverPart(OpId op) const;
  // It is computed by these ops of the step. False where it is none of these, or one of them is none that is known here:
  // it is not proven.
  bool Follow(OpId op, const std::vector<OpId>& ops);
  bool Follows(OpId op) const { return calls_.contains(op); }

  // It reads what is between the ops, or not all elements of a row: with the operator and the arguments of the original's op
  // it may all the same be one of them.
  bool IsOfParts(OpId op) const;

  // One of these ops. kNotProven: it reads what is not proven.
  MaybeViolation Run(OpId op);
  // Which elements one of these ops has read; nothing where it reads numbers of rows alone.
  std::optional<Part> PartRead(OpId op) const {
    const auto found = part_read_.find(op);
    return found == part_read_.end() ? std::nullopt : std::optional<Part>(found->second);
  }
  // The input of the op of the original that these are elements of.
  size_t InputOfElements(OpId original) const { return calls_.at(original).x; }
  // An op of no op of the original, or the first member of a collective for all of them, moves what is between them.
  bool Moves(OpId op) const;
  MaybeViolation Move(OpId op);

 private:
  enum class Kind : uint8_t {
    kElements,  // a number for each element of x
    kRows,      // one a row
    kColumns    // one for each element of a row: of all rows, or summed over some
  };
  struct Term {
    OpId of;  // of the original
    std::string formula;
    Kind kind = Kind::kElements;
    Part part;  // of x: of rows without the dimensions that the op is over, of columns these alone
    bool keeps = true;       // these are there in a number a row, with size 1
    std::vector<Part> over;  // one a row: of which elements; a sum over rows: of which
    bool apart = false;      // of each of these a number of its own, behind one another
  };
  struct Role {
    std::string name;
    Kind kind = Kind::kElements;
  };
  struct Due {
    std::string formula;
    Kind kind = Kind::kElements;
  };
  // Of the op of the original.
  struct Call {
    size_t x = 0;
    std::vector<int64_t> shape;  // of x
    std::vector<int32_t> over;   // dimensions, ascending
    std::vector<Role> roles;     // by input
    std::map<int32_t, Due> due;  // by number of the result
  };

  static std::optional<Call> CallOf(const Graph& original, OpId op);
  static std::optional<Call> CallOfSoftmax(const Graph& original, OpId op);
  static std::optional<Call> CallOfStatistics(const Graph& original, OpId op);

  MaybeViolation Read(OpId op, size_t input, Term& term) const;
  MaybeViolation CheckHeld(OpId op, size_t input, const Held& held, size_t role) const;
  // What the op makes of these; nothing where its operator or arguments are none that are known here.
  std::optional<Term> Make(OpId op, const std::vector<Term>& read) const;
  std::optional<Term> Reduced(const Op& made, const Term& of) const;
  std::optional<Term> OfAllRows(const Op& made, const Term& of) const;
  std::optional<Term> Elementwise(const Op& made, const std::vector<Term>& read) const;
  // Elements are those of one part, and numbers of rows those of all of its rows, over all of them.
  MaybeViolation CheckBeside(OpId op, const std::vector<Term>& read) const;
  MaybeViolation CheckOver(OpId op, const Term& term) const;
  static bool IsOverAll(const Term& term);
  // The square of a norm, which is a sum of squares of the same elements.
  static bool IsSquare(const Op& made, const std::vector<Term>& read);
  MaybeViolation Keep(OpId op, Term term);
  std::optional<std::vector<int64_t>> ShapeDue(const Term& term) const;
  // Which of the results of the original's op it is, by position.
  std::optional<size_t> ResultOf(const Term& term, TensorId made) const;
  void SetResult(OpId op, size_t result, const Term& term);

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
  const Facets& facets_;
  Contents& contents_;
  Sums& sums_;
  const Movement& movement_;
  std::map<OpId, Call> calls_;
  std::map<TensorId, Term> terms_;    // what is between the ops
  std::map<TensorId, Term> results_;  // what is a result, and read between them, too
  std::map<OpId, Part> part_read_;
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_FORMULA_CHECK_H_
