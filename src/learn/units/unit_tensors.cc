#include "learn/units/unit_tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "learn/features/op_features.h"
#include "learn/features/vocabulary.h"

namespace placewright {

at::Tensor FeaturesOfUnits(const Problem& problem, const PlacementUnits& units) {
  const IdVector<OpId, OpFeatures> of_ops = FeaturesOfOps(*problem.graph);
  const size_t types = vocabulary::Size(), width = types + 2 * kShapeDimensions;
  const at::Tensor features =
      at::zeros({units.size(), static_cast<int64_t>(width)}, at::TensorOptions().dtype(at::kFloat));
  auto* row = features.data_ptr<float>();
  for (const std::vector<OpId>& ops : units.ops) {
    for (const OpId op : ops) {
      const OpFeatures& of_op = of_ops[op];
      ++row[of_op.type];
      for (size_t i = 0; i < kShapeDimensions; ++i) {
        row[types + i] = std::max(row[types + i], of_op.input[i]);
        row[types + kShapeDimensions + i] =
            std::max(row[types + kShapeDimensions + i], of_op.output[i]);
      }
    }
    const float count = std::max(static_cast<float>(ops.size()), 1.0F);
    std::for_each(row, row + types, [&](float& of_type) { of_type /= count; });
    row += width;
  }
  return features;
}

at::Tensor PlacesOfUnits(const PlacementUnits& units) {
  constexpr double kPi = 3.14159265358979323846;
  constexpr int64_t kWidth = 1 + 2 * kHarmonics + kNeighbours;
  const at::Tensor places =
      at::zeros({units.size(), kWidth}, at::TensorOptions().dtype(at::kFloat));
  auto* const first = places.data_ptr<float>();
  const double last = static_cast<double>(std::max<int64_t>(1, units.size() - 1));
  for (int64_t unit = 0; unit < units.size(); ++unit) {
    float* const row = first + unit * kWidth;
    const double place = static_cast<double>(unit) / last;
    row[0] = static_cast<float>(place);
    for (int64_t k = 0; k < kHarmonics; ++k) {
      const double angle = kPi * std::ldexp(place, static_cast<int>(k));
      row[1 + 2 * k] = static_cast<float>(std::sin(angle));
      row[2 + 2 * k] = static_cast<float>(std::cos(angle));
    }
  }
  std::vector<int64_t> found(units.groups.size(), 0);
  const auto add = [&](int64_t unit, int64_t neighbour) {
    int64_t& count = found[static_cast<size_t>(unit)];
    if (count == kNeighbours) return;
    first[unit * kWidth + 1 + 2 * kHarmonics + count++] =
        static_cast<float>(static_cast<double>(neighbour - unit) / last);
  };
  for (const auto& [from, to] : units.edges) {
    add(from, to);
    add(to, from);
  }
  return places;
}

at::Tensor ForbiddenDevices(const PlacementUnits& units, size_t devices) {
  const at::Tensor forbidden =
      at::full({units.size(), static_cast<int64_t>(devices)},
               -std::numeric_limits<float>::infinity(), at::TensorOptions().dtype(at::kFloat));
  auto* row = forbidden.data_ptr<float>();
  for (const std::vector<DeviceId>& candidates : units.candidates) {
    for (DeviceId device : candidates) row[device.index()] = 0;
    row += devices;
  }
  return forbidden;
}

}  // namespace placewright
