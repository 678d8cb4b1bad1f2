#include "capture/recorder/dispatch.h"

#include <torch/library.h>

#include <memory>

#include "aten/failure.h"
#include "capture/autocast/autocast.h"
#include "capture/meta/one_hot.h"

namespace placewright {
namespace {

// Not used by LibTorch outside of its own tests.
constexpr auto kInfoKind = c10::DebugInfoKind::TEST_INFO;

// The largest step of the papers (GNMT-8) has 84,000 ops.
constexpr int64_t kMaxCalls = 500'000;
constexpr int64_t kMaxTurns = 1'000'000;

struct HandlerInfo : c10::DebugInfoBase {
  explicit HandlerInfo(CallHandler* the_handler) : handler(the_handler) {}
  CallHandler* handler;
};

void Intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(kRecorderKey);
  const WithoutAutocast uncast;
  TorchCall call{op, keys, *stack};
  CallHandler* handler = CurrentHandler();
  if (handler == nullptr) {
    RunBelow(call);
    return;
  }
  try {
    handler->CountCall();
    handler->Handle(call);
  } catch (const TorchFailure& failure) {
    handler->KeepFailure(failure.error());
    throw;
  } catch (const c10::Error& error) {
    Error said = ErrorFromLibTorch(error);
    said.place = handler->Place(call).ToString();
    handler->KeepFailure(said);
    throw;
  }
}

}  // namespace

std::string CallPlace::ToString() const {
  const std::string op = "op " + schema_.name();
  return module_ == nullptr || module_->empty() ? op : op + " in module " + *module_;
}

void CallHandler::Check(bool too_many, const char* what) {
  Error error;
  if (too_many) {
    error = MakeError(ErrorCode::kNotRecordable, std::string("the step ") + what, "",
                      "Record less: fewer steps of a recurrence, fewer layers.");
  } else if (interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed)) {
    error = MakeError(ErrorCode::kInterrupted, "interrupted while the step was recorded", "",
                      "Nothing was written.");
  } else {
    return;
  }
  KeepFailure(error);
  throw TorchFailure(error);
}

void CallHandler::CountCall() { Check(++calls_ > kMaxCalls, "runs more than 500,000 ops"); }

void CallHandler::CountTurn() {
  Check(++turns_ > kMaxTurns, "runs more than 1,000,000 loop iterations");
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

// The registrations: the dispatcher has one table for the whole process. They cost nothing while no
// scope is open, since no tensor carries the key.
TORCH_LIBRARY_IMPL(_, PLACEWRIGHT_RECORDER_KEY, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&placewright::Intercept>());
}
// Outside of recordings nothing changes.
TORCH_LIBRARY_IMPL(aten, AutogradMeta, library) { library.impl("one_hot", placewright::OneHot); }
TORCH_LIBRARY_IMPL(aten, AutogradCPU, library) { library.impl("one_hot", placewright::OneHot); }
