#include "check_plan/distributed/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/end_check.h"
#include "check_plan/distributed/group_check.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/movement.h"
#include "check_plan/distributed/sums.h"
#include "sharding/op_rule.h"

namespace placewright::check {
namespace {

IdVector<OpId, int32_t> CountInstances(const Graph& original, const DistributedStep& step) {
  IdVector<OpId, int32_t> counts(original.op_count(), 0);
  for (const OpId op : step.graph.ops()) {
    if (step.origin[op].valid()) ++counts[step.origin[op]];
  }
  return counts;
}

class Interpreter {
 public:
  Interpreter(const Graph& original, const DistributedStep& step)
      : original_(original),
        step_(step),
        counts_(CountInstances(original, step)),
        contents_(original, step),
        sums_(counts_),
        rules_(original.op_count()),
        instances_(original.op_count()),
        given_up_(original.op_count(), false),
        position_(step.graph.op_count(), 0) {
    for (const OpId op : original.ops()) rules_[op] = RuleOf(original, op);
    FindSeveralOps();
  }

  Findings Run() {
    Report(0, contents_.CheckInputs());
    Movement movement(original_, step_, contents_, sums_);
    int32_t position = 0;
    for (const OpId op : step_.graph.topological_order()) {
      position_[op] = ++position;
      if (step_.origin[op].valid()) {
        RunInstance(op);
      } else {
        Note(op, movement.Run(op));
      }
    }
    for (const OpId op : original_.ops()) {
      if (given_up_[op] || instances_[op].empty()) continue;
      Report(position_[instances_[op].front().op],
             CheckTogether(original_, step_, op, rules_[op], instances_[op], sums_));
    }
    Report(position + 1, CheckEnd(original_, step_, contents_));
    return {std::move(first_), std::move(not_proven_)};
  }

 private:
  // Some ops are computed in parts by several others: batch norms, which need statistics of all parts, and
  // random draws that count.
  void FindSeveralOps() {
    for (const OpId op : step_.graph.ops()) {
      const OpId origin = step_.origin[op];
      if (!origin.valid() || !rules_[origin]) continue;
      const bool may_be = rules_[origin]->form == PartForm::kBatchNorm ||
                          rules_[origin]->form == PartForm::kBatchNormBackward ||
                          rules_[origin]->draws_random;
      if (may_be && step_.graph.op(op).type != original_.op(origin).type) {
        given_up_[origin] = true;
        GiveUp(op, fmt::format("is computed by {}", Printable(step_.graph.op(op).type, 80)));
      }
    }
  }

  void RunInstance(OpId op) {
    const OpId origin = step_.origin[op];
    if (given_up_[origin]) {
      SetUnknown(original_, step_, op, Content::kNotProven, contents_);
      sums_.Finish(origin);
      return;
    }
    InstanceCheck check(original_, step_, rules_[origin], op, contents_, sums_);
    Report(position_[op], check.Run());
    switch (check.outcome()) {
      case InstanceCheck::Outcome::kProven:
        instances_[origin].push_back(std::move(check).Take());
        return;
      case InstanceCheck::Outcome::kNotProven:
        GiveUp(op, "is computed from statistics of its part alone");
        [[fallthrough]];
      case InstanceCheck::Outcome::kBehindViolation: given_up_[origin] = true;
    }
  }

  // Once for each op of the original.
  void GiveUp(OpId op, const std::string& why) {
    if (!named_.insert(step_.origin[op]).second) return;
    not_proven_.push_back({ViolationKind::kNotProven,
                           fmt::format("{} {}", NameOf(original_, step_, op), why),
                           PlaceOf(step_, op)});
  }

  void Note(OpId op, MaybeViolation violation) {
    if (violation && violation->kind == ViolationKind::kNotProven) {
      not_proven_.push_back(*std::move(violation));
    } else {
      Report(position_[op], std::move(violation));
    }
  }

  void Report(int32_t position, MaybeViolation violation) {
    if (!violation || (first_ && first_position_ <= position)) return;
    first_ = std::move(violation);
    first_position_ = position;
  }

  const Graph& original_;
  const DistributedStep& step_;
  const IdVector<OpId, int32_t> counts_;
  Contents contents_;
  Sums sums_;
  IdVector<OpId, std::optional<OpRule>> rules_;
  IdVector<OpId, std::vector<Instance>> instances_;
  IdVector<OpId, bool> given_up_;     // not all instances of it are proven
  IdVector<OpId, int32_t> position_;  // in the order of execution, by op of the step
  std::set<OpId> named_;
  MaybeViolation first_;
  int32_t first_position_ = 0;
  std::vector<Violation> not_proven_;
};

}  // namespace

Findings Interpret(const Graph& original, const DistributedStep& step) {
  return Interpreter(original, step).Run();
}

}  // namespace placewright::check
