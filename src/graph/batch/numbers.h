// The numbers among the arguments of an op in a fixed order: positional before keyword arguments,
// lists depth first. Flags, texts and references are no numbers.
#ifndef PLACEWRIGHT_GRAPH_BATCH_NUMBERS_H_
#define PLACEWRIGHT_GRAPH_BATCH_NUMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/value.h"

namespace placewright {

// Where a number stands: args[path[0]][path[1]]... or, with a keyword, kwargs.KEYWORD[path[0]]...
struct NumberPlace {
  const std::string* keyword = nullptr;
  std::vector<int64_t> path;
};

// "args[1][0]", "kwargs.size[0]"
std::string ToString(const NumberPlace& place);

// Calls visit(number, place) for every number of `value`, which stands at `place`.
template <class ValueType, class Visit>
void VisitNumbersOf(ValueType& value, NumberPlace& place, const Visit& visit) {
  if (auto* list = value.AsList()) {
    place.path.push_back(0);
    for (auto& item : *list) {
      VisitNumbersOf(item, place, visit);
      ++place.path.back();
    }
    place.path.pop_back();
  } else if (value.AsInt() != nullptr || value.AsDouble() != nullptr) {
    visit(value, static_cast<const NumberPlace&>(place));
  }
}

// Arguments may be const or not; `visit` may give a number another value.
template <class Arguments, class Attributes, class Visit>
void VisitNumbers(Arguments& args, Attributes& attributes, const Visit& visit) {
  NumberPlace place;
  place.path.push_back(0);
  for (auto& value : args) {
    VisitNumbersOf(value, place, visit);
    ++place.path.back();
  }
  place.path.clear();
  for (auto& named : attributes) {
    place.keyword = &named.name;
    VisitNumbersOf(named.value, place, visit);
  }
}

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_BATCH_NUMBERS_H_
