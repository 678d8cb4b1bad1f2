// One instance of an op against the op's rule (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_INSTANCE_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_INSTANCE_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check_plan/distributed/contents.h"
#include "check_plan/distributed/facets.h"
#include "check_plan/distributed/sums.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "sharding/op_rule.h"
#include "sharding/part_call.h"

namespace placewright::check {

// What is known of an instance once it has been looked at.
struct Instance {
  OpId op;  // of the step
  Cut cut;  // that it computes of the op
  // Inputs that it takes as shares of sums, with these.
  std::vector<std::pair<int32_t, Addend>> shares;
};

class InstanceCheck {
 public:
  enum class Outcome : uint8_t { kProven, kBehindViolation };

  InstanceCheck(const Graph& original, const DistributedStep& step, const Facets& facets, OpId op,
                Contents& contents, Sums& sums);

  // Looks at the instance and sets what it makes; behind a violation that is unknown.
  MaybeViolation Run();
  Outcome outcome() const { return outcome_; }
  // It is a norm of its part alone, which is another step. Taken to be that of all parts; its gradients of
  // weight and bias are shares of sums.
  bool has_own_statistics() const { return IsCutBy(Parts::kSynchronised); }
  Instance Take() && { return std::move(instance_); }

 private:
  MaybeViolation Check();
  MaybeViolation CheckIdentity(size_t input) const;
  MaybeViolation CheckVersion(size_t input) const;
  MaybeViolation FindCut();
  void AddCut(const Cut& cut);
  void FindCutByPlace();
  void FindCutByShape();
  struct ToCut {
    const std::vector<RuleAxisId>* axes = nullptr;  // of the dimension; nullptr: there is none
    int64_t has = 0, wanted = 0;
  };
  ToCut FirstToCut(const Cut& cut) const;
  std::optional<Cut> CutByShape(const Cut& cut, int further, bool whole) const;
  bool FitsShapes(const Cut& cut) const;
  MaybeViolation CheckParts() const;
  MaybeViolation CheckAddends();
  MaybeViolation CheckOnce(std::vector<size_t>& shares) const;
  MaybeViolation CheckCall();
  MaybeViolation CheckCallOnPart();
  MaybeViolation CheckPlaceArguments(std::vector<Value>& args) const;
  std::optional<Part> PlaceStated(const PlaceArgument& at) const;
  Part PlaceDue(RuleAxisId axis, const PlaceArgument& at) const;
  MaybeViolation CheckWeightedMean(PartCall& call);
  MaybeViolation CheckSameCall(std::string_view type, const std::vector<Value>& args,
                               const std::vector<NamedValue>& attributes) const;
  MaybeViolation CheckOutputs() const;
  void SetProven();
  void SetOutput(size_t output);
  Content PlacedBy(size_t input, Content content) const;

  bool SumsOver() const { return IsCutBy(Parts::kSum); }
  // One of the axes of its cut is computed so in parts.
  bool IsCutBy(Parts parts) const;
  bool Enters(size_t input) const;
  bool IsOnce(RuleAxisId axis, size_t input) const;
  Part PartOf(size_t input) const;
  MaybeViolation CheckCounts() const;
  // Of the input any piece will do.
  bool IsUnread(size_t input) const;
  Part OutputPart(size_t output) const;
  Addend AddendOf(size_t output);
  Sums::Over SummedFor(size_t output) const;
  Violation Wrong(ViolationKind kind, const std::string& message) const;
  std::string InputName(size_t input) const;

  const Graph& original_;
  const DistributedStep& step_;
  const Facets& facets_;
  const std::optional<OpRule>& rule_;
  const OpId id_;
  const Op& made_;  // the instance
  const OpId origin_;
  const FacetId facet_;
  const Op& stated_;  // the op of the original, with the results of the facet
  Contents& contents_;
  Sums& sums_;
  std::vector<Held> read_;
  Instance instance_;
  std::vector<int32_t> linear_;  // inputs that it takes as shares of sums
  bool all_zero_ = false;
  Division division_;  // still due of the first result
  Outcome outcome_ = Outcome::kProven;
};

// Sets what an op makes, where nothing is known of that or nothing proven.
void SetUnknown(const Graph& original, const DistributedStep& step, OpId op,
                Content::Knowledge knowledge, Contents& contents);

// "\"y@a\", which is of \"y\"," and the place of the op in the step.
std::string NameOf(const Graph& original, const DistributedStep& step, OpId op);
std::string PlaceOf(const DistributedStep& step, OpId op);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_INSTANCE_CHECK_H_
