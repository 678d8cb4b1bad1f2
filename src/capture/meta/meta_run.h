// Running operators without memory: on `meta` tensors, which have shapes and no content. Where
// LibTorch knows no shapes (in C++ 1.13 knows none of convolution, batch_norm, embedding, ...) our
// own functions give them (shape_functions.h).
#ifndef PLACEWRIGHT_CAPTURE_META_META_RUN_H_
#define PLACEWRIGHT_CAPTURE_META_META_RUN_H_

#include <functional>

#include "base/result.h"
#include "capture/recorder/dispatch.h"

namespace placewright {

// Runs one call on meta: devices among its arguments, and the CPU where a factory names none,
// become meta. Throws TorchFailure naming `place`: kNoShapeFunction, kDataDependent,
// kNotRecordable (a tensor with content among the arguments).
void RunOnMeta(TorchCall& call, const CallPlace& place);

// Whether all tensors of the call are numbers of the host (IsHostNumber), of which there are some.
bool IsOnHostNumbers(const TorchCall& call);
// Runs such a call where its numbers are.
void RunOnHost(TorchCall& call);

// Runs one call as it is. Throws TorchFailure: kMissingRuntime where it names a device that is
// not there.
void RunReal(TorchCall& call, const CallPlace& place);

// Everything that `body` runs is run on meta; nothing is recorded. For building models. Ends with
// kInterrupted once the flag is set.
Status OnMeta(const std::function<void()>& body, const std::atomic<bool>* interrupted = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_META_META_RUN_H_
