#include "check_plan/distributed/distribution_check.h"

#include "check_plan/distributed/collective_check.h"
#include "check_plan/distributed/layout_check.h"

namespace placewright::check {

Findings CheckDistribution(const Graph& original, const DistributedStep& step,
                           const Cluster& cluster, const DistributionSpec& spec) {
  Findings findings = Interpret(original, step, spec.local_batch_norm);
  if (!findings.violation) findings.violation = CheckCollectiveOrder(step);
  if (!findings.violation) {
    findings.violation = CheckLayouts(original, step, cluster, spec.layouts);
  }
  return findings;
}

}  // namespace placewright::check
