#include "sim/synthetic_step.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {

namespace {

constexpr int32_t kLayer = 40;

// Standard normal draws by Marsaglia's polar method, two at a time; the second of a pair comes
// first. A uniform draw takes two of the generator's, the low half first.
class Normal {
 public:
  double Draw(std::mt19937& random) {
    if (std::exchange(has_saved_, !has_saved_)) return saved_;
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * Uniform(random) - 1;
      y = 2 * Uniform(random) - 1;
      square = x * x + y * y;
    } while (square > 1 || square == 0);
    const double scale = std::sqrt(-2 * std::log(square) / square);
    saved_ = x * scale;
    return y * scale;
  }

 private:
  static double Uniform(std::mt19937& random) {
    constexpr double kTwo32 = 4294967296.0;
    const double low = static_cast<double>(random());
    const double high = static_cast<double>(random());
    return std::min((low + high * kTwo32) / (kTwo32 * kTwo32), std::nextafter(1.0, 0.0));
  }

  double saved_ = 0;
  bool has_saved_ = false;
};

struct Draws {
  std::vector<int64_t> times, bytes;
  std::vector<std::vector<int32_t>> inputs;
};

Draws DrawStep(const SyntheticStepOptions& options) {
  std::mt19937 random(options.seed);
  Normal normal;
  Draws draws;
  for (int32_t op = 0; op < options.ops; ++op) {
    const double micros = std::exp(normal.Draw(random) * 1.2 + 2.5);
    draws.times.push_back(static_cast<int64_t>(std::clamp(micros, 1.0, 5000.0) * 1000));
    draws.bytes.push_back(int64_t{1} << (10 + random() % 14));
  }
  const auto below = [&random](int32_t bound) {
    return static_cast<int32_t>(random() % static_cast<uint32_t>(bound));
  };
  draws.inputs.resize(options.ops);
  for (int32_t op = kLayer; op < options.ops; ++op) {
    const int32_t layer = op / kLayer, end = layer * kLayer;
    const int32_t begin = std::max(layer - 3, 0) * kLayer;
    const int32_t near = end - kLayer + below(kLayer), far = begin + below(end - begin);
    draws.inputs[op].push_back(near);
    if (far != near) draws.inputs[op].push_back(far);
  }
  return draws;
}

Graph MakeGraph(const Draws& draws) {
  GraphBuilder builder("synthetic", "costgraph");
  std::vector<TensorId> made;
  for (size_t op = 0; op < draws.times.size(); ++op) {
    OpSpec spec;
    spec.name = "o" + std::to_string(op);
    spec.type = "op";
    for (int32_t input : draws.inputs[op]) spec.inputs.push_back(made[input]);
    OutputSpec output;
    output.name = spec.name;
    output.dtype = DType::kOpaque;
    output.opaque_bytes = Bytes(draws.bytes[op]);
    spec.outputs.push_back(output);
    made.push_back(builder.AddOp(std::move(spec)).Take()[0]);
  }
  return std::move(builder).Build().Take();
}

Cluster MakeMesh(int32_t devices) {
  constexpr Bytes kMemory{int64_t{1} << 40};
  ClusterBuilder builder("mesh");
  const int32_t kind = builder.AddKind(DeviceKind{.name = "kind", .memory = kMemory}).Take();
  for (int32_t d = 0; d < devices; ++d) {
    Device device{.name = "d" + std::to_string(d), .kind = kind, .capacity = kMemory};
    (void)builder.AddDevice(device).Take();
  }
  for (int32_t from = 0; from < devices; ++from) {
    for (int32_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      Link link{.name = "d" + std::to_string(from) + ">d" + std::to_string(to),
                .bandwidth = BytesPerSecond(10'000'000'000),
                .latency = Nanos(2000)};
      const LinkId id = builder.AddLink(link).Take();
      PW_CHECK(builder.AddRoute(DeviceId(from), DeviceId(to), {id}).ok());
    }
  }
  return std::move(builder).Build().Take();
}

}  // namespace

SyntheticStep MakeSyntheticStep(const SyntheticStepOptions& options) {
  const Draws draws = DrawStep(options);
  CostTable costs(draws.times.size(), options.devices);
  for (size_t op = 0; op < draws.times.size(); ++op) {
    for (int32_t d = 0; d < options.devices; ++d) {
      costs.SetTime(OpId(op), DeviceId(d), Nanos(draws.times[op]));
    }
  }
  return {MakeGraph(draws), MakeMesh(options.devices), std::move(costs)};
}

Placement ContiguousPlacement(const SyntheticStep& step) {
  const int64_t ops = static_cast<int64_t>(step.graph.op_count());
  const int64_t devices = static_cast<int64_t>(step.cluster.device_count());
  Placement placement;
  for (int64_t op = 0; op < ops; ++op) {
    placement.push_back(DeviceId(static_cast<int32_t>(op * devices / ops)));
  }
  return placement;
}

Placement RandomPlacement(const SyntheticStep& step) {
  std::mt19937 random(3);
  Placement placement;
  for (size_t op = 0; op < step.graph.op_count(); ++op) {
    placement.push_back(DeviceId(static_cast<size_t>(random() % step.cluster.device_count())));
  }
  return placement;
}

}  // namespace placewright
