#include "search/strategies/offload_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "search/strategies/layout_estimates.h"

namespace placewright {
namespace {

DeviceId CpuBeside(const Cluster& cluster, DeviceId gpu) {
  for (const DeviceId device : cluster.devices()) {
    const bool cpu = cluster.kind(device).device_class == DeviceClass::kCpu;
    if (cpu && cluster.device(device).host == cluster.device(gpu).host) return device;
  }
  return {};
}

}  // namespace

std::optional<StrategyEstimate> EstimateOffload(const SomeGpus& gpus, const StepFacts& facts,
                                                const StepTable& table, double share,
                                                Strategy strategy) {
  const LayoutProblem& problem = facts.problem();
  const DeviceId cpu = CpuBeside(problem.cluster, gpus.devices().front());
  if (!cpu.valid() || table.layers == 0) return std::nullopt;
  const int64_t micro_batches = std::max<int64_t>(1, strategy.rewriting.micro_batches);
  const auto m = static_cast<double>(micro_batches);
  const int64_t samples = problem.graph.batch() / micro_batches;
  if (samples < gpus.count()) return std::nullopt;
  const std::vector<int64_t> shares = gpus.Shares(samples, true);
  const SomeGpus::Devices on_host(gpus.devices().size(), cpu);
  const double in_layers = table.in_layers / std::max(1.0, table.parameters);
  int64_t parameters = 0;
  for (const auto& [bytes, number] : table.sizes) parameters += number;

  // `part`: of all parameters, those on the host.
  const auto estimate_with = [&](int64_t layers) {
    const double part = in_layers * static_cast<double>(layers) / static_cast<double>(table.layers);
    StrategyEstimate estimate;
    estimate.strategy = strategy;
    double forward = 0, backward = 0, rest = 0, floor = 0;
    const double bandwidth =
        static_cast<double>(std::max<int64_t>(1, problem.cluster.kind(cpu).memory_bandwidth.count));
    for (size_t i = 0; i < shares.size(); ++i) {
      const DeviceId device = gpus.devices()[i];
      const double of_all = static_cast<double>(shares[i]) / static_cast<double>(samples) / m;
      const double f = gpus.Pass(table.forward, device, of_all, of_all);
      const double b = gpus.Pass(table.backward, device, of_all, of_all) +
                       gpus.Whole(table.gradient_casts, device, 1);
      floor = std::max(floor, m * (gpus.Divided(table.forward, device, of_all, of_all) +
                                   gpus.Divided(table.backward, device, of_all, of_all)));
      forward = std::max(forward, f);
      backward = std::max(backward, b);
      rest = std::max(
          rest, gpus.Whole(table.once, device, 1) + gpus.Whole(table.update, device, 1 - part) +
                    gpus.Additions(table.gradients * (1 - part), parameters, m, device));
      double memory = (table.parameters + table.state) * (1 - part) + 3 * table.largest_layer;
      if (micro_batches > 1) memory += table.gradients * (1 - part);
      memory += table.Peak({of_all, of_all, micro_batches > 1 ? 0 : 1 - part, 1, 1 - part});
      TakeMemory(gpus, device, memory, estimate);
    }
    // Beside what is computed: in for each pass, gradients out, on links that GPUs share; the CPU adds the GPUs' gradients
    // up, and those of micro-batches. The update, op by op, is behind.
    const double in = gpus.Transfers(table.parameters * part, on_host, gpus.devices());
    const double out = gpus.Transfers(table.gradients * part, gpus.devices(), on_host);
    forward = std::max(forward, in);
    const double copies = gpus.count() > 1 ? static_cast<double>(gpus.count()) + 1 : 0;
    const double added = (copies + (micro_batches > 1 ? 3 : 0)) * table.gradients * part;
    backward = std::max({backward, in, out, 1e9 * added / bandwidth});
    const double sums = gpus.OfParameters(CollectiveKind::kAllReduce, table, gpus.devices());
    estimate.time = RoundedNanos(m * (forward + backward) + rest + std::max(0.0, sums - backward) +
                                 gpus.Whole(table.update, cpu, part));
    estimate.floor = RoundedNanos(floor);
    return estimate;
  };
  const auto fits = [&](const StrategyEstimate& one) {
    return static_cast<double>(one.memory.count) <= share * static_cast<double>(one.capacity.count);
  };
  if (fits(estimate_with(0))) return std::nullopt;
  for (int64_t layers = 1; layers <= table.layers; ++layers) {
    StrategyEstimate estimate = estimate_with(layers);
    if (!fits(estimate)) continue;
    estimate.strategy.settings.push_back(fmt::format("layers={}", layers));
    estimate.strategy.settings.emplace_back("copies=fetched-anew");
    return estimate;
  }
  return std::nullopt;
}

}  // namespace placewright
