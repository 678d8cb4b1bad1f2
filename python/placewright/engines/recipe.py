"""A recipe: a plan as code for PyTorch alone, and the same applied to a model."""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, Any

from ..errors import InputError, UsageError
from .distributed_step import DistributedStep, Parameter, module_of, refused

if TYPE_CHECKING:
    import torch

FUNCTION = "distribute"
_SUM = 2  # of an argument `reduction`
# Losses of ATen, and which of their arguments `reduction` is.
_REDUCTIONS = {
    "binary_cross_entropy": 3, "binary_cross_entropy_with_logits": 4, "huber_loss": 2,
    "mse_loss": 2, "multi_margin_loss": 5, "multilabel_margin_loss_forward": 2,
    "nll_loss2d_forward": 3, "nll_loss_forward": 3, "smooth_l1_loss": 2, "soft_margin_loss": 2,
}


class Recipe(abc.ABC):
    """What a plan is in PyTorch's own words.

    ``print(recipe)`` prints the code that a person would write; `apply` runs this very code.

    Attributes
    ----------
    ranks : int
        Processes to start.
    batch_per_rank : int
        Samples that each rank gives its model; 0: not known.
    notes : list of str
        What the code leaves to its user.
    """

    ENGINE = ""

    def __init__(self, step: DistributedStep) -> None:
        self._step = step
        self.ranks = step.ranks
        self.batch_per_rank = step.batch
        self.notes: list[str] = []
        if step.draws:
            self.notes.append("the model draws random numbers: each rank draws its own, from "
                              "PyTorch's generator")
        for parameter in step.parameters:
            if parameter.obstacle:
                raise refused(
                    f"{parameter.path} {parameter.obstacle}; {self.ENGINE} has a parameter on all "
                    f"{self.ranks} ranks, or in equal parts", f"module {parameter.module}",
                    "Plan with for_engine= (--for), or train by placewright.apply().")

    def code(self) -> str:
        """The source of a function ``distribute(model)``, with its imports."""
        head = [f"# Start {self.ranks} processes: torchrun --nproc-per-node {self.ranks} ...; each "
                "calls", "# torch.distributed.init_process_group() first."]
        for note in self.notes:
            head += _comment(note)
        lines = [*head, *self._imports(), "", "", f"def {FUNCTION}(model):",
                 *(f"    {line}" if line else "" for line in self._body())]
        return "\n".join(lines) + "\n"

    def apply(self, model: torch.nn.Module) -> torch.nn.Module:
        """Distributes the model over the ranks of torch.distributed; every rank calls it.

        Make the optimizer of the parameters of what it returns.

        Parameters
        ----------
        model : torch.nn.Module
            The recorded model, with equal weights on all ranks, on the rank's device.

        Returns
        -------
        torch.nn.Module
            What to train with: the model itself, or with DistributedDataParallel around it.

        Raises
        ------
        InputError
            Where it is another model than the plan's, or cannot be distributed so: before anything
            of it is changed.
        UsageError
            Without a process group of `ranks` ranks.
        """
        self.check(model)
        import torch.distributed as dist
        world = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
        if world != self.ranks:
            raise UsageError("rank-count", f"the plan is for {self.ranks} ranks, and there "
                             f"{'is' if world == 1 else 'are'} {world}",
                             remedy=f"Start {self.ranks} processes with torchrun, and call "
                             "torch.distributed.init_process_group() in each.")
        names: dict[str, Any] = {}
        exec(compile(self.code(), f"<{type(self).__name__}>", "exec"), names)
        distributed: torch.nn.Module = names[FUNCTION](model)
        return distributed

    def check(self, model: torch.nn.Module) -> None:
        """Whether the plan is one of this model. Raises InputError."""
        named = dict(model.named_parameters())
        for parameter in self._step.parameters:
            found = named.get(parameter.path)
            if found is None or tuple(found.shape) != parameter.shape:
                has = "none" if found is None else str(list(found.shape))
                raise InputError(
                    "plan-mismatch", f"the plan's model has a parameter {parameter.path} "
                    f"{list(parameter.shape)}, this one {has}", place=f"module {parameter.module}",
                    remedy="Give the recorded model, or record and plan this one.")

    def __str__(self) -> str:
        return self.code()

    def __repr__(self) -> str:
        return f"<placewright {type(self).__name__} for {self.ranks} ranks>"

    @abc.abstractmethod
    def _imports(self) -> list[str]:
        """Lines before the function."""

    @abc.abstractmethod
    def _body(self) -> list[str]:
        """Lines of the function, which returns what to train with."""


class BatchRecipe(Recipe):
    """Of engines that share the batch out and average gradients."""

    def __init__(self, step: DistributedStep) -> None:
        super().__init__(step)
        step.check_batch(self.ENGINE)
        _check_mean(step, self.ENGINE)
        self.batch_per_rank = step.batch // step.ranks
        self.notes.insert(0, f"each rank gives its model {self.batch_per_rank or 'its'} of "
                          f"{step.batch or 'the'} samples; gradients are averaged, so that the "
                          "loss must be a mean, of as many targets on every rank")
        self.synchronised = bool(step.batch_norms) and step.plan.get("batch_norm") != "local"

    def check(self, model: torch.nn.Module) -> None:
        super().check(model)
        if self.synchronised and any(p.device.type == "cpu" for p in model.parameters()):
            raise refused("its statistics are of the whole batch, and SyncBatchNorm needs GPUs",
                          f"module {sorted(self._step.batch_norms)[0]}",
                          "Plan with local_batch_norm=True (--batch-norm local), or on GPUs.")

    def _synchronise(self) -> list[str]:
        if not self.synchronised:
            return []
        return ["model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)"]


def _check_mean(step: DistributedStep, engine: str) -> None:
    """The loss is no sum over samples, of which averaged gradients would be a part."""
    ops = {op["name"]: op for op in step.recorded["ops"]}
    name = step.recorded["outputs"][0]
    while (op := ops.get(name.partition(":")[0])) is not None:
        if math.prod((op["outputs"][0] or {"shape": []})["shape"]) != 1:
            return
        if op["target"].split(".")[1] == "sum" or _reduction(op) == _SUM:
            raise refused(
                f"the loss is a sum over samples ({op['name']}), and {engine} averages gradients "
                "over ranks", _loss_place(op.get("scope", "")),
                "Record the step with a mean as its loss.")
        if not op["inputs"]:
            return
        name = op["inputs"][0]


def _loss_place(scope: str) -> str:
    return f"module {scope}" if scope else "the loss"


def _reduction(op: dict[str, Any]) -> int | None:
    """The argument `reduction` of a loss; None: it is none."""
    place = _REDUCTIONS.get(op["target"].split(".")[1])
    if place is None:
        return None
    value = op.get("kwargs", {}).get("reduction", op["args"][place]
                                     if place < len(op["args"]) else 1)
    return int(value)


def _comment(text: str) -> list[str]:
    """Lines of a comment of at most 100 columns."""
    lines, line = [], "#"
    for word in text.split():
        if len(line) + len(word) + 1 > 100:
            lines.append(line)
            line = "#"
        line += f" {word}"
    return [*lines, line]


def owners(parameters: list[Parameter]) -> dict[str, list[Parameter]]:
    """Parameters by the module that they belong to."""
    found: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        found.setdefault(module_of(parameter.path), []).append(parameter)
    return found


def submodule(path: str) -> str:
    """The expression for a module of `model`: "layers.0.mlp" -> "model.layers[0].mlp"."""
    text = "model"
    for name in path.split(".") if path else ():
        text += f"[{name}]" if name.isdigit() else f".{name}"
    return text
