"""What crosses between ranks, by torch.distributed: collectives in functional form, which also
torch.compile takes, and transfers as sends and receives.

All of them begin where the step's order has them and are waited for where their results are read.
"""

import torch
import torch.distributed as dist

from .tensors import DTYPES, bytes_of, cut, elements, empty, join

FUNCTIONAL = torch.ops._c10d_functional


class Groups:
    """The process groups of a plan's devices; rank i of `group` has the i-th of `devices`."""

    def __init__(self, group, devices, member_sets):
        """`member_sets`: the sets of devices that have collectives. Every rank must call this."""
        self._group, self._rank = group, {device: i for i, device in enumerate(devices)}
        self._names = {}
        world = dist.get_process_group_ranks(group)
        for members in sorted({tuple(self.ranks_of(m)) for m in member_sets}):
            if len(members) == len(world):
                self._names[members] = group.group_name
                continue
            # All ranks of the program make each group, unless others have no part in the plan.
            if len(world) < dist.get_world_size() and dist.get_rank(group) not in members:
                continue
            made = dist.new_group([world[rank] for rank in members],
                                  use_local_synchronization=len(world) < dist.get_world_size())
            self._names[members] = getattr(made, "group_name", "")
        self._world = world

    def ranks_of(self, devices):
        return sorted(self._rank[device] for device in devices)

    def rank_of(self, device):
        return self._rank[device]

    def name_of(self, devices):
        return self._names[tuple(self.ranks_of(devices))]

    def send(self, tensor, device, tag):
        row = bytes_of(tensor.detach())
        return dist.isend(row, self._world[self._rank[device]], group=self._group, tag=tag), row

    def receive(self, shape, dtype, device, own, tag):
        tensor, row = empty(shape, DTYPES[dtype], own)
        work = dist.irecv(row, self._world[self._rank[device]], group=self._group, tag=tag)
        return work, tensor

    def broadcast(self, tensor, device):
        """In place, from the rank of a device to all."""
        row = bytes_of(tensor)
        dist.broadcast(row, self._world[self._rank[device]], group=self._group)
        if row.data_ptr() != tensor.data_ptr():
            tensor.copy_(row.view(tensor.dtype).view(tensor.shape))
        return tensor


def received(pending):
    work, tensor = pending
    work.wait()
    return tensor


def sent(pending):
    pending[0].wait()


class AllReduce:
    """The sum of what all members have."""

    def __init__(self, group):
        self._group = group

    def begin(self, x):
        return FUNCTIONAL.all_reduce(x.contiguous(), "sum", self._group)

    def end(self, pending):
        return FUNCTIONAL.wait_tensor(pending)


class Broadcast:
    def __init__(self, group, root, shape, dtype, device):
        """`root`: the rank within the group that has the tensor."""
        self._group, self._root = group, root
        self._shape, self._dtype, self._device = shape, DTYPES[dtype], device

    def begin(self, *given):
        row = bytes_of(given[0]) if given else empty(self._shape, self._dtype, self._device)[1]
        return FUNCTIONAL.broadcast(row, self._root, self._group)

    def end(self, pending):
        return FUNCTIONAL.wait_tensor(pending).view(self._dtype).view(self._shape)


class AllGather:
    """Parts of any lengths, put together: each is sent with room for the longest."""

    def __init__(self, group, dimension, outer, parts, shape, dtype):
        """`parts`: for each rank of the group (begin, end) in the dimension's middle factor;
        `shape`: of the whole."""
        self._group, self._dimension, self._outer = group, dimension, outer
        self._dtype = DTYPES[dtype]
        size = max(end for _, end in parts)
        whole = list(shape)
        self._shapes = [whole[:dimension] + [whole[dimension] // size * (end - begin)] +
                        whole[dimension + 1:] for begin, end in parts]
        self._longest = max(elements(one) for one in self._shapes)
        self._sorted = sorted(range(len(parts)), key=lambda rank: parts[rank])

    def begin(self, x):
        row = x.contiguous().view(-1)
        if row.numel() < self._longest:
            row = torch.nn.functional.pad(row, (0, self._longest - row.numel()))
        return FUNCTIONAL.all_gather_into_tensor(bytes_of(row), len(self._shapes), self._group)

    def end(self, pending):
        rows = FUNCTIONAL.wait_tensor(pending).view(self._dtype).view(len(self._shapes), -1)
        parts = [rows[rank][:elements(self._shapes[rank])].view(self._shapes[rank])
                 for rank in self._sorted]
        return join(parts, self._dimension, self._outer)


class ReduceScatter:
    """A part of the sum for each member. Parts of different lengths are sent to their members,
    which add them up."""

    def __init__(self, group, own, dimension, outer, size, parts, shape):
        """`own`: this member's rank in the group; `parts`: as for AllGather; `shape`: of the
        part."""
        self._group, self._own, self._shape = group, own, shape
        self._axis, self._parts = (dimension, outer, size), parts
        self._even = len({end - begin for begin, end in parts}) == 1

    def begin(self, x):
        rows = [cut(x, *self._axis, begin, end).view(-1) for begin, end in self._parts]
        row = torch.cat(rows)
        if self._even:
            return FUNCTIONAL.reduce_scatter_tensor(row, "sum", len(rows), self._group)
        lengths = [one.numel() for one in rows]
        return FUNCTIONAL.all_to_all_single(row, [lengths[self._own]] * len(rows), lengths,
                                            self._group)

    def end(self, pending):
        row = FUNCTIONAL.wait_tensor(pending)
        if not self._even:
            row = row.view(len(self._parts), -1).sum(0)
        return row.view(self._shape)
