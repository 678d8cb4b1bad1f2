// What is known of tensors while a step in lanes is written, up to the numbers that each has of its own (internal to the
// module): layers that repeat have tensors of the same forms.
#ifndef PLACEWRIGHT_COMPILE_TENSOR_FORMS_H_
#define PLACEWRIGHT_COMPILE_TENSOR_FORMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "compile/fetch_store.h"
#include "compile/made_tensor.h"

namespace placewright {

// In the record tensors are the form's own numbers, with their lanes, and so are axes; makers are none.
struct TensorForm {
  TensorRecord record;
  std::vector<MadeTensor> tensors;
  std::vector<int64_t> axes;  // their sizes
  int32_t number = 0;
};

class TensorForms {
 public:
  using MadeOf = std::function<MadeTensor(TensorId)>;
  using AxisSize = std::function<int64_t(AxisId)>;
  // `image_bits`: those of a tensor's number, below its lane (lane_folder.h).
  TensorForms(int image_bits, MadeOf made_of, AxisSize size_of);

  FormedTensor FormOf(const TensorRecord& record);
  TensorRecord RecordOf(const FormedTensor& formed) const;

 private:
  TensorId StandsFor(TensorId id) const { return TensorId(id.index() & mask_); }
  TensorId WithLane(size_t number, TensorId like) const {
    return TensorId(number | (like.index() & ~mask_));
  }
  static uint64_t HashOf(const TensorForm& form);

  const size_t mask_;
  const MadeOf made_of_;
  const AxisSize size_of_;
  std::unordered_multimap<uint64_t, std::unique_ptr<TensorForm>> forms_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TENSOR_FORMS_H_
