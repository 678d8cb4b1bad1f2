"""Steps: a training step, or an inference pass, as the graph that is planned."""

from __future__ import annotations

import functools
import importlib
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _arguments as arguments
from . import _files as files
from . import _rewriting as rewriting
from ._find import core
from ._units import bytes_text, count_text
from .errors import InputError, MissingRuntimeError, PlacewrightError, UsageError

if TYPE_CHECKING:
    from . import _core


class Step:
    """One training step, or inference pass, as a graph: made by `record` and `read`, never changed.

    Attributes
    ----------
    name : str
        Of the graph.
    format : str
        Of the file: "aten" of recorded steps, "onnx", ...
    batch : int or None
        Samples of the step, over all devices; None where the file does not say it.
    notes : list of str
        What was assumed, or of the file left out.
    path : pathlib.Path or None
        The step's file; None where it was recorded and not saved yet.
    """

    def __init__(self, held: _core.Step, source: pathlib.Path,
                 options: dict[str, Any], notes: list[str],
                 temporary: files.Folder | None = None) -> None:
        self._held = held
        self._source = source
        self._options = options
        self._temporary = temporary  # keeps the file that was recorded
        self.notes = notes + held.notes
        self.path = source if temporary is None else None

    @property
    def name(self) -> str:
        return self._held.name

    @property
    def format(self) -> str:
        return self._held.format

    @property
    def batch(self) -> int | None:
        return self._held.batch or None

    @property
    def why_one_batch(self) -> str | None:
        """Why the step is known at this batch alone; None where it can be taken to others."""
        return self._held.why_one_batch

    @functools.cached_property
    def ops(self) -> dict[str, int]:
        """Operations that compute something, by phase: "forward", "backward", "optimizer"."""
        forward, backward, optimizer = self._held.ops_by_phase
        return {"forward": forward, "backward": backward, "optimizer": optimizer}

    @functools.cached_property
    def persistent_bytes(self) -> dict[str, int]:
        """Bytes on devices for the whole step: "parameter", "optimizer_state", "buffer"."""
        return self._held.persistent_bytes

    def at_batch(self, batch: int) -> Step:
        """The same step at another batch.

        Parameters
        ----------
        batch : int
            Samples, over all devices.

        Raises
        ------
        InputError
            Where it is not proven how the step follows its batch (`why_one_batch`).
        """
        return self._read_with({"batch": arguments.integer("batch", batch, 1, arguments.MAX_COUNT)})

    def rewritten(self, *, micro_batches: int | None = None,
                  recompute: str | Iterable[str] | None = None,
                  offload: str | Iterable[str] | None = None, pipeline: str | None = None,
                  stages: int | None = None, chunks: int | None = None,
                  stage_layers: Iterable[int] | None = None,
                  mixed_precision: str | Iterable[str] | None = None) -> Step:
        """The recorded step, rewritten before it is laid out (docs/transforms.md).

        Parameters
        ----------
        micro_batches : int, optional
            The batch in so many parts, one after the other, whose gradients are added up. None:
            whole.
        recompute : str or list of str, optional
            Modules whose activations the backward pass computes again: globs, or "full" (every
            layer), "selective" or "megatron". None: nothing.
        offload : str or list of str, optional
            Modules whose activations lie in host memory between the passes: globs, or "full". None:
            nothing.
        pipeline : {"gpipe", "1f1b", "interleaved", "zb-h1"}, optional
            Micro-batches in the order of this schedule; the algorithm of that name lays it out.
        stages, chunks : int, optional
            Of a pipeline: its stages, and the chunks of the model on each, by default one
            ("interleaved": 2 or more).
        stage_layers : list of int, optional
            Of a pipeline: the layers of each stage, as ``[10, 12, 10]``, or of each chunk in the
            order of the model. None: of about equal work.
        mixed_precision : str or list of str, optional
            "param=bf16 reduce=f32 master=f32": the type that the step computes in, that in which
            gradients are summed, and that of parameters, optimizer state and update;
            "gradients=kept": gradients have buffers for the whole step; words without "=" are
            globs over modules. None: as recorded.

        Raises
        ------
        InputError, UsageError
            Where the step is not a recorded one, or an operation cannot be rewritten so.
        """
        return self._read_with(rewriting.complete(rewriting.asked(
            micro_batches=micro_batches, recompute=recompute, offload=offload, pipeline=pipeline,
            stages=stages, chunks=chunks, stage_layers=stage_layers,
            mixed_precision=mixed_precision)))

    def _read_with(self, changed: dict[str, Any]) -> Step:
        options = {**self._options, **changed}
        files.check_unchanged(self._source, self._held.sha256, "step")
        held = core().Step.read(str(self._source), options)
        other = Step(held, self._source, options, [], self._temporary)
        other.path = self.path
        return other

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the step's file, which `read` and the program read; gzip as it was recorded.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced. Plans that are saved later name it. Of a
            step at another batch it is the file that states how the step follows its batch.

        Returns
        -------
        pathlib.Path
            The absolute path.

        Raises
        ------
        InputError
            Where it cannot be written, or the file that was read has changed.
        """
        target = pathlib.Path(arguments.path("path", path)).absolute()
        files.check_unchanged(self._source, self._held.sha256, "step")
        if not (target.exists() and target.samefile(self._source)):
            files.copy(self._source, target)
        self.path = target
        return target

    def __repr__(self) -> str:
        return f"<placewright.Step {self.name!r}: {self._summary()}>"

    def __str__(self) -> str:
        return f"{self.name}: {self._summary()}"

    def _summary(self) -> str:
        ops = count_text(sum(self.ops.values()), "op")
        batch = "" if self.batch is None else f", batch {self.batch}"
        return f"{ops}{batch}, parameters {bytes_text(self.persistent_bytes['parameter'])}"


def read(path: str | os.PathLike[str], *, batch: int | None = None,
         dimensions: Mapping[str, int] | None = None, prove_batch: bool = True,
         micro_batches: int | None = None, recompute: str | Iterable[str] | None = None,
         offload: str | Iterable[str] | None = None, pipeline: str | None = None,
         stages: int | None = None, chunks: int | None = None,
         stage_layers: Iterable[int] | None = None,
         mixed_precision: str | Iterable[str] | None = None) -> Step:
    """Reads a recorded step, an ONNX model or a graph of another format (docs/formats).

    Parameters
    ----------
    path : path
        The file, plain or gzip; its format is seen from its content.
    batch : int, optional
        Samples, over all devices; None: the file's own.
    dimensions : dict of str to int, optional
        Sizes of an ONNX model's symbolic dimensions.
    prove_batch : bool
        Find out how an ONNX model's sizes follow its batch, which plans that split ops need;
        recorded steps state it.
    micro_batches, recompute, offload, pipeline, stages, chunks, stage_layers, mixed_precision
        As of `Step.rewritten`.

    Returns
    -------
    Step

    Raises
    ------
    InputError
        Where the file cannot be read, or not at this batch.
    UsageError
        Where an argument cannot be used, or the file holds times of its own.
    """
    name = arguments.path("path", path)
    options = {
        "batch": arguments.optional_integer("batch", batch, 1, arguments.MAX_COUNT),
        "dimensions": arguments.integers("dimensions", dimensions),
        "prove_batch": arguments.flag("prove_batch", prove_batch),
        **rewriting.complete(rewriting.asked(
            micro_batches=micro_batches, recompute=recompute, offload=offload, pipeline=pipeline,
            stages=stages, chunks=chunks, stage_layers=stage_layers,
            mixed_precision=mixed_precision)),
    }
    held = core().Step.read(name, options)
    return Step(held, pathlib.Path(name).absolute(), options, [])


def record(model: Any, inputs: Any, *, optimizer: Any = None,
           loss: Callable[..., Any] | None = None, targets: Any = None,
           batch: int | None = None, name: str | None = None, rebatch: Any = None,
           attention: str = "fused",
           assume: Mapping[str, Any] | None = None, frozen_weights: str | None = None,
           progress: Callable[[str], object] | None = None) -> Step:
    """Records one step of a PyTorch model. Nothing is computed, and the model is left as it was.

    Parameters
    ----------
    model : torch.nn.Module
        In training or evaluation mode, as it is to be recorded; its weights may lie on any device,
        on "meta", or be fake.
    inputs : torch.Tensor, tuple, list or dict
        The model's positional arguments, or as a dict its keyword arguments. Only shapes and types
        matter.
    optimizer : torch.optim.Optimizer, optional
        Over the model's parameters. None: the step ends with the gradients.
    loss : callable, optional
        Called as ``loss(output, *targets)``. None: the model returns its loss, as a number or as a
        field "loss"; without an optimizer either, the step is inference.
    targets : torch.Tensor, tuple, list or dict, optional
        What the loss is given besides the output.
    batch : int, optional
        Samples of the example inputs. Needed for plans that split ops, and for other batches: how
        the step follows it is proven by recordings at two more sizes.
    name : str, optional
        Of the step; None: the model's class.
    rebatch : bool or callable, optional
        How the step at another batch is made: True: from the example inputs, and an error if that
        cannot be proven; a function of the batch that returns ``(model, inputs, loss, optimizer,
        targets)``; False: not at all.
    attention : {"fused", "math"}
        How scaled_dot_product_attention is recorded: as a GPU's fused operator, or as products.
    assume : dict, optional
        Answers to what the step asks of values of tensors, by place ("FILE:LINE").
    frozen_weights : str, optional
        How frozen weights of linear layers are stored: "nf4", "nf4-double", "fp4", "fp4-double",
        "int8".
    progress : callable, optional
        Takes a sentence every few seconds of a long recording.

    Returns
    -------
    Step

    Raises
    ------
    InputError
        Where the step cannot be recorded, with the line of the model that is in the way.
    MissingRuntimeError
        Without PyTorch 1.13 or newer.
    UsageError
        Where an argument cannot be used.
    """
    size = arguments.optional_integer("batch", batch, 1, arguments.MAX_COUNT)
    title = arguments.optional_text("name", name) or type(model).__name__
    if progress is not None and not callable(progress):
        raise arguments.refuse("progress", progress, "a function that takes a sentence, or None")

    def written(exporter: Any, path: pathlib.Path) -> dict[str, Any]:
        said: dict[str, Any] = exporter.export(
            model, inputs, loss, optimizer, path, targets=targets, name=title, batch=size,
            rebatch=rebatch, attention=attention, assume=assume, progress=progress,
            frozen_weights=frozen_weights)
        return said
    return _recorded(written)


def record_configuration(path: str | os.PathLike[str], *, batch: int = 8,
                         sequence: int | None = None, optimizer: str | None = "adamw",
                         dtype: str | None = None, task: str | None = None,
                         lora: int | None = None, frozen_weights: str | None = None,
                         settings: Mapping[str, Any] | None = None, name: str | None = None,
                         attention: str = "fused",
                         progress: Callable[[str], object] | None = None) -> Step:
    """Records one step of a model of transformers from its configuration, without weights.

    Parameters
    ----------
    path : path
        A folder with a ``config.json``, or such a file. Nothing is fetched.
    batch : int
        Samples of the step, over all devices.
    sequence : int, optional
        Words of a text, or samples of a sound. None: 1,024 or what the model takes at most, and
        160,000 (10 s).
    optimizer : {"adamw", "sgd"}, optional
        None: the step ends with the gradients.
    dtype : {"f32", "bf16", "f16"}, optional
        Of the weights. None: the configuration's, else "f32".
    task : str, optional
        As "causal-lm" (docs/formats/pytorch.md). None: the class that the configuration names.
    lora : int, optional
        The model is frozen, and adapters of this rank on its linear layers are trained (peft).
    frozen_weights : str, optional
        As of `record`. None: as the configuration stores them.
    settings : dict, optional
        Values of the configuration in the place of its own: ``{"num_hidden_layers": 4}``.
    name, attention, progress
        As of `record`.

    Returns
    -------
    Step

    Raises
    ------
    InputError
        Where there is no such configuration, or its model cannot be recorded.
    MissingRuntimeError
        Without PyTorch, transformers or, for `lora`, peft.
    UsageError
        Where an argument cannot be used.
    """
    source = arguments.path("path", path)
    size = arguments.integer("batch", batch, 1, arguments.MAX_COUNT)
    words = arguments.optional_integer("sequence", sequence, 1, arguments.MAX_COUNT)
    rank = arguments.optional_integer("lora", lora, 1, arguments.MAX_COUNT)
    if settings is not None and not isinstance(settings, Mapping):
        raise arguments.refuse("settings", settings, "a dict of names and values")
    _check_word("optimizer", optimizer, ("adamw", "sgd"))
    _check_word("dtype", dtype, ("f32", "bf16", "f16"))

    def written(exporter: Any, file: pathlib.Path) -> dict[str, Any]:
        models = importlib.import_module("placewright_torch.hf")
        _check_word("task", task, models.TASKS)
        builder = models.Builder(source, task, size, words, optimizer or "none", dtype, rank)
        parts = {"attention": attention, **exporter.build(builder, dict(settings or {}))}
        for key, value in (("name", arguments.optional_text("name", name)),
                           ("frozen_weights", frozen_weights)):
            if value is not None:
                parts[key] = value
        said: dict[str, Any] = exporter.export(**parts, path=file, progress=progress)
        return said
    return _recorded(written)


def _check_word(name: str, value: Any, known: Iterable[str]) -> None:
    if value is not None and value not in known:
        raise arguments.refuse(name, value, f"one of {', '.join(known)}, or None")


def _recorded(write: Callable[[Any, pathlib.Path], dict[str, Any]]) -> Step:
    """The step that `write` records into a file by the exporter."""
    reader = core().Step  # missing ones are noticed before a long recording
    folder = files.Folder()
    path = folder.path / "step.json.gz"
    exporter = importlib.import_module("placewright_export")
    try:
        said = write(exporter, path)
    except exporter.ExportError as error:
        raise _of_export(error) from error
    options: dict[str, Any] = {"batch": None, "dimensions": {}, "prove_batch": False,
                               **rewriting.complete({})}
    return Step(reader.read(str(path), options), path, options, list(said["notes"]), folder)


def _of_export(error: Exception) -> PlacewrightError:
    """The exporter's error, whose text holds reason, place and remedy, as one of ours."""
    errors = importlib.import_module("placewright_torch.errors")
    if isinstance(error, errors.MissingTorchError):
        return MissingRuntimeError("missing-runtime", str(error),
                                   remedy="Install PyTorch (pip install torch).")
    if isinstance(error, errors.UsageError):
        return UsageError("usage", str(error))
    return InputError("not-recordable", str(error), place=errors.user_line(error),
                      remedy="Change the model or the arguments as the message says.")


def step_of(value: Any) -> Step:
    """The argument `step` of other functions: a Step, or the path of one."""
    if isinstance(value, Step):
        return value
    if isinstance(value, (str, os.PathLike)):
        return read(value)
    raise arguments.refuse("step", value, "a Step (record, read) or the path of a step's file")
