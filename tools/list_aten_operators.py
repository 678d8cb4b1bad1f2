#!/usr/bin/env python3
"""Prints the operators of ATen that a recorded training step can hold, one a line, as NAME.OVERLOAD.

    tools/list_aten_operators.py > src/sharding/aten_operators.txt

They are those of the dispatcher of the PyTorch that runs this, but for variants that write into a given
tensor, for what autograd takes apart before it is recorded (CompositeImplicitAutograd), and for families
that no step of dense tensors on CPUs and NVIDIA GPUs holds (LEFT_OUT says which, and why).
"""

import re

import torch

LEFT_OUT = (
    # Of other layouts and types than dense tensors of numbers.
    r"sparse|_coo_|_csr|csr_|_bsr|_csc|_bsc|coalesce|_nnz|^_?values|^_?indices|ccol_|crow_|col_indices|row_indices"
    r"|^_dim[IV]$|dense_dim|_to_dense|hspmm|_spdiags|_spsolve|_cslt_|nested|jagged|_efficientzerotensor",
    r"quantiz|^q_|qscheme|int_repr|_int4pack|_int8pack|_dyn_quant|_wrapped_|_fused_moving_avg|_fake_quantize_learn"
    r"|_mixed_dtypes_linear|dequantize",
    # Of other devices and libraries than those of a recording.
    r"mkldnn|mps|miopen|_nnpack|xnnpack|_vulkan|_triton|_mkl|opaque",
    r"^cudnn_|^_cudnn_(rnn|ctc|init)|_use_(cudnn|miopen)|_cpu_fallback|_overrideable$(?<!attention_overrideable)",
    # Recorded one tensor at a time; a step's own bookkeeping.
    r"_foreach_|_fused_(adam|adamw|sgd|adagrad)|_amp_",
    r"_assert|_sym_|^sym_|_print$|_test_|_foobar|_make_dep_token|_make_dual|_fw_primal|is_pinned|_pin_memory"
    r"|record_stream|_new_zeros_with_same_feature_meta|to_padded_tensor|_copy_from|from_file|_propagate|_has_same_storage|is_set_to|is_same_size|_philox",
    # Whole layers of inference, which no gradient passes through.
    r"_transformer_encoder_layer_fwd|_native_multi_head|_transform_bias|_embedding_bag_forward_only"
    r"|no_dropout_inplace|_weight_int|glu_jvp|glu_backward_jvp|_addmm_activation|_fused_sdp_choice",
)

# Overloads that write into given tensors under another name, and of quantised tensors.
NOT_RECORDED = ("grad_input", "source_Storage", "values_stable", "dim_max", "dim_min", "output_mask", "output",
                "quantized")


def operators():
    left_out = re.compile("|".join(LEFT_OUT))
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        if not full.startswith("aten::"):
            continue
        name, _, overload = full[len("aten::"):].partition(".")
        writes_into = "out" in overload.split("_") or overload.endswith("out") or \
            name.endswith("_out") or overload in NOT_RECORDED
        if writes_into or left_out.search(name):
            continue
        if torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd"):
            continue
        found.append(f"{name}.{overload or 'default'}")
    return sorted(found)


if __name__ == "__main__":
    print(f"# of PyTorch {torch.__version__.split('+')[0]}, by tools/list_aten_operators.py")
    print("\n".join(operators()))
