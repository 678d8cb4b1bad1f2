"""Clusters: the machines that are planned for."""

from __future__ import annotations

import dataclasses
import functools
import html
import os
import pathlib
from typing import TYPE_CHECKING, Any

from . import _arguments as arguments
from . import _files as files
from ._find import core
from ._program import run
from ._show import html_table, text_table
from ._units import bytes_text, count_text

if TYPE_CHECKING:
    from . import _core

PRESET = "preset:"


@dataclasses.dataclass(frozen=True)
class Device:
    """One device of a cluster.

    Attributes
    ----------
    name : str
        As "host0/gpu1".
    kind : str
        The hardware, as "H100".
    device_class : str
        "cpu", "gpu" or "other".
    memory : int
        Bytes that plans may use.
    reserve : int
        Bytes of its memory that are kept free.
    """

    name: str
    kind: str
    device_class: str
    memory: int
    reserve: int


class Cluster:
    """The machines: devices and links. Made by `Cluster(...)` and `detect`, never changed.

    Parameters
    ----------
    description : str or path
        A file (YAML or JSON, docs/formats/cluster.md), or a preset's name as "8xH100" (the program
        lists them: ``python -m placewright cluster show``). A file of that name comes first.

    Attributes
    ----------
    name : str
        Of the machines.
    devices : list of Device
        In the order of the description.
    notes : list of str
        What the description leaves open, and how it was taken.

    Raises
    ------
    InputError
        Where there is neither such a file nor such a preset, or the file describes nothing
        possible.
    """

    def __init__(self, description: str | os.PathLike[str]) -> None:
        wanted = "a cluster file's path or a preset's name"
        named = arguments.path("description", description, wanted)
        self._held: _core.Cluster = core().Cluster.read(named)
        self._temporary: files.Folder | None = None  # of what was detected
        self._source = None if self.preset else pathlib.Path(named).absolute()

    @property
    def name(self) -> str:
        return self._held.name

    @property
    def preset(self) -> str | None:
        """The preset's name; None of a file."""
        path = self._held.path
        return path[len(PRESET):] if path.startswith(PRESET) else None

    @functools.cached_property
    def devices(self) -> list[Device]:
        return [Device(*fields) for fields in self._held.devices]

    @property
    def notes(self) -> list[str]:
        return self._held.notes

    def __len__(self) -> int:
        return len(self.devices)

    def __repr__(self) -> str:
        return f"<placewright.Cluster {self.name!r}: {count_text(len(self), 'device')}>"

    def __str__(self) -> str:
        return f"{self.name}: {count_text(len(self), 'device')}\n" + text_table(*self._table())

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(self.name)}</b></p>" + html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[device.name, device.kind, bytes_text(device.memory), bytes_text(device.reserve)]
                for device in self.devices]
        return ["device", "kind", "usable memory", "kept free"], rows


def cluster_of(value: Any) -> Cluster:
    """The argument `cluster` of other functions: a Cluster, a file's path or a preset's name."""
    if isinstance(value, Cluster):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Cluster(value)
    raise arguments.refuse("cluster", value, "a Cluster, a cluster file's path or a preset's name")


def detect(*, gpu: str | None = None) -> Cluster:
    """Describes this machine: its GPUs, their links and its CPUs.

    Parameters
    ----------
    gpu : str, optional
        What every GPU is, as "A100-40GB", where the driver's name for it is not known.

    Returns
    -------
    Cluster
        Without a GPU that of the CPUs.

    Raises
    ------
    InputError
        Where a GPU is of no known kind.
    MissingRuntimeError
        Where the program is missing.
    """
    folder = files.Folder()
    path = folder.path / "this-machine.yaml"
    kind = arguments.optional_text("gpu", gpu)
    run(["cluster", "detect", "-o", str(path), *(["--gpu", kind] if kind else [])])
    found = Cluster(path)
    found._temporary = folder
    return found
