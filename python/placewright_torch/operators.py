"""What the exporter knows of operators, besides what their schemas say."""

import torch

from .errors import ExportError

DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128",
}
DTYPES.update({getattr(torch, name): short for name, short in
               (("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64")) if hasattr(torch, name)})

# Calls that give their argument back: the file has one tensor for both.
SAME_TENSOR = {"aten::detach", "aten::detach_", "aten::lift_fresh", "aten::lift"}
COPIES = {"aten::_to_copy", "aten::clone"}
# Calls about the program, not about tensors.
NO_OPS = ("profiler::", "prim::")
# Batch norm writes its running mean and variance without a mark in its schema; the position of
# the flag that says whether it trains.
UNMARKED_WRITES = {"aten::native_batch_norm": ((3, 4), 5)}
# Sizes that depend on values; 1.13 does not know it of all of them.
SIZED_BY_VALUES = {
    "aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::bincount",
    "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive",
    "aten::repeat_interleave",
}
READS_VALUES = {"aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero", "aten::item"}


def describe(tensor):
    """The record of a tensor's shape and type, or None for a result that was not computed."""
    if tensor is None:
        return None
    if tensor.dtype not in DTYPES:
        raise ExportError(f"tensors of type {tensor.dtype} have no place in the format; "
                          f"convert to one of {', '.join(str(d) for d in DTYPES)}")
    return {"shape": [int(size) for size in tensor.shape], "dtype": DTYPES[tensor.dtype]}


def alias_mark(schema):
    """"view", "inplace" or None, by what the schema says of the first argument and the results."""
    first = schema.arguments[0].alias_info if schema.arguments else None
    if first is not None and first.is_write:
        return "inplace"
    views = [result.alias_info for result in schema.returns if result.alias_info is not None]
    return "view" if views and not any(alias.is_write for alias in views) else None


def value_error(name, where, place=None):
    """The error of an operator whose result, or its size, depends on values; `place` is that in the
    program which asks, as --assume takes it."""
    what = ("reads a value from a tensor (.item(), bool(), int(), an `if` or `while` on a tensor)"
            if name in READS_VALUES else
            "makes a tensor whose size depends on values (nonzero, masks as indices, unique)")
    return ExportError(
        f"the step depends on its data: {name.replace('::', '.')} {what}{where}. A graph is "
        f"recorded without data, so it must take one way for all: {_which_way(name, place)}replace "
        "the condition by torch.where, a mask by multiplication, or pass the value as a Python "
        "number")


def _which_way(name, place):
    if place is None:
        return ""
    if name in READS_VALUES:
        return (f"say which, --assume {place}=true or --assume {place}=false (or a number, where "
                "one is read), or ")
    return (f"say how many elements of the mask are true, --assume {place}=12.5% (a share, as of one "
            f"of 8 experts) or --assume {place}=64 (a number), or ")


# Updates of lists of parameters that one call updates alike.
FUSED_UPDATES = ("_fused_adam_", "_fused_adamw_")


def refuse(name, kwargs, phase, where):
    """Raises ExportError for calls that no step of the format can hold, before they are tried."""
    plain = name.replace("aten::", "")
    makes_sparse = "sparse_c" in plain or plain.startswith(("sparse_", "_sparse_"))
    if makes_sparse and plain not in ("_sparse_softmax", "_sparse_log_softmax"):
        raise ExportError(
            f"{name.replace('::', '.')} makes a sparse tensor{where}; sparse gradients and tensors "
            "cannot be exported: build nn.Embedding and nn.EmbeddingBag with sparse=False")
    if plain.startswith("_fused_") and plain.endswith("_") and phase == "opt" \
            and plain not in FUSED_UPDATES:
        raise ExportError(f"the optimizer calls {name.replace('::', '.')} itself; build it with "
                          "fused=False")

def is_sized_by_values(name, kwargs):
    """Whether the size of an operator's result depends on values, and is not given."""
    return name in SIZED_BY_VALUES and kwargs.get("output_size") is None


def for_one_tensor(name, args, kwargs):
    """Makes the call that `_foreach_NAME` stands for, for one tensor."""
    inplace = name.endswith("_")
    base = name.rstrip("_")
    if base == "norm":
        return torch.linalg.vector_norm(args[0], *args[1:], **kwargs)
    if base in ("maximum", "minimum"):  # PyTorch has no such operators in place
        base = "clamp_min" if base == "maximum" else "clamp_max"
        if not inplace:
            base = name
    owner = torch.Tensor if isinstance(args[0], torch.Tensor) else torch  # pow(2, tensor)
    method = getattr(owner, base + "_" if inplace else base, None)
    if base in ("addcdiv", "addcmul") and len(args) > 3:
        args, kwargs = args[:3], {"value": args[3]}
    if method is None:
        raise ExportError(f"aten._foreach_{name} cannot be split into calls for one tensor; build "
                          "the optimizer with foreach=False")
    return method(*args, **kwargs)
