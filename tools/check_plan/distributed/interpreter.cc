#include "check_plan/distributed/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/end_check.h"
#include "check_plan/distributed/group_check.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/movement.h"
#include "check_plan/distributed/norms/norm_check.h"
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
  Interpreter(const Graph& original, const DistributedStep& step, bool local_batch_norm)
      : original_(original),
        step_(step),
        local_batch_norm_(local_batch_norm),
        counts_(CountInstances(original, step)),
        contents_(original, step),
        sums_(counts_),
        movement_(original, step, contents_, sums_),
        norms_(original, step, contents_, movement_),
        rules_(original.op_count()),
        instances_(original.op_count()),
        given_up_(original.op_count(), false),
        position_(step.graph.op_count(), 0) {
    for (const OpId op : original.ops()) rules_[op] = RuleOf(original, op);
    FindSeveralOps();
  }

  Findings Run() {
    Report(0, contents_.CheckInputs());
    int32_t position = 0;
    for (const OpId op : step_.graph.topological_order()) {
      position_[op] = ++position;
      if (step_.origin[op].valid()) {
        RunInstance(op);
      } else {
        RunMovement(op);
      }
    }
    Report(position + 1, norms_.NameAllResults());
    for (const OpId op : original_.ops()) {
      if (given_up_[op] || norms_.Follows(op) || instances_[op].empty()) continue;
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
    std::map<OpId, std::vector<OpId>> ops_of;
    for (const OpId op : step_.graph.ops()) {
      if (step_.origin[op].valid()) ops_of[step_.origin[op]].push_back(op);
    }
    for (const auto& [origin, ops] : ops_of) {
      if (!rules_[origin]) continue;
      const bool is_norm = rules_[origin]->form == PartForm::kBatchNorm ||
                           rules_[origin]->form == PartForm::kBatchNormBackward;
      if (!is_norm && !rules_[origin]->draws_random) continue;
      const std::string_view type = original_.op(origin).type;
      const auto other = std::find_if(ops.begin(), ops.end(),
                                      [&](OpId op) { return step_.graph.op(op).type != type; });
      if (other == ops.end() || (is_norm && norms_.Follow(origin, ops))) continue;
      given_up_[origin] = true;
      GiveUp(*other, fmt::format("is computed by {}", Printable(step_.graph.op(*other).type, 80)));
    }
  }

  void RunMovement(OpId op) {
    Report(position_[op], norms_.NameResults(op));
    Note(op, norms_.Moves(op) ? norms_.Move(op) : movement_.Run(op));
  }

  void RunInstance(OpId op) {
    const OpId origin = step_.origin[op];
    if (norms_.Follows(origin)) {
      RunNorm(op);
      return;
    }
    MaybeViolation of_norms = norms_.NameResults(op);
    if (!of_norms) of_norms = norms_.CheckReadsResults(op);
    if (of_norms) {
      Report(position_[op], std::move(of_norms));
      SetUnknown(original_, step_, op, Content::kUnknown, contents_);
      sums_.Finish(origin);
      given_up_[origin] = true;
      return;
    }
    if (given_up_[origin]) {
      SetUnknown(original_, step_, op, Content::kNotProven, contents_);
      sums_.Finish(origin);
      return;
    }
    InstanceCheck check(original_, step_, rules_[origin], op, contents_, sums_);
    Report(position_[op], check.Run());
    if (check.outcome() == InstanceCheck::Outcome::kBehindViolation) {
      given_up_[origin] = true;
      return;
    }
    if (check.has_own_statistics()) NoteLocal(op);
    instances_[origin].push_back(std::move(check).Take());
  }

  void RunNorm(OpId op) {
    MaybeViolation violation = norms_.Run(op);
    sums_.Finish(step_.origin[op]);
    if (violation && violation->kind == ViolationKind::kNotProven) {
      GiveUp(op, "reads what is not proven");
    } else {
      Report(position_[op], std::move(violation));
    }
  }

  // A norm whose parts have statistics of their own.
  void NoteLocal(OpId op) {
    constexpr std::string_view kHow = "is computed from statistics of its part alone";
    if (local_batch_norm_) {
      GiveUp(op, std::string(kHow));
      return;
    }
    Report(position_[op], Violation{ViolationKind::kWrongStatistics,
                                    fmt::format("{} {}, where those of all parts are due",
                                                NameOf(original_, step_, op), kHow),
                                    PlaceOf(step_, op)});
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
  const bool local_batch_norm_;
  const IdVector<OpId, int32_t> counts_;
  Contents contents_;
  Sums sums_;
  Movement movement_;
  NormCheck norms_;
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

Findings Interpret(const Graph& original, const DistributedStep& step, bool local_batch_norm) {
  return Interpreter(original, step, local_batch_norm).Run();
}

}  // namespace placewright::check
