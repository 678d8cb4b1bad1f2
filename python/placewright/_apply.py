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
from typing import TypeAlias

import torch
import torch.distributed as dist

from ._plan import Plan
from .applied import checks, plan_files
from .applied.errors import ApplyError
from .applied.exchanges import COMPILES_TRANSFERS, Groups
from .applied.meeting import gathered, on_all
from .applied.numbers import Numbers
from .applied.order import References, order
from .applied.own_update import OwnUpdate
from .applied.pieces import DRAWS_STEP, Pieces
from .applied.places import Places, own_devices
from .applied.rank_code import generate
from .applied.shares import BatchSampler, Shares
from .applied.state import TrainingState
from .applied.tensors import DTYPES
from .applied.watch import Watch

SAMPLED = 64
Device: TypeAlias = torch.device | str
__all__ = ["ApplyError", "TrainStep", "apply"]


def apply(plan: Plan | str | os.PathLike, model: torch.nn.Module,
          optimizer: torch.optim.Optimizer, *,
          process_group: dist.ProcessGroup | None = None,
          devices: Device | Sequence[Device] | None = None, batch: str = "global",
          update: str = "recorded", compile: bool = False, clip: float | None = None,
          loss: torch.nn.Module | None = None, timeout: float | None = None) -> TrainStep:
    """This rank's part of a planned step, as a function of the batch.

    Parameters
    ----------
    plan : Plan, str or os.PathLike
        What `plan` returned, or the file that `Plan.save` or `placewright plan -o` wrote; what that
        names lies where it was. Equal on all ranks: a search that time ended need not be.
    model : torch.nn.Module
        The recorded model, with the weights to begin with, equal on all ranks. It is left as it is.
    optimizer : torch.optim.Optimizer
        The recorded optimizer, over the model's parameters; with update="own" any. Its state is
        copied; the numbers in its groups (rates, betas) are read before every step, so that a
        scheduler works as ever.
    process_group : torch.distributed.ProcessGroup, optional
        The ranks, one for each device that the plan uses, in the plan's order; by default all.
    devices : torch.device, str, or a sequence of them, optional
        What the plan's devices of this rank are in PyTorch, in the plan's order: the first ranks
        have the first devices. By default a rank has one, which is `cuda:LOCAL_RANK` where the plan
        has a GPU and PyTorch sees one, else the CPU.
    batch : "global" or "share"
        What each rank is given: the global batch, or the samples of it that it reads alone
        (`TrainStep.share`).
    update : "recorded" or "own"
        Who updates the parameters: the recorded ops, or the optimizer's own class on the rank's
        pieces (its fused and foreach forms, too), which must work on each element by itself.
    compile : bool
        Whether this rank's part goes through torch.compile(fullgraph=True).
    clip : float, optional
        The norm of all gradients together beyond which they are scaled, as
        torch.nn.utils.clip_grad_norm_ does it.
    loss : torch.nn.Module, optional
        The recorded loss, where it has parameters or buffers of its own.
    timeout : float, optional
        Seconds that a rank waits for another one that is alive and does not come to the step. By
        default as long as the process group's own limit; one that died is noticed in any case.

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
    if update not in ("recorded", "own"):
        raise ApplyError("argument", f"it is {update!r}", "update",
                         "Give \"recorded\" or \"own\".")
    group = process_group
    if group is None and dist.is_available() and dist.is_initialized():
        group = dist.group.WORLD
    watch = _NoWatch() if group is None or dist.get_world_size(group) == 1 else \
        Watch(group, timeout)
    with watch.inside():
        return _applied(plan, model, optimizer, group, watch, devices, batch, update == "own",
                        compile, clip, loss)


class _NoWatch:
    inside = contextlib.nullcontext


def _applied(plan, model, optimizer, group, watch, devices, batch, own_update, compiled, clip,
             loss):
    with tempfile.TemporaryDirectory() as folder:
        prepared = on_all(group, lambda: _Prepared(_path_of(plan, folder), model, optimizer, loss,
                                                    group, devices, own_update, clip))
    digests = gathered(group, prepared.digest)
    others = [rank for rank, one in enumerate(digests) if one != digests[0]]
    if others:
        raise ApplyError("plan-mismatch", f"rank {others[0]} has another plan, or other weights, "
                         "than rank 0", remedy="Give all ranks the same files and weights: "
                         "build the model behind torch.manual_seed(), or load a checkpoint.")
    return on_all(group, lambda: TrainStep(prepared, model, optimizer, group, watch, batch,
                                            compiled))


def _path_of(plan, folder):
    if isinstance(plan, Plan):
        return plan.save(pathlib.Path(folder) / "applied.plan.json")
    return plan


class _Prepared:
    """What a rank finds out by itself, before ranks talk to one another."""

    def __init__(self, plan_path, model, optimizer, loss, group, devices, own_update, clip):
        checks.check_kinds(model, optimizer)
        self.step = plan_files.read(plan_path)
        checks.check_unscaled(self.step)
        self.devices = self._own_devices(group, devices)
        self.tensors = checks.named_tensors(model, loss)
        checks.check_model(self.step, self.tensors)
        self.state = None
        if not own_update:
            checks.check_optimizer(self.step, optimizer)
            self.state = checks.OptimizerState(self.step, self.tensors, optimizer)
        self.steps = checks.steps_behind(optimizer)
        self.ordered = order(self.step, clip is not None, own_update)
        self.step, self.clip = self.ordered.step, clip
        self.wholes = {}
        for name, record in self.step.recorded.items():
            if record["kind"] != "input" and not (own_update and record["kind"] == "opt_state"):
                self.wholes[name] = self._whole(name, record, model)
        for one in self.step.inputs.values():
            if one.of == DRAWS_STEP:
                self.wholes[one.of] = functools.partial(
                    torch.full, one.shape, self.steps, dtype=DTYPES[one.dtype])
        digest = hashlib.sha256(self.step.path.read_bytes())
        digest.update(repr((self.steps, own_update, clip)).encode())
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
        if self.state is not None and name in self.state.slots:
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
        if tensor.dtype != DTYPES[record["dtype"]] and name.startswith("buffer:"):
            tensor = tensor.to(DTYPES[record["dtype"]])
        return lambda: tensor


def _some_of(tensor):
    """A few elements of a tensor, by which ranks see whether theirs are the same."""
    row = tensor.detach().reshape(-1)
    return row[::max(1, row.numel() // SAMPLED)][:SAMPLED].tolist()


class TrainStep:
    """This rank's part of a planned step. Call it with the global batch; it returns the loss."""

    def __init__(self, prepared, model, optimizer, group, watch, batch, compiled):
        self._watch = watch
        self._prepared, self._optimizer = prepared, optimizer
        step, ordered = prepared.step, prepared.ordered
        self._places = Places(step, gathered(group, prepared.devices),
                              0 if group is None else dist.get_rank(group))
        self._groups = Groups(group, self._places, [step.devices, *_member_sets(step)])
        self._groups.functional = compiled and COMPILES_TRANSFERS
        self._rank_step = generate(step, ordered, self._groups, prepared.clip, compiled)
        self._compiled, self._function = compiled, self._rank_step.function
        if compiled:
            self._function = _compiled(self._rank_step, step)
        self._pieces = Pieces(step, ordered, self._groups)
        self._state = self._pieces.load(self._rank_step.state,
                                        lambda name: prepared.wholes[name]())
        self._numbers = Numbers(self._rank_step.formulas, optimizer, prepared.steps)
        self._own_update = None
        if prepared.state is None:
            self._own_update = OwnUpdate(ordered.updated, self._pieces.own, prepared.tensors, step,
                                         optimizer, self._groups, prepared.clip)
        self._training = TrainingState(prepared, self._pieces, self._numbers, self._own_update,
                                       model, optimizer, group)
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
        with self._watch.inside():
            return self._run(self._batch(batch, named))

    def _run(self, given):
        pieces = [self._piece(name, device, given) for name, device in self._rank_step.batch]
        with torch.no_grad():
            loss, gradients = self._function(self._state, pieces, self._values())
            if self._own_update is not None:
                self._own_update.run(gradients)
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
        tensors: list = []
        given: dict = {}
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
        given.update(zip(free, tensors, strict=True))
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
        with self._watch.inside():
            return self._training.of_model()

    def optimizer_state_dict(self) -> dict:
        """The optimizer's state_dict, gathered, numbered as its own. All ranks must call it."""
        with self._watch.inside():
            return self._training.of_optimizer()

    def save(self, folder: str | os.PathLike) -> None:
        """Writes a checkpoint of torch.distributed.checkpoint; each rank writes its pieces, and
        nothing is gathered. All ranks must call it, with one folder that all of them see.

        Keys are those of torch.distributed.checkpoint.state_dict.get_state_dict(), under "model"
        and "optimizer".
        """
        with self._watch.inside():
            self._training.save(folder)

    def load(self, folder: str | os.PathLike) -> None:
        """Reads what `save` wrote, under this plan or another: each rank its pieces. The numbers in
        the optimizer's groups become the checkpoint's. All ranks must call it."""
        with self._watch.inside():
            self._training.load(folder)


def _member_sets(step):
    device_of = {op.name: op.device for op in step.ops}
    return [[device_of[name] for name in members] for members in step.collectives]


def _compiled(rank_step, step):
    if rank_step.transfers and not COMPILES_TRANSFERS:
        raise ApplyError("not-supported", "the plan sends tensors from rank to rank, which this "
                         "PyTorch does not compile", str(step.path),
                         "Apply it with compile=False.")
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
