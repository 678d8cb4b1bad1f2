#include "capture/autocast/autocast.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "aten/failure.h"
#include "aten/torch_version.h"
#include "base/words.h"

namespace placewright {
namespace {

using torch::jit::Stack;

enum class Policy : uint8_t {
  kNone,
  kNarrow,      // inputs become the scope's type
  kWide,        // inputs become f32
  kWideResult,  // the argument `dtype` becomes f32
  kWidest,      // inputs become the widest of their types
  kRefused      // as torch.autocast does
};

struct PolicyRow {
  std::string_view operators;  // without overload, with spaces between
  Policy policy;
};

constexpr PolicyRow kPolicies[] = {
    {"_convolution convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
     "conv_transpose3d prelu addmm addmv addr matmul einsum mm mv linear linalg_vecdot "
     "linalg_multi_dot addbmm baddbmm bmm chain_matmul lstm_cell gru_cell rnn_tanh_cell "
     "rnn_relu_cell _thnn_fused_lstm_cell _thnn_fused_gru_cell scaled_dot_product_attention",
     Policy::kNarrow},
    {"acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus "
     "layer_norm native_layer_norm group_norm frobenius_norm nuclear_norm norm linalg_vector_norm "
     "linalg_matrix_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss "
     "nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss "
     "margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss "
     "multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp",
     Policy::kWide},
    {"softmax log_softmax prod cumprod cumsum sum", Policy::kWideResult},
    {"addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add",
     Policy::kWidest},
    {"binary_cross_entropy", Policy::kRefused},
};

Policy PolicyOf(std::string_view name) {
  static const RowsByWord<PolicyRow> kByOperator(kPolicies, &PolicyRow::operators);
  const PolicyRow* const row = kByOperator.Find(name);
  return row == nullptr ? Policy::kNone : row->policy;
}

constexpr auto kKey = c10::DispatchKey::PLACEWRIGHT_AUTOCAST_KEY;

bool MayBeCast(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_floating_point() && tensor.scalar_type() != at::kDouble;
}

}  // namespace

struct AutocastScope::State {
  explicit State(at::ScalarType the_type) : type(the_type), outer(current), key(kKey) {
    current = this;
  }
  ~State() { current = outer; }

  at::Tensor Cast(const at::Tensor& tensor, at::ScalarType to) {
    if (!MayBeCast(tensor) || tensor.scalar_type() == to) return tensor;
    const bool parameter = tensor.requires_grad() && tensor.is_leaf() && !tensor.is_view() &&
                           tensor.scalar_type() == at::kFloat && to == type;
    if (!parameter) return tensor.to(to);
    auto& [kept, cast] = casts[tensor.unsafeGetTensorImpl()];
    if (!cast.defined()) {
      kept = tensor;
      cast = tensor.to(to);
    }
    return cast;
  }

  void CastArguments(Stack* stack, size_t count, at::ScalarType to) {
    for (size_t i = stack->size() - count; i < stack->size(); ++i) {
      c10::IValue& value = (*stack)[i];
      if (value.isTensor()) {
        value = Cast(value.toTensor(), to);
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& item : value.toTensorVector()) list.push_back(Cast(item, to));
        value = list;
      }
    }
  }

  // f32 for the argument `dtype` that is not given, if the first argument is narrower.
  void AskForWide(const c10::FunctionSchema& schema, Stack* stack) {
    const auto& arguments = schema.arguments();
    const size_t first = stack->size() - arguments.size();
    const c10::IValue& input = (*stack)[first];
    if (!input.isTensor() || !MayBeCast(input.toTensor()) ||
        input.toTensor().scalar_type() == at::kFloat) {
      return;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      c10::IValue& value = (*stack)[first + i];
      if (arguments[i].name() == "dtype" && value.isNone()) {
        value = static_cast<int64_t>(at::kFloat);
        return;
      }
    }
  }

  // `out` tensors are written as they are, and what is computed for them is not cast.
  static bool WritesOut(const c10::FunctionSchema& schema) {
    const auto& arguments = schema.arguments();
    return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& argument) {
      const c10::AliasInfo* const alias = argument.alias_info();
      return argument.kwarg_only() && alias != nullptr && alias->isWrite();
    });
  }

  // Inputs as the policy wants them. False if that was all of the call.
  bool Prepare(Policy policy, const c10::FunctionSchema& schema, Stack* stack) {
    const size_t count = schema.arguments().size();
    switch (policy) {
      case Policy::kNone:
      case Policy::kRefused: return true;
      case Policy::kNarrow: CastArguments(stack, count, type); return true;
      case Policy::kWide: CastArguments(stack, count, at::kFloat); return true;
      case Policy::kWidest: CastArguments(stack, count, Widest(*stack, count)); return true;
      case Policy::kWideResult: break;
    }
    if (SoftmaxOfHalf(schema, stack)) return false;
    AskForWide(schema, stack);
    return true;
  }

  at::ScalarType Widest(const Stack& stack, size_t count) const {
    for (size_t i = stack.size() - count; i < stack.size(); ++i) {
      if (stack[i].isTensor() && stack[i].toTensor().defined() &&
          stack[i].toTensor().scalar_type() == at::kFloat) {
        return at::kFloat;
      }
    }
    return type;
  }

  // One op from f16 to f32, which at::softmax asks for on CUDA devices alone.
  static bool SoftmaxOfHalf(const c10::FunctionSchema& schema, Stack* stack) {
    const bool log = schema.name() == "aten::log_softmax";
    if ((!log && schema.name() != "aten::softmax") || schema.overload_name() != "int") return false;
    const size_t first = stack->size() - schema.arguments().size();
    const at::Tensor input = (*stack)[first].toTensor();
    if (input.scalar_type() != at::kHalf || !(*stack)[first + 2].isNone()) return false;
    const int64_t dim = (*stack)[first + 1].toInt();
    stack->resize(first);
    stack->emplace_back(log ? at::_log_softmax(input, dim, true) : at::_softmax(input, dim, true));
    return true;
  }

  const at::ScalarType type;
  State* const outer;
  const c10::impl::IncludeDispatchKeyGuard key;
  // By the parameter; it is held, so that no other takes its place.
  std::unordered_map<const c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>> casts;

  // One op with a mask of booleans, as at::dropout runs it on CUDA devices alone.
  static bool FusedDropout(const c10::FunctionSchema& schema, Stack* stack) {
    if (schema.name() != "aten::dropout") return false;
    const size_t first = stack->size() - schema.arguments().size();
    const at::Tensor input = (*stack)[first].toTensor();
    const double share = (*stack)[first + 1].toDouble();
    const bool trains = (*stack)[first + 2].toBool();
    if (!trains || share <= 0 || share >= 1 || input.numel() == 0) return false;
    stack->resize(first);
    stack->emplace_back(std::get<0>(at::native_dropout(input, share, true)));
    return true;
  }

  static thread_local State* current;
};

thread_local AutocastScope::State* AutocastScope::State::current = nullptr;

namespace {

void Intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  static const c10::DispatchKeySet kBelow(c10::DispatchKeySet::FULL_AFTER, kKey);
  static const std::string_view kNamespace = "aten::";
  std::string_view name = op.schema().name();
  const bool aten = name.substr(0, kNamespace.size()) == kNamespace;
  const Policy policy = aten ? PolicyOf(name.substr(kNamespace.size())) : Policy::kNone;
  AutocastScope::State* const state = AutocastScope::State::current;
  if (state != nullptr && AutocastScope::State::FusedDropout(op.schema(), stack)) return;
  if (state == nullptr || policy == Policy::kNone) {
    op.redispatchBoxed(keys & kBelow, stack);  // what it calls is cast
    return;
  }
  if (AutocastScope::State::WritesOut(op.schema())) {
    op.redispatchBoxed(keys & kBelow, stack);
    return;
  }
  if (policy == Policy::kRefused) {
    throw TorchFailure(MakeError(
        ErrorCode::kNotRecordable,
        std::string(name) + " is not safe in mixed precision, and torch.autocast refuses it, too",
        "", "Use binary_cross_entropy_with_logits, or record without --amp."));
  }
  const WithoutAutocast below;
  if (state->Prepare(policy, op.schema(), stack)) op.redispatchBoxed(keys & kBelow, stack);
}

}  // namespace

AutocastScope::AutocastScope(std::optional<at::ScalarType> type)
    : state_(type ? std::make_unique<State>(*type) : nullptr) {}
AutocastScope::~AutocastScope() = default;

WithoutAutocast::WithoutAutocast() : excluded_(kKey) {}

}  // namespace placewright

// Costs nothing while no scope is open, since no tensor carries the key.
TORCH_LIBRARY_IMPL(_, PLACEWRIGHT_AUTOCAST_KEY, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&placewright::Intercept>());
}
