// The way in: every operator that LibTorch runs below autograd passes a boxed fallback kernel on
// the recorder's dispatch key, which is switched on for one thread (and the threads of its backward
// pass) by a HandlerScope. Where no scope is open the kernel is never reached.
#ifndef PLACEWRIGHT_CAPTURE_RECORDER_DISPATCH_H_
#define PLACEWRIGHT_CAPTURE_RECORDER_DISPATCH_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <exception>
#include <optional>
#include <string>

#include "aten/torch_version.h"
#include "base/result.h"

namespace placewright {

// One call: the operator, and its arguments on the stack, which its results replace.
struct TorchCall {
  const c10::OperatorHandle& op;
  c10::DispatchKeySet keys;
  torch::jit::Stack& stack;

  const c10::FunctionSchema& schema() const { return op.schema(); }
  size_t argument_count() const { return schema().arguments().size(); }
  const c10::IValue& argument(size_t i) const { return stack[stack.size() - argument_count() + i]; }
  c10::IValue& argument(size_t i) { return stack[stack.size() - argument_count() + i]; }
  // After the call.
  const c10::IValue& result(size_t i) const {
    return stack[stack.size() - schema().returns().size() + i];
  }
};

// What errors name as their place; a text is made only where there is an error.
class CallPlace {
 public:
  // The two must outlive it.
  explicit CallPlace(const c10::FunctionSchema& schema, const std::string* module = nullptr)
      : schema_(schema), module_(module) {}
  std::string ToString() const;  // "op aten::mm", "op aten::mm in module encoder.0"

 private:
  const c10::FunctionSchema& schema_;
  const std::string* module_;
};

// Runs the call as LibTorch would have done without us.
void RunBelow(TorchCall& call);

// Receives the calls of a scope; may throw TorchFailure. Calls that a handler makes itself do not
// come back to it.
class CallHandler {
 public:
  virtual ~CallHandler() = default;
  virtual void Handle(TorchCall& call) = 0;
  // A module of the model begins and ends.
  virtual void EnterModule(const std::string& path) { (void)path; }
  virtual void LeaveModule() {}
  // An exception leaves the module; the innermost one comes first.
  virtual void FailModule(const std::string& path) { (void)path; }
  // Whether tensors are made without memory.
  virtual bool OnMeta() const { return false; }
  // The innermost module that runs; "" for the model itself.
  virtual std::string ModulePath() const { return ""; }
  // Where a call stands, for messages.
  virtual CallPlace Place(const TorchCall& call) const { return CallPlace(call.schema()); }

  // Counts what the step does, a call or a turn of a script's loop. Throws TorchFailure:
  // kNotRecordable where there were too many, kInterrupted once the flag of StopAt is set.
  void CountCall();
  void CountTurn();
  void StopAt(const std::atomic<bool>* interrupted) { interrupted_ = interrupted; }

  // The first error of a call, for those who get it only as a text: the interpreter of scripts
  // makes one of every exception.
  void KeepFailure(const Error& error) {
    if (!failure_) failure_ = error;
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  void Check(bool too_many, const char* what);

  std::optional<Error> failure_;
  int64_t calls_ = 0, turns_ = 0;
  const std::atomic<bool>* interrupted_ = nullptr;
};

class HandlerScope {
 public:
  explicit HandlerScope(CallHandler& handler);

 private:
  c10::DebugInfoGuard info_;  // LibTorch hands it on to the threads of a backward pass
  c10::impl::IncludeDispatchKeyGuard key_;
};

// The handler of the innermost scope, or nullptr.
CallHandler* CurrentHandler();

// Marks what runs while it lives as a part of the module at `path`.
class ModuleScope {
 public:
  // The path must outlive it.
  explicit ModuleScope(const std::string& path)
      : path_(path), handler_(CurrentHandler()), exceptions_(std::uncaught_exceptions()) {
    if (handler_ != nullptr) handler_->EnterModule(path);
  }
  ~ModuleScope() {
    if (handler_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) handler_->FailModule(path_);
    handler_->LeaveModule();
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  const std::string& path_;
  CallHandler* handler_;
  int exceptions_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_RECORDER_DISPATCH_H_
