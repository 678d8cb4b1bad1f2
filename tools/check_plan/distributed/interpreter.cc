#include "check_plan/distributed/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/end_check.h"
#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/group_check.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/movement.h"
#include "check_plan/distributed/norms/formula_check.h"
#include "check_plan/distributed/norms/norm_check.h"
#include "check_plan/distributed/sums.h"

namespace placewright::check {
namespace {

class Interpreter {
 public:
  Interpreter(const Graph& original, const DistributedStep& step, bool local_batch_norm)
      : original_(original),
        step_(step),
        local_batch_norm_(local_batch_norm),
        facets_(original, step),
        contents_(original, step),
        movement_(original, step, facets_, contents_, sums_),
        norms_(original, step, contents_, movement_),
        formulas_(original, step, facets_, contents_, sums_, movement_),
        instances_(facets_.size()),
        given_up_(facets_.size(), false),
        cuts_(step.graph.op_count()),
        position_(step.graph.op_count(), 0) {
    FindSeveralOps();
  }

  Findings Run() {
    Report(0, contents_.CheckInputs());
    Report(1, facets_.CheckResults());
    int32_t position = 1;
    for (const OpId op : step_.graph.topological_order()) {
      position_[op] = ++position;
      if (step_.origin[op].valid()) {
        RunInstance(op);
      } else {
        RunMovement(op);
      }
    }
    Report(position + 1, norms_.NameAllResults());
    for (const FacetId facet : facets_.all()) {
      const OpId origin = facets_.origin(facet);
      const bool several = norms_.Follows(origin) || formulas_.Follows(origin);
      if (given_up_[facet] || several || instances_[facet].empty()) continue;
      Report(position_[instances_[facet].front().op],
             CheckTogether(original_, step_, facets_, facet, instances_[facet], sums_));
    }
    Report(position + 1, CheckEnd(original_, step_, contents_));
    return {std::move(first_), std::move(not_proven_), std::move(cuts_)};
  }

 private:
  // Some ops are computed in parts by several others: batch norms and softmaxes, which need sums over all parts, and
  // random draws that count.
  void FindSeveralOps() {
    std::map<FacetId, std::vector<OpId>> ops_of;
    for (const OpId op : step_.graph.ops()) {
      if (facets_.of(op).valid()) ops_of[facets_.of(op)].push_back(op);
    }
    for (const auto& [facet, ops] : ops_of) {
      const std::optional<OpRule>& rule = facets_.rule(facet);
      if (!rule) continue;
      const bool is_norm =
          rule->form == PartForm::kBatchNorm || rule->form == PartForm::kBatchNormBackward;
      const bool is_formula = FormulaCheck::Knows(original_, facets_.origin(facet));
      if (!is_norm && !is_formula && !rule->draws_random) continue;
      std::vector<OpId> others;
      const auto of_part = [&](OpId op) { return is_formula && formulas_.IsOverPart(op); };
      for (const OpId op : ops) {
        if (!IsItself(op) || of_part(op)) others.push_back(op);
      }
      const std::string_view type = facets_.op(facet).type;
      const auto other = std::find_if(others.begin(), others.end(), [&](OpId op) {
        return step_.graph.op(op).type != type || of_part(op);
      });
      if (other == others.end()) continue;
      if (is_norm && norms_.Follow(facets_.origin(facet), others)) continue;
      if (is_formula && formulas_.Follow(facets_.origin(facet), others)) continue;
      given_up_[facet] = true;
      GiveUp(*other, fmt::format("is computed by {}", Printable(step_.graph.op(*other).type, 80)));
    }
  }

  // It has the operator and the arguments of its op, as a norm of all of the batch has.
  bool IsItself(OpId op) const {
    const Op &made = step_.graph.op(op), &stated = facets_.op(facets_.of(op));
    return made.type == stated.type && made.args == stated.args &&
           made.attributes == stated.attributes;
  }

  // The members of a collective come one behind the other: all at the first.
  bool FollowsMembers(OpId op) const {
    const CollectiveId collective = step_.graph.collective_of(op);
    if (!collective.valid()) return false;
    const std::vector<OpId>& members = step_.graph.collective(collective).members;
    return op != *std::min_element(members.begin(), members.end());
  }

  void RunMovement(OpId op) {
    if (FollowsMembers(op)) return;
    Report(position_[op], norms_.NameResults(op));
    if (formulas_.Moves(op)) {
      Note(op, formulas_.Move(op));
    } else {
      Note(op, norms_.Moves(op) ? norms_.Move(op) : movement_.Run(op));
    }
  }

  void RunInstance(OpId op) {
    const FacetId facet = facets_.of(op);
    if (norms_.Follows(facets_.origin(facet)) && !IsItself(op)) {
      RunNorm(op);
      return;
    }
    if (formulas_.Follows(facets_.origin(facet)) && (!IsItself(op) || formulas_.IsOfParts(op))) {
      Report(position_[op], norms_.NameResults(op));
      MaybeViolation violation = formulas_.Run(op);
      NoteSeveral(op, std::move(violation), formulas_.InputOfElements(facets_.origin(facet)),
                  formulas_.PartRead(op));
      return;
    }
    MaybeViolation of_norms = norms_.NameResults(op);
    if (!of_norms) of_norms = norms_.CheckReadsResults(op);
    if (of_norms) {
      Report(position_[op], std::move(of_norms));
      SetUnknown(original_, step_, op, Content::kUnknown, contents_);
      given_up_[facet] = true;
      return;
    }
    if (given_up_[facet]) {
      SetUnknown(original_, step_, op, Content::kNotProven, contents_);
      return;
    }
    InstanceCheck check(original_, step_, facets_, op, contents_, sums_);
    Report(position_[op], check.Run());
    if (check.outcome() == InstanceCheck::Outcome::kBehindViolation) {
      given_up_[facet] = true;
      return;
    }
    if (check.has_own_statistics()) NoteLocal(op);
    instances_[facet].push_back(std::move(check).Take());
    cuts_[op] = {true, instances_[facet].back().cut};
  }

  void RunNorm(OpId op) {
    MaybeViolation violation = norms_.Run(op);
    const auto x = static_cast<size_t>(StatedNormOf(original_.op(step_.origin[op]))->x);
    NoteSeveral(op, std::move(violation), x, norms_.PartRead(op));
  }

  // Of one of several ops that compute a part of an op: `part` of that input has been read.
  void NoteSeveral(OpId op, MaybeViolation violation, size_t input,
                   const std::optional<Part>& part) {
    if (part) {
      const OpRule& rule = *facets_.rule(FacetId(step_.origin[op].index()));
      const std::optional<Cut> cut = CutOf(rule, rule.inputs[input], *part);
      if (cut) cuts_[op] = {true, *cut};
    }
    if (violation && violation->kind == ViolationKind::kNotProven) {
      GiveUp(op, "reads what is not proven");
    } else {
      Report(position_[op], std::move(violation));
    }
  }

  // A norm whose parts have statistics of their own.
  void NoteLocal(OpId op) {
    constexpr std::string_view kHow = "is computed from statistics of its part alone";
    if (local_batch_norm_ && !FormulaCheck::Knows(original_, step_.origin[op])) {
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
  const Facets facets_;
  Contents contents_;
  Sums sums_;
  Movement movement_;
  NormCheck norms_;
  FormulaCheck formulas_;
  IdVector<FacetId, std::vector<Instance>> instances_;
  IdVector<FacetId, bool> given_up_;  // not all instances of it are proven
  IdVector<OpId, FoundCut> cuts_;     // by op of the step
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
