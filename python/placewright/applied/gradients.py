"""Which tensors of a step are gradients, as the update reads them, and of which piece of a
parameter.

For clipping by the norm of all gradients: each element of the model counts once, wherever copies of
it lie.
"""

import dataclasses

import torch

from .errors import ApplyError
from .exchanges import AllReduce


@dataclasses.dataclass
class Gradient:
    reference: str   # canonical
    device: str      # where the update reads it
    counts: bool     # towards the norm: the first of the copies


def find(step, references, storage_of):
    """The gradients of a step. An update's ops, joined by what they make and by state, must be of
    one parameter each."""
    found = Components(step, references, storage_of)
    result: dict = {}
    boxes: dict = {}
    for reference, device, one in found.read:
        parameter = found.parameter_of(one)
        if found.shape_of(reference) != parameter.shape or (reference, device) in result:
            continue
        box = tuple(sorted(tuple(sorted(axis.items())) for axis in parameter.box))
        seen = boxes.setdefault(parameter.of, {})
        counts = seen.setdefault(box, (reference, device)) == (reference, device)
        result[reference, device] = Gradient(reference, device, counts)
    _check_boxes(step, boxes)
    return list(result.values())


def _check_boxes(step, boxes):
    for of, seen in boxes.items():
        whole = torch.Size(step.recorded[of]["shape"]).numel()
        parts = [one for one in step.inputs.values() if one.of == of]
        sizes = {tuple(sorted(tuple(sorted(axis.items())) for axis in one.box)):
                 torch.Size(one.shape).numel() for one in parts}
        if sum(sizes[box] for box in seen) != whole:
            raise ApplyError("not-supported", "its gradients lie in parts that overlap",
                             f"clip: {of}", "Clip without, or take another plan.")


class Components:
    """The update's ops, joined by what they make and by state."""

    def __init__(self, step, references, storage_of):
        self._step, self._references, self._storage_of = step, references, storage_of
        self._above: dict = {}
        self.read = []  # (canonical reference, device, a storage of its component)
        updates = {op.name for op in step.ops if op.phase == "opt"}
        for op in step.ops:
            if op.name not in updates:
                continue
            own = storage_of[f"{op.name}:0"]
            for reference in op.inputs:
                maker, _ = references.resolve(reference)
                canonical = references.canonical(reference)
                if maker is None or maker.name in updates:
                    self._join(own, storage_of[canonical])
                else:
                    self.read.append((canonical, op.device, own))
        self._parameters: dict = {}
        for name, one in step.inputs.items():
            if one.kind == "param" and name in self._above:
                self._parameters.setdefault(self._top(name), []).append(one)

    def _top(self, storage):
        while self._above.setdefault(storage, storage) != storage:
            storage = self._above[storage]
        return storage

    def _join(self, a, b):
        self._above[self._top(a)] = self._top(b)

    def parameter_of(self, storage):
        found = self._parameters.get(self._top(storage), [])
        if len(found) != 1:
            raise ApplyError("not-supported", "the update of a parameter is not apart from those "
                             "of others", "clip", "Record the step with clipping instead.")
        return found[0]

    def has_parameter(self, op):
        return self._top(self._storage_of[f"{op.name}:0"]) in self._parameters

    def is_updated(self, name):
        """Whether an update reads an input of the step."""
        return name in self._above

    def shape_of(self, reference):
        op, k = self._references.resolve(reference)
        return op.results[k]["shape"] if op.results[k] else None


class Clip:
    """As torch.nn.utils.clip_grad_norm_ scales gradients."""

    def __init__(self, members, limit):
        """`members`: one of each rank."""
        self._sum, self._limit = AllReduce(members), limit

    def factor(self, counted, device):
        """Of all gradients; `counted`: those of this rank that count towards the norm."""
        total = torch.zeros((), dtype=torch.float64, device=device)
        for gradient in counted:
            total = total + torch.linalg.vector_norm(gradient).double().square().to(device)
        total, = self._sum.end(self._sum.begin(total))
        return (self._limit / (total.sqrt() + 1e-6)).clamp(max=1.0)


def scaled(gradient, factor):
    return gradient * factor.to(gradient.device, gradient.dtype)
