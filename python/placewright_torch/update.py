"""The optimizer without weights: its state as inputs, its update one parameter at a time.

The step that is recorded is one from the middle of a training: the state exists. An optimizer
that has not run yet makes its state in a first update that is not recorded, and its counters are
then set to `STEPS_BEFORE`.
"""

import collections
import contextlib

import torch

from . import compat
from .compat import STEPS_BEFORE
from .errors import ExportError

# Updates many tensors at once, or needs a GPU to be fake: the same arithmetic, for each parameter.
SWITCHES = ("foreach", "fused", "capturable")


class Update:
    """An optimizer whose parameters and state are fakes while it is in place."""

    def __init__(self, optimizer, fakes, recorder):
        self._optimizer = optimizer
        self._fakes = fakes
        self._recorder = recorder
        self.name = f"the optimizer {type(optimizer).__name__}"
        self.parameters = []  # fakes, in the optimizer's order

    @contextlib.contextmanager
    def in_place(self):
        """While inside, the optimizer holds fakes of its parameters and state."""
        optimizer = self._optimizer
        groups = [dict(group) for group in optimizer.param_groups]
        attributes = dict(vars(optimizer))
        try:
            state = collections.defaultdict(dict)
            for group in optimizer.param_groups:
                originals = group["params"]
                group["params"] = [self._fake_of(parameter) for parameter in originals]
                self.parameters += group["params"]
                for switch in SWITCHES:
                    if group.get(switch):
                        group[switch] = False
                for original, fake in zip(originals, group["params"]):
                    if optimizer.state.get(original):
                        state[fake] = self._state_fakes(optimizer.state[original], fake)
            optimizer.state = state
            yield
        finally:
            vars(optimizer).clear()
            vars(optimizer).update(attributes)
            for group, before in zip(optimizer.param_groups, groups):
                group.clear()
                group.update(before)

    def _fake_of(self, parameter):
        fake = self._fakes.fake_of(parameter)
        if fake is None:
            raise ExportError(
                f"the optimizer updates a tensor of shape {list(parameter.shape)} that is no "
                "parameter of the model or the loss: build it from model.parameters(), after the "
                "model was moved or changed")
        return fake

    def _state_fakes(self, slots, parameter):
        return {slot: self._state_fake(value, slot, parameter) for slot, value in slots.items()}

    def _state_fake(self, value, slot, parameter):
        if isinstance(value, (list, tuple)):
            return type(value)(self._state_fake(item, slot, parameter) for item in value)
        if not isinstance(value, torch.Tensor):
            return value
        if value.dim() > 0 or (parameter.dim() == 0 and slot != "step"):
            return self._recorder.fake_like(value)
        # A counter of the host: a copy of its own, which the update may change.
        if isinstance(value, compat.FakeTensor) or value.device.type == "meta":
            return torch.full((), float(STEPS_BEFORE), dtype=value.dtype)
        return value.detach().clone().cpu()

    def prepare(self):
        """Runs a first update for those parameters whose state does not exist, then announces all
        state as inputs. The gradients must be set."""
        optimizer, recorder = self._optimizer, self._recorder
        fresh = [p for p in self.parameters if p.grad is not None and not optimizer.state.get(p)]
        if fresh:
            kept = {p: optimizer.state[p] for p in self.parameters if optimizer.state.get(p)}
            kept = {p: _copied(slots, recorder) for p, slots in kept.items()}
            with recorder:
                self._step()
            for parameter, slots in kept.items():
                optimizer.state[parameter] = slots
            for parameter in fresh:
                _set_counters(optimizer.state.get(parameter, {}))
        for parameter in dict.fromkeys(self.parameters):
            path = self._fakes.path_of(parameter)
            for slot, value in optimizer.state.get(parameter, {}).items():
                self._announce(f"opt_state:{path}.{slot}", value)

    def _announce(self, name, value):
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                self._announce(f"{name}.{i}", item)
        elif isinstance(value, torch.Tensor) and self._recorder.is_fake(value):
            self._recorder.add_input(name, "opt_state", value)

    def run(self):
        """The update itself; the caller has set the recorder's phase."""
        with self._recorder:
            self._step()

    def _step(self):
        self._recorder.counters = True
        try:
            self._optimizer.step()
        except TypeError as error:
            if "closure" in str(error):
                raise ExportError(
                    f"{type(self._optimizer).__name__} evaluates the model itself (a closure) as "
                    "often as its data asks for; use an optimizer with a plain step()") from error
            raise
        finally:
            self._recorder.counters = False

    def state_tensors(self):
        """Fakes of all state, in the order of the parameters."""
        slots = [self._optimizer.state.get(p, {}) for p in dict.fromkeys(self.parameters)]
        found = [tensor for own in slots for value in own.values() for tensor in _tensors(value)]
        return [tensor for tensor in found if self._recorder.is_fake(tensor)]


def _tensors(value):
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def _copied(slots, recorder):
    """State whose counters do not move with the original's."""
    return {slot: value.clone() if isinstance(value, torch.Tensor) and not recorder.is_fake(value)
            else value for slot, value in slots.items()}


def _set_counters(slots):
    step = slots.get("step")
    if isinstance(step, torch.Tensor):
        if not isinstance(step, compat.FakeTensor):
            step.fill_(STEPS_BEFORE)
    elif isinstance(step, (int, float)):
        slots["step"] = type(step)(STEPS_BEFORE)
