// Everything that differs between LibTorch 1.13 and 2.x.
#ifndef PLACEWRIGHT_CAPTURE_TORCH_VERSION_H_
#define PLACEWRIGHT_CAPTURE_TORCH_VERSION_H_

#include <ATen/core/TensorBody.h>
#include <c10/core/DispatchKey.h>
#include <torch/version.h>

// The dispatch key of the recorder: below autograd and ADInplaceOrView, above all backends, and
// used by nothing else in C++. It must be a bare name, for TORCH_LIBRARY_IMPL.
#define PLACEWRIGHT_RECORDER_KEY Fake

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

// From 2.0 on LibTorch treats tensors without memory apart: autograd adds gradients up in new tensors
// where it would write with memory, and reshape calls view where it would call _reshape_alias. A
// recorder of tensors with memory brings the second to one graph; the first still differs.
inline constexpr bool kMetaIsTreatedApart = TORCH_VERSION_MAJOR >= 2;

// "1.13.0"
#define PLACEWRIGHT_TORCH_TEXT_OF(x) #x
#define PLACEWRIGHT_TORCH_TEXT(x) PLACEWRIGHT_TORCH_TEXT_OF(x)
inline constexpr const char* kTorchVersion =
    PLACEWRIGHT_TORCH_TEXT(TORCH_VERSION_MAJOR) "." PLACEWRIGHT_TORCH_TEXT(
        TORCH_VERSION_MINOR) "." PLACEWRIGHT_TORCH_TEXT(TORCH_VERSION_PATCH);
#undef PLACEWRIGHT_TORCH_TEXT
#undef PLACEWRIGHT_TORCH_TEXT_OF

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_TORCH_VERSION_H_
