"""Which samples of the global batch a rank reads, and its pieces of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import Sampler

from .errors import ApplyError
from .plan_files import PlannedStep
from .tensors import piece_of


class Shares:
    """The samples [begin, end) that a rank is given. A rank that reads none is given one, so that a
    loader has something to load."""

    def __init__(self, step: PlannedStep, reads: Iterable[str], shared: bool) -> None:
        """`reads`: names of the step's inputs that the rank reads; `shared`: whether it is given
        its samples alone, not the global batch."""
        self._step = step
        self._follows: dict[str, int | None] = {}
        self.begin, self.end = 0, step.batch
        if not shared:
            return
        if not step.batch:
            raise ApplyError("batch-share", "the recorded step does not say its batch size",
                             str(step.path), "Record it with batch=.")
        self._follows = {name: _dimension_of(name, record, step.batch)
                         for name, record in step.recorded.items() if record["kind"] == "input"}
        wanted = [self._samples_of(name) for name in reads
                  if self._follows[step.inputs[name].of] is not None]
        self.begin = min((begin for begin, _ in wanted), default=0)
        self.end = max((end for _, end in wanted), default=1)

    def shape_of(self, name: str) -> list[int]:
        """Of a recorded input as it is given."""
        shape, dimension = list(self._step.recorded[name]["shape"]), self._follows.get(name)
        if dimension is not None:
            shape[dimension] = shape[dimension] // self._step.batch * (self.end - self.begin)
        return shape

    def piece_of(self, name: str, given: torch.Tensor) -> torch.Tensor:
        """A copy of the part of `given` that an input of the step is."""
        one = self._step.inputs[name]
        dimension = self._follows.get(one.of)
        if dimension is None:
            return piece_of(given, one.box)
        begin, end = self._samples_of(name)
        rows = self._step.recorded[one.of]["shape"][dimension] // self._step.batch
        own = given.narrow(dimension, (begin - self.begin) * rows, (end - begin) * rows)
        return piece_of(own, [axis for axis in one.box if axis["dimension"] != dimension])

    def _samples_of(self, name: str) -> tuple[int, int]:
        """(begin, end) of the samples that an input of the step has."""
        one = self._step.inputs[name]
        dimension, batch = self._follows[one.of], self._step.batch
        axes = [axis for axis in one.box if axis["dimension"] == dimension]
        if not axes:
            return 0, batch
        axis, size = axes[0], axes[0]["size"]
        ends = axis["from"] * batch, axis["to"] * batch
        if len(axes) > 1 or axis["outer"] > 1 or any(end % size for end in ends):
            raise ApplyError("batch-share", "this rank reads other parts of it than some samples "
                             "in a row", one.of, "Give every rank the global batch "
                             "(batch=\"global\").")
        return ends[0] // size, ends[1] // size


def _dimension_of(name: str, record: dict[str, Any], batch: int) -> int | None:
    """The dimension that follows the batch, or None."""
    shape = record["shape"]
    if "slopes" in record:
        found = [i for i, law in enumerate(record["slopes"]) if law]
    else:
        found = [0] if shape and shape[0] % batch == 0 else []
    if len(found) > 1 or any(shape[i] % batch for i in found):
        raise ApplyError("batch-share", f"its shape {shape} follows the batch of {batch} in no one "
                         "dimension", name, "Give every rank the global batch (batch=\"global\").")
    return found[0] if found else None


class BatchSampler(Sampler):
    """For each step the indices of this rank's samples in a data set, for
    DataLoader(batch_sampler=). What is left beyond the last whole batch is not used."""

    def __init__(self, length: int, batch: int, begin: int, end: int, shuffle: bool,
                 seed: int) -> None:
        """`length`: of the data set; `batch`: of all ranks together."""
        self._length, self._batch = length, batch
        self._begin, self._end = begin, end
        self._shuffle, self._seed, self._epoch = shuffle, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Before an epoch, for another order than in the others."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._length // self._batch

    def __iter__(self) -> Iterator[list[int]]:
        order = torch.arange(self._length)
        if self._shuffle:
            draws = torch.Generator().manual_seed(self._seed + self._epoch)
            order = torch.randperm(self._length, generator=draws)
        for first in range(0, len(self) * self._batch, self._batch):
            yield order[first + self._begin:first + self._end].tolist()
