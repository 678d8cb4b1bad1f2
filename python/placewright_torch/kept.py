"""What the user's own code in an update may change, put back afterwards: schedulers, counters and
lists that hooks of the optimizer or an overridden step() reach.
"""

import collections
import functools
import types

import torch

from . import compat

NEVER = (type, types.ModuleType, types.BuiltinFunctionType, str, bytes, int, float, complex,
         type(None), torch.dtype, torch.device, compat.Mode)


class Kept:
    """The present state of all that `roots` lead to."""

    def __init__(self, roots):
        self._restore = []  # calls that put one thing back each
        self._seen = {}  # id -> the object, kept alive
        self.optimizers = []  # that the roots lead to
        pending = list(roots)
        while pending:
            pending += self._keep(pending.pop())

    def restore(self):
        for call in self._restore:
            call()

    def _keep(self, value):
        """Notes how to restore `value`; returns what it leads to."""
        if isinstance(value, NEVER) or id(value) in self._seen:
            return []
        self._seen[id(value)] = value
        if isinstance(value, torch.optim.Optimizer):
            self.optimizers.append(value)
        if isinstance(value, torch.Tensor):
            self._keep_number(value)
            return []
        if isinstance(value, dict):
            self._restore.append(functools.partial(_refill, value, dict(value)))
            return list(value.values())
        if isinstance(value, (list, collections.deque)):
            self._restore.append(functools.partial(_relist, value, list(value)))
            return list(value)
        if isinstance(value, set):
            self._restore.append(functools.partial(_refill, value, set(value)))
            return list(value)
        if isinstance(value, (tuple, frozenset)):
            return list(value)
        if isinstance(value, types.FunctionType):
            return self._keep_function(value)
        if isinstance(value, types.MethodType):
            return [value.__self__, value.__func__]
        if isinstance(value, functools.partial):
            return [value.func, *value.args, *value.keywords.values()]
        return [vars(value)] if hasattr(value, "__dict__") else []

    def _keep_number(self, tensor):
        """A counter of the host, which the update computes with content."""
        if tensor.dim() == 0 and not isinstance(tensor, compat.FakeTensor) \
                and tensor.device.type == "cpu" and tensor.layout == torch.strided:
            self._restore.append(functools.partial(_rewrite, tensor, tensor.detach().clone()))

    def _keep_function(self, function):
        found = []
        for cell in function.__closure__ or ():
            try:
                found.append(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
            self._restore.append(functools.partial(setattr, cell, "cell_contents", found[-1]))
        found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if not (function.__module__ or "").startswith("torch"):
            for name in function.__code__.co_names:
                if name in function.__globals__:
                    found.append(function.__globals__[name])
                    self._restore.append(functools.partial(
                        function.__globals__.__setitem__, name, found[-1]))
        return found


def _refill(container, content):
    """Only where it differs: an equal dict may be of a kind that computes when it is written."""
    if len(container) == len(content) and all(
            key in container and (not isinstance(content, dict) or container[key] is content[key])
            for key in content):
        return
    container.clear()
    container.update(content)


def _relist(container, content):
    if len(container) != len(content) or any(a is not b for a, b in zip(container, content)):
        container.clear()
        container.extend(content)


def _rewrite(tensor, content):
    with torch.no_grad():
        torch.Tensor.copy_(tensor, content)
