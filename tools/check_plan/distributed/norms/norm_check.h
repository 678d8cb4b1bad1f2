// Batch norms in training that several ops compute in parts (internal to the checker).
//
// What a norm in parts computes is no instance of a rule: each device computes sums over its part, a collective
// brings them together, and every device makes statistics, its part of the result and gradients of them. It is
// proven by what it computes. The inputs of the norm are given made-up values, all of its ops are executed on
// them in float64 (calls.h), and a tensor is a result of the norm, or its part, if it holds what the definition
// says (definition.h), to 1e-11 of the largest magnitude. All else that the ops make is between them: whatever
// reads it in place of a result is a violation.
//
// Why this proves it. The ops do elementwise arithmetic with tensors of x's sizes, sum them over a part, and do
// the same for every channel. So what they make of a channel depends on the part's elements by the moments
// (n, sum x, sum x^2; sum grad, sum grad x) alone and is a rational function (for some results with a root) of
// moments, parameters and numbers among the arguments, which are those of the step. Two such functions that are
// not the same differ at points drawn at random but for a set of measure 0; every norm is compared at as many
// points as it has channels. Sizes are the real ones, so that a count of other elements is another number:
// elements of a part have few distinct values, each of which many of them share. Left to rounding are
// deviations below 1e-11.
//
// Parts of x must cover it once, and every input be the tensor of the original at the version that is due. Channels
// know nothing of one another: where devices have some of them, those that have the same ones compute a norm of these,
// with the statistics of all of their elements. Devices with equal parts are replicas.
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_NORM_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_NORM_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/movement.h"
#include "check_plan/distributed/norms/definition.h"
#include "check_plan/distributed/norms/value.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

class NormCheck {
 public:
  // `contents` gets what the ops make; `movement` is asked about members of collectives.
  NormCheck(const Graph& original, const DistributedStep& step, Contents& contents,
            const Movement& movement)
      : original_(original), step_(step), contents_(contents), movement_(movement) {}

  // `norm` of the original is computed by these ops of the step. False where one of them is none that can be
  // executed here: the norm is not proven.
  bool Follow(OpId norm, const std::vector<OpId>& ops);
  bool Follows(OpId norm) const { return stated_.contains(norm); }

  // One of these ops. kNotProven: it reads what is not proven.
  MaybeViolation Run(OpId op);
  // Of x or its gradient, that one of these ops has read or that its inputs were made of. None: all of it, or
  // what is of all parts.
  std::optional<Part> PartRead(OpId op) const {
    const auto found = part_read_.find(op);
    return found == part_read_.end() ? std::nullopt : std::optional<Part>(found->second);
  }
  // An op of no op of the original, or the first member of a collective for all of them, moves what is between
  // the ops of a norm.
  bool Moves(OpId op) const;
  MaybeViolation Move(OpId op);

  // Before an op that is none of these, and at the end of the step: results among what it reads are named.
  MaybeViolation NameResults(OpId op);
  MaybeViolation NameAllResults();
  // It reads nothing else of a norm.
  MaybeViolation CheckReadsResults(OpId op) const;

 private:
  // A norm of some of the channels.
  struct Norm {
    Part channels;  // of a tensor with a number for each
    NormDefinition definition;
    std::vector<TensorId> made;
    bool covered = false;  // its parts are known to cover x
  };
  // Of an op of the original, and which of its channels.
  using NormId = std::pair<OpId, int32_t>;
  // What a tensor holds, as long as nothing else is written there.
  struct Made {
    NormId norm;
    NormValue value;
    bool named = false;
  };

  // Something that they read is unknown or not proven: so is what they make.
  std::optional<Content::Knowledge> Behind(const std::vector<OpId>& ops) const;
  MaybeViolation FindNorm(OpId op, NormId& norm);
  NormId OfChannels(OpId norm, const Part& channels);
  bool IsOfParts(OpId norm, int32_t role) const;
  MaybeViolation ReadAll(OpId op, std::vector<const NormValue*>& values);
  MaybeViolation ReadInput(OpId op, size_t input, int32_t& part);
  MaybeViolation FindPart(OpId op, int32_t role, const Held& held, int32_t& part);
  MaybeViolation CheckVersion(OpId op, int32_t role, const Held& held) const;
  int32_t RoleOf(OpId norm, TensorId tensor) const;
  MaybeViolation Keep(OpId op, std::vector<NormValue> results);
  void MakeInner(NormId norm, TensorId tensor, NormValue value);
  MaybeViolation CheckWritten(OpId op, const NormValue& value);

  std::vector<OpId> MembersOf(OpId op) const;
  MaybeViolation CheckMoved(const std::vector<OpId>& members) const;
  MaybeViolation Meet(const std::vector<OpId>& members);

  MaybeViolation Cover(NormId norm);
  void Name(TensorId tensor);
  bool SetNamed(TensorId tensor, const Held& held);
  const Made* Find(OpId op, size_t input) const;
  MaybeViolation SetAll(const std::vector<OpId>& ops, Content::Knowledge knowledge);
  Violation Wrong(OpId op, ViolationKind kind, const std::string& message) const;
  Violation NoResult(OpId op, TensorId tensor) const;
  // Which of its operator's results an output is.
  static size_t ResultNumber(const Graph& graph, const Op& op, size_t output);
  std::string NameOfInput(OpId norm, int32_t input) const;

  const Graph& original_;
  const DistributedStep& step_;
  Contents& contents_;
  const Movement& movement_;
  std::map<OpId, StatedNorm> stated_;
  std::map<NormId, Norm> norms_;
  NormId norm_;  // that the op at hand is of
  std::map<TensorId, Made> made_;
  std::map<OpId, Part> part_read_;
  std::vector<NormValue> inputs_;  // that the op at hand reads of the norm's
};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_NORM_CHECK_H_
