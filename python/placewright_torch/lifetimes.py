"""How long PyTorch keeps what a step makes.

A node of autograd's graph keeps what it saved until it has run, not until the last of its ops that
reads it; a checkpoint keeps what it computed again; a function keeps its local variables. The
recorded step runs through PyTorch's own autograd, so that its tensors, though without content, end
when those of the step itself do. Where that is behind the last op that reads one, the op that ran
last before its end holds it.

Tensors of reference cycles end when the collector comes, at any op: it is switched off, and they
are held by none. So are those that are there when the backward pass is over.
"""

import contextlib
import gc
import weakref


@contextlib.contextmanager
def no_collection():
    """Without the collector of reference cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


VIEWS = ("aten._unsafe_view.", "aten.unsafe_split")  # whose results share memory, though no schema says so


def computes(op):
    """True for a record whose op is no view."""
    return op.get("alias") != "view" and not op["target"].startswith(VIEWS)


class Lifetimes:
    """Of the memories (memory.Memory) that ops of the passes make; `ops` are the records, a list
    that grows."""

    def __init__(self, ops):
        self._ops = ops
        self._watched = set()  # weak references to memories
        self._ended = []  # (reference, the last op that read it, the op that ran last), by position
        self.over = False  # the passes are

    def begin(self, memory, reference):
        """An op that is not yet among the records made it."""
        memory.last_use = last_use = [len(self._ops)]

        def end(watched):
            self._watched.discard(watched)
            if not self.over:
                self._ended.append((reference, last_use[0], len(self._ops) - 1))

        self._watched.add(weakref.ref(memory, end))

    def read(self, memory):
        """An op that is not yet among the records reads or writes it."""
        if memory.last_use:
            memory.last_use[0] = len(self._ops)

    def holds(self, kept):
        """Name of an op -> references to what it holds, of the ops whose records are `kept`."""
        names = {id(op) for op in kept}
        before, last = [], -1
        for position, op in enumerate(self._ops):
            last = position if id(op) in names and computes(op) else last
            before.append(last)
        made = {op["name"] for op in kept}
        held = {}
        for reference, last_use, end in self._ended:
            holder = before[end]
            if holder > last_use and reference.partition(":")[0] in made:
                held.setdefault(self._ops[holder]["name"], []).append(reference)
        return held
