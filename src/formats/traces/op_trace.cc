#include "formats/traces/op_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

constexpr double kLongest = 3.6e9;  // microseconds: nothing takes an hour
constexpr double kSlack = 0.5;      // microseconds by which an inner op may seem to end later

// When an op ran, on which thread.
struct Interval {
  std::string thread;
  double begin = 0, end = 0;  // microseconds
};

// Intervals of one thread are nested in time.
struct Nesting {
  std::vector<size_t> order;    // those around others before these
  std::vector<int32_t> parent;  // by interval: the innermost around it, or -1
};
Nesting NestByTime(const std::vector<Interval>& intervals) {
  Nesting nesting;
  nesting.parent.assign(intervals.size(), -1);
  nesting.order.resize(intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) nesting.order[i] = i;
  std::stable_sort(nesting.order.begin(), nesting.order.end(), [&](size_t a, size_t b) {
    const Interval &x = intervals[a], &y = intervals[b];
    return std::tie(x.thread, x.begin, y.end) < std::tie(y.thread, y.begin, x.end);
  });
  std::vector<size_t> open;
  for (const size_t i : nesting.order) {
    const Interval& one = intervals[i];
    while (!open.empty()) {
      const Interval& outer = intervals[open.back()];
      const bool inside =
          outer.thread == one.thread && one.begin < outer.end && one.end <= outer.end + kSlack;
      if (inside) break;
      open.pop_back();
    }
    if (!open.empty()) nesting.parent[i] = static_cast<int32_t>(open.back());
    open.push_back(i);
  }
  return nesting;
}

std::string ThreadOf(const Json& event) {
  const auto text = [&](const char* key) {
    const auto found = event.find(key);
    return found == event.end() ? std::string() : found->dump();
  };
  return text("pid") + "/" + text("tid");
}

// Names of element types in C++ (PyTorch) and in ONNX Runtime.
std::optional<DType> DTypeNamed(std::string_view name) {
  static const std::map<std::string_view, DType> kNames = {
      {"float", DType::kF32},        {"double", DType::kF64},
      {"c10::Half", DType::kF16},    {"c10::BFloat16", DType::kBF16},
      {"long int", DType::kI64},     {"long", DType::kI64},
      {"int", DType::kI32},          {"short int", DType::kI16},
      {"short", DType::kI16},        {"signed char", DType::kI8},
      {"unsigned char", DType::kU8}, {"bool", DType::kBool},
      {"float16", DType::kF16},      {"bfloat16", DType::kBF16},
      {"int64", DType::kI64},        {"int32", DType::kI32},
      {"int16", DType::kI16},        {"int8", DType::kI8},
      {"uint8", DType::kU8}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

bool IsShape(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& size) {
           return size.is_number_integer() && size.get<int64_t>() >= 0;
         });
}

std::optional<double> NumberAt(const Json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Microseconds with a fraction -> nanoseconds.
std::optional<Nanos> TimeOf(const Json& event) {
  const auto duration = NumberAt(event, "dur");
  if (!duration || !(*duration >= 0) || !(*duration < kLongest)) return std::nullopt;
  return Nanos(static_cast<int64_t>(std::llround(*duration * 1e3)));
}

const Json* ArgsOf(const Json& event) {
  const auto args = event.find("args");
  return args != event.end() && args->is_object() ? &*args : nullptr;
}

// One integer of an event's arguments.
std::optional<int64_t> IdAt(const Json* args, const char* key) {
  if (args == nullptr) return std::nullopt;
  const auto found = args->find(key);
  if (found == args->end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

// "Input Dims" and "Input type": a list for each argument; those of no tensor have no size, and lists of
// tensors a list of shapes.
std::vector<TracedTensor> KinetoInputs(const Json& args) {
  std::vector<TracedTensor> inputs;
  const auto dims = args.find("Input Dims"), types = args.find("Input type");
  if (dims == args.end() || !dims->is_array()) return inputs;
  for (size_t i = 0; i < dims->size(); ++i) {
    const Json& shape = (*dims)[i];
    std::string type;
    if (types != args.end() && types->is_array() && i < types->size() && (*types)[i].is_string()) {
      type = (*types)[i].get<std::string>();
    }
    std::optional<DType> dtype = DTypeNamed(type);
    if (IsShape(shape)) {
      const bool tensor = !shape.empty() || dtype.has_value();
      // A type that no graph here has, such as 8-bit floats, is no other one.
      if (!dtype && !type.empty()) dtype = DType::kOpaque;
      if (tensor) inputs.push_back({dtype, shape.get<std::vector<int64_t>>()});
    } else if (shape.is_array()) {
      for (const Json& one : shape) {
        if (IsShape(one)) inputs.push_back({std::nullopt, one.get<std::vector<int64_t>>()});
      }
    }
  }
  return inputs;
}

class KinetoReader {
 public:
  Status Take(const Json& event) {
    if (!event.is_object() || TextAt(event, "ph") != "X") return Ok();
    const std::string category = TextAt(event, "cat");
    if (category == "cpu_op" || category == "Operator") return TakeOp(event);
    const bool kernel = category == "kernel" || category == "Kernel" || category == "gpu_memcpy" ||
                        category == "gpu_memset" || category == "Memcpy" || category == "Memset";
    const bool launch =
        category == "cuda_runtime" || category == "Runtime" || category == "cuda_driver";
    if (kernel) TakeKernel(event);
    if (launch) TakeLaunch(event);
    return Ok();
  }

  Result<OpTrace> Finish() && {
    if (ops_.empty()) {
      return MakeError(
          ErrorCode::kField, "the trace has no ops of PyTorch", "",
          "Record it with torch.profiler.profile(..., record_shapes=True), of a PyTorch "
          "that has Kineto.");
    }
    if (!has_shapes_) {
      return MakeError(ErrorCode::kField, "the trace's ops have no \"Input Dims\"", "",
                       "Record it with torch.profiler.profile(..., record_shapes=True).");
    }
    nesting_ = NestByTime(intervals_);
    for (const size_t i : nesting_.order) by_thread_[intervals_[i].thread].push_back(i);
    OpTrace trace;
    trace.source = "PyTorch";
    trace.on_device = !kernels_.empty();
    std::vector<int64_t> device(ops_.size(), 0);
    if (trace.on_device) AddKernels(device, trace.lost);
    std::vector<int32_t> place(ops_.size(), -1);
    for (const size_t i : nesting_.order) {
      Op& op = ops_[i];
      const Nanos time = trace.on_device ? Nanos(device[i]) : op.time;
      const int32_t parent = nesting_.parent[i];
      place[i] = static_cast<int32_t>(trace.ops.size());
      trace.ops.push_back({std::move(op.type), "", std::move(op.inputs), time,
                           parent < 0 ? -1 : place[static_cast<size_t>(parent)]});
    }
    return trace;
  }

 private:
  struct Op {
    std::string type;
    std::vector<TracedTensor> inputs;
    Nanos time;
    std::optional<int64_t> external;
  };
  struct Kernel {
    Nanos time;
    std::optional<int64_t> external, correlation;
  };
  struct Launch {
    std::string thread;
    double begin = 0;
  };

  Status TakeOp(const Json& event) {
    const auto begin = NumberAt(event, "ts");
    const auto time = TimeOf(event);
    if (!begin || !time) return Ok();
    if (ops_.size() >= kMostOps) {
      return MakeError(ErrorCode::kFileTooLarge, "the trace has more than 5,000,000 ops", "",
                       "Record a few steps.");
    }
    Op op;
    op.type = TextAt(event, "name");
    op.time = *time;
    intervals_.push_back({ThreadOf(event), *begin, *begin + *NumberAt(event, "dur")});
    if (const Json* args = ArgsOf(event)) {
      op.inputs = KinetoInputs(*args);
      op.external = IdAt(args, "External id");
      has_shapes_ = has_shapes_ || args->contains("Input Dims");
    }
    ops_.push_back(std::move(op));
    return Ok();
  }

  void TakeKernel(const Json& event) {
    const auto time = TimeOf(event);
    if (!time) return;
    const Json* const args = ArgsOf(event);
    kernels_.push_back({*time, IdAt(args, "External id"), IdAt(args, "correlation")});
  }

  void TakeLaunch(const Json& event) {
    const auto begin = NumberAt(event, "ts");
    const auto correlation = IdAt(ArgsOf(event), "correlation");
    if (begin && correlation) launches_[*correlation] = {ThreadOf(event), *begin};
  }

  void AddKernels(std::vector<int64_t>& device, Nanos& lost) const {
    std::unordered_map<int64_t, size_t> by_external;  // the innermost of several
    for (const size_t i : nesting_.order) {
      if (ops_[i].external) by_external[*ops_[i].external] = i;
    }
    for (const Kernel& kernel : kernels_) {
      int32_t at = -1;
      if (kernel.external) {
        const auto found = by_external.find(*kernel.external);
        if (found != by_external.end()) at = static_cast<int32_t>(found->second);
      }
      if (at < 0 && kernel.correlation) at = CallerOf(*kernel.correlation);
      int64_t& sum = at < 0 ? lost.count : device[static_cast<size_t>(at)];
      sum = SaturatingAdd(sum, kernel.time.count);
    }
    // From inner ops to those around them.
    for (size_t k = nesting_.order.size(); k-- > 0;) {
      const size_t i = nesting_.order[k];
      const int32_t parent = nesting_.parent[i];
      if (parent < 0) continue;
      int64_t& sum = device[static_cast<size_t>(parent)];
      sum = SaturatingAdd(sum, device[i]);
    }
  }

  // The innermost op during which the kernel was launched.
  int32_t CallerOf(int64_t correlation) const {
    const auto launch = launches_.find(correlation);
    if (launch == launches_.end()) return -1;
    const auto thread = by_thread_.find(launch->second.thread);
    if (thread == by_thread_.end()) return -1;
    const double begin = launch->second.begin;
    auto after =
        std::upper_bound(thread->second.begin(), thread->second.end(), begin,
                         [&](double time, size_t i) { return time < intervals_[i].begin; });
    if (after == thread->second.begin()) return -1;
    auto at = static_cast<int32_t>(*std::prev(after));
    while (at >= 0 && intervals_[static_cast<size_t>(at)].end < begin) {
      at = nesting_.parent[static_cast<size_t>(at)];
    }
    return at;
  }

  static constexpr size_t kMostOps = 5'000'000;
  std::vector<Op> ops_;
  std::vector<Interval> intervals_;  // of ops_
  Nesting nesting_;
  std::vector<Kernel> kernels_;
  std::unordered_map<int64_t, Launch> launches_;
  std::map<std::string, std::vector<size_t>> by_thread_;  // by begin
  bool has_shapes_ = false;
};

// "input_type_shape": [{"float": [2, 3]}, ...]
std::vector<TracedTensor> RuntimeTensors(const Json& args, const char* key) {
  std::vector<TracedTensor> inputs;
  const auto given = args.find(key);
  if (given == args.end() || !given->is_array()) return inputs;
  for (const Json& one : *given) {
    if (!one.is_object() || one.size() != 1 || !IsShape(*one.begin())) continue;
    inputs.push_back({DTypeNamed(one.begin().key()), one.begin()->get<std::vector<int64_t>>()});
  }
  return inputs;
}

// Nodes of the CPU have their own time. Of others it is the host's, unless the profile has what ran on the
// device: kernels, each behind the node that launched it.
Result<OpTrace> ReadRuntimeProfile(const Json& events) {
  constexpr std::string_view kSuffix = "_kernel_time";
  OpTrace trace;
  trace.source = "ONNX Runtime";
  trace.leaves_weights_out = true;  // prepacked ones, as of Gemm and Conv on the CPU
  std::vector<TracedOp> ops;
  std::vector<Interval> intervals;
  std::vector<bool> on_cpu;
  bool kernels = false;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    const std::string category = TextAt(event, "cat");
    const auto time = TimeOf(event);
    const auto begin = NumberAt(event, "ts");
    const Json* const args = ArgsOf(event);
    if (!time || !begin) continue;
    if (category == "Kernel" && !ops.empty()) {
      TracedOp& launched = ops.back();
      if (on_cpu.back()) continue;
      if (!kernels) {
        for (size_t i = 0; i < ops.size(); ++i) ops[i].time = Nanos(0);
      }
      kernels = true;
      launched.time = Nanos(SaturatingAdd(launched.time.count, time->count));
      continue;
    }
    std::string name = TextAt(event, "name");
    if (category != "Node" || args == nullptr || !name.ends_with(kSuffix)) continue;
    name.resize(name.size() - kSuffix.size());
    TracedOp op;
    op.type = TextAt(*args, "op_name");
    op.name = std::move(name);
    op.inputs = RuntimeTensors(*args, "input_type_shape");
    op.outputs = RuntimeTensors(*args, "output_type_shape");
    const std::string provider = TextAt(*args, "provider");
    on_cpu.push_back(provider.empty() || provider == "CPUExecutionProvider" ||
                     provider == "DnnlExecutionProvider");
    op.time = kernels ? Nanos(0) : *time;
    intervals.push_back({ThreadOf(event), *begin, *begin + *NumberAt(event, "dur")});
    ops.push_back(std::move(op));
  }
  if (ops.empty()) {
    return MakeError(ErrorCode::kField, "the profile has no times of nodes", "",
                     "Set enable_profiling of ONNX Runtime's session options, and run the model.");
  }
  const bool accelerated = std::find(on_cpu.begin(), on_cpu.end(), false) != on_cpu.end();
  if (accelerated && !kernels) {
    return MakeError(
        ErrorCode::kField, "the profile has only the host's times of what ran on an accelerator",
        "",
        "Use an ONNX Runtime that was built with --enable_cuda_profiling, or a trace of "
        "PyTorch.");
  }
  trace.on_device = accelerated;
  const Nesting nesting = NestByTime(intervals);
  std::vector<int32_t> place(ops.size(), -1);
  for (const size_t i : nesting.order) {
    const int32_t parent = nesting.parent[i];
    ops[i].parent = parent < 0 ? -1 : place[static_cast<size_t>(parent)];
    place[i] = static_cast<int32_t>(trace.ops.size());
    trace.ops.push_back(std::move(ops[i]));
  }
  return trace;
}

Error NoTrace() {
  return MakeError(ErrorCode::kFormatUnknown,
                   "it is neither a trace of PyTorch's profiler nor a profile of ONNX Runtime", "",
                   "Give what torch.profiler's export_chrome_trace or ONNX Runtime's end_profiling "
                   "wrote.");
}

}  // namespace

Result<OpTrace> ReadOpTrace(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return NoTrace();
  if (text[begin] == '[') {
    PW_ASSIGN(const Json events, ParseJson(text));
    const bool runtime = std::any_of(events.begin(), events.end(), [](const Json& event) {
      return event.is_object() && TextAt(event, "cat") == "Node";
    });
    if (runtime) return ReadRuntimeProfile(events);
    KinetoReader reader;
    for (const Json& event : events) PW_RETURN_IF_ERROR(reader.Take(event));
    return std::move(reader).Finish();
  }
  if (text[begin] != '{') return NoTrace();
  KinetoReader reader;
  bool found = false;
  PW_ASSIGN(const Json rest,
            ParseJsonStreaming(text, {"traceEvents"}, [&](std::string_view, size_t, Json& event) {
              found = true;
              return reader.Take(event);
            }));
  if (!found) return NoTrace();
  return std::move(reader).Finish();
}

}  // namespace placewright
