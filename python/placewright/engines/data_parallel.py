"""DistributedDataParallel and fully_shard."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from .distributed_step import DistributedStep, Parameter, refused
from .recipe import BatchRecipe, owners, submodule

if TYPE_CHECKING:
    import torch

_MIB = 1 << 20
_NO_LIMIT = 1 << 60  # bytes of a bucket: all gradients in one


class Ddp(BatchRecipe):
    """Every parameter on every rank, gradients averaged in buckets: DistributedDataParallel."""

    ENGINE = "DistributedDataParallel"

    def __init__(self, step: DistributedStep) -> None:
        super().__init__(step)
        for parameter in step.parameters:
            if parameter.dimension is not None:
                raise refused(
                    f"{parameter.path} is in parts along dimension {parameter.dimension}; "
                    f"{self.ENGINE} has every parameter on every rank",
                    f"module {parameter.module}",
                    "Take to_fsdp2() or to_parallelize_module(), or plan with for_engine='ddp' "
                    "(--for ddp).")
        bucket = int(step.plan.get("fusion_bytes", 0))
        self.bucket_cap_mb = 1 << 20 if bucket >= _NO_LIMIT else bucket / _MIB

    def _imports(self) -> list[str]:
        sync = ["import torch"] if self.synchronised else []
        return [*sync, "from torch.nn.parallel import DistributedDataParallel"]

    def _body(self) -> list[str]:
        return [*self._synchronise(),
                f"return DistributedDataParallel(model, bucket_cap_mb={self.bucket_cap_mb:g})"]


@dataclasses.dataclass(frozen=True)
class Unit:
    """A module of which the parameters below it, that no unit below it has, are gathered at once.

    Attributes
    ----------
    path : str
        Of the module; an empty text: the model.
    parameters : tuple of Parameter
    sharded : bool
        In parts; else on every rank.
    """

    path: str
    parameters: tuple[Parameter, ...]
    sharded: bool

    @property
    def gathered_again(self) -> bool:
        return any(parameter.gathered_again for parameter in self.parameters)


class Fsdp2(BatchRecipe):
    """Parameters in parts, gathered where they are read: torch.distributed.fsdp.fully_shard."""

    ENGINE = "fully_shard"

    def __init__(self, step: DistributedStep) -> None:
        super().__init__(step)
        if all(parameter.dimension is None for parameter in step.parameters):
            raise refused("every parameter is whole on every rank", "the model itself",
                          "Take to_ddp(), or plan with for_engine='fsdp2' (--for fsdp2).")
        self.units = _units(step.parameters)

    def check(self, model: torch.nn.Module) -> None:
        super().check(model)
        import torch
        if not hasattr(torch.cpu.Stream, "record_event") and any(
                parameter.device.type == "cpu" for parameter in model.parameters()):
            raise refused(f"fully_shard of PyTorch {torch.__version__} does not run on CPUs",
                          "the model's device",
                          "Install PyTorch 2.7 or later, or move the model to GPUs.")

    def _imports(self) -> list[str]:
        shard = ["from torch.distributed.tensor import Shard"] if self._other_dimensions() else []
        sync = ["import torch"] if self.synchronised else []
        return [*sync, "from torch.distributed.device_mesh import init_device_mesh",
                "from torch.distributed.fsdp import fully_shard", *shard]

    def _body(self) -> list[str]:
        lines = [*self._synchronise(), "device = next(model.parameters()).device.type"]
        lines.append(f'parts = {{"mesh": init_device_mesh(device, ({self.ranks},))}}')
        others = self._other_dimensions()
        if others:
            lines += ["dimensions = {", *(f'    model.get_parameter("{one.path}"): {one.dimension},'
                                          for one in others), "}",
                      'parts["shard_placement_fn"] = lambda one: Shard(dimensions.get(one, 0))']
        if any(not unit.sharded for unit in self.units):
            lines += ["whole = {",
                      f'    "mesh": init_device_mesh(device, ({self.ranks}, 1), '
                      'mesh_dim_names=("replicate", "shard"))}']
        lines += self._calls()
        return [*lines, "return model"]

    def _other_dimensions(self) -> list[Parameter]:
        return [one for unit in self.units for one in unit.parameters if one.dimension]

    def _calls(self) -> list[str]:
        """Blocks of one list that are alike in one loop."""
        lines: list[str] = []
        done: set[str] = set()
        for unit in self.units:
            if unit.path in done:
                continue
            alike = self._list_of(unit)
            if len(alike) > 1:
                done.update(one.path for one in alike)
                blocks = submodule(unit.path.rpartition(".")[0])
                lines += [f"for block in {blocks}:", f"    {_call('block', unit)}"]
            else:
                lines.append(_call(submodule(unit.path), unit))
        return lines

    def _list_of(self, unit: Unit) -> list[Unit]:
        """All units in the list of modules that this one is in, where they are alike."""
        parent, _, name = unit.path.rpartition(".")
        if not name.isdigit():
            return [unit]
        beside = [one for one in self.units if one.path.rpartition(".")[0] == parent
                  and one.path != parent]
        numbers = [one.path.rpartition(".")[2] for one in beside]
        alike = all(_call("", one) == _call("", unit) for one in beside)
        whole_list = not any(one.path.startswith(f"{parent}.") and one not in beside
                             for one in self.units)
        return beside if alike and whole_list and numbers == [
            str(i) for i in range(len(numbers))] else [unit]


def _call(module: str, unit: Unit) -> str:
    mesh = "parts" if unit.sharded else "whole"
    # PyTorch's own: parts are gathered again but for the outermost unit.
    kept = not unit.gathered_again and unit.sharded and unit.path != ""
    return f"fully_shard({module}, **{mesh}{', reshard_after_forward=False' if kept else ''})"


def _units(parameters: list[Parameter]) -> list[Unit]:
    """Blocks of lists, modules in them where a block has both kinds, then the model with the rest;
    inner ones first."""
    blocks: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        blocks.setdefault(_block(_home(parameter)), []).append(parameter)
    rest = blocks.pop("", [])
    units: list[Unit] = []
    for path, members in blocks.items():
        if _is_number(path.rpartition(".")[2]):
            units += _of_block(path, members)
        else:
            rest += members
    shared = [one for one in rest if _home(one) == ""]
    sharded = _alike("", shared).sharded if shared else any(one.dimension is not None
                                                            for one in rest)
    of_root = []
    for module, members in owners(rest).items():
        if members[0] in shared:
            of_root += members
        elif _alike(module, members).sharded == sharded:
            of_root += members
        else:
            units.append(_alike(module, members))
    return [*units, Unit("", tuple(of_root), sharded)]


def _of_block(path: str, members: list[Parameter]) -> list[Unit]:
    if len({one.dimension is None for one in members}) == 1:
        return [_alike(path, members)]
    return [_alike(module, own) for module, own in owners(members).items()]


def _alike(path: str, members: list[Parameter]) -> Unit:
    """A unit whose parameters are all in parts, or none of them is."""
    whole = [one for one in members if one.dimension is None]
    if whole and len(whole) < len(members):
        parts = next(one for one in members if one.dimension is not None)
        raise refused(f"{whole[0].path} is whole on every rank and {parts.path} in parts; "
                      f"{Fsdp2.ENGINE} has all parameters of a unit in one way",
                      f"module {path}" if path else "the model itself",
                      "Plan with for_engine='fsdp2' (--for fsdp2).")
    return Unit(path, tuple(members), not whole)


def _home(parameter: Parameter) -> str:
    """The innermost module with all that read it: a tied weight is gathered for all of them."""
    paths = [module.split(".") if module else []
             for module in (parameter.module, *parameter.readers)]
    common = []
    for names in zip(*paths):  # noqa: B905 (the shortest ends it)
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return ".".join(common)


def _block(module: str) -> str:
    """"layers.3.mlp" -> "layers.3"; without a number the module itself."""
    found = re.match(r"(?:.*?\.)??\d+(?=\.|$)", module)
    return found[0] if found else module


def _is_number(name: str) -> bool:
    return name.isdigit()
