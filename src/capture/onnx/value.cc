#include "capture/onnx/value.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>

#include "capture/recorder/dispatch.h"

namespace placewright::lowering {
namespace {

constexpr size_t kMaxHostBytes = size_t{4} << 20;  // of a constant that is computed with ahead

// Whether what is made now has no content (below OnMeta, or in a recording on meta).
bool MakesNoContent() { return at::empty({0}).is_meta(); }

bool AllEqual(const at::Tensor& tensor) {
  const OutsideStep outside;
  if (tensor.numel() == 0) return false;
  const at::Tensor flat = tensor.reshape({-1});
  return at::equal(flat, flat.narrow(0, 0, 1).expand_as(flat));
}

at::Tensor WithoutContent(const at::Tensor& tensor) {
  const OutsideStep outside;
  return at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
}

thread_local Contents* kept_constants = nullptr;

// Elements of the file that LibTorch has no type for.
template <class T>
at::Tensor Widened(const ImportedTensor& tensor, at::ScalarType type) {
  at::Tensor out = at::empty(tensor.shape, type);
  for (int64_t i = 0; i < out.numel(); ++i) {
    T element;
    std::memcpy(&element, tensor.bytes->data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    out.view({-1})[i] = static_cast<int64_t>(element);
  }
  return out;
}

}  // namespace

struct OutsideStep::Guards {
  c10::impl::ExcludeDispatchKeyGuard unrecorded{kRecorderKey};
  at::NoGradGuard no_grad;
};

OutsideStep::OutsideStep() : guards_(std::make_unique<Guards>()) {}
OutsideStep::~OutsideStep() = default;

void Contents::Add(const at::Tensor& in_step, const at::Tensor& content) {
  kept_[in_step.storage().unsafeGetStorageImpl()] = {in_step, content};
}

at::Tensor Contents::Of(const at::Tensor& in_step) const {
  const auto found = kept_.find(in_step.storage().unsafeGetStorageImpl());
  return found == kept_.end() ? at::Tensor() : found->second.second;
}

KeepConstants::KeepConstants(Contents* contents) : outer_(kept_constants) {
  kept_constants = contents;
}
KeepConstants::~KeepConstants() { kept_constants = outer_; }

Value Value::Host(at::Tensor tensor) {
  Value value(std::move(tensor));
  value.constant_ = std::make_shared<at::Tensor>();
  return value;
}

Value Value::List(std::vector<Value> items) {
  Value value;
  value.list_ = std::make_shared<const std::vector<Value>>(std::move(items));
  return value;
}

at::Tensor Value::InStep() const {
  if (!is_host()) return tensor_;
  if (constant_->defined()) return *constant_;
  if (AllEqual(tensor_) && !tensor_.is_complex()) {
    at::Scalar number;
    {
      const OutsideStep outside;
      number = tensor_.reshape({-1})[0].item();
    }
    *constant_ = at::full(tensor_.sizes(), number, tensor_.options());
  } else {
    *constant_ = MakesNoContent() ? WithoutContent(tensor_) : tensor_;
    if (kept_constants != nullptr) kept_constants->Add(*constant_, tensor_);
  }
  return *constant_;
}

std::optional<at::Scalar> Value::Number() const {
  if (!is_host() || tensor_.numel() != 1 || tensor_.is_complex()) return std::nullopt;
  const OutsideStep outside;
  return tensor_.item();
}

std::optional<at::ScalarType> TorchType(DType dtype) {
  switch (dtype) {
    case DType::kF32: return at::kFloat;
    case DType::kF64: return at::kDouble;
    case DType::kF16: return at::kHalf;
    case DType::kBF16: return at::kBFloat16;
    case DType::kI64:
    case DType::kU32:
    case DType::kU64: return at::kLong;
    case DType::kI32:
    case DType::kU16: return at::kInt;
    case DType::kI16: return at::kShort;
    case DType::kI8: return at::kChar;
    case DType::kU8: return at::kByte;
    case DType::kBool: return at::kBool;
    case DType::kC64: return at::kComplexFloat;
    case DType::kC128: return at::kComplexDouble;
    case DType::kString:
    case DType::kOpaque: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<at::ScalarType> TorchTypeOfOnnx(int64_t type) {
  switch (type) {
    case 1: return at::kFloat;
    case 2: return at::kByte;
    case 3: return at::kChar;
    case 4: return at::kInt;  // uint16
    case 5: return at::kShort;
    case 6: return at::kInt;
    case 7: return at::kLong;
    case 9: return at::kBool;
    case 10: return at::kHalf;
    case 11: return at::kDouble;
    case 12:  // uint32
    case 13: return at::kLong;
    case 14: return at::kComplexFloat;
    case 15: return at::kComplexDouble;
    case 16: return at::kBFloat16;
    default: return std::nullopt;
  }
}

at::Tensor HostTensor(const ImportedTensor& tensor) {
  const std::optional<at::ScalarType> type = TorchType(tensor.dtype);
  if (!type || !tensor.bytes) return {};
  int64_t size = SizeOf(tensor.dtype);
  for (const int64_t dim : tensor.shape) size = SaturatingMultiply(size, dim);
  if (size != static_cast<int64_t>(tensor.bytes->size())) return {};
  const OutsideStep outside;
  if (tensor.dtype == DType::kU16) return Widened<uint16_t>(tensor, *type);
  if (tensor.dtype == DType::kU32) return Widened<uint32_t>(tensor, *type);
  at::Tensor out = at::empty(tensor.shape, *type);
  if (!tensor.bytes->empty()) std::memcpy(out.data_ptr(), tensor.bytes->data(), out.nbytes());
  return out;
}

Value ConstantOf(const ImportedTensor& tensor) {
  const std::optional<at::ScalarType> type = TorchType(tensor.dtype);
  if (!type) return {};
  const at::Tensor content = HostTensor(tensor);
  if (content.defined() && content.nbytes() <= kMaxHostBytes) return Value::Host(content);
  const bool on_meta = MakesNoContent();
  if (content.defined() && !on_meta) return content;
  const at::Device device = on_meta ? at::kMeta : at::kCPU;
  const OutsideStep outside;
  at::Tensor made = at::zeros(tensor.shape, at::TensorOptions().dtype(*type).device(device));
  if (content.defined() && kept_constants != nullptr) kept_constants->Add(made, content);
  return made;
}

at::Tensor HostInts(const std::vector<int64_t>& values) {
  const OutsideStep outside;
  at::Tensor out = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  if (!values.empty()) std::memcpy(out.data_ptr(), values.data(), out.nbytes());
  return out;
}

}  // namespace placewright::lowering
