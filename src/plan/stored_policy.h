// A learned policy outside LibTorch: what files hold (formats/policy) and learners give and take.
#ifndef PLACEWRIGHT_PLAN_STORED_POLICY_H_
#define PLACEWRIGHT_PLAN_STORED_POLICY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace placewright {

struct StoredTensor {
  enum class Type : uint8_t { kU8, kI64, kF32, kF64 };

  Type type = Type::kF32;
  std::vector<int64_t> sizes;
  std::string bytes;  // elements in row-major order, little-endian

  static int64_t BytesOf(Type type) { return type == Type::kU8 ? 1 : type == Type::kF32 ? 4 : 8; }
};

struct StoredPolicy {
  std::string algorithm;   // "mars"
  int64_t vocabulary = 0;  // version of the op types that its features distinguish
  std::map<std::string, std::string> settings;  // every setting of the algorithm
  std::map<std::string, StoredTensor> parameters;
  // Of a training that can go on; empty where only the policy is kept.
  std::map<std::string, std::string> state;
  std::map<std::string, StoredTensor> state_tensors;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_STORED_POLICY_H_
