"""Ops, collectives and transfers of a step in one order, the same on all ranks.

Each rank runs its part of the order from front to back and begins what crosses there. No rank
waits for something that comes later in the order, so that no step deadlocks: of all that crosses
and has not ended, take the first in the order; what its ranks wait for comes before it and has
ended, so all of them come to it.

Storages have versions: a write in place makes the next one, behind all that read the one before.
What an op reads of another device is sent once for each content and device that reads it. An input
that nothing writes lies on every device that reads it, with the views of it.
"""

import dataclasses
import heapq

from . import op_schemas
from .errors import ApplyError
from .gradients import find as find_gradients
from .own_update import without_update


@dataclasses.dataclass
class Node:
    kind: str                # "op", "collective", "transfer", "clip", "gradients"
    place: int               # in the file's order
    members: list            # (op, device); of a transfer empty
    reference: str = ""      # transfers: what is sent
    source: str = ""
    target: str = ""
    before: set = dataclasses.field(default_factory=set)   # nodes that it waits for
    reads: dict = dataclasses.field(default_factory=dict)  # (reference, device) -> transfer or None
    writes: list = dataclasses.field(default_factory=list)  # storages


@dataclasses.dataclass
class Ordered:
    nodes: list
    storage_of: dict    # reference -> storage
    written: set        # storages that ops write
    held: dict          # input -> devices on which it lies, in the plan's order
    gradients: list     # that are clipped
    loss_home: str      # the device that has the loss
    step: object        # what is ordered: the PlannedStep, or what is left of it without its update
    updated: list       # own_update.Updated: pieces of which the update is left out


class References:
    """Which op or input a reference names."""

    def __init__(self, step):
        self._ops = {op.name: op for op in step.ops}
        self._inputs = step.inputs

    def resolve(self, reference):
        """(op, position) of a result, or (None, 0) of an input."""
        if reference in self._inputs:
            return None, 0
        if reference in self._ops:
            return self._ops[reference], 0
        name, _, position = reference.rpartition(":")
        if name in self._ops and position.isdigit():
            return self._ops[name], int(position)
        raise ApplyError("unknown-name", "nothing has this name", reference)

    def canonical(self, reference):
        op, position = self.resolve(reference)
        return reference if op is None else f"{op.name}:{position}"


def order(step, clips=False, own_update=False):
    """`clips`: with a node that clips all gradients, before the update. `own_update`: without the
    update of parameters; their gradients are results then."""
    if not own_update:
        return _Orderer(step, clips, []).run()
    return _Orderer(*_Orderer(step, False, []).without_update()).run()


class _Orderer:
    def __init__(self, step, clips, updated):
        """`updated`: pieces that are updated behind the step."""
        self._step, self._clips, self._updated = step, clips, updated
        self._references = References(step)
        self._storage = {}    # canonical reference -> storage (the canonical reference of its root)
        self._reads_of = {}   # op name -> canonical references
        self._written = set()
        self._homes = {}
        self._needed = {}     # free reference -> devices
        self._free = set()    # inputs that nothing writes, and views of them
        self._nodes = []
        self._version = {}    # storage -> number of writes so far
        self._writer = {}     # storage -> node that wrote last
        self._readers = {}    # storage -> nodes that read since
        self._maker = {}      # (canonical reference, device) -> node
        self._transfers = {}  # (reference, version, device) -> node
        self._made_of = {}    # op name -> its nodes
        self._last_random = {}

    def without_update(self):
        """What to order then."""
        self._follow_memory()
        self._find_homes()
        step, updated = without_update(self._step, self._references, self._storage, self._homes)
        return step, False, updated

    def run(self):
        self._follow_memory()
        self._find_homes()
        self._make_nodes()
        gradients = self._add_clip() if self._clips else []
        self._add_gradients()
        held = {name: [d for d in self._step.devices if d in self._devices_of_input(name)]
                for name in self._step.inputs}
        loss = self._references.canonical(self._step.loss)
        maker, _ = self._references.resolve(loss)
        home = self._homes.get(self._storage[loss], maker.device if maker else held[loss][0])
        return Ordered(self._sorted(), self._storage, self._written, held,
                       gradients, home, self._step, self._updated)

    def _follow_memory(self):
        for name in self._step.inputs:
            self._storage[name] = name
        self._written.update(one.name for one in self._updated)
        for op in self._step.ops:
            reads = [self._references.canonical(reference) for reference in op.inputs]
            self._reads_of[op.name] = reads
            base = op_schemas.aliased_input(op)
            for k in range(op.outputs):
                own = f"{op.name}:{k}"
                self._storage[own] = own if base is None else \
                    self._storage[self._references.canonical(base)]
            self._written.update(self._storage[self._references.canonical(r)]
                                 for r in op_schemas.written_inputs(op))

    def _find_homes(self):
        """A storage lies where it is made, or where the op is that writes it."""
        self._homes = {one.name: one.device for one in self._updated}
        for op in self._step.ops:
            for k in range(op.outputs):
                if self._storage[f"{op.name}:{k}"] == f"{op.name}:{k}":
                    self._homes[f"{op.name}:{k}"] = op.device
            for reference in op_schemas.written_inputs(op):
                storage = self._storage[self._references.canonical(reference)]
                home = self._homes.setdefault(storage, op.device)
                if home != op.device:
                    raise ApplyError("plan-invalid", f"it writes {storage}, which lies on {home}",
                                     f"op {op.name} on {op.device}")
        for name in self._step.inputs:
            if name not in self._written:
                self._free.add(name)
        for op in self._step.ops:
            base = op_schemas.aliased_input(op)
            base = base and self._references.canonical(base)
            if base in self._free and set(self._reads_of[op.name]) <= self._free:
                self._free.update(f"{op.name}:{k}" for k in range(op.outputs))
        for op in reversed(self._step.ops):
            for device in self._devices_of(op):
                for reference in self._reads_of[op.name]:
                    if reference in self._free:
                        self._needed.setdefault(reference, set()).add(device)

    def _is_free(self, op):
        return f"{op.name}:0" in self._free

    def _devices_of(self, op):
        """Where an op runs: views where what they view lies."""
        if self._is_free(op):
            own = [f"{op.name}:{k}" for k in range(op.outputs)]
            needed = set().union(*(self._needed.get(reference, ()) for reference in own))
            if self._references.canonical(self._step.loss) in own:
                needed.add(op.device)
            return [d for d in self._step.devices if d in needed]
        return [self._homes.get(self._storage[f"{op.name}:0"], op.device)]

    def _devices_of_input(self, name):
        return self._needed.get(name, set()) if name in self._free else {self._homes[name]}

    # Nodes

    def _make_nodes(self):
        collective_of = {name: members for members in self._step.collectives for name in members}
        made: dict = {}
        for place, op in enumerate(self._step.ops):
            if op.name in collective_of:
                members = tuple(collective_of[op.name])
                node = made.get(members)
                if node is None:
                    node = made[members] = self._add(Node("collective", 0, []))
                node.members.append((op, op.device))
                node.place = max(node.place, self._place_of_inputs(op))
                self._connect(node, op, op.device)
                continue
            for device in self._devices_of(op):
                self._connect(self._add(Node("op", place, [(op, device)])), op, device)

    def _add_clip(self):
        """Behind all gradients and before all that the update makes of them."""
        gradients = find_gradients(self._step, self._references, self._storage)
        clipped = {(one.reference, one.device) for one in gradients}
        clip = Node("clip", 0, [])
        for node in self._nodes:
            if node.members and node.members[0][0].phase == "opt":
                for key in clipped & set(node.reads):
                    clip.reads[key] = node.reads[key]
                    self._wait_for_read(clip, *key)
                    node.before.add(id(clip))
        return self._add(clip) and gradients

    def _add_gradients(self):
        """Where pieces are updated behind the step, their gradients are brought to them."""
        node = self._add(Node("gradients", len(self._step.ops), []))
        for one in self._updated:
            node.reads[one.gradient, one.device] = self._read(node, one.gradient, one.device,
                                                              node.before)

    def _wait_for_read(self, clip, reference, device):
        transfer = clip.reads[reference, device]
        made = transfer or self._maker[reference, device]
        clip.before.add(id(made))
        clip.place = max(clip.place, made.place)

    def _place_of_inputs(self, op):
        """Behind which what it gives is there: collectives begin at once, beside other ops."""
        makers = [self._maker.get((reference, op.device)) for reference in self._reads_of[op.name]]
        return max((maker.place for maker in makers if maker), default=0)

    def _add(self, node):
        self._nodes.append(node)
        return node

    def _connect(self, node, op, device):
        before: set = set()
        for reference in self._reads_of[op.name]:
            node.reads[reference, device] = self._read(node, reference, device, before)
        for reference in op_schemas.written_inputs(op):
            storage = self._storage[self._references.canonical(reference)]
            if storage in self._writer:
                before.add(id(self._writer[storage]))
            before.update(id(reader) for reader in self._readers.get(storage, ()))
            self._writer[storage] = node
            self._readers[storage] = []
            self._version[storage] = self._version.get(storage, 0) + 1
            node.writes.append(storage)
        for earlier in op.after:
            before.update(id(made) for made in self._made_of.get(earlier, ()))
        if _draws(op):
            if device in self._last_random:
                before.add(id(self._last_random[device]))
            self._last_random[device] = node
        for k in range(op.outputs):
            self._maker[f"{op.name}:{k}", device] = node
        self._made_of.setdefault(op.name, []).append(node)
        before.discard(id(node))
        node.before |= before

    def _read(self, node, reference, device, before):
        """The transfer that brings it to the device, or None where it lies there."""
        storage = self._storage[reference]
        if reference in self._free:
            if (reference, device) in self._maker:
                before.add(id(self._maker[reference, device]))
            return None
        home = self._homes[storage]
        if home == device:
            self._wait_for_content(reference, home, before)
            self._readers.setdefault(storage, []).append(node)
            return None
        key = reference, self._version.get(storage, 0), device
        transfer = self._transfers.get(key)
        if transfer is None:
            maker = self._maker.get((reference, home))
            transfer = self._add(Node("transfer", maker.place if maker else 0, [], reference, home,
                                      device))
            self._wait_for_content(reference, home, transfer.before)
            self._readers.setdefault(storage, []).append(transfer)
            self._transfers[key] = transfer
        before.add(id(transfer))
        return transfer

    def _wait_for_content(self, reference, home, before):
        storage = self._storage[reference]
        if storage in self._writer:
            before.add(id(self._writer[storage]))
        if (reference, home) in self._maker:
            before.add(id(self._maker[reference, home]))

    def _sorted(self):
        """Each node behind those that it waits for; of those that may come, the file's first."""
        number = {id(node): i for i, node in enumerate(self._nodes)}
        waits = [len(node.before) for node in self._nodes]
        next_of: list = [[] for _ in self._nodes]
        for i, node in enumerate(self._nodes):
            for earlier in node.before:
                next_of[number[earlier]].append(i)
        ready = [(self._nodes[i].place, i) for i, count in enumerate(waits) if count == 0]
        heapq.heapify(ready)
        result = []
        while ready:
            _, i = heapq.heappop(ready)
            result.append(self._nodes[i])
            for later in next_of[i]:
                waits[later] -= 1
                if waits[later] == 0:
                    heapq.heappush(ready, (self._nodes[later].place, later))
        if len(result) != len(self._nodes):
            raise ApplyError("plan-invalid", "its ops wait for one another", str(self._step.path))
        return result


DRAWS = ("bernoulli", "dropout", "rand", "normal", "uniform", "exponential", "multinomial", "rrelu")


def _draws(op):
    """Whether it draws from PyTorch's generator."""
    name = op.target.split(".")[1]
    return op.target.startswith("aten.") and "backward" not in name and \
        any(word in name for word in DRAWS)
