// Where no plan fits: what else would, tried for a few seconds.
#ifndef PLACEWRIGHT_CLI_REQUEST_FIT_ADVICE_H_
#define PLACEWRIGHT_CLI_REQUEST_FIT_ADVICE_H_

#include <optional>
#include <string>

#include "base/stop.h"
#include "cli/request/analysis.h"
#include "cli/request/planning.h"
#include "planning/rewriting_advice.h"

namespace placewright {

struct FitAdviceRequest {
  const InputOptions& input;
  const SearchOptions& search;
  const SpaceOptions& space;
  const Planner& asked;
  const Planning* planning;  // nullptr: it is proven that nothing fits, and there is none
  StopToken stop;
  std::optional<RewritingAdvice> rewriting{};  // what FindRewriting said
};

// Of one algorithm that was asked for and planned, whose plans are no search's: how the step is rewritten further so that
// its plan fits, or what that comes to. Nothing where there is no such way, or the step, rewritten beside types of numbers
// of its own, cannot be read again as it was recorded.
std::optional<RewritingAdvice> FindRewriting(const FitAdviceRequest& request, Console& console);

// "; or --recompute full: it then fits, 890 ms a step; or --batch 4, the largest that fits (horovod)": the step rewritten
// further, plans of another kind (split where only whole ops were allowed; those of all algorithms where one was asked for),
// and a smaller batch, each but the first looked for in about five seconds. What does not help, or is not found in that time, is left out. It
// decides nothing but words.
std::string FitAdvice(const FitAdviceRequest& request, Console& console);

// "; or record the step with gradient checkpointing (torch.utils.checkpoint): activations are 16.3 GiB of the 61.6 GiB on
// gpu0": of a recorded step that trains and cannot be rewritten, for the device that `analysis` names as the fullest; else "".
std::string CheckpointAdvice(const Graph& graph, const Analysis& analysis, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_FIT_ADVICE_H_
