"""How attention is recorded: as the fused operator that a GPU runs, or as products and a softmax.

PyTorch chooses among implementations of F.scaled_dot_product_attention by the device of the tensors.
A step is recorded on the CPU, whose fused kernel knows neither dropout nor values of another size
than the keys; its way out computes S x S matrices and keeps them for the backward pass, where no
GPU does. So calls of the operator are led to what CUDA would choose (aten/src/ATen/native/
transformers/attention.cpp and cuda/sdp_utils.cpp), with the padding of heads and masks done there:

    the CPU's own fused operator  where the CPU has one for the call; a GPU's has the same arguments,
                                  results and arithmetic, and this one can be executed anywhere
    flash                         f16 and bf16, no mask, heads of equal sizes up to 256
    efficient                     f32, f16 and bf16; any mask; values of another size than keys
    math                          else: f64, sparse heads (enable_gqa) of f32, odd head sizes of f32

Deviation: cuDNN's kernel, which newer GPUs may take, is recorded as flash, whose memory is the same.

Used of PyTorch (2.0 and newer): torch.library, which puts a function in the operator's place below
autocast and above autograd, so that calls from anywhere arrive; `_fused_sdp_choice`.
"""

import contextlib

import torch
from torch.nn import functional as F

from .errors import ExportError

CHOICES = ("fused", "math")
OPERATOR = "scaled_dot_product_attention"
MATH = "math"
FOR_CPU = "_scaled_dot_product_flash_attention_for_cpu"
FLASH = "_scaled_dot_product_flash_attention"
EFFICIENT = "_scaled_dot_product_efficient_attention"
LARGEST_FLASH_HEAD = 256
FLASH_HEAD_MULTIPLE = 8  # heads are padded to it
MASK_MULTIPLE = 8  # rows of a mask are padded to it
HALVES = (torch.float16, torch.bfloat16)


class Attention:
    """Counts the calls of a recording by how they were recorded."""

    def __init__(self, choice="fused"):
        if choice not in CHOICES:
            raise ExportError(f"attention is {choice!r}; choose one of {', '.join(CHOICES)}")
        self.choice = choice
        self.calls = {}  # name of an operator, or MATH -> number of calls
        self.without_kernel = {}  # why a call that should be fused is not -> number of calls

    @contextlib.contextmanager
    def in_place(self):
        """While inside, calls of the operator are recorded by this choice."""
        if not hasattr(torch.ops.aten, OPERATOR):  # 1.13 has products and a softmax alone
            yield
            return
        library = torch.library.Library("aten", "IMPL")
        try:
            library.impl(OPERATOR, self._call, "AutogradCPU")
            yield
        finally:
            library._destroy()

    def _call(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **named):
        """The operator; `named` are scale and, from 2.5 on, enable_gqa."""
        given = (query, key, value, attn_mask, dropout_p, is_causal)
        if self.choice == MATH:
            return self._math(given, named)
        if _cpu_has_one(given, named):
            self._count(FOR_CPU)
            return getattr(torch.ops.aten, OPERATOR).default.decompose(*given, **named)
        reason = _no_flash(given, named)
        if reason is None:
            return self._flash(given, named)
        reason = _no_efficient(given, named)
        if reason is None:
            return self._efficient(given, named)
        self.without_kernel[reason] = self.without_kernel.get(reason, 0) + 1
        return self._math(given, named)

    def _count(self, name):
        self.calls[name] = self.calls.get(name, 0) + 1

    def _math(self, given, named):
        self._count(MATH)
        query, key, value, mask, *rest = given
        return torch.ops.aten._scaled_dot_product_attention_math(
            query, key, value, _added(mask, query), *rest, **named)[0]

    def _flash(self, given, named):
        query, key, value, _, dropout_p, is_causal = given
        self._count(FLASH)
        head = query.size(-1)
        scale = head ** -0.5 if named.get("scale") is None else named["scale"]
        padding = -head % FLASH_HEAD_MULTIPLE
        if padding:
            query, key, value = (F.pad(tensor, (0, padding)) for tensor in (query, key, value))
        output = torch.ops.aten._scaled_dot_product_flash_attention(
            query, key, value, dropout_p, is_causal, False, scale=scale)[0]
        return output[..., :head] if padding else output

    def _efficient(self, given, named):
        query, key, value, mask, dropout_p, is_causal = given
        self._count(EFFICIENT)
        wanted = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        return torch.ops.aten._scaled_dot_product_efficient_attention(
            query, key, value, None if mask is None else _bias(mask, query, key), wanted,
            dropout_p, is_causal, scale=named.get("scale"))[0]

    def notes(self):
        """What a user should know, one sentence each."""
        return [f"{count} of {sum(self.calls.values())} calls of attention are recorded with all "
                f"S x S matrices: a GPU has no fused kernel for {reason}"
                for reason, count in self.without_kernel.items()]

    def head(self):
        """The field `attention` of the file, or None where nothing called it."""
        if not self.calls:
            return None
        math = self.calls.get(MATH, 0)
        return {"fused": sum(self.calls.values()) - math, "math": math}


def _cpu_has_one(given, named):
    # The arguments are fakes, whose sizes are asked for here, not their device's rule of fakes.
    with torch._C._DisableTorchDispatch():
        return torch._fused_sdp_choice(*given, **named) != 0


def _no_flash(given, named):
    """Why CUDA's flash attention does not take the call, or None."""
    query, key, value, mask, _, is_causal = given
    if query.dtype not in HALVES or mask is not None:
        return "a mask" if query.dtype in HALVES else _type_of(query)
    sizes = {tensor.size(-1) for tensor in (query, key, value)}
    if len(sizes) > 1 or max(sizes) > LARGEST_FLASH_HEAD:
        return f"heads of {sorted(sizes)} elements"
    if is_causal and query.size(-2) != key.size(-2):
        return "a causal mask that is not square"
    return _odd_shapes(query, key, value, named.get("enable_gqa", False))


def _no_efficient(given, named):
    """Why CUDA's memory-efficient attention does not take the call, or None."""
    query, key, value, _, _, _ = given
    if query.dtype not in (*HALVES, torch.float32):
        return _type_of(query)
    multiple = 16 // query.element_size()
    sizes = (query.size(-1), key.size(-1), value.size(-1))
    if sizes[0] != sizes[1] or any(size % multiple for size in sizes):
        return (f"heads of {sorted(set(sizes))} elements, which are no multiples of {multiple} in "
                f"{_type_of(query)}")
    return _odd_shapes(query, key, value, False)


def _odd_shapes(query, key, value, grouped):
    if any(tensor.dim() != 4 for tensor in (query, key, value)):
        return "other than four dimensions"
    if len({tensor.size(0) for tensor in (query, key, value)}) > 1:
        return "batches of different sizes"
    heads = {tensor.size(1) for tensor in (query, key, value)}
    if len(heads) > 1 and not grouped:
        return f"fewer heads of keys than of queries (enable_gqa) in {_type_of(query)} or with a mask"
    return None


def _type_of(tensor):
    return str(tensor.dtype).replace("torch.", "")


def _added(mask, query):
    """What is added to the products: of a mask of booleans 0 where it holds, else -inf."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    bias = torch.zeros_like(mask, dtype=query.dtype)
    return bias.masked_fill_(mask.logical_not(), float("-inf"))


def _bias(mask, query, key):
    """What the kernel adds to the products, as PyTorch prepares it."""
    mask = _added(mask, query)
    width = mask.size(-1)
    if width % MASK_MULTIPLE and width > 1:
        mask = F.pad(mask, (0, -width % MASK_MULTIPLE))[..., :width]
    return mask.expand(query.size(0), query.size(1), query.size(-2), key.size(-2))
