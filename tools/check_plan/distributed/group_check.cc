#include "check_plan/distributed/group_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "check_plan/distributed/cover.h"

namespace placewright::check {
namespace {

class GroupCheck {
 public:
  GroupCheck(const Graph& original, const DistributedStep& step, const Facets& facets,
             FacetId facet, const std::vector<Instance>& instances, Sums& sums)
      : original_(original),
        step_(step),
        op_(facets.op(facet)),
        rule_(facets.rule(facet)),
        instances_(instances),
        sums_(sums) {}

  MaybeViolation Run() {
    std::vector<Cut> cuts;
    for (const Instance& instance : instances_) cuts.push_back(instance.cut);
    const bool somewhere =
        std::any_of(cuts.begin(), cuts.end(), [](const Cut& cut) { return cut.somewhere(); });
    if (somewhere) return CheckElements(cuts);
    const Coverage coverage = CoverageOf(cuts);
    const Instance& at = instances_[coverage.at];
    const Cut& other = instances_[coverage.other].cut;
    switch (coverage.kind) {
      case Coverage::kOnce: return CheckSums();
      case Coverage::kLayers: return std::nullopt;
      case Coverage::kTwice:
        return Wrong(at, ViolationKind::kDoubledSample,
                     fmt::format("computes {}, of which another instance has a part ({})",
                                 ToString(at.cut), ToString(other)));
      case Coverage::kNotAll: return Missing(at, coverage.gap);
      case Coverage::kMixed: break;
    }
    const bool all = at.cut.whole() || other.whole();
    return Wrong(at, ViolationKind::kWrongPart,
                 all ? "computes everything, other instances of it parts, or the reverse"
                     : "is computed in parts of another axis than the others");
  }

 private:
  Violation Wrong(const Instance& instance, ViolationKind kind, const std::string& message) const {
    return {kind, fmt::format("{} {}", NameOf(original_, step_, instance.op), message),
            PlaceOf(step_, instance.op)};
  }

  // Parts that are equal wherever they are: at least all of it, and more where there are replicas.
  MaybeViolation CheckElements(const std::vector<Cut>& cuts) const {
    std::vector<RuleAxisId> axes;
    for (const Cut& cut : cuts) {
      for (const RuleAxisId axis : AxesOf(cut)) {
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
      }
    }
    int64_t all = 1, computed = 0;
    for (const RuleAxisId axis : axes) all = SaturatingMultiply(all, rule_->axes[axis].size);
    for (const Cut& cut : cuts) {
      int64_t own = 1;
      for (const RuleAxisId axis : axes) {
        own = SaturatingMultiply(own, LengthAlong(cut, axis, rule_->axes[axis].size));
      }
      computed = SaturatingAdd(computed, own);
    }
    if (computed >= all) return std::nullopt;
    return Wrong(instances_.front(), ViolationKind::kMissingSample,
                 fmt::format("and the others compute {} of {}", computed, all));
  }

  MaybeViolation CheckSums() {
    std::vector<const Instance*> first;  // of each cut
    for (const Instance& instance : instances_) {
      const bool again = std::any_of(first.begin(), first.end(), [&](const Instance* other) {
        return other->cut == instance.cut;
      });
      if (again || instance.shares.empty()) continue;
      first.push_back(&instance);
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckSumsOf(instance));
    }
    return std::nullopt;
  }

  // Replicas have the same shares.
  MaybeViolation CheckSumsOf(const Instance& first) {
    std::vector<const Instance*> different;
    for (const Instance& instance : instances_) {
      const bool again =
          std::any_of(different.begin(), different.end(),
                      [&](const Instance* other) { return other->shares == instance.shares; });
      const bool is = instance.cut == first.cut && !instance.shares.empty() && !again;
      if (is) different.push_back(&instance);
    }
    for (size_t i = 0; i < first.shares.size(); ++i) {
      std::vector<Addend> addends;
      for (const Instance* const instance : different) {
        if (i < instance->shares.size()) addends.push_back(instance->shares[i].second);
      }
      const Sums::Total total = sums_.Add(addends);
      // Shares that have something in common may be of several layers (cover.h).
      if (total.fault == Sums::Fault::kTwice || total.addend.kind == Addend::kWhole) continue;
      const auto input = static_cast<size_t>(first.shares[i].first);
      return Wrong(first, ViolationKind::kLostSum,
                   fmt::format("and the other instances make shares of a sum, but what they read "
                               "of \"{}\" does not add up to it",
                               Printable(original_.tensor(op_.inputs[input]).name, 80)));
    }
    return std::nullopt;
  }

  Violation Missing(const Instance& instance, const std::optional<Interval>& gap) const {
    const std::string what = gap ? fmt::format("no instance computes [{}, {})", gap->from, gap->to)
                                 : "it and the others do not compute all of it";
    return Wrong(instance, ViolationKind::kMissingSample,
                 fmt::format("computes {}, but {}", ToString(instance.cut), what));
  }

  const Graph& original_;
  const DistributedStep& step_;
  const Op& op_;
  const std::optional<OpRule>& rule_;
  const std::vector<Instance>& instances_;
  Sums& sums_;
};

}  // namespace

MaybeViolation CheckTogether(const Graph& original, const DistributedStep& step,
                             const Facets& facets, FacetId facet,
                             const std::vector<Instance>& instances, Sums& sums) {
  return GroupCheck(original, step, facets, facet, instances, sums).Run();
}

}  // namespace placewright::check
