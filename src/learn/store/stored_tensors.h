// Between LibTorch's tensors and those of stored policies.
#ifndef PLACEWRIGHT_LEARN_STORE_STORED_TENSORS_H_
#define PLACEWRIGHT_LEARN_STORE_STORED_TENSORS_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/stored_policy.h"

namespace placewright {

// Of type float, double, int64 or uint8, on any device.
StoredTensor ToStored(const at::Tensor& tensor);
// On the CPU, with memory of its own.
at::Tensor FromStored(const StoredTensor& stored);

// What a training keeps, under names that begin with a prefix. Reading: kField where a name is
// missing or its value is none.
class StateWriter {
 public:
  StateWriter(StoredPolicy& policy, std::string prefix)
      : policy_(policy), prefix_(std::move(prefix)) {}

  void Integer(const std::string& name, int64_t value);
  void Number(const std::string& name, double value);  // exactly
  void Tensor(const std::string& name, const at::Tensor& tensor);

 private:
  StoredPolicy& policy_;
  const std::string prefix_;
};

class StateReader {
 public:
  StateReader(const StoredPolicy& policy, std::string prefix)
      : policy_(policy), prefix_(std::move(prefix)) {}

  bool Has(const std::string& name) const;
  Result<int64_t> Integer(const std::string& name) const;
  Result<double> Number(const std::string& name) const;
  // Of the wanted type and number of dimensions.
  Result<at::Tensor> Tensor(const std::string& name, at::ScalarType type, int64_t dimensions) const;

 private:
  const StoredPolicy& policy_;
  const std::string prefix_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_STORE_STORED_TENSORS_H_
