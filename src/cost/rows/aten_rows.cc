// ATen types. An in-place name loses its trailing underscore, unless it stands here: those with rows of
// their own write without reading.
#include "cost/rows/rules.h"

namespace placewright {
namespace {

using enum OpClass;

constexpr WorkRow kAtenRows[] = {
    {"adjoint alias as_strided as_strided_ broadcast_tensors broadcast_to chunk _conj detach "
     "detach_ diagonal expand expand_as flatten hsplit lift mT movedim narrow _neg_view numpy_T "
     "numpy_T_ permute real_view reshape _reshape_alias resolve_conj resolve_neg select slice "
     "split split_with_sizes squeeze squeeze_ swapaxes swapdims t t_ tensor_split transpose "
     "transpose_ unbind unflatten unfold unsafe_chunk unsafe_split unsafe_split_with_sizes "
     "_unsafe_view unsqueeze unsqueeze_ view view_as view_as_complex view_as_real vsplit",
     kView, Nothing},
    {"addbmm addmm _addmm_activation baddbmm", kGemm, BiasedProduct},
    {"_efficient_attention_backward _scaled_dot_product_cudnn_attention_backward", kGemm,
     AttentionBackward, 14},
    {"_flash_attention_backward _scaled_dot_product_efficient_attention_backward "
     "_scaled_dot_product_flash_attention_backward",
     kGemm, AttentionBackward, 11},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", kGemm, AttentionBackward, 7},
    {"_scaled_dot_product_fused_attention_overrideable_backward", kGemm, AttentionBackward, 13},
    {"_efficient_attention_forward", kGemm, AttentionForward, 9},
    {"_flash_attention_forward", kGemm, AttentionForward, 8},
    {"_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention", kGemm,
     AttentionForward, 6},
    {"_scaled_dot_product_fused_attention_overrideable scaled_dot_product_attention", kGemm,
     AttentionForward, 5},
    {"_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu", kGemm,
     AttentionForward, 4},
    // It multiplies whole matrices and masks the scores.
    {"_scaled_dot_product_attention _scaled_dot_product_attention_math", kGemm, AttentionForward},
    {"_grouped_mm", kGemm, GroupedProduct},
    {"bmm _int_mm matmul mm", kGemm, MatrixProduct},
    {"linear mkldnn_linear", kGemm, LinearLayer},
    {"addmv addr dot ger inner mv outer vdot", kGemv, UncountedProduct},
    {"conv1d conv2d conv3d _convolution convolution convolution_overrideable cudnn_convolution "
     "miopen_convolution mkldnn_convolution slow_conv3d thnn_conv2d",
     kConvDense, AtenConvolution},
    {"convolution_backward convolution_backward_overrideable", kConvDense, AtenConvolutionBackward},
    {"_conv_depthwise2d conv_depthwise3d", kConvDepthwise, AtenConvolution},
    {"batch_norm_update_stats", kNormalization, Streaming, kCheap},
    {"group_norm instance_norm layer_norm native_group_norm native_layer_norm rms_norm",
     kNormalization, Streaming, kDivide},
    {"_log_softmax log_softmax _log_softmax_backward_data _masked_softmax _masked_softmax_backward "
     "native_group_norm_backward native_layer_norm_backward _safe_softmax _softmax softmax "
     "_softmax_backward_data",
     kNormalization, Streaming, kTranscendental},
    {"batch_norm _batch_norm_impl_index cudnn_batch_norm miopen_batch_norm native_batch_norm "
     "_native_batch_norm_legit _native_batch_norm_legit_functional "
     "_native_batch_norm_legit_no_training",
     kNormalization, BatchNorm, kDivide},
    {"cudnn_batch_norm_backward miopen_batch_norm_backward native_batch_norm_backward",
     kNormalization, BatchNormBackward, kDivide},
    {"adaptive_avg_pool1d _adaptive_avg_pool2d adaptive_avg_pool2d _adaptive_avg_pool3d "
     "adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d",
     kPooling, Streaming, kCheap},
    {"_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward "
     "adaptive_max_pool3d_backward avg_pool2d_backward avg_pool3d_backward "
     "max_pool2d_with_indices_backward max_pool3d_with_indices_backward mkldnn_max_pool2d_backward",
     kPooling, SkipInput1, kCheap},
    {"avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool2d_with_indices max_pool3d "
     "max_pool3d_with_indices mkldnn_max_pool2d",
     kPooling, Pooling, kCheap},
    {"all amax amin aminmax any argmax argmin count_nonzero linalg_vector_norm logsumexp max mean "
     "median min mode nanmean nanmedian nansum norm prod sum",
     kReduction, Streaming, kCheap},
    {"binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss huber_loss kl_div "
     "l1_loss mse_loss multi_margin_loss multilabel_margin_loss_forward smooth_l1_loss "
     "soft_margin_loss",
     kReduction, Streaming, kDivide},
    {"cummax cummin cumprod cumsum _logcumsumexp logcumsumexp", kReduction, Streaming, kCheap, 2},
    {"dist std std_mean var var_mean", kReduction, Streaming, kDivide, 2},
    {"_ctc_loss _ctc_loss_backward", kReduction, Streaming, kTranscendental, 2},
    {"nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward", kReduction, PickOne, kCheap},
    {"abs add _add_relu add_relu addcmul __and__ bitwise_and bitwise_left_shift bitwise_not "
     "bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min complex "
     "_conj_physical conj_physical copysign dropout eq equal floor fmax fmin _foreach_add "
     "_foreach_addcmul _foreach_lerp _foreach_maximum _foreach_mul _foreach_neg _foreach_sub "
     "_foreach_zero frac ge glu_jvp gt hardshrink hardshrink_backward hardtanh hardtanh_backward "
     "heaviside imag is_nonzero isclose isfinite isinf isnan ldexp le leaky_relu "
     "leaky_relu_backward lerp logical_and logical_not logical_or logical_xor __lshift__ lt "
     "masked_fill _masked_scale masked_scatter_backward maximum minimum mul nan_to_num "
     "native_dropout_backward ne neg __or__ positive prelu prelu_backward _prelu_kernel "
     "_prelu_kernel_backward real relu relu6 round rrelu_with_noise_backward __rshift__ rsub sgn "
     "sign signbit softshrink softshrink_backward square sub threshold threshold_backward trunc "
     "view_as_complex_copy where __xor__",
     kElementwise, Streaming, kCheap},
    {"_fused_sgd", kElementwise, Streaming, 4},
    {"addcdiv binary_cross_entropy_backward div float_power_backward floor_divide fmod "
     "_foreach_addcdiv _foreach_div _foreach_reciprocal _foreach_sqrt hardsigmoid "
     "hardsigmoid_backward hardswish hardswish_backward huber_loss_backward hypot "
     "mse_loss_backward multi_margin_loss_backward multilabel_margin_loss_backward reciprocal "
     "remainder rsqrt smooth_l1_loss_backward soft_margin_loss_backward sqrt true_divide",
     kElementwise, Streaming, kDivide},
    {"acos acosh angle asin asinh atan atan2 atanh celu cos cosh digamma elu elu_backward erf erfc "
     "erfinv exp exp2 expm1 float_power _foreach_exp _foreach_log _foreach_pow gelu gelu_backward "
     "glu glu_backward igamma igammac lgamma log log10 log1p log2 log_sigmoid_backward "
     "log_sigmoid_forward logaddexp logaddexp2 logit logit_backward logsumexp_backward mish "
     "mish_backward polygamma pow selu sigmoid sigmoid_backward silu silu_backward sin sinc sinh "
     "softplus softplus_backward special_entr special_erfcx special_expit special_i0 tan tanh "
     "tanh_backward _thnn_fused_gru_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell "
     "_thnn_fused_lstm_cell_backward _thnn_fused_lstm_cell_backward_impl xlogy",
     kElementwise, Streaming, kTranscendental},
    {"_fused_adam _fused_adamw", kElementwise, Streaming, 40},
    {"copy_ _copy_from set_data", kDataMovement, FromRest},
    {"_embedding_bag embedding_bag _embedding_bag_forward_only", kDataMovement, BagLookup, kCheap},
    {"_embedding_bag_backward _embedding_bag_dense_backward", kDataMovement, BagGradient, kCheap},
    {"diagonal_backward index_backward select_backward slice_backward unfold_backward",
     kDataMovement, ZeroAndAdd},
    {"embedding_backward _embedding_bag_per_sample_weights_backward embedding_dense_backward "
     "embedding_sparse_backward gather_backward",
     kDataMovement, ZeroAndAdd, kCheap},
    {"as_strided_scatter block_diag bucketize cartesian_prod cat channel_shuffle clone col2im "
     "combinations concat concatenate constant_pad_nd contiguous copy diag diag_embed "
     "diagonal_scatter expand_copy flip hstack im2col index_add index_copy index_fill index_put "
     "index_reduce masked_scatter masked_select narrow_copy native_channel_shuffle nonzero one_hot "
     "_pack_padded_sequence _pack_padded_sequence_backward pad _pad_packed_sequence permute_copy "
     "pixel_shuffle pixel_unshuffle put reflection_pad1d reflection_pad2d reflection_pad3d repeat "
     "repeat_interleave replication_pad1d replication_pad2d replication_pad3d _reshape_copy "
     "reshape_copy roll rot90 scatter scatter_add scatter_reduce searchsorted select_scatter "
     "slice_scatter stack t_copy tile to _to_copy transpose_copy tril triu type_as unfold_copy "
     "view_copy vstack",
     kDataMovement, Streaming},
    {"affine_grid_generator upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d "
     "upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward "
     "_upsample_nearest_exact2d _upsample_nearest_exact2d_backward",
     kDataMovement, Streaming, kCheap},
    {"grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward "
     "upsample_bicubic2d _upsample_bicubic2d_aa upsample_bicubic2d_backward upsample_bilinear2d "
     "_upsample_bilinear2d_aa upsample_bilinear2d_backward upsample_linear1d "
     "upsample_linear1d_backward upsample_trilinear3d upsample_trilinear3d_backward",
     kDataMovement, Streaming, kDivide},
    {"kthvalue topk unique_consecutive", kDataMovement, Streaming, kCheap, 2},
    {"argsort bincount histc msort sort _unique2 unique_dim", kDataMovement, Streaming, kCheap, 8},
    {"index_add_ index_copy_ index_fill_ index_put_ _index_put_impl_ masked_scatter_ put_ scatter_ "
     "scatter_add_ scatter_reduce_ _unsafe_index_put_",
     kDataMovement, Scattering, kCheap},
    {"embedding embedding_renorm gather index index_select select_copy slice_copy split_copy "
     "split_with_sizes_copy take take_along_dim unbind_copy _unsafe_index unsafe_index",
     kDataMovement, Gathering},
    {"nll_loss2d_backward nll_loss_backward reflection_pad1d_backward reflection_pad2d_backward "
     "replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward",
     kDataMovement, SkipInput1, kCheap},
    {"_assert_async empty empty_like empty_permuted empty_strided is_same_size item "
     "_local_scalar_dense new_empty new_empty_strided numel resize_ set_ size sym_numel sym_size "
     "sym_stride",
     kCreation, Nothing},
    {"arange bartlett_window blackman_window eye fill fill_ full full_like hamming_window "
     "hann_window lift_fresh lift_fresh_copy linspace logspace meshgrid new_full new_ones "
     "new_zeros ones ones_like range scalar_tensor tril_indices triu_indices zero zero_ zeros "
     "zeros_like",
     kCreation, WriteOnly},
    {"bernoulli counter_bernoulli_of counter_dropout _fused_dropout multinomial native_dropout "
     "rrelu_with_noise",
     kRandom, Streaming, kTranscendental},
    {"bernoulli_ cauchy_ counter_bernoulli_ counter_draw_ counter_draw_like counter_draw_new "
     "exponential_ geometric_ log_normal_ normal normal_ poisson rand rand_like randint "
     "randint_like randn randn_like random_ randperm uniform_",
     kRandom, WriteOnly, kTranscendental},
    {"_cdist_backward _cdist_forward cholesky cholesky_inverse cholesky_solve _fft_c2c _fft_c2r "
     "_fft_r2c istft linalg_cholesky_ex _linalg_det linalg_eig _linalg_eigh linalg_inv_ex "
     "linalg_lu linalg_lu_factor_ex linalg_qr _linalg_slogdet _linalg_solve_ex "
     "linalg_solve_triangular _linalg_svd linalg_svd stft triangular_solve",
     kOther, ByBytes, kCheap},
};

}  // namespace

std::span<const WorkRow> AtenRows() { return kAtenRows; }

}  // namespace placewright
