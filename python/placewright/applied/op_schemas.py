"""What operators alias and write, and where their arguments are devices."""

import dataclasses
import functools

import torch

from .errors import ApplyError

# As src/graph/aliasing/op_schema.cc has them: results that are views though no schema says so.
UNMARKED_VIEWS = ("_unsafe_view", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk",
                  "reshape", "contiguous")
# Operators that write arguments without saying so: positions, and that of the flag that must be
# true.
HIDDEN_WRITES = {"native_batch_norm": ((3, 4), 5), "cudnn_batch_norm": ((3, 4), 5),
                 "miopen_batch_norm": ((3, 4), 5), "batch_norm_gather_stats": ((3, 4), None),
                 "batch_norm_gather_stats_with_counts": ((3, 4), None),
                 "batch_norm_update_stats": ((1, 2), None)}
OWN_WRITES = ("counter_bernoulli_", "counter_draw_", "order_part_")
OWN_LISTED = ("causal_attention_backward_part", "causal_attention_part", "counter_dropout",
              "nll_loss_part", "sort_part")
# Whose result a copy may stand for, where nothing is written through it.
RESHAPES = ("aten.view.default", "aten._unsafe_view.default", "aten._reshape_alias.default")


@dataclasses.dataclass(frozen=True)
class Schema:
    listed: bool          # gives several results, or a list of them
    aliased: tuple        # argument whose memory the results share, by position or name; or ()
    written: tuple        # arguments that are written
    devices: frozenset    # arguments that name a device


def operator_of(target):
    """The PyTorch operator of "aten.add.Tensor"."""
    namespace, name, overload = target.split(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), name), overload)
    except AttributeError:
        raise ApplyError(
            "operator", f"PyTorch {torch.__version__} has no such operator", target,
            "Record the step with this version of PyTorch.") from None


@functools.lru_cache(maxsize=None)
def schema_of(target):
    namespace, name, _ = target.split(".")
    if namespace == "placewright":
        return Schema(name in OWN_LISTED, (0,) if name in (*OWN_WRITES, "unpack") else (),
                      (0,) if name in OWN_WRITES else (), frozenset(("device",)))
    if namespace != "aten":
        raise ApplyError("operator", "PyTorch cannot run it", target,
                         "Plans of weights in 4 and 8 bits are not executed.")
    schema = operator_of(target)._schema
    marked = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None]
    returns = [r for r in schema.returns if r.alias_info is not None]
    aliased = tuple(_key(i, a) for i, a in marked[:1]) if returns else ()
    if name in UNMARKED_VIEWS:
        aliased = (0,)
    written = tuple(_key(i, a) for i, a in marked if a.alias_info.is_write)
    devices = frozenset(_key(i, a) for i, a in enumerate(schema.arguments)
                        if "Device" in str(a.type))
    return Schema(len(schema.returns) > 1 or
                  (bool(schema.returns) and str(schema.returns[0].type).startswith("List")),
                  aliased, written, devices)


def _key(position, argument):
    return argument.name if argument.kwarg_only else position


def references_in(value, found=None):
    """The places of inputs that an argument names, as "%3" does, in order."""
    found = [] if found is None else found
    if isinstance(value, str) and value[:1] == "%" and value[1:].isdigit():
        found.append(int(value[1:]))
    elif isinstance(value, list):
        for item in value:
            references_in(item, found)
    return found


def _argument(op, key):
    if isinstance(key, str):
        return op.kwargs.get(key)
    return op.args[key] if key < len(op.args) else None


def written_inputs(op):
    """References that the op writes in place."""
    name = op.target.split(".")[1]
    keys = list(schema_of(op.target).written)
    positions, flag = HIDDEN_WRITES.get(name, ((), None))
    if positions and (flag is None or _argument(op, flag) is True):
        keys += positions
    return list(dict.fromkeys(op.inputs[i] for key in keys
                              for i in references_in(_argument(op, key))))


def aliased_input(op):
    """The reference whose memory the op's results are, or None."""
    for key in schema_of(op.target).aliased:
        found = references_in(_argument(op, key))
        if len(found) == 1:
            return op.inputs[found[0]]
    return None
