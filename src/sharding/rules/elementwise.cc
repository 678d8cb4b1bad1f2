// Ops that take element by element what they read, broadcast to one shape.
#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// A sum with a number is not: the number would be added in every part.
void Addition(RuleMaker& maker) {
  if (maker.input_count() >= 2) return LinearTogether(maker);
  Elementwise(maker);
}

// where(condition, a, b); of the condition alone it gives the places where that holds.
void Where(RuleMaker& maker) {
  if (maker.op().args.size() < 3) return maker.Fail();
  Elementwise(maker);
}

void Random(RuleMaker& maker) {
  if (maker.input_count() == 0) return maker.Fail();  // sizes of its own
  Elementwise(maker);
  maker.rule().draws_random = true;
}

// isin(elements, test_elements), bucketize(x, boundaries): what is looked up among all of the second.
void Among(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() != 1 || maker.InputAt(0) != 0 ||
      maker.in(0) != maker.out(0)) {
    return maker.Fail();
  }
  maker.input(0) = maker.output(0) = maker.AxesOf(maker.in(0));
  WholeFrom(maker, 1);
}

// prelu(x "n c ...", weight "c" or of one number), its backward (grad, x, weight) -> (grad x, grad weight): of
// LibTorch 1.13, later ones have _prelu_kernel of a weight that is broadcast already.
void Prelu(RuleMaker& maker) {
  const bool backward = maker.input_count() == 3;
  const size_t x = backward ? 1 : 0;
  if (maker.input_count() < 2 || maker.output_count() < 1) return maker.Fail();
  const std::vector<int64_t>&shape = maker.in(x), &weight = maker.in(x + 1);
  const TensorAxes axes = maker.AxesOf(shape, backward ? Parts::kSum : Parts::kSplit);
  TensorAxes own(weight.size());
  if (weight.size() > 1) return maker.Fail();
  if (weight.size() == 1 && weight[0] > 1) {
    if (shape.size() < 2 || shape[1] != weight[0]) return maker.Fail();
    own[0] = axes[1];
  }
  for (size_t i = 0; i <= x; ++i) maker.input(i) = axes;
  maker.input(x + 1) = own;
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes : own;
  }
}

// log_sigmoid_forward(x) -> (y, buffer), of which the buffer is empty on GPUs; log_sigmoid_backward(grad, x, buffer)
void WithBuffer(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  const TensorAxes axes = maker.AxesOf(shape);
  const auto axes_of = [&](const std::vector<int64_t>& stated) {
    return stated == shape ? axes : maker.AxesOf(stated, Parts::kWhole);
  };
  for (size_t i = 0; i < maker.input_count(); ++i) maker.input(i) = axes_of(maker.in(i));
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes_of(maker.out(i));
}

// fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, ...) -> (y, mask)
void QuantizePerChannel(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.output_count() < 1 || maker.in(0).empty()) {
    return maker.Fail();
  }
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  const size_t dim = maker.Dimension(maker.Integer(3, "axis", 0), axes.size());
  maker.input(0) = axes;
  maker.input(1) = maker.input(2) = {axes[dim]};
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes;
}

// _fused_adam_(parameters, gradients, moments, squares, largest squares, counters, ...) of one parameter.
void UpdateInOneKernel(RuleMaker& maker) {
  const Value* const updated = maker.Argument(0, "self");
  const Value::List* const list = updated == nullptr ? nullptr : updated->AsList();
  if (maker.input_count() < 4 || list == nullptr || list->size() != 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  const TensorAxes axes = maker.AxesOf(shape);
  for (size_t i = 0; i < maker.input_count(); ++i) {
    const std::vector<int64_t>& own = maker.in(i);
    const bool counter = own != shape && (own.empty() || own == std::vector<int64_t>{1});
    if (own != shape && !counter) return maker.Fail();
    maker.input(i) = counter ? TensorAxes(own.size()) : axes;
  }
}

// counter_bernoulli_(x, step, seed, draw, p, place), and other draws that count: the place comes last.
void CountingDraw(RuleMaker& maker) {
  if (maker.input_count() != 2 || maker.op().args.size() < 5) return maker.Fail();
  Elementwise(maker);
  maker.rule().place_argument = static_cast<int32_t>(maker.op().args.size()) - 1;
}

}  // namespace

std::vector<RuleRow> ElementwiseRules() {
  return {{"div", LinearInFirst, "Tensor"},
          {"div", LinearInFirst, "Scalar"},
          {"__ilshift__ __irshift__ __lshift__ __rshift__ _add_relu _conj _dirichlet_grad "
           "_conj_physical _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _lazy_clone "
           "_masked_scale _neg_view _prelu_kernel _prelu_kernel_backward _standard_gamma_grad abs "
           "acos acosh addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and "
           "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu "
           "clamp clamp_max clamp_min complex conj_physical copysign cos cosh deg2rad digamma elu "
           "elu_backward empty_like eq erf erfc erfinv exp exp2 expm1 "
           "fake_quantize_per_tensor_affine_cachemask fill floor floor_divide fmax fmin fmod frac "
           "frexp full_like gcd ge gelu gelu_backward gt hardshrink hardshrink_backward "
           "hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh "
           "hardtanh_backward heaviside hypot i0 igamma igammac isfinite isinf isnan isneginf "
           "isposinf lcm ldexp le leaky_relu leaky_relu_backward lerp lgamma log log10 log1p log2 "
           "logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit "
           "logit_backward lt maximum minimum mish mish_backward mvlgamma nan_to_num "
           "native_dropout_backward ne nextafter ones_like polar polygamma pow rad2deg reciprocal "
           "relu relu6 remainder round rrelu_with_noise_backward rsqrt rsub sgn sigmoid "
           "sigmoid_backward sign signbit silu silu_backward sin sinc sinh softplus "
           "softplus_backward softshrink softshrink_backward special_airy_ai special_bessel_j0 "
           "special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t "
           "special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
           "special_chebyshev_polynomial_w special_entr special_erfcx special_hermite_polynomial_h "
           "special_hermite_polynomial_he special_i0e special_i1 special_i1e "
           "special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr "
           "special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
           "special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 "
           "special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t "
           "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
           "special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py "
           "special_zeta sqrt square tan tanh tanh_backward threshold threshold_backward trunc "
           "xlogy zero zeros_like masked_fill",
           Elementwise},
          {"where", Where},
          {"clone contiguous copy detach _to_copy neg alias lift lift_fresh lift_fresh_copy",
           LinearTogether},
          {"add sub", Addition},
          {"mul", LinearInEach},
          {"div", Elementwise},  // rounded
          {"bernoulli native_dropout uniform normal rand_like randn_like randint_like cauchy "
           "exponential geometric log_normal random poisson binomial rrelu_with_noise "
           "_fill_mem_eff_dropout_mask _fused_dropout _standard_gamma",
           Random},
          {"_fused_adam _fused_adamw", UpdateInOneKernel},
          {"prelu prelu_backward", Prelu},
          {"isin bucketize", Among},
          {"log_sigmoid_forward log_sigmoid_backward", WithBuffer},
          {"fake_quantize_per_channel_affine_cachemask", QuantizePerChannel},
          {"counter_bernoulli counter_bernoulli_of counter_dropout counter_draw counter_draw_like",
           CountingDraw}};
}

}  // namespace placewright
