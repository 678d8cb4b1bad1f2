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
#include "check_plan/distributed/units.h"

namespace placewright::check {
namespace {

class Interpreter {
 public:
  Interpreter(const Graph& original, const DistributedStep& step)
      : original_(original),
        step_(step),
        units_(original, step),
        contents_(original, step),
        sums_(units_.CountInstances()),
        instances_(units_.size()),
        given_up_(units_.size(), false),
        position_(step.graph.op_count(), 0) {
    FindSeveralOps();
  }

  Findings Run() {
    Report(0, contents_.CheckInputs());
    Report(1, units_.CheckResults());
    Movement movement(original_, step_, contents_, sums_);
    int32_t position = 1;
    for (const OpId op : step_.graph.topological_order()) {
      position_[op] = ++position;
      if (step_.origin[op].valid()) {
        RunInstance(op);
      } else {
        Note(op, movement.Run(op));
      }
    }
    for (const UnitId unit : units_.all()) {
      if (given_up_[unit] || instances_[unit].empty()) continue;
      Report(position_[instances_[unit].front().op],
             CheckTogether(original_, step_, units_, unit, instances_[unit], sums_));
    }
    Report(position + 1, CheckEnd(original_, step_, contents_));
    return {std::move(first_), std::move(not_proven_)};
  }

 private:
  // Some ops are computed in parts by several others: batch norms, which need statistics of all parts, and
  // random draws that count.
  void FindSeveralOps() {
    for (const OpId op : step_.graph.ops()) {
      const UnitId unit = units_.of(op);
      if (!unit.valid() || !units_.rule(unit)) continue;
      const OpRule& rule = *units_.rule(unit);
      const bool may_be = rule.form == PartForm::kBatchNorm ||
                          rule.form == PartForm::kBatchNormBackward || rule.draws_random;
      if (may_be && step_.graph.op(op).type != units_.op(unit).type) {
        given_up_[unit] = true;
        GiveUp(op, fmt::format("is computed by {}", Printable(step_.graph.op(op).type, 80)));
      }
    }
  }

  void RunInstance(OpId op) {
    const UnitId unit = units_.of(op);
    if (given_up_[unit]) {
      SetUnknown(original_, step_, op, Content::kNotProven, contents_);
      sums_.Finish(unit);
      return;
    }
    InstanceCheck check(original_, step_, units_, op, contents_, sums_);
    Report(position_[op], check.Run());
    switch (check.outcome()) {
      case InstanceCheck::Outcome::kProven:
        instances_[unit].push_back(std::move(check).Take());
        return;
      case InstanceCheck::Outcome::kNotProven:
        GiveUp(op, "is computed from statistics of its part alone");
        [[fallthrough]];
      case InstanceCheck::Outcome::kBehindViolation: given_up_[unit] = true;
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
  const Units units_;
  Contents contents_;
  Sums sums_;
  IdVector<UnitId, std::vector<Instance>> instances_;
  IdVector<UnitId, bool> given_up_;   // not all instances of it are proven
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
