#include "capture/meta/meta_run.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/enum_tag.h>
#include <c10/util/Exception.h>

#include "aten/failure.h"
#include "base/text.h"
#include "capture/meta/shape_functions.h"
#include "capture/recorder/arguments.h"

namespace placewright {
namespace {

std::string FullName(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name()
                                        : schema.name() + "." + schema.overload_name();
}

// A factory that names no device makes its tensor on the CPU; one that is given a tensor (`*_like`)
// makes it where that tensor is.
void MoveTo(c10::DeviceType target, TorchCall& call) {
  const std::vector<c10::Argument>& declared = call.schema().arguments();
  const bool like = !declared.empty() && call.argument(0).isTensor();
  for (size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].name() != "device") continue;
    c10::IValue& value = call.argument(i);
    if (value.isDevice() || (value.isNone() && !like)) value = c10::Device(target);
  }
}

bool HasContent(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_meta() && !IsHostNumber(tensor);
}

void CheckNoContent(const TorchCall& call, const CallPlace& place) {
  for (size_t i = 0; i < call.argument_count(); ++i) {
    const c10::IValue& value = call.argument(i);
    if (!value.isTensor() || !HasContent(value.toTensor())) continue;
    throw TorchFailure(MakeError(
        ErrorCode::kNotRecordable, "a tensor with content meets tensors that have shapes only",
        place.ToString(),
        "Make it inside the recorded functions, with at::full, at::arange and the like."));
  }
}

bool NamesDevice(const TorchCall& call, std::string* device) {
  for (size_t i = 0; i < call.argument_count(); ++i) {
    if (!call.argument(i).isDevice() || call.argument(i).toDevice().is_cpu()) continue;
    *device = call.argument(i).toDevice().str();
    return true;
  }
  return false;
}

class MetaHandler : public CallHandler {
 public:
  void Handle(TorchCall& call) override { RunOnMeta(call, Place(call)); }
  bool OnMeta() const override { return true; }
};

}  // namespace

bool IsOnHostNumbers(const TorchCall& call) {
  bool any = false;
  for (size_t i = 0; i < call.argument_count(); ++i) {
    const c10::IValue& value = call.argument(i);
    if (value.isTensorList()) return false;
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    if (!IsHostNumber(value.toTensor())) return false;
    any = true;
  }
  return any;
}

void RunOnHost(TorchCall& call) {
  MoveTo(c10::kCPU, call);
  RunBelow(call);
}

void RunOnMeta(TorchCall& call, const CallPlace& place) {
  if (IsOnHostNumbers(call)) {
    RunOnHost(call);
    return;
  }
  MoveTo(c10::kMeta, call);
  CheckNoContent(call, place);
  if (const ShapeFunction function = FindShapeFunction(call.schema())) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    std::vector<c10::IValue> results = function(call);
    call.stack.erase(call.stack.end() - static_cast<std::ptrdiff_t>(call.argument_count()),
                     call.stack.end());
    for (c10::IValue& result : results) call.stack.push_back(std::move(result));
    return;
  }
  try {
    RunBelow(call);
  } catch (const c10::NotImplementedError&) {
    if (call.op.hasTag(at::Tag::data_dependent_output) ||
        call.op.hasTag(at::Tag::dynamic_output_shape)) {
      throw TorchFailure(MakeError(ErrorCode::kDataDependent,
                                   "the step reads a value from a tensor", place.ToString()));
    }
    throw TorchFailure(MakeError(
        ErrorCode::kNoShapeFunction,
        FullName(call.schema()) + " cannot determine the shape of its result without computing it",
        place.ToString()));
  }
}

void RunReal(TorchCall& call, const CallPlace& place) {
  std::string device;
  const bool elsewhere = NamesDevice(call, &device);
  try {
    RunBelow(call);
  } catch (const c10::Error& error) {
    if (!elsewhere) throw;
    throw TorchFailure(MakeError(
        ErrorCode::kMissingRuntime,
        "the step uses the device " + device + ", which LibTorch cannot use here", place.ToString(),
        "Record it without memory (on meta) or on the CPU: plans decide on devices."));
  }
}

Status OnMeta(const std::function<void()>& body, const std::atomic<bool>* interrupted) {
  MetaHandler handler;
  handler.StopAt(interrupted);
  return CatchFailure([&] {
    const HandlerScope scope(handler);
    body();
  });
}

}  // namespace placewright
