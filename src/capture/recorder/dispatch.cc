#include "capture/recorder/dispatch.h"

#include <torch/library.h>

#include <memory>

namespace placewright {
namespace {

// Not used by LibTorch outside of its own tests.
constexpr auto kInfoKind = c10::DebugInfoKind::TEST_INFO;

struct HandlerInfo : c10::DebugInfoBase {
  explicit HandlerInfo(CallHandler* the_handler) : handler(the_handler) {}
  CallHandler* handler;
};

void Intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(kRecorderKey);
  TorchCall call{op, keys, *stack};
  CallHandler* handler = CurrentHandler();
  if (handler != nullptr) {
    handler->Handle(call);
  } else {
    RunBelow(call);
  }
}

}  // namespace

std::string CallPlace::ToString() const {
  const std::string op = "op " + schema_.name();
  return module_ == nullptr || module_->empty() ? op : op + " in module " + *module_;
}

void RunBelow(TorchCall& call) {
  static const c10::DispatchKeySet kBelow(c10::DispatchKeySet::FULL_AFTER, kRecorderKey);
  call.op.redispatchBoxed(call.keys & kBelow, &call.stack);
}

HandlerScope::HandlerScope(CallHandler& handler)
    : info_(kInfoKind, std::make_shared<HandlerInfo>(&handler)), key_(kRecorderKey) {}

CallHandler* CurrentHandler() {
  const auto* info = static_cast<HandlerInfo*>(c10::ThreadLocalDebugInfo::get(kInfoKind));
  return info == nullptr ? nullptr : info->handler;
}

}  // namespace placewright

// The one registration: the dispatcher has one table for the whole process. It costs nothing while
// no scope is open, since no tensor carries the key.
TORCH_LIBRARY_IMPL(_, PLACEWRIGHT_RECORDER_KEY, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&placewright::Intercept>());
}
