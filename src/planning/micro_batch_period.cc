#include "planning/micro_batch_period.h"

#include <algorithm>
#include <array>

#include "sim/simulator.h"
#include "transforms/accumulate.h"

namespace placewright {
namespace {

// By op of the compiled step: 0, if it is of none. What moves or joins pieces is of the last one that made some of them.
IdVector<OpId, int32_t> NumbersOf(const Graph& step, const DistributedStep& made) {
  IdVector<OpId, int32_t> numbers(made.graph.op_count(), 0);
  for (const OpId op : made.graph.topological_order()) {
    if (const OpId origin = made.origin[op]; origin.valid()) {
      numbers[op] = MicroBatchOf(step.op(origin));
      continue;
    }
    for (const OpId producer : made.graph.producers(op)) {
      numbers[op] = std::max(numbers[op], numbers[producer]);
    }
  }
  return numbers;
}

// Nothing that was ready before the moment is under way, or still waits.
template <class Spans>
bool AreDone(const Spans& spans, Nanos moment) {
  return std::all_of(spans.begin(), spans.end(),
                     [&](const auto& span) { return span.ready >= moment || span.end <= moment; });
}

}  // namespace

std::optional<Nanos> PeriodOfMicroBatches(const Graph& step, const CompiledStep& compiled) {
  const Graph& graph = compiled.step.graph;
  Simulator simulator(compiled.sim_graph);
  const SimResult& run = simulator.Run(
      compiled.step.placement, {.policy = compiled.policy, .schedule = true, .feedback = true});
  if (!run.schedule) return std::nullopt;
  const Schedule& schedule = *run.schedule;
  const Nanos never(kMaxQuantity);
  std::array<Nanos, 2> begins = {never, never};  // of the second and the third
  const IdVector<OpId, int32_t> numbers = NumbersOf(step, compiled.step);
  for (const OpId op : graph.ops()) {
    const int32_t at = numbers[op] - 2;
    if (graph.op(op).is_view || at < 0 || at > 1) continue;
    Nanos& begin = begins[static_cast<size_t>(at)];
    begin = std::min(begin, schedule.ops[op].start);
  }
  if (begins[1] == never || begins[1] <= begins[0]) return std::nullopt;
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view) continue;
    const OpSpan& span = schedule.ops[op];
    const int32_t number = numbers[op];
    // What is there once lies before the second, or behind the beginning of the third.
    if (number == 0 && span.end > begins[0] && span.start < begins[1]) return std::nullopt;
    for (int32_t i = 0; i < 2 && number > 0; ++i) {
      const Nanos begin = begins[static_cast<size_t>(i)];
      const bool is_before = number < i + 2;
      if (is_before ? span.end > begin : span.start < begin) return std::nullopt;
    }
  }
  for (const Nanos begin : begins) {
    if (!AreDone(schedule.transfers, begin) || !AreDone(schedule.collectives, begin)) {
      return std::nullopt;
    }
  }
  return begins[1] - begins[0];
}

}  // namespace placewright
