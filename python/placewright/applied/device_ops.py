"""The operators of a device where a recorded one is another device's.

Steps are recorded on a CPU. There, attention is an operator that CPUs alone have; a GPU's is chosen
by types and shapes as PyTorch chooses it, with results in the CPU operator's form:

    flash       f16 and bf16 without a mask, heads of equal sizes up to 256, multiples of 8
    efficient   f32, f16 and bf16, heads in multiples of 16 bytes, any mask
    products    else: products and a softmax, S x S matrices and all

Where the recorded operator is a GPU's and the device a CPU, products stand for it, without dropout.

Norms of layers and groups take weights of another type than the input's on CPUs alone (autocast
comes to that there); a GPU computes them in the weights' type.
"""

import torch
from torch import Tensor

from . import op_schemas
from .errors import ApplyError

ATEN = torch.ops.aten
HALVES = (torch.float16, torch.bfloat16)
LARGEST_FLASH_HEAD = 256
LSE_MULTIPLE = 32  # the efficient kernel's logarithms are padded to it
# Keys of PyTorch's dispatcher under which a kernel serves every device.
ANY_DEVICE = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
              "CompositeImplicitAutograd", "BackendSelect")


def operator_on(target, kind):
    """What runs a recorded operator on devices of a type ("cpu", "cuda")."""
    if (target, kind) in OTHERS:
        return OTHERS[target, kind]
    found = op_schemas.operator_of(target)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if not any(has(found.name(), key) for key in (kind.upper(), *ANY_DEVICE)):
        raise ApplyError("operator", f"PyTorch {torch.__version__} has no such operator for "
                         f"devices of type {kind}", target,
                         "Pin its module to a device that has it, and plan again.")
    return found


def _kernel_of(query, key, value, mask):
    """"flash", "efficient" or "products": what a GPU runs for the call."""
    sizes = {query.size(-1), key.size(-1), value.size(-1)}
    if query.dim() != 4 or len(sizes) > 1:
        return "products"
    head, = sizes
    if query.dtype in HALVES and mask is None and head % 8 == 0 and head <= LARGEST_FLASH_HEAD:
        return "flash"
    if query.dtype in (*HALVES, torch.float32) and head * query.element_size() % 16 == 0:
        return "efficient"
    return "products"


def _repeated(tensor, heads):
    """With as many heads as queries have."""
    return tensor if tensor.size(1) == heads else \
        tensor.repeat_interleave(heads // tensor.size(1), 1)


def _added_up(gradient, heads):
    """Of repeated heads, for each of the first ones."""
    if gradient.size(1) == heads:
        return gradient
    return gradient.unflatten(1, (heads, -1)).sum(2)


def _expanded(mask, query, key):
    """What the efficient kernel adds to the products: rows begin at multiples of 16 bytes."""
    if mask is None:
        return None
    width = key.size(-2)
    rows = torch.nn.functional.pad(mask.to(query.dtype), (0, -mask.size(-1) % 8))
    if mask.size(-1) == 1 and width > 1:
        rows = torch.nn.functional.pad(mask.to(query.dtype).expand(*mask.shape[:-1], width),
                                       (0, -width % 8))
    return rows[..., :width].expand(query.size(0), query.size(1), query.size(-2), width)


def _products(query, key, mask, is_causal, scale):
    """The scaled and masked products of a call, in double or float32."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    scale = query.size(-1) ** -0.5 if scale is None else scale
    made = (query.to(dtype) * scale) @ key.to(dtype).transpose(-2, -1)
    if mask is not None:
        made = made + mask.to(dtype)
    if is_causal:
        later = torch.ones(made.shape[-2:], dtype=torch.bool, device=made.device).triu(1)
        made = made.masked_fill(later, float("-inf"))
    return made


def attention(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    """(output, logarithms of the sums of exponentials), as the CPU's operator gives them, on a
    GPU."""
    kernel = _kernel_of(query, key, value, attn_mask)
    if dropout_p:
        raise ApplyError("operator", "the CPU's attention has no dropout", "attention")
    if kernel == "flash":
        return ATEN._scaled_dot_product_flash_attention.default(
            query, key, value, 0.0, is_causal, False, scale=scale)[:2]
    if kernel == "efficient":
        heads, rows = query.size(1), query.size(-2)
        output, logarithms, *_ = ATEN._scaled_dot_product_efficient_attention.default(
            query, _repeated(key, heads), _repeated(value, heads),
            _expanded(attn_mask, query, key), True, 0.0, is_causal, scale=scale)
        return output, logarithms[..., :rows].contiguous()
    return products(query, key, value, attn_mask, is_causal, scale)


def products(query, key, value, attn_mask, is_causal, scale):
    """attention() by products, on any device."""
    heads = query.size(1)
    scores = _products(query, _repeated(key, heads), attn_mask, is_causal, scale)
    logarithms = scores.logsumexp(-1)
    logarithms = logarithms.masked_fill(logarithms == float("-inf"), 0.0)  # of what is masked whole
    shares = torch.exp(scores - logarithms.unsqueeze(-1))
    output = shares @ _repeated(value, heads).to(scores.dtype)
    return output.to(query.dtype), logarithms


def attention_backward(grad, query, key, value, output, logarithms, dropout_p, is_causal, *,
                       attn_mask=None, scale=None):
    """The gradients of query, key and value, on a GPU."""
    kernel = _kernel_of(query, key, value, attn_mask)
    rows = query.size(-2)
    none = torch.zeros((), dtype=torch.int64, device=query.device)  # the state of no dropout
    if kernel == "flash":
        return ATEN._scaled_dot_product_flash_attention_backward.default(
            grad, query, key, value, output, logarithms, None, None, rows, key.size(-2), 0.0,
            is_causal, none, none, scale=scale)
    if kernel == "efficient":
        heads, own = query.size(1), key.size(1)
        padded = torch.nn.functional.pad(logarithms, (0, -rows % LSE_MULTIPLE),
                                         value=float("inf"))
        gradients = ATEN._scaled_dot_product_efficient_attention_backward.default(
            grad, query, _repeated(key, heads), _repeated(value, heads),
            _expanded(attn_mask, query, key), output, padded, none, none, 0.0,
            [True, True, True, False], is_causal, scale=scale)
        return gradients[0], _added_up(gradients[1], own), _added_up(gradients[2], own)
    return products_backward(grad, query, key, value, output, logarithms, attn_mask, is_causal,
                             scale)


def products_backward(grad, query, key, value, output, logarithms, attn_mask, is_causal, scale):
    """attention_backward() by products, on any device."""
    heads, own = query.size(1), key.size(1)
    keys = _repeated(key, heads)
    scores = _products(query, keys, attn_mask, is_causal, scale)
    shares = torch.exp(scores - logarithms.unsqueeze(-1).to(scores.dtype))
    grad = grad.to(scores.dtype)
    of_shares = grad @ _repeated(value, heads).to(scores.dtype).transpose(-2, -1)
    of_scores = shares * (of_shares - (grad * output).sum(-1, keepdim=True))
    scale = query.size(-1) ** -0.5 if scale is None else scale
    of_value = shares.transpose(-2, -1) @ grad
    of_query = of_scores @ keys.to(scores.dtype) * scale
    of_key = of_scores.transpose(-2, -1) @ query.to(scores.dtype) * scale
    return (of_query.to(query.dtype), _added_up(of_key, own).to(key.dtype),
            _added_up(of_value, own).to(value.dtype))


# Of places [first, first + rows) under a causal mask what a device has: keys up to the last of them, and a mask but for
# GPUs' flash kernel, whose own begins at the last of both.

def _seen(query, first, *of):
    return [tensor[:, :, :first + query.size(-2)] for tensor in of]


def _later(query, first):
    """0 for the keys that a query sees, -inf for those behind its own."""
    rows, seen = query.size(-2), first + query.size(-2)
    mask = torch.full((rows, seen), float("-inf"), dtype=query.dtype, device=query.device)
    return mask.triu_(first + 1)


def _kernel_of_part(query, key, value):
    """On which device whose operators, and whether these have the mask."""
    on_cpu = query.device.type == "cpu"
    return on_cpu, not on_cpu and _kernel_of(query, key, value, None) == "flash"


def causal_part(query: Tensor, key: Tensor, value: Tensor, first: int,
                scale: float | None) -> tuple[Tensor, Tensor]:
    """attention() of a part of the places of queries, on any device."""
    key, value = _seen(query, first, key, value)
    on_cpu, masks = _kernel_of_part(query, key, value)
    if masks:
        return ATEN._scaled_dot_product_flash_attention.default(
            query, key, value, 0.0, True, False, scale=scale)[:2]
    call = ATEN._scaled_dot_product_flash_attention_for_cpu.default if on_cpu else attention
    return call(query, key, value, 0.0, False, attn_mask=_later(query, first), scale=scale)


def causal_part_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, output: Tensor,
                         logarithms: Tensor, first: int,
                         scale: float | None) -> tuple[Tensor, Tensor, Tensor]:
    """attention_backward() of a part of the places of queries, on any device: of keys that it
    does not see the gradient is 0."""
    seen_key, seen_value = _seen(query, first, key, value)
    on_cpu, masks = _kernel_of_part(query, seen_key, seen_value)
    if masks:
        none = torch.zeros((), dtype=torch.int64, device=query.device)  # the state of no dropout
        made = ATEN._scaled_dot_product_flash_attention_backward.default(
            grad, query, seen_key, seen_value, output, logarithms, None, None, query.size(-2),
            seen_key.size(-2), 0.0, True, none, none, scale=scale)
    else:
        call = (ATEN._scaled_dot_product_flash_attention_for_cpu_backward.default if on_cpu
                else attention_backward)
        made = call(grad, query, seen_key, seen_value, output, logarithms, 0.0, False,
                    attn_mask=_later(query, first), scale=scale)
    of_query, of_key, of_value = made
    return of_query, _behind(of_key, key), _behind(of_value, value)


def _behind(of, like):
    """Zeros where `like` has more places, lying in memory as `of` does."""
    more = like.size(-2) - of.size(-2)
    if more == 0:
        return of
    return torch.nn.functional.pad(of.transpose(1, 2), (0, 0, 0, 0, 0, more)).transpose(1, 2)


# Norms on a GPU.

def _in_type_of_weights(operator, weight_at, inputs_at):
    """The operator with the arguments at `inputs_at` in the type of the weight, where it is
    another, and its first result in the type that the first of them had."""
    def norm(*given):
        weight, first = given[weight_at], given[inputs_at[0]]
        if weight is None or weight.dtype == first.dtype:
            return operator(*given)
        wide = [value.to(weight.dtype) if i in inputs_at else value
                for i, value in enumerate(given)]
        result, *others = operator(*wide)
        return (None if result is None else result.to(first.dtype), *others)
    return norm


# A GPU's operators on a CPU: its products, with the other results that nothing reads there.

def _without_dropout(dropout_p):
    if dropout_p:
        raise ApplyError("operator", "a CPU has no attention with a GPU's dropout",
                         "_scaled_dot_product_attention", "Pin the module to a GPU, or record with "
                         "attention=\"math\".")


def _flash_on_cpu(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *,
                  scale=None):
    _without_dropout(dropout_p)
    none = torch.zeros((), dtype=torch.int64)
    return (*products(query, key, value, None, is_causal, scale), none, none, query.size(-2),
            key.size(-2), none, none, none)


def _flash_backward_on_cpu(grad, query, key, value, output, logarithms, cum_q, cum_k, max_q, max_k,
                           dropout_p, is_causal, philox_seed, philox_offset, *, scale=None):
    return products_backward(grad, query, key, value, output, logarithms, None, is_causal, scale)


def _efficient_on_cpu(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0,
                      is_causal=False, *, scale=None):
    _without_dropout(dropout_p)
    none = torch.zeros((), dtype=torch.int64)
    output, logarithms = products(query, key, value, attn_bias, is_causal, scale)
    padding = -query.size(-2) % LSE_MULTIPLE
    return (output, torch.nn.functional.pad(logarithms, (0, padding), value=float("inf")), none,
            none)


def _efficient_backward_on_cpu(grad, query, key, value, attn_bias, output, logarithms, philox_seed,
                               philox_offset, dropout_p, grad_input_mask, is_causal=False, *,
                               scale=None):
    if grad_input_mask[3]:
        raise ApplyError("operator", "apply has no gradient of a mask for CPUs",
                         "_scaled_dot_product_efficient_attention_backward", "Pin the module to a "
                         "GPU, or record with attention=\"math\".")
    return (*products_backward(grad, query, key, value, output, logarithms[..., :query.size(-2)],
                               attn_bias, is_causal, scale), None)


OTHERS = {
    ("aten._scaled_dot_product_flash_attention_for_cpu.default", "cuda"): attention,
    ("aten._scaled_dot_product_flash_attention_for_cpu_backward.default", "cuda"):
        attention_backward,
    ("aten.native_layer_norm.default", "cuda"):
        _in_type_of_weights(ATEN.native_layer_norm.default, 2, (0,)),
    ("aten.native_layer_norm_backward.default", "cuda"):
        _in_type_of_weights(ATEN.native_layer_norm_backward.default, 5, (0, 1)),
    ("aten.native_group_norm.default", "cuda"):
        _in_type_of_weights(ATEN.native_group_norm.default, 1, (0,)),
    ("aten.native_group_norm_backward.default", "cuda"):
        _in_type_of_weights(ATEN.native_group_norm_backward.default, 4, (0, 1)),
    ("aten._scaled_dot_product_flash_attention.default", "cpu"): _flash_on_cpu,
    ("aten._scaled_dot_product_flash_attention_backward.default", "cpu"): _flash_backward_on_cpu,
    ("aten._scaled_dot_product_efficient_attention.default", "cpu"): _efficient_on_cpu,
    ("aten._scaled_dot_product_efficient_attention_backward.default", "cpu"):
        _efficient_backward_on_cpu,
}
