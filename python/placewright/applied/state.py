"""The state of a training as its pieces have it: put together in the form of the user's own, or
written to checkpoints and read from them."""

import collections
import dataclasses

import torch
import torch.distributed as dist

from . import checkpoints
from .checks import may_be
from .errors import ApplyError
from .meeting import gathered
from .pieces import DRAWS_STEP
from .tensors import DTYPES


class TrainingState:
    def __init__(self, prepared, pieces, numbers, own_update, model, optimizer, group):
        """`own_update`: the OwnUpdate that keeps the optimizer's state, or None."""
        self._prepared, self._pieces, self._numbers = prepared, pieces, numbers
        self._own_update = own_update
        self._model, self._optimizer, self._group = model, optimizer, group
        self._first = group is None or dist.get_rank(group) == 0
        self._held = set(pieces.held())
        self._names = {id(tensor): name for name, tensor in prepared.tensors.items()}
        self._of_keys = {key: self._names.get(id(value), "") for key, value in
                         model.state_dict(keep_vars=True).items()}

    # As the user's

    def of_model(self):
        made, result = {}, collections.OrderedDict()
        for key, value, name in self._model_entries():
            if not isinstance(value, torch.Tensor):
                result[key] = value
                continue
            if name not in self._held:
                result[key] = value.detach().clone()
                continue
            if name not in made:
                made[name] = self._gathered(name, value).to(value.dtype)
            result[key] = made[name]
        return result

    def of_optimizer(self):
        own, result, number = self._optimizer.state_dict(), {}, 0
        kept = self._kept()
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                found = {}
                for slot, value, name in self._slots_of(parameter, self._numbers.steps > 0, kept):
                    found[slot] = self._gathered(name, parameter, kept, slot) if name else value
                if found:
                    result[number] = found
                number += 1
        return {**own, "state": result}

    def _kept(self):
        """What optimizers of an own update keep on all ranks: (name of an input, device) -> {slot:
        the type of a tensor in the piece's shape, or another value}; None without one. All ranks
        must call it."""
        if self._own_update is None:
            return None
        said = {}
        for key, parameter in self._own_update.parameters.items():
            said[key] = {slot: value.dtype if _is_piece(value, parameter) else value
                         for slot, value in self._own_update.state_of(key).items()}
        everything = {}
        for one in gathered(self._group, said):
            everything.update(one)
        return everything

    def _own_pieces(self, slot):
        """What this rank's own update keeps in a slot, (name of an input, device) -> tensor."""
        found = {key: self._own_update.state_of(key).get(slot)
                 for key in self._own_update.parameters}
        return {key: value for key, value in found.items() if value is not None}

    def _model_entries(self):
        """(key, value, recorded name or "") of the model's state_dict."""
        for key, value in self._model.state_dict(keep_vars=True).items():
            name = self._of_keys.get(key, "")
            if name in self._held:
                self._check_unmoved(name, value)
            yield key, value, name

    def _check_unmoved(self, name, value):
        step, record = self._prepared.step, self._prepared.step.recorded[name]
        if list(value.shape) != record["shape"] or not may_be(step, name, value.dtype):
            raise ApplyError("plan-mismatch", f"the model's is {list(value.shape)} of "
                             f"{value.dtype} by now, the plan's {record['shape']} of "
                             f"{DTYPES[record['dtype']]}", name, "Leave the model as it was when "
                             "the plan was applied, or record and plan it again.")

    def _slots_of(self, parameter, begun, kept):
        """(slot, value, recorded name or "") of the optimizer's state of a parameter; `begun`:
        whether it has made a step; `kept`: what _kept() says. The name is the one of the tensor in
        whose pieces' places the slot's lie."""
        if kept is not None:
            name = self._names[id(parameter)]
            first = self._pieces.parts(name)[0] if name in self._held else None
            for slot, value in kept.get(first, {}).items():
                is_piece = isinstance(value, torch.dtype)
                yield slot, None if is_piece else value, name if is_piece else ""
            return
        state = self._prepared.state
        had = self._optimizer.state.get(parameter)
        if not had and not (begun and parameter.requires_grad):
            return
        recorded = {slot: name for name, (of, slot) in state.slots.items() if of is parameter}
        for slot, value in state.state_of(parameter).items():
            name = recorded.get(slot, "")
            if name in self._held:
                yield slot, None, name
            elif slot == "step":
                steps = self._numbers.steps
                yield slot, torch.full_like(value, steps) if isinstance(value, torch.Tensor) \
                    else type(value)(steps), ""
            else:
                yield slot, value.clone() if isinstance(value, torch.Tensor) else value, ""

    def _gathered(self, name, like, kept=None, slot=""):
        """The whole of a tensor, or of what an own update keeps for it in a slot."""
        device = torch.device("cpu") if like.device.type == "meta" else like.device
        record = self._prepared.step.recorded[name]
        if kept is None:
            return self._pieces.gather(name, record["shape"], DTYPES[record["dtype"]], device)
        dtype = kept[self._pieces.parts(name)[0]][slot]
        return self._pieces.gather(name, record["shape"], dtype, device, self._own_pieces(slot))

    # In checkpoints, with keys as get_state_dict() of torch.distributed.checkpoint.state_dict has
    # them

    def save(self, folder):
        tensors: dict = {}
        objects = {"apply.steps": self._numbers.steps}
        for key, value, name in self._model_entries():
            self._add(tensors, objects, f"model.{key}", value,
                      self._pieces.to_save(name) if name in self._held else None)
        kept = self._kept()
        for path, parameter in self._parameters():
            for slot, value, name in self._slots_of(parameter, True, kept):
                own = self._own_pieces(slot) if kept is not None else None
                self._add(tensors, objects, f"optimizer.state.{path}.{slot}", value,
                          self._pieces.to_save(name, own) if name else None)
        objects["optimizer.param_groups"] = self._numbers_of_groups()
        checkpoints.save(folder, tensors, objects, self._group)

    def _add(self, tensors, objects, key, value, chunks):
        if chunks is not None:
            tensors[key] = chunks
        elif isinstance(value, torch.Tensor):
            tensors[key] = checkpoints.whole(value, self._first)
        else:
            objects[key] = value

    def load(self, folder):
        groups = self._stored_groups(folder)
        tensors = {f"model.{key}": self._pieces.to_load(name)
                   for key, _, name in self._model_entries() if name in self._held}
        names = ["apply.steps"]
        states = {}
        if self._own_update is None:
            for path, parameter in self._parameters():
                for slot, _, name in self._slots_of(parameter, True, None):
                    if name:
                        tensors[f"optimizer.state.{path}.{slot}"] = self._pieces.to_load(name)
        else:
            states = self._rooms(checkpoints.stored(folder), tensors, names)
        found = checkpoints.load(folder, tensors, names, self._group)
        for key, state in states.items():
            self._own_update.load(key, {  # each piece has counters of its own
                slot: found[value.key] if isinstance(value, _Named) else value.clone()
                for slot, value in state.items()})
        self._numbers.steps = found["apply.steps"]
        self._pieces.fill(DRAWS_STEP, found["apply.steps"])
        for group, loaded in zip(self._optimizer.param_groups, groups, strict=True):
            group.update({key: value for key, value in loaded.items() if key != "params"})

    def _stored_groups(self, folder):
        """Before anything is read into: what does not fit leaves the training as it is."""
        key, own = "optimizer.param_groups", self._optimizer.param_groups
        groups = checkpoints.load(folder, {}, [key], self._group)[key]
        if len(groups) != len(own):
            raise ApplyError("plan-mismatch", f"the checkpoint's optimizer has {len(groups)} "
                             f"groups of parameters, this one {len(own)}", key,
                             "Load what train.save() wrote for this model and optimizer.")
        return groups

    def _rooms(self, stored, tensors, names):
        """Room for what an own update keeps, (name of an input, device) -> {slot: tensor or the
        object that has a key}, added to the tensors and names that are read. `stored`: key -> the
        checkpoint's (shape, type) of a tensor, or None of an object."""
        states: dict = {key: {} for key in self._own_update.parameters}
        for path, parameter in self._parameters():
            of, prefix = self._names[id(parameter)], f"optimizer.state.{path}."
            own = [key for key in states if self._prepared.step.inputs[key[0]].of == of]
            for key in [key for key in stored if key.startswith(prefix)] if own else []:
                slot = key[len(prefix):]
                if stored[key] is None:
                    names.append(key)
                    for one in own:
                        states[one][slot] = _Named(key)
                    continue
                shape, dtype = stored[key]
                if tuple(shape) == tuple(parameter.shape) and shape:
                    room = {one: torch.zeros_like(self._own_update.parameters[one], dtype=dtype,
                                                  requires_grad=False) for one in own}
                    tensors[key] = self._pieces.to_load(of, room)
                else:
                    room = dict.fromkeys(own, torch.zeros(shape, dtype=dtype))
                    tensors[key] = checkpoints.whole(room[own[0]])
                for one in own:
                    states[one][slot] = room[one]
        return states

    def _parameters(self):
        """(path, parameter) of what the optimizer updates."""
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                yield self._names[id(parameter)].partition(":")[2], parameter

    def _numbers_of_groups(self):
        return [{**group, "params": [self._names[id(p)].partition(":")[2]
                                     for p in group["params"]]}
                for group in self._optimizer.param_groups]


@dataclasses.dataclass
class _Named:
    """An object that a checkpoint has under a key."""
    key: str


def _is_piece(value, parameter):
    return isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape == parameter.shape
