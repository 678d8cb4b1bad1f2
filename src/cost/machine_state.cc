#include "cost/machine_state.h"

#include <algorithm>

namespace placewright {
namespace {

// What a core's own caches hold for certain does not wait for memory.
constexpr int64_t kCached = int64_t{512} << 10;

Nanos MedianOf(const std::vector<MachineState>& states, Nanos MachineState::*reference) {
  std::vector<Nanos> times;
  for (const MachineState& state : states) times.push_back(state.*reference);
  const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double Ratio(Nanos now, Nanos then) {
  return static_cast<double>(now.count) / static_cast<double>(then.count);
}

}  // namespace

MachineState MedianOf(const std::vector<MachineState>& states) {
  if (states.empty()) return {};
  return {MedianOf(states, &MachineState::arithmetic), MedianOf(states, &MachineState::cache),
          MedianOf(states, &MachineState::memory)};
}

MachineState MeanOf(const std::vector<MachineState>& states) {
  MachineState sum;
  int64_t known = 0;
  for (const MachineState& state : states) {
    if (!state.known()) continue;
    sum.arithmetic += state.arithmetic;
    sum.cache += state.cache;
    sum.memory += state.memory;
    ++known;
  }
  if (known == 0) return {};
  const auto mean = [&](Nanos total) { return Nanos((total.count + known / 2) / known); };
  return {mean(sum.arithmetic), mean(sum.cache), mean(sum.memory)};
}

StateShares SharesOf(const Work& work) {
  switch (work.op_class) {
    case OpClass::kGemm:
    case OpClass::kRecurrent: return {0, 0.1};
    case OpClass::kConvDense:
    case OpClass::kConvWinograd:
    case OpClass::kConvPointwise:
    case OpClass::kConvDepthwise: return {0.4, 0};
    case OpClass::kPooling: return {0.3, 0};
    case OpClass::kView:
    case OpClass::kRandom: return {};
    default: break;
  }
  const bool cached = (work.bytes_read + work.bytes_written).count < kCached;
  return cached ? StateShares{0.3, 0} : StateShares{0.1, 0.8};
}

double Slowdown(const Work& work, const MachineState& then, const MachineState& now) {
  if (!then.known() || !now.known()) return 1;
  const StateShares shares = SharesOf(work);
  return (1 - shares.cache - shares.memory) * Ratio(now.arithmetic, then.arithmetic) +
         shares.cache * Ratio(now.cache, then.cache) +
         shares.memory * Ratio(now.memory, then.memory);
}

}  // namespace placewright
