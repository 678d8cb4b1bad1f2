#include "check_plan/distributed/norms/value.h"

#include <algorithm>
#include <cmath>

namespace placewright::check {
namespace {

constexpr double kTolerance = 1e-11;  // of the largest magnitude

// Of small tensors, the last dimensions above one another.
bool BroadcastTo(const std::vector<int64_t>& shape, std::vector<int64_t>& all) {
  if (shape.size() > all.size()) all.insert(all.begin(), shape.size() - all.size(), 1);
  const size_t behind = all.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t& size = all[d + behind];
    if (size == 1) size = shape[d];
    if (shape[d] != 1 && shape[d] != size) return false;
  }
  return true;
}

// Where a small tensor has the number that is at `index` of a shape that it is broadcast to.
size_t PlaceIn(const std::vector<int64_t>& shape, const std::vector<int64_t>& all, size_t index) {
  size_t place = 0, stride = 1;
  for (size_t d = all.size(); d-- > 0;) {
    const auto size = static_cast<size_t>(all[d]);
    const size_t at = index % size;
    index /= size;
    const size_t behind = all.size() - shape.size();
    if (d < behind) continue;
    const int64_t own = shape[d - behind];
    place += own == 1 ? 0 : at * stride;
    stride *= static_cast<size_t>(own);
  }
  return place;
}

// One number, or one for each channel of [n channels ...].
bool IsPerChannel(const std::vector<int64_t>& shape, const std::vector<int64_t>& part) {
  if (shape.size() > part.size()) return false;
  const size_t behind = part.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && (d + behind != 1 || shape[d] != part[1])) return false;
  }
  return true;
}

bool FitTogether(const std::vector<const NormValue*>& values, NormValue& made) {
  for (const NormValue* const value : values) {
    if (value->part < 0 || made.part == value->part) continue;
    if (made.part >= 0) return false;
    made.part = value->part;
    made.shape = value->shape;
  }
  return std::all_of(values.begin(), values.end(), [&](const NormValue* value) {
    if (value->part >= 0) return value->shape == made.shape;
    return made.part >= 0 ? IsPerChannel(value->shape, made.shape)
                          : BroadcastTo(value->shape, made.shape);
  });
}

}  // namespace

bool IsNear(const std::vector<double>& found, const std::vector<double>& due) {
  if (found.size() != due.size()) return false;
  double magnitude = 0;
  for (const double number : due) magnitude = std::max(magnitude, std::abs(number));
  for (size_t i = 0; i < due.size(); ++i) {
    // No comparison holds of what is not finite.
    if (!(std::abs(found[i] - due[i]) <= kTolerance * magnitude)) return false;
  }
  return true;
}

int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::optional<NormValue> Elementwise(const std::vector<const NormValue*>& values,
                                     const std::function<double(const std::vector<double>&)>& f) {
  NormValue made;
  if (!FitTogether(values, made)) return std::nullopt;
  auto count = static_cast<size_t>(made.part < 0 ? CountOf(made.shape) : 0);
  for (const NormValue* const value : values) {
    if (value->part >= 0) count = value->numbers.size();
  }
  std::vector<double> operands(values.size());
  made.numbers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < values.size(); ++k) {
      const NormValue& value = *values[k];
      const bool one = value.numbers.size() == 1;
      const size_t place = value.part >= 0  ? i
                           : one            ? 0
                           : made.part >= 0 ? i % ChannelsOf(made.shape)
                                            : PlaceIn(value.shape, made.shape, i);
      operands[k] = value.numbers[place];
    }
    made.numbers.push_back(f(operands));
  }
  return made;
}

}  // namespace placewright::check
