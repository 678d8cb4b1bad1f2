// What collectives, and what adds up or joins on one device, make of numbers of rows.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text.h"
#include "check_plan/distributed/cover.h"
#include "check_plan/distributed/moved_arguments.h"
#include "check_plan/distributed/norms/formula_check.h"
#include "check_plan/distributed/norms/joined_reductions.h"

namespace placewright::check {
namespace {

constexpr std::string_view kReduceMember = "placewright.all_reduce.default",
                           kGatherMember = "placewright.all_gather.default",
                           kSumOnOne = "placewright.add_n.default",
                           kJoinOnOne = "placewright.concat.default";

}  // namespace

std::vector<OpId> FormulaCheck::MembersOf(OpId op) const {
  const CollectiveId collective = step_.graph.collective_of(op);
  if (!collective.valid()) return {op};
  return step_.graph.collective(collective).members;
}

bool FormulaCheck::Moves(OpId op) const {
  for (const OpId member : MembersOf(op)) {
    for (const TensorId input : step_.graph.op(member).inputs) {
      if (terms_.contains(input)) return true;
    }
  }
  return false;
}

MaybeViolation FormulaCheck::Move(OpId op) {
  const std::vector<OpId> members = MembersOf(op);
  if (const auto behind = Behind(members)) return SetAll(members, *behind);
  MaybeViolation violation;
  for (const OpId member : members) {
    const auto wrong = WrongMovedArguments(step_.graph.op(member));
    if (wrong && !violation) violation = Wrong(member, ViolationKind::kWrongArgument, *wrong);
  }
  if (!violation) violation = Meet(members);
  if (violation) (void)SetAll(members, Content::kUnknown);
  return violation;
}

// All members make the same of numbers of rows.
MaybeViolation FormulaCheck::Meet(const std::vector<OpId>& members) {
  const bool together = step_.graph.collective_of(members.front()).valid();
  const std::string_view type = step_.graph.op(members.front()).type;
  const bool collective = type == kReduceMember || type == kGatherMember;
  if (collective && !together) {
    return Wrong(members.front(), ViolationKind::kMissingCollective,
                 "is a member of no collective");
  }
  if (together) CHECK_PLAN_RETURN_IF_VIOLATED(movement_.CheckMembers(members));
  std::vector<Term> terms;
  for (const OpId member : members) {
    for (const TensorId input : step_.graph.op(member).inputs) {
      const auto found = terms_.find(input);
      const bool fits =
          found != terms_.end() && found->second.kind == Kind::kRows && !found->second.apart;
      if (!fits || (!collective && type != kSumOnOne && type != kJoinOnOne)) {
        return Wrong(member, ViolationKind::kWrongInput,
                     fmt::format("moves \"{}\", which is between the ops of a part",
                                 Printable(step_.graph.tensor(input).name, 80)));
      }
      terms.push_back(found->second);
    }
  }
  Term joined;
  CHECK_PLAN_RETURN_IF_VIOLATED(Join(members, terms, joined));
  for (const OpId member : members) {
    const Op& made = step_.graph.op(member);
    if (made.outputs.size() == 1 && step_.graph.tensor(made.outputs.front()).dtype !=
                                        step_.graph.tensor(made.inputs.front()).dtype) {
      return Wrong(member, ViolationKind::kWrongArgument, "makes numbers of another type");
    }
    CHECK_PLAN_RETURN_IF_VIOLATED(Keep(member, joined));
  }
  return std::nullopt;
}

MaybeViolation FormulaCheck::Join(const std::vector<OpId>& members, const std::vector<Term>& terms,
                                  Term& joined) const {
  joined = terms.front();
  const std::string_view type = step_.graph.op(members.front()).type;
  const bool sums = type == kReduceMember || type == kSumOnOne;
  std::vector<size_t> order;
  for (size_t i = 0; i < terms.size(); ++i) order.push_back(i);
  if (!sums) {
    const auto stated = OrderOf(members, terms.size(), calls_.at(joined.of).over.front());
    if (!stated) {
      return Wrong(members.front(), ViolationKind::kWrongArgument,
                   "does not join numbers of rows one behind the other");
    }
    order = *stated;
  }
  joined.over.clear();
  joined.apart = !sums;
  for (const size_t i : order) {
    const Term& term = terms[i];
    const bool alike = term.of == joined.of && term.formula == joined.formula &&
                       term.part == joined.part && term.keeps == joined.keeps &&
                       (sums || term.keeps) &&
                       std::any_of(std::begin(kJoined), std::end(kJoined), [&](const Joined& one) {
                         return one.adds == sums && term.formula.starts_with(one.as);
                       });
    if (!alike) {
      return Wrong(members.front(), ViolationKind::kWrongInput,
                   fmt::format("puts \"{}\" and \"{}\" together", joined.formula, term.formula));
    }
    for (const Part& over : term.over) {
      for (const Part& other : joined.over) {
        if (!check::Meet(over, other)) continue;
        return Wrong(members.front(), ViolationKind::kDoubledSum,
                     fmt::format("takes \"{}\" over {} twice", term.formula, ToString(over)));
      }
    }
    joined.over.insert(joined.over.end(), term.over.begin(), term.over.end());
  }
  return std::nullopt;
}

// A gather's members state (dimension, outer, size, from, to): one of as many as there are members.
std::optional<std::vector<size_t>> FormulaCheck::OrderOf(const std::vector<OpId>& members,
                                                         size_t count, int32_t dimension) const {
  const auto size = static_cast<int64_t>(count);
  std::vector<size_t> order(count, count);
  const bool gather = step_.graph.op(members.front()).type == kGatherMember;
  if (!gather) {
    const std::vector<int64_t> due = {dimension, 1};
    if (NumbersOf(step_.graph.op(members.front())) != due) return std::nullopt;
    for (size_t i = 0; i < count; ++i) order[i] = i;
    return order;
  }
  for (size_t i = 0; i < members.size(); ++i) {
    const std::vector<int64_t> numbers = NumbersOf(step_.graph.op(members[i]));
    const int64_t from = numbers.size() == 5 ? numbers[3] : -1;
    if (from < 0 || from >= size || order[static_cast<size_t>(from)] != count) return std::nullopt;
    if (numbers != std::vector<int64_t>{dimension, 1, size, from, from + 1}) return std::nullopt;
    order[static_cast<size_t>(from)] = i;
  }
  return order;
}

}  // namespace placewright::check
