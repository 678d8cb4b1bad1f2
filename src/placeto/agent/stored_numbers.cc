#include "placeto/agent/stored_numbers.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <type_traits>

namespace placewright {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class Number>
constexpr StoredTensor::Type TypeOf() {
  if constexpr (std::is_same_v<Number, float>) return StoredTensor::Type::kF32;
  if constexpr (std::is_same_v<Number, double>) return StoredTensor::Type::kF64;
  return StoredTensor::Type::kI64;
}

}  // namespace

template <class Number>
StoredTensor StoredNumbers(std::span<const Number> numbers, std::vector<int64_t> sizes) {
  StoredTensor tensor{TypeOf<Number>(), std::move(sizes), std::string(numbers.size_bytes(), '\0')};
  if (!numbers.empty()) std::memcpy(tensor.bytes.data(), numbers.data(), numbers.size_bytes());
  return tensor;
}

template <class Number>
Result<std::vector<Number>> NumbersOf(const std::map<std::string, StoredTensor>& tensors,
                                      const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second.type != TypeOf<Number>()) {
    return MakeError(ErrorCode::kField, "the policy has no numbers \"" + name + "\" of their type",
                     "", "Train it again with this version.");
  }
  std::vector<Number> numbers(found->second.bytes.size() / sizeof(Number));
  if (!numbers.empty()) {
    std::memcpy(numbers.data(), found->second.bytes.data(), numbers.size() * sizeof(Number));
  }
  return numbers;
}

Result<uint64_t> StoredInteger(const std::map<std::string, std::string>& state,
                               const std::string& name) {
  const auto found = state.find(name);
  uint64_t number = 0;
  if (found != state.end()) {
    const char* const end = found->second.data() + found->second.size();
    const auto [rest, error] = std::from_chars(found->second.data(), end, number);
    if (error == std::errc() && rest == end) return number;
  }
  return MakeError(ErrorCode::kField, "the training has no number \"" + name + "\"", "",
                   "Train it again with this version.");
}

template StoredTensor StoredNumbers(std::span<const float>, std::vector<int64_t>);
template StoredTensor StoredNumbers(std::span<const double>, std::vector<int64_t>);
template StoredTensor StoredNumbers(std::span<const int64_t>, std::vector<int64_t>);
template Result<std::vector<float>> NumbersOf(const std::map<std::string, StoredTensor>&,
                                              const std::string&);
template Result<std::vector<double>> NumbersOf(const std::map<std::string, StoredTensor>&,
                                               const std::string&);
template Result<std::vector<int64_t>> NumbersOf(const std::map<std::string, StoredTensor>&,
                                                const std::string&);

}  // namespace placewright
