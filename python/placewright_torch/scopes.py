"""Which module runs, forward and backward.

A forward op belongs to the innermost module whose `forward` runs. A backward op belongs to the
module of the forward op that it differentiates: every node of autograd's graph is marked, as soon
as it can be seen, with the module that runs, and while the engine runs the node, that module runs
again. What the engine does between nodes (it adds the gradients of a tensor that several ops read)
is inside of none.

Used of PyTorch: `register_prehook`, `register_hook` and `metadata` of autograd's nodes, and
`torch.overrides.TorchFunctionMode` (all since 1.13).
"""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

from .fakes import tensors_of


MARK = "placewright"


class Scopes:
    """The paths of the modules that run, the innermost last; "" is the model itself."""

    def __init__(self):
        self._running = []
        self._between = False  # the engine runs inside of a node (checkpointing), but no node of it
        self._classes = {}  # path -> name of the module's class

    def innermost(self):
        """The path of the innermost module that runs; None outside of all."""
        return self._running[-1] if self._running and not self._between else None

    def class_of(self, path):
        """The name of the class of the module at a path, or None."""
        return self._classes.get(path)

    def clear(self):
        self._running.clear()
        self._between = False

    @contextlib.contextmanager
    def watching(self, roots):
        """While inside, the modules of `roots`, pairs (module, prefix of its paths), are followed."""
        handles = []
        try:
            for root, prefix in roots:
                for path, module in root.named_modules():
                    handles += self._watch(module, (prefix + path).rstrip("."))
            with _Marking(self):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def _watch(self, module, path):
        self._classes[path] = type(module).__name__

        def leave(_, __, output):
            self.mark(output)
            self._running.pop()

        def enter(_, arguments):
            self.mark(arguments)  # checkpointing computes again where functions are not followed
            self._enter(path)

        yield module.register_forward_pre_hook(enter)
        yield module.register_forward_hook(leave)

    def _enter(self, path):
        self._running.append(path)
        self._between = False

    def mark(self, value):
        """Marks what autograd noted since the last call, as far as the tensors of `value` lead to
        it. What lies before it has been marked by the module that ran then."""
        path = self.innermost()
        nodes = [tensor.grad_fn for tensor in tensors_of(value)]
        while nodes:
            node = nodes.pop()
            if node is None or hasattr(node, "variable") or node.metadata.get(MARK) is self:
                continue
            node.metadata[MARK] = self  # nodes that were held would hold what they saved
            nodes += [before for before, _ in node.next_functions]
            if hasattr(node, "register_prehook"):
                node.register_prehook(lambda *_: self._enter(path or ""))
                node.register_hook(self._leave_node)

    def _leave_node(self, *_):
        self._running.pop()
        self._between = bool(self._running)


class _Marking(TorchFunctionMode):
    """Marks what every call of PyTorch's functions adds to autograd's graph."""

    def __init__(self, scopes):
        super().__init__()
        self._scopes = scopes

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if torch.is_grad_enabled():
            self._scopes.mark(result)
        return result
