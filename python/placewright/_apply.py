"""A planned step, run by the user's own PyTorch: each rank its part.

    train = pw.apply("model.plan.json", model, optimizer)   # under torchrun, on every rank
    for x, y in loader:
        loss = train(x, y)                                  # the global batch, on every rank
    model.load_state_dict(train.state_dict())

See docs/apply.md.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import hashlib
import os
import pathlib
import tempfile
from collections.abc import Sequence, Sized

import torch
import torch.distributed as dist

from ._plan import Plan
from .applied import checks, plan_files
from .applied.errors import ApplyError
from .applied.exchanges import Groups
from .applied.numbers import Numbers
from .applied.order import References, order
from .applied.pieces import DRAWS_STEP, Pieces
from .applied.places import Places, own_devices
from .applied.rank_code import generate
from .applied.shares import BatchSampler, Shares
from .applied.tensors import DTYPES

SAMPLED = 64
Device = torch.device | str
__all__ = ["ApplyError", "TrainStep", "apply"]


def apply(plan: Plan | str | os.PathLike, model: torch.nn.Module,
          optimizer: torch.optim.Optimizer, *,
          process_group: dist.ProcessGroup | None = None,
          devices: Device | Sequence[Device] | None = None, batch: str = "global",
          compile: bool = False, clip: float | None = None,
          loss: torch.nn.Module | None = None) -> TrainStep:
    """This rank's part of a planned step, as a function of the batch.

    Parameters
    ----------
    plan : Plan, str or os.PathLike
        What `plan` returned, or the file that `Plan.save` or `placewright plan -o` wrote; what that
        names lies where it was. Equal on all ranks: a search that time ended need not be.
    model : torch.nn.Module
        The recorded model, with the weights to begin with, equal on all ranks. It is left as it is.
    optimizer : torch.optim.Optimizer
        The recorded optimizer, over the model's parameters. Its state is copied; the numbers in its
        groups (rates, betas) are read before every step, so that a scheduler works as ever.
    process_group : torch.distributed.ProcessGroup, optional
        The ranks, one for each device that the plan uses, in the plan's order; by default all.
    devices : torch.device, str, or a sequence of them, optional
        What the plan's devices of this rank are in PyTorch, in the plan's order: the first ranks
        have the first devices. By default a rank has one, which is `cuda:LOCAL_RANK` where the plan
        has a GPU and PyTorch sees one, else the CPU.
    batch : "global" or "share"
        What each rank is given: the global batch, or the samples of it that it reads alone
        (`TrainStep.share`).
    compile : bool
        Whether this rank's part goes through torch.compile(fullgraph=True).
    clip : float, optional
        The norm of all gradients together beyond which they are scaled, as
        torch.nn.utils.clip_grad_norm_ does it.
    loss : torch.nn.Module, optional
        The recorded loss, where it has parameters or buffers of its own.

    Returns
    -------
    TrainStep
        loss = train(x, y).

    Raises
    ------
    ApplyError
        On every rank, with the cause on the first rank that has one.
    """
    if batch not in ("global", "share"):
        raise ApplyError("argument", f"it is {batch!r}", "batch", "Give \"global\" or \"share\".")
    group = process_group
    if group is None and dist.is_available() and dist.is_initialized():
        group = dist.group.WORLD
    with tempfile.TemporaryDirectory() as folder:
        prepared = _on_all(group, lambda: _Prepared(_path_of(plan, folder), model, optimizer, loss,
                                                    group, devices, clip))
    digests = _gathered(group, prepared.digest)
    others = [rank for rank, one in enumerate(digests) if one != digests[0]]
    if others:
        raise ApplyError("plan-mismatch", f"rank {others[0]} has another plan, or other weights, "
                         "than rank 0", remedy="Give all ranks the same files and weights: "
                         "build the model behind torch.manual_seed(), or load a checkpoint.")
    return _on_all(group, lambda: TrainStep(prepared, model, optimizer, group, batch, compile))


def _path_of(plan, folder):
    if isinstance(plan, Plan):
        return plan.save(pathlib.Path(folder) / "applied.plan.json")
    return plan


def _gathered(group, value):
    """The values of all ranks."""
    if group is None or dist.get_world_size(group) == 1:
        return [value]
    found = [None] * dist.get_world_size(group)
    with _current_gpu(group):
        dist.all_gather_object(found, value, group=group)
    return found


def _current_gpu(group):
    """NCCL takes the current GPU, which is the first one unless the program says more."""
    local = os.environ.get("LOCAL_RANK")
    if dist.get_backend(group) == "nccl" and local and torch.cuda.current_device() == 0:
        return torch.cuda.device(int(local))
    return contextlib.nullcontext()


def _on_all(group, make):
    """What `make` returns, where it does so on all ranks; else an error on each of them."""
    made, error = None, None
    try:
        made = make()
    except Exception as caught:  # the others must not wait for this rank
        error = caught
    known = error if error is None or isinstance(error, ApplyError) else \
        ApplyError("failed", f"{type(error).__name__}: {error}")
    for rank, other in enumerate(_gathered(group, known)):
        if other is not None:
            raise error or ApplyError(other.code, f"rank {rank} cannot apply the plan: {other}")
    return made


class _Prepared:
    """What a rank finds out by itself, before ranks talk to one another."""

    def __init__(self, plan_path, model, optimizer, loss, group, devices, clip):
        self.step = plan_files.read(plan_path)
        self.devices = self._own_devices(group, devices)
        self.tensors = checks.named_tensors(model, loss)
        checks.check_model(self.step, self.tensors)
        checks.check_optimizer(self.step, optimizer)
        self.state = checks.OptimizerState(self.step, self.tensors, optimizer)
        self.steps = checks.steps_behind(optimizer)
        self.clip, self.ordered = clip, order(self.step, clip is not None)
        self.wholes = {}
        for name, record in self.step.recorded.items():
            if record["kind"] != "input":
                self.wholes[name] = self._whole(name, record, model)
        for one in self.step.inputs.values():
            if one.of == DRAWS_STEP:
                self.wholes[one.of] = functools.partial(
                    torch.full, one.shape, self.steps, dtype=DTYPES[one.dtype])
        digest = hashlib.sha256(self.step.path.read_bytes())
        digest.update(repr((self.steps, clip)).encode())
        for name, tensor in self.tensors.items():
            digest.update(repr((name, _some_of(tensor))).encode())
        self.digest = digest.hexdigest()

    def _own_devices(self, group, wanted):
        needed = len(self.step.devices)
        if group is None and wanted is None and needed > 1:
            raise ApplyError(
                "no-process-group", f"the plan uses {needed} devices, and there is no process "
                "group", str(self.step.path), "Start one process a device with torchrun, and call "
                "torch.distributed.init_process_group().")
        if group is None:
            return own_devices(self.step, wanted, 0, 1)
        return own_devices(self.step, wanted, dist.get_rank(group), dist.get_world_size(group))

    def _whole(self, name, record, model):
        """A function that gives the user's tensor, or what a training begins with."""
        if name in self.state.slots:
            return lambda: self.state.value_of(name)
        tensor = self.tensors.get(name)
        if tensor is None:  # a buffer that nothing wrote, or a frozen parameter
            path = name.partition(":")[2]
            tensor = self.tensors.get(f"param:{path}", self.tensors.get(f"buffer:{path}"))
        if tensor is None and record["kind"] == "constant":
            tensor = checks.constant_of(model, name)
        if tensor is None:
            def missing():
                raise ApplyError("constant-unknown", "its content is in no file and no attribute "
                                 "of the model", name, "Register it as a buffer, and record again.")
            return missing
        return lambda: tensor


def _some_of(tensor):
    """A few elements of a tensor, by which ranks see whether theirs are the same."""
    row = tensor.detach().reshape(-1)
    return row[::max(1, row.numel() // SAMPLED)][:SAMPLED].tolist()


class TrainStep:
    """This rank's part of a planned step. Call it with the global batch; it returns the loss."""

    def __init__(self, prepared, model, optimizer, group, batch, compiled):
        self._prepared, self._model, self._optimizer = prepared, model, optimizer
        step, ordered = prepared.step, prepared.ordered
        self._places = Places(step, _gathered(group, prepared.devices),
                              0 if group is None else dist.get_rank(group))
        self._groups = Groups(group, self._places, [step.devices, *_member_sets(step)])
        self._rank_step = generate(step, ordered, self._groups, prepared.clip, compiled)
        self._compiled, self._function = compiled, self._rank_step.function
        if compiled:
            self._function = _compiled(self._rank_step, step)
        self._pieces = Pieces(step, ordered, self._groups)
        self._state = self._pieces.load(self._rank_step.state,
                                        lambda name: prepared.wholes[name]())
        self._numbers = Numbers(self._rank_step.formulas, optimizer, prepared.steps)
        self._inputs = [name for name, r in step.recorded.items() if r["kind"] == "input"]
        self._shares = Shares(step, [name for name, _ in self._rank_step.batch], batch == "share")
        maker, k = References(step).resolve(step.loss)
        self._loss = maker.results[k] if maker else step.recorded[step.inputs[step.loss].of]

    @property
    def source(self) -> str:
        """The Python source of this rank's step."""
        return self._rank_step.source

    @property
    def share(self) -> range:
        """The samples of the global batch that this rank is given."""
        return range(self._shares.begin, self._shares.end)

    def sampler(self, dataset: Sized, *, shuffle: bool = True, seed: int = 0) -> BatchSampler:
        """What this rank is given of a data set, for DataLoader(batch_sampler=).

        Parameters
        ----------
        dataset : Sized
            Its length counts alone.
        shuffle : bool
            Whether each epoch has an order of its own, the same on all ranks.
        seed : int
            Of the order, with what set_epoch() was given.
        """
        return BatchSampler(len(dataset), self._prepared.step.batch, self._shares.begin,
                            self._shares.end, shuffle, seed)

    def __call__(self, *batch, **named) -> torch.Tensor:
        """One step of the training.

        Parameters
        ----------
        *batch, **named : torch.Tensor
            The inputs of the model and then of the loss, of the global batch or this rank's share
            of it, in the order in which they were recorded or by name; lists and mappings as they
            were recorded.

        Returns
        -------
        torch.Tensor
            The loss of the global batch, a scalar, on every rank.
        """
        given = self._batch(batch, named)
        pieces = [self._piece(name, device, given) for name, device in self._rank_step.batch]
        with torch.no_grad():
            loss = self._function(self._state, pieces, self._values())
            if loss is None:
                loss = torch.empty(self._loss["shape"], dtype=DTYPES[self._loss["dtype"]],
                                   device=self._places.first)
            loss = self._groups.broadcast(loss.clone(), self._prepared.ordered.loss_home)
        self._numbers.steps += 1
        self._optimizer._opt_called = True  # what schedulers look for, before they warn
        return loss.reshape(())

    def _values(self):
        """The numbers of this step."""
        values = self._numbers.values()
        if not self._compiled:
            return values
        return torch.tensor(values, dtype=torch.float64, device=self._places.first).unbind()

    def _batch(self, batch, named):
        """Recorded name -> tensor."""
        tensors, given = [], {}
        for value in batch:
            _flatten(value, tensors, given)
        for name, value in named.items():
            _flatten({name: value}, tensors, given)
        names = [name.partition(":")[2] for name in self._inputs]
        free = [name for name in names if name not in given]
        unknown = [name for name in given if name not in names]
        if unknown or len(tensors) != len(free):
            raise ApplyError(
                "batch", f"{len(tensors) + len(given)} tensors are given"
                f"{', among them ' + ', '.join(unknown) if unknown else ''}; the step reads "
                f"{', '.join(names)}", "the batch",
                "Give what was recorded; a tensor that stood for two inputs is one.")
        given.update(zip(free, tensors))
        for name in self._inputs:
            record, tensor = self._prepared.step.recorded[name], given[name.partition(":")[2]]
            shape, dtype = self._shares.shape_of(name), DTYPES[record["dtype"]]
            if list(tensor.shape) != shape or tensor.dtype != dtype:
                raise ApplyError(
                    "batch", f"it is {list(tensor.shape)} of {tensor.dtype}; this rank's is "
                    f"{shape} of {dtype}", name, "Give every rank what `batch=` of apply says, or "
                    "plan with --batch.")
        return given

    def _piece(self, name, device, given):
        of = self._prepared.step.inputs[name].of.partition(":")[2]
        return self._shares.piece_of(name, given[of]).to(self._places.own[device])

    # State

    def state_dict(self) -> collections.OrderedDict:
        """The model's state_dict, gathered: copies on every rank. All ranks must call it."""
        return self._state_dict_of(self._model, "")

    def _state_dict_of(self, module, prefix):
        held, made = set(self._pieces.held()), {}
        names = {id(tensor): name for name, tensor in self._prepared.tensors.items()}
        result = collections.OrderedDict()
        for key, value in module.state_dict(keep_vars=True).items():
            if not isinstance(value, torch.Tensor):
                result[key] = value
                continue
            name = names.get(id(value), "")
            if id(value) not in made:
                made[id(value)] = self._gathered(name, value) if name in held else \
                    value.detach().clone()
            result[key] = made[id(value)]
        return result

    def _gathered(self, name, like):
        return self._pieces.gather(name, list(like.shape), like.dtype, like.device)

    def optimizer_state_dict(self) -> dict:
        """The optimizer's state_dict, gathered, numbered as its own. All ranks must call it."""
        state = self._prepared.state
        own = self._optimizer.state_dict()
        slots = {}
        for name, (parameter, slot) in state.slots.items():
            slots.setdefault(id(parameter), {})[slot] = name
        held, result, number = set(self._pieces.held()), {}, 0
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                found = self._slots_of(parameter, slots.get(id(parameter), {}), held)
                if found:
                    result[number] = found
                number += 1
        return {**own, "state": result}

    def _slots_of(self, parameter, recorded, held):
        had = self._optimizer.state.get(parameter)
        if not had and (not parameter.requires_grad or self._numbers.steps == 0):
            return {}
        result = {}
        for slot, value in self._prepared.state.state_of(parameter).items():
            if slot in recorded and recorded[slot] in held:
                result[slot] = self._gathered(recorded[slot], parameter)
            elif slot == "step":
                steps = self._numbers.steps
                result[slot] = torch.full_like(value, steps) \
                    if isinstance(value, torch.Tensor) else type(value)(steps)
            else:
                result[slot] = value.clone() if isinstance(value, torch.Tensor) else value
        return result


def _member_sets(step):
    device_of = {op.name: op.device for op in step.ops}
    return [[device_of[name] for name in members] for members in step.collectives]


def _compiled(rank_step, step):
    if rank_step.transfers:
        raise ApplyError("not-supported", "the plan sends tensors from device to device, which is "
                         "not compiled", str(step.path), "Apply it with compile=False.")
    return torch.compile(rank_step.function, fullgraph=True)


def _flatten(value, tensors, named, name=""):
    if isinstance(value, torch.Tensor):
        if name:
            named[name] = value
        else:
            tensors.append(value)
    elif isinstance(value, collections.abc.Mapping):
        for key, item in value.items():
            _flatten(item, tensors, named, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _flatten(item, tensors, named, f"{name}.{i}" if name else "")
    elif value is not None:
        raise ApplyError("batch", f"it has a {type(value).__name__}", "the batch",
                         "Numbers and texts are part of the recorded step.")
