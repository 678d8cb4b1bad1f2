"""The update by the user's own optimizer class, on this rank's pieces.

The recorded update is left out; it says which tensor is the gradient of which piece. The class must
work on each element by itself where a parameter lies in parts.
"""

import collections
import copy
import dataclasses

import torch

from .checks import like
from .errors import ApplyError
from .gradients import Clip, Components, scaled
from .tensors import piece_of

WHOLE_TENSORS = ("Adafactor", "Muon", "Lamb", "LARS", "Shampoo", "SOAP")  # look at them as such
REMEDY = "Apply it with update=\"recorded\"."


@dataclasses.dataclass
class Updated:
    """A piece of a parameter that the step updates."""
    name: str       # of the step's input
    device: str     # of the plan, where it lies
    gradient: str   # canonical reference
    counts: bool    # towards the norm of all gradients: the first of the copies


def without_update(step, references, storage_of, homes):
    """(the step without the update of its parameters, a list of Updated). `homes`: storage -> the
    plan's device that has it."""
    found = Components(step, references, storage_of)
    updated: dict = {}
    boxes: set = set()
    for reference, _, component in found.read:
        piece = found.parameter_of(component)
        if found.shape_of(reference) != piece.shape:
            continue
        known = updated.get(piece.name)
        if known and known.gradient != reference:
            raise _refused(piece.of, "its update reads several tensors of its shape")
        box = piece.of, repr(piece.box)
        if not known:
            updated[piece.name] = Updated(piece.name, homes[piece.name], reference,
                                          box not in boxes)
            boxes.add(box)
    gone = {op.name for op in step.ops if op.phase == "opt" and found.has_parameter(op)}
    for members in step.collectives:
        if gone.intersection(members):
            raise _refused(members[0], "the update itself exchanges tensors")
    missing = [name for name, one in step.inputs.items()
               if one.kind == "param" and found.is_updated(name) and name not in updated]
    if missing:
        raise _refused(missing[0], "its gradient is not known")
    rest = dataclasses.replace(step, ops=[op for op in step.ops if op.name not in gone])
    return rest, list(updated.values())


def _refused(place, why):
    return ApplyError("not-supported", f"{why}, where the user's own class cannot take its place",
                      place, REMEDY)


class OwnUpdate:
    def __init__(self, updated, pieces, wholes, step, optimizer, groups, limit):
        """`updated`: all ranks'; `pieces`: (name, device) -> this rank's piece; `wholes`: recorded
        name -> the user's parameter; `limit`: of the norm of all gradients, or None."""
        self._user, self._clip = optimizer, None
        self._updated = [one for one in updated if (one.name, one.device) in pieces]
        if limit is not None:
            self._clip = Clip(groups.of_all(), limit)
        self._first = groups.places.first
        owners = {id(p): i for i, g in enumerate(optimizer.param_groups) for p in g["params"]}
        self.parameters = {}  # (name, device) -> Parameter over the piece
        members: list = [[] for _ in optimizer.param_groups]
        state: dict = collections.defaultdict(dict)
        for one in self._updated:
            of, box = step.inputs[one.name].of, step.inputs[one.name].box
            if box and type(optimizer).__name__ in WHOLE_TENSORS:
                raise ApplyError("not-supported", f"{type(optimizer).__name__} looks at whole "
                                 "tensors, and it lies in parts", of, REMEDY)
            if id(wholes[of]) not in owners:
                raise ApplyError("plan-mismatch", "the optimizer does not update it", of,
                                 "Record and plan the step of this model again.")
            made = torch.nn.Parameter(pieces[one.name, one.device])
            self.parameters[one.name, one.device] = made
            members[owners[id(wholes[of])]].append(made)
            for slot, value in optimizer.state.get(wholes[of], {}).items():
                state[made][slot] = _part_of(value, wholes[of], box, made.device)
        self._optimizer = like(optimizer, members, state)

    def run(self, gradients):
        """`gradients`: in the order of `self._updated`."""
        if self._clip is not None:
            counted = [g for g, one in zip(gradients, self._updated, strict=True) if one.counts]
            factor = self._clip.factor(counted, self._first)
            gradients = [scaled(gradient, factor) for gradient in gradients]
        for group, user in zip(self._optimizer.param_groups, self._user.param_groups,
                               strict=True):
            group.update({key: value for key, value in user.items() if key != "params"})
        for one, gradient in zip(self._updated, gradients, strict=True):
            self.parameters[one.name, one.device].grad = gradient
        with torch.enable_grad():
            type(self._user).step(self._optimizer)
        for parameter in self.parameters.values():
            parameter.grad = None

    def state_of(self, key):
        """Slot -> value of one of this rank's pieces, (name, device); {} of another rank's."""
        parameter = self.parameters.get(key)
        return {} if parameter is None else self._optimizer.state.get(parameter, {})

    def load(self, key, state):
        self._optimizer.state[self.parameters[key]] = state


def _part_of(value, parameter, box, device):
    if not isinstance(value, torch.Tensor):
        return copy.deepcopy(value)
    if value.shape == parameter.shape and value.dim() > 0:
        return piece_of(value, box).to(device)
    return value.detach().clone()

