"""parallelize_module: layers by columns and by rows."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from .distributed_step import VIEWS, DistributedStep, Instance, Parameter, refused, shown
from .recipe import Recipe, owners

if TYPE_CHECKING:
    import torch

_COLUMNS, _ROWS = "ColwiseParallel", "RowwiseParallel"
_BY_HAND = ("Keep it whole, or beside it both layers (docs/formats/layouts.md), or train by "
            "placewright.apply().")


@dataclasses.dataclass(frozen=True)
class Style:
    """How a linear layer or an embedding is in parts.

    Attributes
    ----------
    name : str
        Of the class of torch.distributed.tensor.parallel.
    embedding : bool
        An embedding, which has its columns in dimension 1; else a linear layer.
    input_in_parts : bool
        What it is given is in parts along its last dimension.
    output_in_parts : bool
        So is what it returns.
    """

    name: str
    embedding: bool
    input_in_parts: bool
    output_in_parts: bool

    @property
    def columns(self) -> bool:
        return self.name == _COLUMNS

    def code(self) -> str:
        if self.columns:
            return f"{_COLUMNS}({'' if self.output_in_parts else 'output_layouts=Replicate()'})"
        return f"{_ROWS}({'' if self.input_in_parts else 'input_layouts=Replicate()'})"


class ParallelizeModule(Recipe):
    """Every rank has all samples, layers are in parts by columns and rows: parallelize_module.

    Attributes
    ----------
    styles : dict of str to Style
        By module.
    """

    ENGINE = "parallelize_module"

    def __init__(self, step: DistributedStep) -> None:
        super().__init__(step)
        self._check_samples()
        self.styles: dict[str, Style] = {}
        for module, parameters in owners(step.parameters).items():
            style = self._style(module, parameters)
            if style is not None:
                self.styles[module] = style
        if not self.styles:
            raise refused("no layer is in parts", "the model itself",
                          "Plan with for_engine='tp' (--for tp).")
        for one in step.instances:
            if one.phase == "fwd":
                self._check_op(one)
        if step.draws:
            self.notes.append("random draws of what is whole must be the same on all ranks: "
                              "torch.manual_seed() with one seed")

    def apply(self, model: torch.nn.Module, *, inputs: Any = None) -> torch.nn.Module:
        """Distributes the model over the ranks of torch.distributed; every rank calls it.

        Its forward pass is tried before with the shapes that a rank has, without values.

        Parameters
        ----------
        model : torch.nn.Module
            The recorded model, with equal weights on all ranks, on the rank's device.
        inputs : torch.Tensor, tuple, list or dict, optional
            What `record` was given for the model. None: tensors of the recorded names and shapes.

        Returns
        -------
        torch.nn.Module
            The model itself, its layers in parts.

        Raises
        ------
        InputError
            Where it is another model than the plan's; where weights of a layer in parts are tied;
            where its forward pass takes numbers, as that of heads, that a part does not have.
            Nothing of the model is changed.
        UsageError
            Without a process group of `ranks` ranks.
        """
        self.check(model, inputs=inputs)
        return super().apply(model)

    def check(self, model: torch.nn.Module, *, inputs: Any = None) -> None:
        super().check(model)
        self._check_tied(model)
        self._check_classes(model)
        from .local_forward import check_forward
        check_forward(self._step, model, self.styles, inputs)

    def _imports(self) -> list[str]:
        names = [name for name in (_COLUMNS, _ROWS)
                 if any(style.name == name for style in self.styles.values())]
        whole = any("Replicate()" in style.code() for style in self.styles.values())
        return ["from torch.distributed.device_mesh import init_device_mesh",
                *(["from torch.distributed.tensor import Replicate"] if whole else []),
                "from torch.distributed.tensor.parallel import (",
                f"    {', '.join([*names, 'parallelize_module'])})"]

    def _body(self) -> list[str]:
        return ["device = next(model.parameters()).device.type",
                f"mesh = init_device_mesh(device, ({self.ranks},))",
                "return parallelize_module(model, mesh, {",
                *(f"    {json.dumps(pattern)}: {style.code()}," for pattern, style
                  in self._patterns()), "})"]

    def _patterns(self) -> list[tuple[str, Style]]:
        """Modules by name; those that differ by one number, with a style each, in one line."""
        modules = {op.scope for op in self._step.instances if op.phase == "fwd"}
        found: dict[str, Style] = {}
        for module, style in self.styles.items():
            pattern = ".".join("*" if part.isdigit() else part for part in module.split("."))
            alike = [one for one in modules if _fits(pattern, one)]
            same = all(self.styles.get(one) == style for one in alike)
            found[pattern if same and len(alike) > 1 else module] = style
        return list(found.items())

    # What the plan says

    def _check_samples(self) -> None:
        for one in self._step.instances:
            for name in one.inputs:
                if self._step.is_batch(name) and self._step.is_part(name):
                    raise refused(
                        f"{one.of or one.name} reads a part of {self._step.input_of(name)}; "
                        f"{self.ENGINE} gives every rank all samples", shown(one.scope),
                        "Plan with for_engine='tp' (--for tp).")

    def _style(self, module: str, parameters: list[Parameter]) -> Style | None:
        parts = [one for one in parameters if one.dimension is not None]
        if not parts:
            return None
        for one in parts:
            tied = sorted(one.readers - {module})
            if tied:
                raise refused(
                    f"{one.path} is in parts, and tied to {' and '.join(map(shown, tied))}: "
                    f"{self.ENGINE} would untie it", shown(module), _BY_HAND)
        weight = next((one for one in parameters if one.path.endswith("weight")), parts[0])
        bias = next((one for one in parameters if one.path.endswith("bias")), None)
        ops = [one for one in self._step.instances if one.phase == "fwd" and one.scope == module]
        embedding = any(one.kind == "embedding" for one in ops)
        columns_at = 1 if embedding else 0
        columns = weight.dimension == columns_at
        biased = bias is None or bias.dimension == (0 if columns else None)
        if len(weight.shape) != 2 or weight.dimension is None or not biased \
                or len(parameters) > 2 or (len(parameters) == 2 and bias is None):
            held = ", ".join(f"{one.path.rpartition('.')[2]} "
                             + ("whole" if one.dimension is None else
                                f"along dimension {one.dimension}") for one in parameters)
            raise refused(f"its parameters lie so: {held}; {self.ENGINE} knows columns and rows of "
                          "linear layers and embeddings", shown(module), _BY_HAND)
        given = columns is False and not embedding and self._is_given_parts(ops)
        return Style(_COLUMNS if columns else _ROWS, embedding, given,
                     columns and self._returns_parts(module, ops))

    def _is_given_parts(self, ops: list[Instance]) -> bool:
        """Whether what a layer by rows reads comes in parts; else it takes its part of all."""
        own = {one.name for one in ops}
        for one in ops:
            for name in one.inputs:
                made = self._step.maker(name)
                if self._step.parameter_of(name) or (made is not None and made.name in own):
                    continue
                return self._step.is_part(name)
        return False

    def _returns_parts(self, module: str, ops: list[Instance]) -> bool:
        """Whether what a layer by columns returns stays in parts; else it is gathered."""
        own = {one.name for one in ops if one.of}
        pending, gathered, in_parts, seen = list(own), False, False, set(own)
        while pending:
            for user in self._step.users.get(pending.pop(), ()):
                if user.phase != "fwd" or user.name in seen:
                    continue
                seen.add(user.name)
                if not user.of:
                    gathered |= user.kind == "all_gather"
                elif user.scope != module and user.kind not in VIEWS:
                    in_parts = True
                else:
                    pending.append(user.name)
        if gathered and in_parts:
            raise refused("what it returns is used in parts and as a whole", shown(module),
                          _BY_HAND)
        return not gathered

    def _check_op(self, one: Instance) -> None:
        """What is in no layer with a style is whole on all ranks, or works on parts alone."""
        step = self._step
        parts = [name for name in one.inputs if step.is_part(name)
                 and not step.parameter_of(name)]
        if not one.of:
            if one.kind in ("all_gather", "all_reduce", "split") and self._is_said(one):
                return
            if one.communicates or (one.kind == "split" and not step.parameter_of(one.inputs[0])):
                raise refused(f"ranks exchange {one.inputs[0]} ({one.kind}) outside of a linear "
                              "layer or an embedding", shown(one.scope), _BY_HAND)
            return
        if one.scope in self.styles:
            return
        in_parts = step.is_part(one.name)
        weights = [name for name in map(step.parameter_of, one.inputs) if name]
        if in_parts and weights and one.kind not in VIEWS:
            raise refused(
                f"{weights[0].partition(':')[2]} is whole and multiplies what is in parts: its "
                f"gradient would have to be summed, which {self.ENGINE} does not do",
                shown(one.scope), _BY_HAND)
        if in_parts and not parts and one.inputs and not self._reads_scalars(one):
            raise refused(f"{one.of} makes a part of what is whole", shown(one.scope), _BY_HAND)
        if parts and not in_parts and any(one.shapes):
            raise refused(f"{one.of} sums over what is in parts", shown(one.scope), _BY_HAND)

    def _reads_scalars(self, one: Instance) -> bool:
        return all(self._step.shape(name) in ((), (1,)) for name in one.inputs)

    def _is_said(self, one: Instance) -> bool:
        """What a style exchanges: what its layer returns, or of what it is given its part."""
        if self._step.parameter_of(one.inputs[0]):
            return False
        if one.kind == "split":
            return any(self.styles.get(user.scope) is not None
                       and not self.styles[user.scope].input_in_parts
                       for user in self._step.users.get(one.name, ()))
        made = self._step.maker(one.inputs[0])
        while made is not None and (not made.of or made.kind in VIEWS) \
                and made.scope not in self.styles and made.inputs:
            made = self._step.maker(made.inputs[0])
        if made is None or made.scope not in self.styles:
            return False
        style = self.styles[made.scope]
        return (one.kind == "all_gather") == (style.columns and not style.output_in_parts) \
            and one.kind in ("all_gather", "all_reduce")

    # What the model says

    def _check_tied(self, model: torch.nn.Module) -> None:
        names: dict[int, list[str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
        for several in names.values():
            modules = [name.rpartition(".")[0] for name in several]
            if len(several) > 1 and any(module in self.styles for module in modules):
                raise refused(f"its weight is {' and '.join(several)}: {self.ENGINE} would untie "
                              "it",
                              shown(next(one for one in modules if one in self.styles)), _BY_HAND)

    def _check_classes(self, model: torch.nn.Module) -> None:
        import torch
        for module, style in self.styles.items():
            found = model.get_submodule(module)
            wanted = torch.nn.Embedding if style.embedding else torch.nn.Linear
            if not isinstance(found, wanted):
                raise refused(f"it is a {type(found).__name__}; {style.name} takes "
                              f"{wanted.__name__} alone", shown(module), _BY_HAND)


def _fits(pattern: str, module: str) -> bool:
    names, parts = pattern.split("."), module.split(".")
    return len(names) == len(parts) and all(
        name in ("*", part) for name, part in zip(names, parts, strict=True))
