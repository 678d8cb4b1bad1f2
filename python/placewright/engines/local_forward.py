"""A model's forward pass, tried with the shapes that a rank has of layers in parts.

`view(..., n_heads, ...)` with the number of all heads is an error of a rank that has some of them,
or worse, is none and makes another tensor. So the forward pass runs twice on fake tensors, which
hold nothing: as the model is, and with parts. Each result in parts must be one of the plan.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import traceback
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..applied.tensors import DTYPES
from ..errors import UsageError
from .distributed_step import DistributedStep, refused, shown

if TYPE_CHECKING:
    from .tensor_parallel import Style

_REMEDY = ("Let its forward pass take what a rank has: -1 in the place of the number of heads. Or "
           "keep the module whole (docs/formats/layouts.md), or train by placewright.apply().")
# A reshape copies where strides ask for it: with some of the heads it may, or may not.
_RESHAPES = {"_unsafe_view": "view", "_reshape_alias": "view", "reshape": "view"}


@dataclasses.dataclass
class _Run:
    """What a forward pass did: (module, operator, shape) of each result; or where it failed."""

    results: list[tuple[str, str, tuple[int, ...]]]
    called: set[str]
    error: Exception | None = None
    module: str = ""


def check_forward(step: DistributedStep, model: torch.nn.Module, styles: Mapping[str, Style],
                  inputs: Any) -> None:
    """Raises InputError where the forward pass does not do with parts what the plan does."""
    with FakeTensorMode():
        _check(step, model, styles, *_fake_inputs(step, model, inputs))


def _check(step: DistributedStep, model: torch.nn.Module, styles: Mapping[str, Style],
           args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    whole = _run(model, styles, 1, args, kwargs)
    if whole.error is not None:
        raise refused(f"its forward pass cannot be tried without values: {_said(whole.error)}",
                      shown(whole.module), "Give `inputs`, as record() was given them, or train by "
                      "placewright.apply().") from whole.error
    for module in styles:
        if module not in whole.called:
            raise refused("its parameters are read without a call of it, so that no style of it "
                          "is applied", shown(module), _REMEDY)
    parts = _run(model, styles, step.ranks, args, kwargs)
    if parts.error is not None:
        raise refused(f"with its part of the layers it fails: {_said(parts.error)}",
                      shown(parts.module), _REMEDY) from parts.error
    _compare(step, whole, parts)


def _compare(step: DistributedStep, whole: _Run, parts: _Run) -> None:
    planned = _planned(step)
    same = [one[:2] for one in whole.results] == [one[:2] for one in parts.results]
    for before, after in zip(whole.results, parts.results):  # noqa: B905 (compared above)
        module, op, shape = before
        part = after[2]
        known = planned.get((module, shape))
        fits = part in known if known else \
            math.prod(part) in (math.prod(shape), math.prod(shape) // step.ranks)
        if after[:2] != before[:2] or not fits:
            raise refused(f"with its part of the layers {op} makes {list(part)} of {list(shape)}, "
                          + (f"and in the plan {_shapes(known)}" if known else
                             "which is no part of it"), shown(module), _REMEDY)
    if not same:
        raise refused("with its part of the layers its forward pass takes another way",
                      "the model itself", _REMEDY)


def _planned(step: DistributedStep) -> dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]]:
    """By module and shape of a whole result: the shapes that a rank has of such."""
    found: dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]] = {}
    for one in step.instances:
        if one.phase != "fwd" or not one.of:
            continue
        for whole, part in zip(step.shapes[one.of], one.shapes, strict=False):
            found.setdefault((one.scope, whole), set()).add(part)
    for one in step.instances:  # what is gathered is whole again
        if one.phase == "fwd" and one.communicates:
            shape = step.whole_shape(one.name)
            if shape is not None and (one.scope, shape) in found:
                found[one.scope, shape].add(one.shapes[0])
    return found


def _shapes(shapes: set[tuple[int, ...]]) -> str:
    return " or ".join(str(list(shape)) for shape in sorted(shapes))


def _said(error: Exception) -> str:
    """The error, with the line of the model that it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if "/torch/" not in frame.filename and frame.filename != __file__]
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{str(error).splitlines()[0] if str(error) else type(error).__name__}{where}"


def _fake_inputs(step: DistributedStep, model: torch.nn.Module,
                 inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the model's forward pass as tensors without content."""
    if inputs is None:
        names = inspect.signature(model.forward).parameters
        return (), {name: tensor for name, tensor in _recorded(step) if name in names}
    given = _faked(inputs)
    if isinstance(given, Mapping):
        return (), dict(given)
    return (tuple(given) if isinstance(given, (tuple, list)) else (given,)), {}


def _recorded(step: DistributedStep) -> Iterator[tuple[str, torch.Tensor]]:
    for name, record in step.recorded_inputs.items():
        kind, _, path = name.partition(":")
        if kind == "input":
            yield path, torch.empty(record["shape"], dtype=DTYPES[record["dtype"]])


def _faked(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty(value.shape, dtype=value.dtype)
    if isinstance(value, Mapping):
        return {key: _faked(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(_faked, value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UsageError("usage", f"{type(value).__name__} is no tensor", place="argument inputs",
                     remedy="Give what record() was given.")


def _run(model: torch.nn.Module, styles: Mapping[str, Style], ranks: int, args: tuple[Any, ...],
         kwargs: dict[str, Any]) -> _Run:
    """One forward pass of one of so many ranks; the model's own tensors are not read, and stay."""
    tensors = {}
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        shape = list(tensor.shape)
        style = styles.get(name.rpartition(".")[0])
        dimension = None if style is None else _dimension(style, name, len(shape))
        if dimension is not None:
            shape[dimension] //= ranks
        tensors[name] = torch.empty(shape, dtype=tensor.dtype)
    run = _Run([], set())
    with _followed(model, styles, ranks, run), torch.no_grad():
        try:
            torch.func.functional_call(model, tensors, args, kwargs)
        except Exception as error:  # the user's code may raise anything
            run.error = error
    return run


def _dimension(style: Style, name: str, dimensions: int) -> int | None:
    if dimensions == 1:
        return 0 if style.columns else None
    return int(style.columns == style.embedding)


@contextlib.contextmanager
def _followed(model: torch.nn.Module, styles: Mapping[str, Style], ranks: int,
              run: _Run) -> Iterator[None]:
    """Notes what is called and made, and gives layers what their styles give and return."""
    names = {id(module): name for name, module in model.named_modules()}
    stack: list[str] = []

    def enter(module: torch.nn.Module, given: tuple[Any, ...]) -> Any:
        stack.append(names[id(module)])
        run.called.add(stack[-1])
        style = styles.get(stack[-1])
        if style is None or style.columns or style.embedding or style.input_in_parts:
            return None
        return (given[0].narrow(-1, 0, given[0].shape[-1] // ranks), *given[1:])

    def leave(module: torch.nn.Module, given: tuple[Any, ...], result: Any) -> Any:
        style = styles.get(stack[-1])
        if style is not None and style.columns and not style.output_in_parts:
            result = result.new_empty([*result.shape[:-1], result.shape[-1] * ranks])
        stack.pop()
        return result

    class Results(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                               kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            name = func.name().partition("::")[2].partition(".")[0]
            if stack and stack[-1] not in styles and name != "clone":
                for one in made if isinstance(made, (tuple, list)) else (made,):
                    if isinstance(one, torch.Tensor):
                        shape = tuple(one.shape)
                        run.results.append((stack[-1], _RESHAPES.get(name, name), shape))
            return made

    hooks = [hook for module in model.modules() for hook in (
        module.register_forward_pre_hook(enter), module.register_forward_hook(leave))]
    try:
        with Results():
            yield
    finally:
        for hook in hooks:
            hook.remove()
        run.module = stack[-1] if stack else ""
