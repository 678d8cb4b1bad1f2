"""Which ops may write their result over an argument that nothing reads later.

What eager PyTorch cannot know, a step that is known to its end does: it then asks for less memory,
which the processor's caches hold for longer, and which the system need not clear anew.
"""

from . import op_schemas

# Elementwise operators with a form that writes its first argument.
WRITING = {f"aten.{name}.{overload}": f"aten.{name}_.{overload}" for name, overload in (
    ("add", "Tensor"), ("sub", "Tensor"), ("mul", "Tensor"), ("div", "Tensor"),
    ("add", "Scalar"), ("sub", "Scalar"), ("mul", "Scalar"), ("div", "Scalar"),
    ("addcmul", "default"), ("addcdiv", "default"), ("lerp", "Scalar"),
    ("sqrt", "default"), ("rsqrt", "default"), ("neg", "default"), ("exp", "default"),
    ("relu", "default"), ("sigmoid", "default"), ("tanh", "default"),
    ("masked_fill", "Scalar"), ("masked_fill", "Tensor"))}
WRITING["aten.pow.Tensor_Scalar"] = "aten.pow_.Scalar"
# The same with a form that takes the tensor to write as an argument of this name.
WRITING_OUT = {f"aten.{name}.default": (f"aten.{name}.grad_input", "grad_input") for name in (
    "threshold_backward", "silu_backward", "gelu_backward", "sigmoid_backward", "tanh_backward")}


class InPlace:
    """Of the ops of one rank."""

    def __init__(self, ordered, references, devices, own, uses):
        """`devices`: those of the plan that this rank has; `own`: its (place, node) in their order;
        `uses`: (reference, device) -> place of its last use, as rank_code has it."""
        self._references, self._storage_of = references, ordered.storage_of
        self._ends: dict = {}  # (storage, device) -> place of the last use of anything that lies there
        self._fresh: set = set()  # (reference, device): results alone in memory of their own
        self._crossing = set()  # (storage, device): what is sent, or given to a collective
        for key, place in uses.items():
            if isinstance(key, tuple):
                at = ordered.storage_of[key[0]], key[1]
                self._ends[at] = max(place, self._ends.get(at, 0))
        for _, node in own:
            if node.kind == "transfer":
                self._crossing.add((ordered.storage_of[node.reference], node.source))
            for op, device in node.members:
                if device not in devices:
                    continue
                if node.kind == "collective":
                    self._crossing.update((ordered.storage_of[references.canonical(r)], device)
                                          for r in op.inputs)
                elif op.target.startswith("aten.") and op_schemas.aliased_input(op) is None:
                    self._fresh.update((f"{op.name}:{k}", device) for k in range(op.outputs))

    def form_of(self, op, device, place):
        """(target, name of the argument to write or "") of the form that writes argument 0, or
        None where it may not be written."""
        target, out = WRITING_OUT.get(op.target, (WRITING.get(op.target), ""))
        first = op.args[0] if op.args else None
        if target is None or not isinstance(first, str) or not first[1:].isdigit():
            return None
        reference = self._references.canonical(op.inputs[int(first[1:])])
        maker, k = self._references.resolve(reference)
        at = reference, device
        if at not in self._fresh or at in self._crossing or \
                self._storage_of[reference] != reference or self._ends[at] > place:
            return None
        others = {self._references.canonical(r) for r in op.inputs} - {reference}
        if reference in {self._storage_of[other] for other in others}:
            return None  # as x + x.t(): what is written is read elsewhere, too
        same = all(maker.results[k][key] == op.results[0][key] for key in ("shape", "dtype"))
        return (target, out) if same else None
