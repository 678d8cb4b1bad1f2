#include "report/step_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "cost/work.h"
#include "report/table.h"

namespace placewright {
namespace {

bool IsInteger(DType dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

bool IsLookup(std::string_view type) {
  return type == "Gather" || (type.starts_with("aten.embedding.") || type.starts_with("GatherV2"));
}

// Backward ops that some gradient reaches: those that read the loss, or anything that such an op
// made. The others compute again what the forward pass had.
IdVector<OpId, char> ReachedByGradients(const Graph& graph) {
  IdVector<TensorId, char> seeds(graph.tensor_count(), 0);
  for (const TensorId output : graph.outputs()) {
    const OpId maker = graph.tensor(output).producer;
    if (maker.valid() && graph.op(maker).phase == Phase::kForward) seeds[output] = 1;
  }
  IdVector<OpId, char> reached(graph.op_count(), 0);
  for (const OpId id : graph.topological_order()) {
    const Op& op = graph.op(id);
    if (op.phase != Phase::kBackward) continue;
    reached[id] = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      const OpId maker = graph.tensor(input).producer;
      return seeds[input] || (maker.valid() && reached[maker]);
    });
  }
  return reached;
}

struct Product {
  DType dtype;
  OpClass op_class;
  friend auto operator<=>(const Product&, const Product&) = default;
};

// The FLOPs of a step's products, by the rate that they run at.
std::map<Product, double> ProductsOf(const Graph& graph) {
  const IdVector<OpId, char> reached = ReachedByGradients(graph);
  const bool has_gradients = std::find(reached.begin(), reached.end(), 1) != reached.end();
  std::map<Product, double> flops;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const Work work = WorkOf(graph, id);
    if (op.is_view || work.macs == 0) continue;
    if (op.phase == Phase::kBackward && has_gradients && !reached[id]) continue;
    // Four of five products: the fifth makes the scores again.
    const bool again = op.type.find("attention") != std::string_view::npos &&
                       op.type.find("backward") != std::string_view::npos;
    flops[{ComputeDType(graph, id), work.op_class}] +=
        2 * static_cast<double>(work.macs) * (again ? 0.8 : 1);
  }
  return flops;
}

double PeakOf(const DeviceKind& kind, const Product& product, FloatPrecision precision) {
  switch (product.dtype) {
    case DType::kF64: return kind.peak.f64;
    case DType::kF16: return kind.peak.f16;
    case DType::kBF16: return kind.peak.bf16;
    case DType::kI8:
    case DType::kU8: return kind.peak.i8;
    default: break;
  }
  const bool tf32 = UsesTf32(precision, product.op_class) && IsFasterInTf32(product.op_class, kind);
  return tf32 ? kind.peak.bf16 / 2 : kind.peak.f32;
}

// Seconds that the products take on all these devices together at their peak; 0: not known.
double SecondsAtPeak(const std::map<Product, double>& products, const RatedStep& of,
                     const std::vector<DeviceId>& gpus) {
  double seconds = 0;
  for (const auto& [product, flops] : products) {
    double peak = 0;
    for (const DeviceId id : gpus) {
      const double one = PeakOf(of.cluster.kind(id), product, of.precision);
      if (one <= 0) return 0;
      peak += one;
    }
    seconds += peak > 0 ? flops / peak : 0;
  }
  return seconds;
}

}  // namespace

StepWork WorkOfStep(const Graph& graph) {
  StepWork work;
  work.samples = graph.samples();
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (work.samples == 0 || !IsLookup(op.type)) continue;
    for (const TensorId input : op.inputs) {
      const Tensor& tensor = graph.tensor(input);
      if (!IsInteger(tensor.dtype) || tensor.shape.size() != 2) continue;
      if (tensor.shape[0] != graph.batch() || tensor.shape[1] < 2) continue;
      if (graph.storage(tensor.storage).kind != TensorKind::kInput) continue;
      work.sequence = std::max(work.sequence, tensor.shape[1]);
    }
  }
  for (const auto& [product, flops] : ProductsOf(graph)) work.flops += flops;
  return work;
}

StepRates RatesOf(const RatedStep& of) {
  StepRates rates;
  rates.work = WorkOfStep(of.original);
  rates.step_time = of.step_time;
  std::map<DeviceId, int64_t> busy;
  Nanos first(kMaxQuantity), last(0);
  for (const OpId op : of.step.ops()) {
    if (of.step.op(op).is_view || of.step.collective_of(op).valid()) continue;
    const OpSpan& span = of.schedule.ops[op];
    busy[of.placement[op]] += (span.end - span.start).count;
    first = std::min(first, span.start);
    last = std::max(last, span.end);
  }
  std::vector<DeviceId> gpus;
  int64_t computing = 0, devices = 0;
  for (const auto& [id, time] : busy) {
    const int64_t alike = DevicesLike(of.lanes, id);
    computing += time * alike;
    devices += alike;
    const bool gpu = of.cluster.kind(id).device_class == DeviceClass::kGpu;
    if (gpu) gpus.insert(gpus.end(), static_cast<size_t>(alike), id);  // of one kind
  }
  rates.gpus = static_cast<int64_t>(gpus.size());
  const double at_peak = SecondsAtPeak(ProductsOf(of.original), of, gpus);
  if (at_peak > 0 && of.step_time.count > 0) {
    rates.mfu = at_peak / Seconds(of.step_time);
    rates.peak_flops = rates.work.flops / at_peak;
  }
  const double window = static_cast<double>((last - first).count);
  if (devices > 1 && window > 0) {
    rates.idle = 1 - static_cast<double>(computing) / (window * static_cast<double>(devices));
  }
  return rates;
}

double StepRates::SamplesPerSecond() const {
  return step_time.count > 0 ? static_cast<double>(work.samples) / Seconds(step_time) : 0;
}

double StepRates::TokensPerSecond() const {
  return SamplesPerSecond() * static_cast<double>(work.sequence);
}

double StepRates::GpuHours() const { return Seconds(step_time) * static_cast<double>(gpus) / 3600; }

double StepRates::GpuHoursPerMillionTokens() const {
  const double tokens = static_cast<double>(work.samples) * static_cast<double>(work.sequence);
  return tokens > 0 ? GpuHours() * 1e6 / tokens : 0;
}

std::string SourceOfTimes(const CostShares& shares) {
  std::string text;
  const auto add = [&](double share, std::string_view name) {
    if (share > 0) text += (text.empty() ? "" : " and ") + std::string(name);
  };
  add(shares.given, "given");
  add(shares.measured, "measured");
  add(shares.modelled, "modelled");
  return text;
}

std::string DescribeRates(const StepRates& rates, const std::string& source, bool idle) {
  if (rates.gpus == 0 || rates.step_time.count <= 0) return "";
  const auto gpus = static_cast<double>(rates.gpus);
  std::vector<std::string> parts;
  const auto whole = [](double number) { return FormatCount(static_cast<int64_t>(number + 0.5)); };
  if (rates.work.sequence > 0) {
    parts.push_back(fmt::format("{} tokens/s, {} a GPU", whole(rates.TokensPerSecond()),
                                whole(rates.TokensPerSecond() / gpus)));
  } else if (rates.work.samples > 0 && rates.gpus > 1) {
    parts.push_back(fmt::format("{:.4g} samples/s a GPU", rates.SamplesPerSecond() / gpus));
  }
  if (rates.mfu) parts.push_back(fmt::format("MFU {}", FormatShare(*rates.mfu)));
  if (rates.work.sequence > 0) {
    parts.push_back(
        fmt::format("{:.3g} GPU-hours a million tokens", rates.GpuHoursPerMillionTokens()));
  }
  if (idle && rates.idle) parts.push_back(fmt::format("bubble {}", FormatShare(*rates.idle)));
  if (parts.empty()) return "";
  return fmt::format("{}{}", fmt::join(parts, "; "),
                     source.empty() ? "" : fmt::format(" ({})", source));
}

}  // namespace placewright
