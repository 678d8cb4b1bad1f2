"""Tensors whose elements are all one number that is known without computing.

A loop that ends when a counter says so, as generate() of transformers, asks a tensor that was
made of constants alone; a check for numbers that are not finite asks one that is constant if the
data are valid. So numbers are followed through comparisons, logic and reductions. That floating
data are finite is an assumption, which a Known keeps with it; so is what a single random number is,
which decides whether a layer is left out (LayerDrop) or which of several sizes is taken.
"""

import math
import operator
import typing

import torch


class Known(typing.NamedTuple):
    number: typing.Any  # a bool, int or float
    assumed: str = ""  # what it follows from besides the program


CREATED = {"zeros": 0, "zeros_like": 0, "new_zeros": 0, "zero_": 0,
           "ones": 1, "ones_like": 1, "new_ones": 1}
FILLED = {"full": 1, "full_like": 1, "new_full": 2, "fill_": 1, "scalar_tensor": 0}
COMPARED = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
ARITHMETIC = {"mul": operator.mul, "add": operator.add, "sub": operator.sub}
BOTH, EITHER = ("logical_and", "bitwise_and", "__and__"), ("logical_or", "bitwise_or", "__or__")
REDUCED = ("all", "any", "max", "min", "amax", "amin")
SAME = ("clone", "_to_copy", "contiguous", "detach")
IGNORED = -100  # PyTorch's ignore_index
VALID_LABELS = "no label is taken to be ignored or padding"
FINITE_DATA = "data are taken to be finite"
COUNTED = "a counter that the update reads is taken to stand in the middle of a training"
DRAWN_LARGE = "a random number from [0, 1) is taken to be almost 1, so that no layer is dropped"
DRAWN_SMALL = "a random number is taken to be the smallest"
# What finite data answer.
FINITE = {"isfinite": True, "isinf": False, "isnan": False}


def of(name, args, kwargs, known_of, result):
    """What every element of the result of aten::NAME is, or None; `known_of` gives the Known of an
    argument."""
    if not isinstance(result, torch.Tensor) or result.is_complex():
        return None
    found = _of(name.replace("aten::", ""), args, kwargs, known_of)
    if found is not None and name == "aten::sum":
        summands = args[0].numel() // max(1, result.numel())
        found = Known(found.number * summands, found.assumed)
    if found is None or isinstance(found.number, complex):
        return None
    number = found.number
    if result.dtype == torch.bool:
        number = bool(number)
    elif not result.is_floating_point():
        number = int(number) if math.isfinite(number) else number
    return Known(number, found.assumed)


def _of(name, args, kwargs, known_of):
    if name in CREATED:
        return Known(CREATED[name])
    if name in FILLED:
        given = args[FILLED[name]] if len(args) > FILLED[name] else kwargs.get("fill_value")
        return _known(given, known_of)
    if name in FINITE:
        return Known(FINITE[name], FINITE_DATA)
    if name == "rand" and not math.prod(args[0]) > 1:
        return Known(1.0 - 2.0**-24, DRAWN_LARGE)
    if name == "uniform_" and args[0].numel() == 1:
        return Known(args[1] if len(args) > 1 else 0.0, DRAWN_SMALL)
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    if base in SAME or base in REDUCED and len(args) == 1 or base == "sum":
        return known_of(args[0])
    if base in ("logical_not", "bitwise_not"):
        return _negated(args[0], known_of)
    if len(args) < 2 or kwargs:
        return None
    return _of_two(base, args, known_of)


def _negated(argument, known_of):
    known = known_of(argument)
    if known is None or argument.dtype != torch.bool:
        return None
    return Known(not known.number, known.assumed)


def _of_two(base, args, known_of):
    first, second = _known(args[0], known_of), _known(args[1], known_of)
    if _of_labels(base, args, second):
        return Known(base not in ("eq", "lt"), VALID_LABELS)
    if base in ("eq", "ne") and _of_finite(args, second):
        return Known((base == "ne") != (args[0] is args[1]), FINITE_DATA)
    if base in BOTH or base in EITHER:
        decides = base in EITHER  # this bool of one side is that of both
        for known, side in ((first, args[0]), (second, args[1])):
            if known is not None and side.dtype == torch.bool and known.number is decides:
                return known
    if first is None or second is None:
        return None
    assumed = first.assumed or second.assumed
    if base in BOTH:
        return Known(first.number & second.number, assumed) if _integers(first, second) else None
    if base in EITHER:
        return Known(first.number | second.number, assumed) if _integers(first, second) else None
    compute = COMPARED.get(base) or ARITHMETIC.get(base)
    return Known(compute(first.number, second.number), assumed) if compute else None


def _integers(*given):
    return all(isinstance(known.number, int) for known in given)  # a bool is one


def _of_labels(base, args, second):
    """Whether integers that the step is given are asked whether they are labels, and not to be
    ignored: `labels >= 0`, `labels != padding`."""
    value = getattr(args[0], "_placewright", None)
    if value is None or not value.memory.is_given or args[0].is_floating_point() or not second:
        return False
    if base in ("ge", "lt"):
        return second.number == 0 and not isinstance(second.number, bool)
    return base == "ne" or base == "eq" and second.number == IGNORED


def _of_finite(args, second):
    """Whether floating data are compared with themselves, or with an infinity."""
    floating = isinstance(args[0], torch.Tensor) and args[0].is_floating_point()
    infinite = second is not None and isinstance(second.number, float) and math.isinf(second.number)
    return floating and (args[0] is args[1] or infinite)


def _known(value, known_of):
    if isinstance(value, torch.Tensor):
        return known_of(value)
    return Known(value) if isinstance(value, (bool, int, float)) else None
