#include "plan/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace placewright {

std::string Describe(const Strategy& strategy) {
  const Rewriting& rewriting = strategy.rewriting;
  std::string text = strategy.algorithm;
  for (const std::string& setting : strategy.settings) text += " " + setting;
  const bool any_order = strategy.algorithm != rewriting.schedule;  // as 3d
  if (any_order && !rewriting.schedule.empty()) text += ", " + rewriting.schedule;
  if (rewriting.stages > 1) text += fmt::format(", {} stages", rewriting.stages);
  if (rewriting.chunks > 1) text += fmt::format(" of {} chunks", rewriting.chunks);
  if (!rewriting.layers.empty()) {
    text += fmt::format(" of {} layers", fmt::join(rewriting.layers, ","));
  }
  if (rewriting.micro_batches > 1) {
    text += fmt::format(", {} micro-batches", rewriting.micro_batches);
  }
  if (!rewriting.recompute.empty()) {
    text += fmt::format(", recompute {}", fmt::join(rewriting.recompute, " "));
  }
  if (!rewriting.offload.empty()) {
    text += fmt::format(", offload {}", fmt::join(rewriting.offload, " "));
  }
  return text;
}

}  // namespace placewright
