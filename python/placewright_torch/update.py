"""The optimizer without weights: its state as inputs, its update one parameter at a time.

The step that is recorded is one from the middle of a training: the state exists. An optimizer
that has not run yet makes its state in a first update that is not recorded, and its counters are
then set to `STEPS_BEFORE`.
"""

import collections
import contextlib
import sys

import torch

from . import compat
from .compat import STEPS_BEFORE
from .errors import ExportError
from .kept import Kept
from .changing_numbers import RUNS, Numbers

# Updates many tensors at once, or needs a GPU to be fake: the same arithmetic, for each parameter.
SWITCHES = ("foreach", "fused", "capturable")


class Update:
    """An optimizer whose parameters and state are fakes while it is in place."""

    def __init__(self, optimizer, fakes, recorder, originals):
        self._optimizer = optimizer
        self._fakes = fakes
        self._recorder = recorder
        self._originals = originals
        self._numbers = Numbers()
        self._inner = []  # optimizers that an own step() calls
        self._other_runs = None  # what the other runs of the update called: see changing_numbers.py
        self.notes = []
        self.name = f"the optimizer {type(optimizer).__name__}"
        self.parameters = []  # fakes, in the optimizer's order

    @contextlib.contextmanager
    def in_place(self):
        """While inside, the optimizer holds fakes of its parameters and state."""
        optimizer = self._optimizer
        groups = [dict(group) for group in optimizer.param_groups]
        attributes = dict(vars(optimizer))
        kept = Kept(self._own_code())
        self._inner = [inner for inner in kept.optimizers if inner is not optimizer]
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
            kept.restore()
            vars(optimizer).clear()
            vars(optimizer).update(attributes)
            _refill(optimizer.param_groups, groups)

    def _own_code(self):
        """Where the user's code and its data hang: hooks, an overridden step(), attributes."""
        optimizer = self._optimizer
        own = [value for key, value in vars(optimizer).items()
               if key not in ("state", "param_groups", "defaults")]
        own += [vars(kind)["step"] for kind in type(optimizer).__mro__
                if "step" in vars(kind) and not kind.__module__.startswith("torch.")]
        module = sys.modules[torch.optim.Optimizer.__module__]  # where hooks of all are kept
        own += [getattr(module, f"_global_optimizer_{when}_hooks", None)
                for when in ("pre", "post")]
        return own

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
            groups = self._all_groups()
            before = [dict(group) for group in groups]
            new = [inner for inner in self._inner if not inner.state]
            with recorder:
                self._step()
            _refill(groups, before)  # a schedule goes on from here
            for inner in new:
                for slots in inner.state.values():
                    _set_counters(slots)
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

    def try_others(self):
        """Runs the update with other hyper-parameters and counters, to see which numbers follow
        them. Not recorded; the gradients must be set."""
        optimizer, recorder = self._optimizer, self._recorder
        kept = Kept(self._own_code())
        groups = self._all_groups()
        before = [dict(group) for group in groups]
        gradients = [(p, p.grad) for p in self.parameters]
        state = optimizer.state
        self._other_runs = []
        for run in (*range(1, RUNS), 0):  # the recorded one last
            if run == 0:
                kept.restore()
            _refill(groups, before)
            for parameter, gradient in gradients:
                parameter.grad = gradient
            optimizer.state = state if run == 0 else collections.defaultdict(
                dict, {p: _copied(slots, recorder) for p, slots in state.items()})
            self._follow(run)
            if run and self._other_runs is not None:
                recorder.log = []
                try:
                    with recorder, self._numbers.following(run):
                        self._step()
                    self._other_runs.append(recorder.log)
                except Exception:  # the recorded run says what is wrong, if anything is
                    self._other_runs = None
                recorder.log = None

    def _all_groups(self):
        """Those of this optimizer and of all that its step() calls, each once."""
        groups = [group for one in (self._optimizer, *self._inner) for group in one.param_groups]
        return list({id(group): group for group in groups}.values())

    def _follow(self, run):
        """Makes numbers of this run of hyper-parameters and counters."""
        with self._numbers.following(run):
            self._numbers.groups(self._optimizer.param_groups)
            for parameter in dict.fromkeys(self.parameters):
                self._numbers.counters(self._optimizer.state.get(parameter, {}))
            own = {id(group) for group in self._optimizer.param_groups}
            for i, inner in enumerate(self._inner):
                others = [group for group in inner.param_groups if id(group) not in own]
                self._numbers.groups(others, f"{type(inner).__name__}_{i}.")
                for slots in inner.state.values():
                    self._numbers.counters(slots)

    def run(self):
        """The update itself; the caller has set the recorder's phase."""
        recorder, first = self._recorder, len(self._recorder.ops)
        with recorder, self._numbers.following(0):
            self._step()
        ops, inputs = recorder.ops[first:], None
        if self._other_runs is not None:
            inputs = self._numbers.inputs_of(ops, self._other_runs)
        if inputs is None:
            self.notes.append(f"{self.name} takes another way at other hyper-parameters, or cannot "
                              "run twice: the numbers of its update are those of the recorded step")
        recorder.inputs += inputs or []

    def _step(self):
        self._recorder.counters = True
        self._originals.numbers = self._numbers
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
            self._originals.numbers = None

    def state_tensors(self):
        """Fakes of all state, in the order of the parameters."""
        slots = [self._optimizer.state.get(p, {}) for p in dict.fromkeys(self.parameters)]
        found = [tensor for own in slots for value in own.values() for tensor in _tensors(value)]
        return [tensor for tensor in found if self._recorder.is_fake(tensor)]


def _refill(groups, content):
    """Gives these dicts their content back."""
    for group, before in zip(groups, content):
        group.clear()
        group.update(before)


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
