// Everything that differs between LibTorch 1.13 and 2.x.
#ifndef PLACEWRIGHT_ATEN_TORCH_VERSION_H_
#define PLACEWRIGHT_ATEN_TORCH_VERSION_H_

#include <ATen/core/TensorBody.h>
#include <c10/core/Allocator.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/Event.h>
#include <torch/version.h>

#include <cstddef>
#include <memory>

// The dispatch key of the recorder: below autograd and ADInplaceOrView, above all backends, and
// used by nothing else in C++. It must be a bare name, for TORCH_LIBRARY_IMPL.
#define PLACEWRIGHT_RECORDER_KEY Fake
// That of automatic mixed precision: above autograd, and used by LibTorch's own tests alone.
#define PLACEWRIGHT_AUTOCAST_KEY TESTING_ONLY_GenericMode

namespace placewright {

inline constexpr c10::DispatchKey kRecorderKey = c10::DispatchKey::PLACEWRIGHT_RECORDER_KEY;

#if TORCH_VERSION_MAJOR >= 2
template <class T>
using TorchOptional = std::optional<T>;
inline constexpr auto kTorchNone = std::nullopt;
#else
template <class T>
using TorchOptional = c10::optional<T>;
inline constexpr auto kTorchNone = c10::nullopt;
#endif

// From 2.0 on LibTorch treats tensors without memory apart: autograd adds gradients up in new
// tensors where it would write with memory, and reshape calls view where it would call
// _reshape_alias. The recorder brings both to one graph: gradients as with memory, reshapes as
// without.
inline constexpr bool kMetaIsTreatedApart = TORCH_VERSION_MAJOR >= 2;

// From 2.0 on autograd writes the sum of two gradients into the first where nothing else holds that
// one (torch/csrc/autograd/input_buffer.cpp), but not without memory.
inline constexpr bool kSumsGradientsInPlace = TORCH_VERSION_MAJOR >= 2;

// What runs below autograd of torch.prelu and torch.embedding_bag.
#if TORCH_VERSION_MAJOR >= 2
inline constexpr const char* kPrelu = "aten::_prelu_kernel";
inline constexpr const char* kPreluBackward = "aten::_prelu_kernel_backward";
inline constexpr const char* kEmbeddingBagBackward = "aten::_embedding_bag_backward";
inline constexpr size_t kEmbeddingBagRows = 6;  // the argument of its backward op
#else
inline constexpr const char* kPrelu = "aten::prelu";
inline constexpr const char* kPreluBackward = "aten::prelu_backward";
inline constexpr const char* kEmbeddingBagBackward = "aten::_embedding_bag_dense_backward";
inline constexpr size_t kEmbeddingBagRows = 5;
#endif

// An allocator that may be called by several threads at once.
class SharedAllocator : public c10::Allocator {
 public:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr allocate(size_t bytes) final { return Allocate(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const final {
    default_copy_data(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const final { return Allocate(bytes); }
#endif

 private:
  virtual c10::DataPtr Allocate(size_t bytes) const = 0;
};

// From 2.4 on events of any accelerator say how much time lies between them.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
inline constexpr bool kEventsHaveTimes = true;
inline double MillisecondsBetween(const c10::Event& first, const c10::Event& last) {
  return first.elapsedTime(last);
}
#else
inline constexpr bool kEventsHaveTimes = false;
inline double MillisecondsBetween(const c10::Event&, const c10::Event&) { return 0; }
#endif

// "1.13.0"
#define PLACEWRIGHT_TORCH_TEXT_OF(x) #x
#define PLACEWRIGHT_TORCH_TEXT(x) PLACEWRIGHT_TORCH_TEXT_OF(x)
inline constexpr const char* kTorchVersion =
    PLACEWRIGHT_TORCH_TEXT(TORCH_VERSION_MAJOR) "." PLACEWRIGHT_TORCH_TEXT(
        TORCH_VERSION_MINOR) "." PLACEWRIGHT_TORCH_TEXT(TORCH_VERSION_PATCH);
#undef PLACEWRIGHT_TORCH_TEXT
#undef PLACEWRIGHT_TORCH_TEXT_OF

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_TORCH_VERSION_H_
