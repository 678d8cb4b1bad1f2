#include "learn/store/stored_tensors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/check.h"

namespace placewright {
namespace {

constexpr std::pair<StoredTensor::Type, at::ScalarType> kStoredTypes[] = {
    {StoredTensor::Type::kU8, at::kByte},
    {StoredTensor::Type::kI64, at::kLong},
    {StoredTensor::Type::kF32, at::kFloat},
    {StoredTensor::Type::kF64, at::kDouble}};

Error NoState(const std::string& name) {
  return MakeError(ErrorCode::kField, "the training's state has no \"" + name + "\" of its form",
                   "state." + name, "Train it again, or leave --resume out.");
}

}  // namespace

StoredTensor ToStored(const at::Tensor& tensor) {
  const at::Tensor here = tensor.detach().cpu().contiguous();
  StoredTensor stored;
  bool known = false;
  for (const auto& [type, scalar] : kStoredTypes) {
    if (here.scalar_type() != scalar) continue;
    stored.type = type;
    known = true;
  }
  PW_CHECK(known);
  stored.sizes = here.sizes().vec();
  stored.bytes.assign(static_cast<const char*>(here.data_ptr()), here.nbytes());
  return stored;
}

at::Tensor FromStored(const StoredTensor& stored) {
  at::ScalarType scalar = at::kByte;
  for (const auto& [type, of] : kStoredTypes) {
    if (stored.type == type) scalar = of;
  }
  const at::Tensor tensor = at::empty(stored.sizes, at::TensorOptions().dtype(scalar));
  PW_CHECK(tensor.nbytes() == stored.bytes.size());
  std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

void StateWriter::Integer(const std::string& name, int64_t value) {
  policy_.state[prefix_ + name] = fmt::to_string(value);
}

void StateWriter::Number(const std::string& name, double value) {
  policy_.state[prefix_ + name] = fmt::format("{}", value);  // the shortest that reads back
}

void StateWriter::Tensor(const std::string& name, const at::Tensor& tensor) {
  policy_.state_tensors[prefix_ + name] = ToStored(tensor);
}

bool StateReader::Has(const std::string& name) const {
  return policy_.state.contains(prefix_ + name);
}

Result<int64_t> StateReader::Integer(const std::string& name) const {
  const auto found = policy_.state.find(prefix_ + name);
  if (found == policy_.state.end()) return NoState(prefix_ + name);
  const char* const end = found->second.data() + found->second.size();
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || rest != end) return NoState(prefix_ + name);
  return value;
}

Result<double> StateReader::Number(const std::string& name) const {
  const auto found = policy_.state.find(prefix_ + name);
  if (found == policy_.state.end()) return NoState(prefix_ + name);
  const char* const end = found->second.data() + found->second.size();
  double value = 0;
  const auto [rest, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc() || rest != end) return NoState(prefix_ + name);
  return value;
}

Result<at::Tensor> StateReader::Tensor(const std::string& name, at::ScalarType type,
                                       int64_t dimensions) const {
  const auto found = policy_.state_tensors.find(prefix_ + name);
  if (found == policy_.state_tensors.end()) return NoState(prefix_ + name);
  at::Tensor tensor = FromStored(found->second);
  if (tensor.scalar_type() != type || tensor.dim() != dimensions) return NoState(prefix_ + name);
  return tensor;
}

}  // namespace placewright
