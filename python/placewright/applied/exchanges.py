"""What crosses between devices, by torch.distributed where they are of several ranks: collectives
in functional form, which also torch.compile takes, and transfers as sends and receives.

All of them begin where the step's order has them and are waited for where their results are read.
A rank takes part in a collective with all of its members: it first puts together what they have,
and in the end gives each its own result.
"""

import dataclasses

import torch
import torch.distributed as dist

from .errors import ApplyError
from .tensors import DTYPES, bytes_of, crossed, crossing, cut, elements, empty, join

FUNCTIONAL = torch.ops._c10d_functional
# Whether sends and receives have a form that torch.compile takes.
COMPILES_TRANSFERS = hasattr(FUNCTIONAL, "isend") and hasattr(FUNCTIONAL, "irecv")


@dataclasses.dataclass
class Members:
    """Of a collective, in the order of its ranks."""
    group: str        # name of the process group of the ranks
    of_rank: list     # for each rank the positions of its members
    own: int          # this rank's number in the group
    devices: list     # torch.devices of its members
    transport: torch.device  # where a tensor lies that crosses

    def give(self, made):
        """For each own member a tensor of its own on its device, of one for each."""
        if len(made) == 1:
            return [made[0].to(self.devices[0])]
        return [one.to(device, copy=True)
                for one, device in zip(made, self.devices, strict=True)]


class Groups:
    """The process groups of the ranks that have collectives."""

    def __init__(self, group, places, member_sets):
        """`member_sets`: the sets of the plan's devices that have collectives. Every rank must
        call this."""
        self._group, self.places = group, places
        self.functional = False  # whether transfers have the form that is compiled
        self._names = {}
        self._cuda = next((d for d in places.own.values() if d.type == "cuda"), None)
        if places.ranks == 1:
            return
        self._world = dist.get_process_group_ranks(group)
        self._backends = _backends_of(group)
        for ranks in sorted({tuple(self._ranks_of(devices)) for devices in member_sets}):
            if len(ranks) > 1:
                self._names[ranks] = self._name_of(ranks)

    def _name_of(self, ranks):
        if len(ranks) == len(self._world):
            return self._group.group_name
        # All ranks of the program make each group, unless others have no part in the plan.
        partial = len(self._world) < dist.get_world_size()
        if partial and dist.get_rank(self._group) not in ranks:
            return ""
        made = dist.new_group([self._world[rank] for rank in ranks],
                              use_local_synchronization=partial)
        return getattr(made, "group_name", "")

    def _ranks_of(self, devices):
        return sorted({self.places.rank_of[device] for device in devices})

    def members(self, devices):
        """Of a collective with a member on each of the plan's devices, in this order."""
        ranks = self._ranks_of(devices)
        of_rank = [[i for i, d in enumerate(devices) if self.places.rank_of[d] == rank]
                   for rank in ranks]
        own = ranks.index(self.places.rank)
        return Members(self._names.get(tuple(ranks), ""), of_rank, own,
                       [self.places.own[devices[i]] for i in of_rank[own]],
                       self._transport(devices))

    def _transport(self, devices):
        """Where what crosses between the plan's devices lies on this rank. Gloo is given tensors of
        the CPU: it knows few collectives of others."""
        own = [self.places.own[d] for d in devices if d in self.places.own]
        if len(self._ranks_of(devices)) == 1:
            return own[0]
        kinds = {self.places.kind_of[device] for device in devices}
        if "cpu" in self._backends and (kinds != {"cuda"} or self._backends.get("cuda") != "nccl"):
            return torch.device("cpu")
        if self._cuda is None:
            raise ApplyError("device", "its process group is one of GPUs, and this rank has none",
                             ", ".join(devices), "init_process_group(\"cpu:gloo,cuda:nccl\")")
        return self._cuda

    def send(self, tensor, dtype, source, target, tag):
        """From one of the plan's devices to one of another rank; `dtype`: the receiver's."""
        row = bytes_of(tensor.detach().to(self._transport([source, target]), DTYPES[dtype]))
        peer = self.places.rank_of[target]
        if self.functional:
            return None, FUNCTIONAL.isend(row, peer, tag, self._group.group_name)
        return dist.isend(row, self._world[peer], group=self._group, tag=tag), row

    def receive(self, shape, dtype, source, target, tag):
        row = empty(shape, DTYPES[dtype], self._transport([source, target]))[1]
        peer = self.places.rank_of[source]
        if self.functional:
            work, row = None, FUNCTIONAL.irecv(row, peer, tag, self._group.group_name)
        else:
            work = dist.irecv(row, self._world[peer], group=self._group, tag=tag)
        return work, row, shape, DTYPES[dtype], self.places.own[target]

    def broadcast(self, tensor, source):
        """From one of the plan's devices to every rank; `tensor`: there it, elsewhere room for it.
        The result may be the argument."""
        if self.places.ranks == 1:
            return tensor
        sent = tensor.to(self._transport(list(self.places.rank_of)))
        row = bytes_of(sent)
        dist.broadcast(row, self._world[self.places.rank_of[source]], group=self._group)
        return row.view(tensor.dtype).view(tensor.shape).to(tensor.device)

    def of_all(self):
        """Members of a sum with one of each rank."""
        first: dict = {}
        for device, rank in self.places.rank_of.items():
            first.setdefault(rank, device)
        return self.members(list(first.values()))


def _backends_of(group):
    """Type of a device -> the backend of its tensors."""
    pairs = (part.split(":") for part in dist.get_backend_config(group).split(","))
    return {pair[0]: pair[-1] for pair in pairs}


def received(pending):
    work, row, shape, dtype, device = pending
    return _waited(work, row).view(dtype).view(shape).to(device)


def sent(pending):
    _waited(*pending)


def _waited(work, row):
    if work is None:
        return FUNCTIONAL.wait_tensor(row)
    work.wait()
    return row


def copied(tensor, device):
    """To another device of the same rank."""
    return tensor.to(device, copy=True)


def _sum(parts, transport):
    total = parts[0].to(transport)
    for part in parts[1:]:
        total = total + part.to(transport)
    return total


class AllReduce:
    """The sum of what all members have."""

    def __init__(self, members, shape=None):
        """`shape`: of what each has; where it is one of several (Together)."""
        self._members, self._shape = members, shape
        self.length = None if shape is None else elements(shape)

    def row(self, *parts):
        """What the rank sends."""
        return self._sum_of(parts).contiguous().view(-1)

    def send(self, row):
        return FUNCTIONAL.all_reduce(row, "sum", self._members.group)

    def result(self, row):
        """What each own member gets, of what came."""
        made = row if self._shape is None else row.view(self._shape)
        return self._members.give([made] * len(self._members.devices))

    def begin(self, *parts):
        total = self._sum_of(parts)
        return total if len(self._members.of_rank) == 1 else self.send(total.contiguous())

    def end(self, pending):
        if len(self._members.of_rank) > 1:
            pending = FUNCTIONAL.wait_tensor(pending)
        return self.result(pending)

    def _sum_of(self, parts):
        return _sum(parts, self._members.transport)


class Broadcast:
    def __init__(self, members, root, shape, dtype):
        """`root`: the position of the member that has the tensor."""
        self._members, self._shape, self._dtype = members, shape, DTYPES[dtype]
        self._root = next(i for i, positions in enumerate(members.of_rank) if root in positions)

    def begin(self, *given):
        members = self._members
        if given:
            row = bytes_of(given[0].to(members.transport, self._dtype))
        else:
            row = empty(self._shape, self._dtype, members.transport)[1]
        if len(members.of_rank) == 1:
            return row
        return FUNCTIONAL.broadcast(row, self._root, members.group)

    def end(self, pending):
        members = self._members
        if len(members.of_rank) > 1:
            pending = FUNCTIONAL.wait_tensor(pending)
        made = pending.view(self._dtype).view(self._shape)
        return members.give([made] * len(members.devices))


class AllGather:
    """Parts of any lengths, put together: each rank sends its members' with room for the
    longest."""

    def __init__(self, members, dimension, outer, parts, shape, dtype):
        """`parts`: for each member (begin, end) in the dimension's middle factor; `shape`: of the
        whole."""
        self._members, self._dimension, self._outer = members, dimension, outer
        self._dtype = DTYPES[dtype]
        size = max(end for _, end in parts)
        whole = list(shape)
        shapes = [whole[:dimension] + [whole[dimension] // size * (end - begin)] +
                  whole[dimension + 1:] for begin, end in parts]
        self.length = max(sum(elements(shapes[i]) for i in positions)
                          for positions in members.of_rank)
        places = []  # of each member: first in the dimension, rank, begin in its row, shape
        for rank, positions in enumerate(members.of_rank):
            at = 0
            for i in positions:
                places.append((parts[i][0], rank, at, shapes[i]))
                at += elements(shapes[i])
        self._places = [place[1:] for place in sorted(places, key=lambda place: place[0])]

    def row(self, *parts):
        """What the rank sends: as long on all ranks."""
        rows = [part.contiguous().view(-1).to(self._members.transport) for part in parts]
        row = rows[0] if len(rows) == 1 else torch.cat(rows)
        if row.numel() < self.length:
            row = torch.nn.functional.pad(row, (0, self.length - row.numel()))
        return row

    def send(self, row):
        members = self._members
        return FUNCTIONAL.all_gather_into_tensor(crossing(row), len(members.of_rank),
                                                 members.group)

    def received(self, pending):
        """The rows of all ranks."""
        return crossed(FUNCTIONAL.wait_tensor(pending), self._dtype)

    def result(self, rows):
        """`rows`: (ranks, elements of a rank)."""
        parts = [rows[rank][at:at + elements(shape)].view(shape)
                 for rank, at, shape in self._places]
        made = join(parts, self._dimension, self._outer)
        return self._members.give([made] * len(self._members.devices))

    def begin(self, *parts):
        row = self.row(*parts)
        return row if len(self._members.of_rank) == 1 else self.send(row)

    def end(self, pending):
        ranks = len(self._members.of_rank)
        rows = self.received(pending) if ranks > 1 else pending
        return self.result(rows.view(ranks, -1))


class ReduceScatter:
    """A part of the sum for each member. Parts of different lengths are sent to their members,
    which add them up."""

    def __init__(self, members, dimension, outer, size, parts, shapes):
        """`parts`: as for AllGather; `shapes`: of the own members' results."""
        self._members, self._shapes = members, shapes
        self._axis, self._size = (dimension, outer, size), size
        self._parts = [parts[i] for positions in members.of_rank for i in positions]
        self._lengths = [sum(parts[i][1] - parts[i][0] for i in positions)
                         for positions in members.of_rank]
        self.even = len(set(self._lengths)) == 1
        self.length = sum(map(elements, shapes))

    def row(self, *wholes):
        """What the rank sends: the parts of one rank's members behind those of another's."""
        whole = _sum(wholes, self._members.transport)
        return torch.cat([cut(whole, *self._axis, begin, end).view(-1)
                          for begin, end in self._parts])

    def send(self, row):
        members = self._members
        ranks = len(members.of_rank)
        if self.even:
            return FUNCTIONAL.reduce_scatter_tensor(row, "sum", ranks, members.group)
        lengths = [row.numel() // self._size * length for length in self._lengths]
        return FUNCTIONAL.all_to_all_single(row, [lengths[members.own]] * ranks, lengths,
                                            members.group)

    def result(self, row):
        if len(self._shapes) == 1:
            return self._members.give([row.view(self._shapes[0])])
        parts = row.split([elements(shape) for shape in self._shapes])
        return self._members.give([part.view(shape)
                                   for part, shape in zip(parts, self._shapes, strict=True)])

    def begin(self, *wholes):
        row = self.row(*wholes)
        return row if len(self._members.of_rank) == 1 else self.send(row)

    def end(self, pending):
        ranks = len(self._members.of_rank)
        if ranks > 1:
            pending = FUNCTIONAL.wait_tensor(pending)
            if not self.even:
                pending = pending.view(ranks, -1).sum(0)
        return self.result(pending)


class Together:
    """Several tensors of one type in one collective: in one row, each rank's pieces of all behind
    those of another. Uneven parts of sums each have their own."""

    def __init__(self, members, each):
        """`each`: AllReduce, AllGather or ReduceScatter of every tensor."""
        self._members, self._each = members, each
        ranks = len(members.of_rank)
        self._apart = ranks == 1 or not all(getattr(one, "even", True) for one in each)
        self._scatters = isinstance(each[0], ReduceScatter)
        self._gathers = isinstance(each[0], AllGather)
        self._lengths = [one.length for one in each]

    def begin(self, *parts):
        """`parts`: of one own member all tensors, then those of the next."""
        count = len(self._each)
        given = [parts[i::count] for i in range(count)]
        if self._apart:
            return [one.begin(*own) for one, own in zip(self._each, given, strict=True)]
        rows = [one.row(*own) for one, own in zip(self._each, given, strict=True)]
        if self._scatters:
            ranks = len(self._members.of_rank)
            row = torch.cat([row.view(ranks, -1) for row in rows], 1).view(-1)
        else:
            row = torch.cat(rows)
        return self._each[0].send(row)

    def end(self, pending):
        if self._apart:
            made = [one.end(own) for one, own in zip(self._each, pending, strict=True)]
        else:
            if self._gathers:
                row = self._each[0].received(pending).view(len(self._members.of_rank), -1)
            else:
                row = FUNCTIONAL.wait_tensor(pending)
            made = [one.result(own) for one, own in
                    zip(self._each, row.split(self._lengths, -1), strict=True)]
        return [own[member] for member in range(len(self._members.devices)) for own in made]


class AllToAll:
    """A split that moves from one axis to another: each member cuts what it has into a part for
    every member, and joins what all have sent it."""

    def __init__(self, members, given, taken, shapes, dtype):
        """Of each member, as its op states them: `given` is (dimension, outer, size, begin, end) of
        its part of what it gets, `taken` of what it gets of its part; `shapes`: of what it has."""
        self._members, self._given, self._taken = members, given, taken
        self._dtype = DTYPES[dtype]
        own = members.of_rank[members.own]
        self._sends = [[self._cut_shape(i, j, shapes) for j in positions for i in own]
                       for positions in members.of_rank]
        self._receives = [[self._cut_shape(i, j, shapes) for j in own for i in positions]
                          for positions in members.of_rank]

    def _cut_shape(self, giver, taker, shapes):
        dimension, _, size = self._taken[giver][:3]
        begin, end = self._taken[taker][3:]
        shape = list(shapes[giver])
        shape[dimension] = shape[dimension] // size * (end - begin)
        return shape

    def begin(self, *parts):
        members = self._members
        own = dict(zip(members.of_rank[members.own], parts, strict=True))
        row = torch.cat([
            cut(own[i], *self._taken[i][:3], *self._taken[j][3:]).view(-1).to(members.transport)
            for positions in members.of_rank for j in positions for i in own])
        if len(members.of_rank) == 1:
            return row
        row = crossing(row)
        width = self._dtype.itemsize // row.dtype.itemsize
        lengths = [[width * sum(elements(shape) for shape in shapes) for shapes in way]
                   for way in (self._receives, self._sends)]
        return FUNCTIONAL.all_to_all_single(row, *lengths, members.group)

    def end(self, pending):
        members = self._members
        if len(members.of_rank) > 1:
            pending = crossed(FUNCTIONAL.wait_tensor(pending), self._dtype)
        shapes = [shape for shapes in self._receives for shape in shapes]
        pieces = iter(pending.split([elements(shape) for shape in shapes]))
        got: dict = {}  # taker -> (first in its axis, part of it)
        own = members.of_rank[members.own]
        for positions, shapes in zip(members.of_rank, self._receives, strict=True):
            order = [(j, i) for j in own for i in positions]
            for (taker, giver), shape in zip(order, shapes, strict=True):
                got.setdefault(taker, []).append((self._given[giver][3], next(pieces).view(shape)))
        made = []
        for taker in own:
            parts = [part for _, part in sorted(got[taker], key=lambda one: one[0])]
            made.append(join(parts, *self._given[taker][:2]))
        return members.give(made)
