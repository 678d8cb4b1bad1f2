// Numbers as stored policies hold them.
#ifndef PLACEWRIGHT_PLACETO_AGENT_STORED_NUMBERS_H_
#define PLACEWRIGHT_PLACETO_AGENT_STORED_NUMBERS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/stored_policy.h"

namespace placewright {

// Number: float, double or int64_t.
template <class Number>
StoredTensor StoredNumbers(std::span<const Number> numbers, std::vector<int64_t> sizes);
template <class Number>
StoredTensor StoredNumbers(std::span<const Number> numbers) {
  return StoredNumbers(numbers, {static_cast<int64_t>(numbers.size())});
}

// The numbers of a tensor of that type, whatever its sizes. Errors: kField (no such tensor, or of
// another type).
template <class Number>
Result<std::vector<Number>> NumbersOf(const std::map<std::string, StoredTensor>& tensors,
                                      const std::string& name);

// Errors: kField (no such value, or no number).
Result<uint64_t> StoredInteger(const std::map<std::string, std::string>& state,
                               const std::string& name);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_AGENT_STORED_NUMBERS_H_
