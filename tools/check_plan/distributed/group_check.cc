#include "check_plan/distributed/group_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace placewright::check {
namespace {

class GroupCheck {
 public:
  GroupCheck(const Graph& original, const DistributedStep& step, const Facets& facets,
             FacetId facet, const std::vector<Instance>& instances, const Sums& sums)
      : original_(original),
        step_(step),
        op_(facets.op(facet)),
        rule_(facets.rule(facet)),
        instances_(instances),
        sums_(sums) {}

  MaybeViolation Run() const {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckIntervals());
    std::vector<int32_t> seen;
    for (const Instance& instance : instances_) {
      if (instance.sum < 0 || std::find(seen.begin(), seen.end(), instance.sum) != seen.end()) {
        continue;
      }
      seen.push_back(instance.sum);
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckSum(instance));
    }
    return std::nullopt;
  }

 private:
  Violation Wrong(const Instance& instance, ViolationKind kind, const std::string& message) const {
    return {kind, fmt::format("{} {}", NameOf(original_, step_, instance.op), message),
            PlaceOf(step_, instance.op)};
  }

  MaybeViolation CheckIntervals() const {
    const Instance& first = instances_.front();
    std::vector<const Instance*> order;
    int64_t lengths = 0;
    bool somewhere = false;
    for (const Instance& instance : instances_) {
      if (instance.cut.whole() != first.cut.whole()) {
        return Wrong(instance, ViolationKind::kWrongPart,
                     "computes everything, other instances of it parts, or the reverse");
      }
      if (instance.cut.whole()) continue;
      somewhere = somewhere || instance.cut.somewhere();
      lengths += instance.cut.only().length();
      order.push_back(&instance);
    }
    if (order.empty()) return std::nullopt;
    if (somewhere) return CheckLengths(lengths);
    std::stable_sort(order.begin(), order.end(), [](const Instance* a, const Instance* b) {
      return a->cut.only().from < b->cut.only().from;
    });
    return CheckCover(order);
  }

  // Parts that are equal wherever they are.
  MaybeViolation CheckLengths(int64_t lengths) const {
    const Instance& first = instances_.front();
    const int64_t size = rule_->axes[first.cut.only().axis].size;
    if (lengths == size) return std::nullopt;
    return Wrong(first,
                 lengths > size ? ViolationKind::kDoubledSample : ViolationKind::kMissingSample,
                 fmt::format("and the others compute {} of {}", lengths, size));
  }

  MaybeViolation CheckCover(const std::vector<const Instance*>& order) const {
    int64_t next = 0;
    const Instance* before = nullptr;
    const CutAlong first = order.front()->cut.only();
    for (const Instance* instance : order) {
      const CutAlong cut = instance->cut.only();
      if (cut.axis != first.axis || cut.outer != first.outer || cut.period != first.period) {
        return Wrong(*instance, ViolationKind::kWrongPart,
                     "is computed in parts of another axis than the others");
      }
      // Shares of one part of a sum are several by right.
      const bool shares = before != nullptr && before->cut.only() == cut && instance->sum >= 0 &&
                          rule_->axes[cut.axis].parts != Parts::kSum;
      if (shares) continue;
      if (cut.from < next) {
        return Wrong(*instance, ViolationKind::kDoubledSample,
                     fmt::format("computes {}, of which another instance has everything below {}",
                                 ToString(instance->cut), next));
      }
      if (cut.from > next) return Missing(*instance, next, cut.from);
      next = cut.to;
      before = instance;
    }
    if (next < first.period) return Missing(*order.back(), next, first.period);
    return std::nullopt;
  }

  Violation Missing(const Instance& instance, int64_t from, int64_t to) const {
    return Wrong(instance, ViolationKind::kMissingSample,
                 fmt::format("computes {}, but no instance computes [{}, {})",
                             ToString(instance.cut), from, to));
  }

  MaybeViolation CheckSum(const Instance& first) const {
    for (size_t input = 0; input < op_.inputs.size(); ++input) {
      const auto number = static_cast<int32_t>(input);
      const bool linear =
          first.linear != nullptr &&
          std::find(first.linear->begin(), first.linear->end(), number) != first.linear->end();
      const bool once = first.linear == nullptr && EntersOnce(first.cut.only().axis, number);
      if (!linear && !once) continue;
      std::vector<Addend> addends;
      for (const Instance& instance : instances_) {
        if (instance.sum == first.sum) addends.push_back(instance.inputs[input]);
      }
      const Sums::Total total = sums_.Add(addends);
      if (total.fault == Sums::Fault::kNone && total.addend.kind == Addend::kWhole) continue;
      const bool twice = once && total.fault == Sums::Fault::kTwice;
      return Wrong(first, twice ? ViolationKind::kDoubledSum : ViolationKind::kLostSum,
                   fmt::format("and the other instances make shares of a sum, but what they read "
                               "of \"{}\" does not add up to it",
                               Printable(original_.tensor(op_.inputs[input]).name, 80)));
    }
    return std::nullopt;
  }

  bool EntersOnce(RuleAxisId axis, int32_t input) const {
    const std::pair<RuleAxisId, int32_t> once(axis, input);
    return std::find(rule_->once.begin(), rule_->once.end(), once) != rule_->once.end();
  }

  const Graph& original_;
  const DistributedStep& step_;
  const Op& op_;
  const std::optional<OpRule>& rule_;
  const std::vector<Instance>& instances_;
  const Sums& sums_;
};

}  // namespace

MaybeViolation CheckTogether(const Graph& original, const DistributedStep& step,
                             const Facets& facets, FacetId facet,
                             const std::vector<Instance>& instances, const Sums& sums) {
  return GroupCheck(original, step, facets, facet, instances, sums).Run();
}

}  // namespace placewright::check
