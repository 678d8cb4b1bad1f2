#include "cli/request/executed_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "cli/request/distributed.h"
#include "cli/request/recorded_version.h"
#include "compile/wide_floats.h"
#include "plan/piece_bytes.h"
#include "torch_api/execution_setup.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

constexpr uint64_t kSeed = 1;

// Elements as numbers; nothing of types with fewer than 32 bits.
std::optional<std::vector<double>> NumbersIn(const std::string& bytes, DType dtype) {
  const auto read = [&]<class T>(T) {
    std::vector<double> numbers(bytes.size() / sizeof(T));
    for (size_t i = 0; i < numbers.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      numbers[i] = static_cast<double>(value);
    }
    return numbers;
  };
  switch (dtype) {
    case DType::kF32: return read(float{});
    case DType::kF64: return read(double{});
    case DType::kI64: return read(int64_t{});
    case DType::kI32: return read(int32_t{});
    default: return std::nullopt;
  }
}

// The elements of a piece, in the order in which the piece has them.
std::vector<double> PieceOf(const std::vector<double>& whole, const Tensor& tensor,
                            const DistributedStep::InputPiece& piece) {
  const std::string_view bytes(reinterpret_cast<const char*>(whole.data()),
                               whole.size() * sizeof(double));
  return *NumbersIn(PieceBytes(bytes, tensor.shape, sizeof(double), piece.box), DType::kF64);
}

double Largest(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return largest;
}

Result<std::map<TensorId, std::string>> Execute(const ExecutionService& service,
                                                ExecutionRequest request) {
  const Graph& graph = *request.graph;
  request.seed = kSeed;
  request.wide = true;
  PW_ASSIGN(const std::unique_ptr<Execution> execution, service.Start(std::move(request)));
  PW_RETURN_IF_ERROR(execution->Run());
  std::map<TensorId, std::string> left;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid() || tensor.kind == TensorKind::kInput) continue;
    PW_ASSIGN(left[id], execution->ReadInput(id));
  }
  return left;
}

class Comparison {
 public:
  Comparison(const Graph& original, const std::map<TensorId, std::string>& expected)
      : original_(original), limit_(LimitOf(original)) {
    for (const auto& [id, bytes] : expected) {
      const Tensor& tensor = original.tensor(id);
      if (bytes.empty()) continue;
      auto numbers = NumbersIn(bytes, tensor.dtype);
      if (!numbers) {
        check_.other.push_back(tensor.name);
        continue;
      }
      // Numbers by themselves, such as the powers of Adam's betas, say nothing of the others.
      double& largest = largest_[tensor.kind];
      if (numbers->size() > 1) largest = std::max(largest, Largest(*numbers));
      expected_[id] = *std::move(numbers);
    }
  }

  void Compare(const DistributedStep::InputPiece& piece, const std::string& bytes) {
    const auto whole = expected_.find(piece.original);
    if (whole == expected_.end() || bytes.empty()) return;
    const Tensor& tensor = original_.tensor(piece.original);
    const std::vector<double> part = PieceOf(whole->second, tensor, piece);
    const std::vector<double> found = *NumbersIn(bytes, tensor.dtype);
    const double scale = std::max({Largest(whole->second), 1e-3 * largest_[tensor.kind], 1e-300});
    double difference = part.size() == found.size() ? 0 : 1;
    for (size_t i = 0; i < part.size() && part.size() == found.size(); ++i) {
      const bool finite = std::isfinite(part[i]) && std::isfinite(found[i]);
      const double one = finite                ? std::abs(part[i] - found[i]) / scale
                         : part[i] == found[i] ? 0
                                               : 1;
      difference = std::max(difference, one);
    }
    ++check_.tensors;
    check_.equal = check_.equal && difference <= limit_;
    if (difference <= check_.difference) return;
    check_.difference = difference;
    check_.tensor = tensor.name;
  }

  static double LimitOf(const Graph& graph) {
    for (const TensorId id : graph.tensors()) {
      const DType dtype = graph.tensor(id).dtype;
      if (dtype == DType::kF16 || dtype == DType::kBF16) return ExecutedCheck::kHalfLimit;
    }
    return ExecutedCheck::kLimit;
  }

  ExecutedCheck Take() && { return std::move(check_); }

 private:
  const Graph& original_;
  std::map<TensorId, std::vector<double>> expected_;
  std::map<TensorKind, double> largest_;
  const double limit_;
  ExecutedCheck check_;
};

}  // namespace

Result<ExecutedCheck> ExecuteBesideOriginal(const PlanInputs& plan, const std::string& plan_path,
                                            const PlanInputOptions& options) {
  PW_RETURN_IF_ERROR(CheckExecutable(plan.graph.graph));
  if (plan.plan.distribution.switches.local_batch_norm) {
    return MakeError(ErrorCode::kField,
                     "its batch norms are local, so that its step is not that of one device",
                     "batch_norm", "Make the plan without --batch-norm local, or leave --run out.");
  }
  PW_ASSIGN(const std::optional<OriginalStep> original, LoadOriginal(plan, plan_path, options));
  const Graph& of = original ? original->step() : plan.graph.graph;
  if (original) PW_RETURN_IF_ERROR(CheckExecutable(of));
  PW_ASSIGN(const Graph whole, WithWideFloats(of));
  PW_ASSIGN(const Graph step, WithWideFloats(plan.graph.graph));
  PW_ASSIGN(const Placement placement,
            ResolvePlacement(plan.plan.placement, step, plan.cluster.cluster));
  std::vector<DistributedStep::InputPiece> pieces;
  if (original) pieces = original->pieces;
  for (const TensorId id : step.tensors()) {
    if (!original && !step.tensor(id).producer.valid()) pieces.push_back({id, id, {}});
  }
  PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
  const ExecutionService* const service = library.api().executions();
  if (service == nullptr) {
    return MakeError(ErrorCode::kMissingRuntime, library.path() + " executes no plans");
  }
  ExecutionRequest alone;
  alone.graph = &whole;
  alone.placement = Placement(whole.op_count(), DeviceId(0));
  alone.devices = {{.name = "alone", .kind = ExecutionDevice::Kind::kSimulated}};
  const auto alone_left = Execute(*service, std::move(alone));
  if (!alone_left.ok()) {
    return WithRecordedVersion(alone_left.error(),
                               options.graph.value_or(FilesOf(plan.plan, plan_path).front()));
  }
  const auto& expected = alone_left.value();
  PW_ASSIGN(ExecutionRequest together,
            MakeExecutionRequest(step, plan.cluster.cluster, plan.costs, placement,
                                 SchedulingPolicy::kFifo, /*simulate=*/true));
  together.original = &whole;
  together.pieces = pieces;
  PW_ASSIGN(const auto found, Execute(*service, std::move(together)));
  Comparison comparison(whole, expected);
  for (const DistributedStep::InputPiece& piece : pieces) {
    const auto left = found.find(piece.piece);
    if (left != found.end()) comparison.Compare(piece, left->second);
  }
  return std::move(comparison).Take();
}

}  // namespace placewright
