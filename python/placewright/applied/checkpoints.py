"""Checkpoints of torch.distributed.checkpoint, written and read in pieces.

A part of a tensor that lies at one place in it, a chunk, is written by one rank and read by those
that have some of it, under whatever plan. Nothing is gathered.
"""

import dataclasses
import io
import itertools
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import create_default_global_save_plan
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata, MetadataIndex, TensorProperties)
from torch.distributed.checkpoint.planner import (
    LoadItemType, LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, TensorWriteData,
    WriteItem, WriteItemType)
from torch.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list

from .errors import ApplyError
from .tensors import piece_of


@dataclasses.dataclass
class Chunk:
    begin: tuple          # in each dimension of the whole
    tensor: torch.Tensor  # the part; what is read is written into it

    def stored(self):
        return ChunkStorageMetadata(torch.Size(self.begin), self.tensor.shape)


@dataclasses.dataclass
class Chunks:
    """Of one tensor, those of this rank."""
    shape: torch.Size
    chunks: list


def stored(folder):
    """Key -> (shape, type) of a tensor of a checkpoint, or None of an object."""
    try:
        entries = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    except OSError as error:
        raise ApplyError("checkpoint", str(error), str(folder)) from error
    return {key: (tuple(one.size), one.properties.dtype) if hasattr(one, "properties") else None
            for key, one in entries.items()}


def whole(tensor, wanted=True):
    """All of a tensor; `wanted`: whether this rank writes or reads it."""
    chunk = Chunk((0,) * tensor.dim(), tensor.detach())
    return Chunks(tensor.shape, [chunk] if wanted else [])


def chunks_of(shape, box, piece):
    """The chunks that a piece is; `box`: its place in the whole of this shape."""
    runs = []  # of each dimension: (begin in the whole, begin in the piece, length)
    for dimension, length in enumerate(shape):
        own = [{**axis, "dimension": 0} for axis in box if axis["dimension"] == dimension]
        runs.append(_runs(piece_of(torch.arange(length), own).tolist()))
    result = []
    for places in itertools.product(*runs):
        part = piece
        for dimension, (_, begin, length) in enumerate(places):
            part = part.narrow(dimension, begin, length)
        result.append(Chunk(tuple(place[0] for place in places), part))
    return result


def _runs(indices):
    result: list = []
    for at, index in enumerate(indices):
        if result and index == result[-1][0] + result[-1][2]:
            result[-1][2] += 1
        else:
            result.append([index, at, 1])
    return result


def save(folder, tensors, objects, group):
    """`tensors`: key -> Chunks; `objects`: key -> what the first rank writes."""
    _called(dcp.save, folder, _Save(tensors, objects), group)


def load(folder, tensors, names, group):
    """Reads into the chunks; returns the objects of these names."""
    planner = _Load(tensors, names)
    _called(dcp.load, folder, planner, group)
    return planner.objects


def _called(function, folder, planner, group):
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")  # one rank
            function({}, checkpoint_id=folder, planner=planner, process_group=group)
    except dcp.CheckpointException as error:
        causes = [f"rank {rank}: {cause[0]}" for rank, cause in sorted(error.failures.items())]
        raise ApplyError("checkpoint", causes[0], str(folder)) from error


class _Save(SavePlanner):
    def __init__(self, tensors, objects):
        self._tensors, self._objects = tensors, objects

    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        self._first = is_coordinator

    def create_local_plan(self):
        items, self._parts = [], {}
        for key, one in self._tensors.items():
            for chunk in one.chunks:
                index = MetadataIndex(key, torch.Size(chunk.begin))
                self._parts[index] = chunk.tensor
                items.append(WriteItem(index, WriteItemType.SHARD, tensor_data=TensorWriteData(
                    chunk.stored(), TensorProperties.create_from_tensor(chunk.tensor),
                    torch.Size(one.shape))))
        if self._first:
            items += [WriteItem(MetadataIndex(key), WriteItemType.BYTE_IO)
                      for key in self._objects]
        return SavePlan(items)

    def create_global_plan(self, all_plans):
        return create_default_global_save_plan(all_plans)

    def finish_plan(self, new_plan):
        return new_plan

    def resolve_data(self, write_item):
        if write_item.type == WriteItemType.BYTE_IO:
            text = io.BytesIO()
            torch.save(self._objects[write_item.index.fqn], text)
            text.seek(0)
            return text
        return self._parts[write_item.index].contiguous()


class _Load(LoadPlanner):
    def __init__(self, tensors, names):
        self._tensors, self._names, self.objects = tensors, names, {}

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        self._stored = metadata.state_dict_metadata

    def create_local_plan(self):
        items = []
        for key, one in self._tensors.items():
            stored = self._stored_as(key)
            if tuple(stored.size) != tuple(one.shape):
                raise ApplyError("plan-mismatch", f"the checkpoint's is {list(stored.size)}, the "
                                 f"plan's {list(one.shape)}", key)
            items += create_read_items_for_chunk_list(key, stored,
                                                      [chunk.stored() for chunk in one.chunks])
        none = torch.Size((0,))
        for key in self._names:
            self._stored_as(key)
            items.append(ReadItem(LoadItemType.BYTE_IO, MetadataIndex(key), none,
                                  MetadataIndex(key), none, none))
        return LoadPlan(items)

    def _stored_as(self, key):
        if key not in self._stored:
            raise ApplyError("plan-mismatch", "the checkpoint has none of this name", key,
                             "Load what train.save() wrote for this model and optimizer.")
        return self._stored[key]

    def create_global_plan(self, global_plan):
        return global_plan

    def finish_plan(self, central_plan):
        return central_plan

    def load_bytes(self, read_item, value):
        self.objects[read_item.dest_index.fqn] = torch.load(value, weights_only=True)

    def resolve_tensor(self, read_item):
        index = read_item.dest_index
        tensor = self._tensors[index.fqn].chunks[index.index].tensor
        for dimension, (begin, length) in enumerate(zip(read_item.dest_offsets,
                                                        read_item.lengths,
                                                        strict=True)):
            tensor = tensor.narrow(dimension, begin, length)
        return tensor

    def commit_tensor(self, read_item, tensor):
        pass
