#include "sharding/axis_places.h"

namespace placewright {

AxisPlace PlaceInRule(const NamedAxes& axes, OpId op, RuleAxisId split, AxisId axis,
                      const TensorAxes& tensor) {
  const OpRule& rule = *axes.rule(op);
  for (size_t d = 0; d < tensor.size(); ++d) {
    AxisPlace place;
    bool behind = false;
    for (const RuleAxisId one : tensor[d]) {
      if (one != split) {
        (behind ? place.inner : place.outer) *= rule.axes[one].size;
        continue;
      }
      // The rule's axis may hold other factors beside the layout's.
      behind = true;
      place.dimension = static_cast<int32_t>(d);
      bool passed = false;
      for (const AxisId factor : axes.FactorsOf(op, split)) {
        if (factor == axis && !passed) {
          passed = true;
          place.size = axes.axis(factor).size;
        } else {
          (passed ? place.inner : place.outer) *= axes.axis(factor).size;
        }
      }
    }
    if (place.dimension >= 0) return place;
  }
  return {};
}

AxisPlace PlaceInTensor(const Graph& graph, const NamedAxes& axes, TensorId tensor, AxisId axis) {
  for (size_t d = 0; axis.valid() && d < graph.tensor(tensor).shape.size(); ++d) {
    AxisPlace place;
    for (const AxisId factor : axes.factors(tensor, d)) {
      const int64_t size = axes.axis(factor).size;
      if (factor == axis && place.dimension < 0) {
        place.dimension = static_cast<int32_t>(d);
        place.size = size;
      } else {
        (place.dimension < 0 ? place.outer : place.inner) *= size;
      }
    }
    if (place.dimension >= 0) return place;
  }
  return {};
}

}  // namespace placewright
