"""How much more memory than its tensors a training step needs under PyTorch's caching allocator.

    python3 bench/memory/caching_allocator.py STEP.json.gz...

Replays the tensors of recorded steps (docs/formats/aten-graph.md) on one device, in the order of
their recording, through the rules of c10/cuda/CUDACachingAllocator.cpp as they are by default:
sizes in blocks of 512 B; tensors of up to 1 MiB out of segments of 2 MiB, larger ones out of
segments of 20 MiB (below 10 MiB) or of their size in multiples of 2 MiB; the smallest free block
that is large enough is taken and split where the rest is at least 512 B (more than 1 MiB for large
ones); neighbours that are free join; where the device has no room for a segment, all segments that
are wholly free go back to the driver first. One stream, two steps one after the other.

Printed: the largest sum of tensors; what the allocator holds where memory is plenty; and, by
bisection, the smallest device on which both steps run, each against that sum.
"""

import bisect
import gzip
import json
import os
import sys

MIB = 1 << 20
BLOCK, SMALL, LARGE = 512, 1 * MIB, 10 * MIB
BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1,
         "u16": 2, "u32": 4, "u64": 8, "bool": 1, "b8": 1, "c64": 8, "c128": 16}
STEPS = 2


def rounded(size):
    return max(BLOCK, -(-size // BLOCK) * BLOCK)


def bytes_of(tensor):
    count = BYTES[tensor["dtype"]]
    for size in tensor["shape"]:
        count *= size
    return count


def read_step(path):
    """(sizes of storages, those that persist, [(storage, whether it is made)])."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        graph = json.load(file)
    sizes, storage, made, last = [], {}, {}, {}
    for tensor in graph["inputs"]:
        if tensor["kind"] == "hyper":  # a number of the program
            continue
        storage[tensor["name"]] = len(sizes)
        sizes.append(bytes_of(tensor))
    persistent = range(len(sizes))
    for time, op in enumerate(graph["ops"]):
        for name in op["inputs"]:
            last[storage[name]] = time
        for k, tensor in enumerate(op["outputs"]):
            if tensor is None:
                continue
            if op.get("alias") in ("view", "inplace") and op["inputs"]:
                held = storage[op["inputs"][0]]
            else:
                held = len(sizes)
                sizes.append(bytes_of(tensor))
                made[held] = time
            last[held] = time
            storage[f"{op['name']}:{k}"] = held
            storage.setdefault(op["name"], held)
    end = len(graph["ops"]) - 1
    for name in graph["outputs"]:
        last[storage[name]] = end
    events = [(time, 0, held) for held, time in made.items()]
    events += [(last[held], 1, held) for held in made]
    return sizes, persistent, [(held, kind == 0) for _, kind, held in sorted(events)]


class Block:
    __slots__ = ("size", "address", "pool", "before", "after", "free")

    def __init__(self, size, address, pool):
        self.size, self.address, self.pool = size, address, pool
        self.before = self.after = None
        self.free = False


class CachingAllocator:
    """malloc returns None where the device is too small."""

    def __init__(self, device):
        self.device, self.held, self.max_held, self.segments = device, 0, 0, 0
        self.pools = ([], [])  # free blocks by (size, address): small, large

    @staticmethod
    def key(entry):
        return entry[:2]

    def insert(self, block):
        block.free = True
        bisect.insort(self.pools[block.pool], (block.size, block.address, block), key=self.key)

    def remove(self, block):
        pool = self.pools[block.pool]
        pool.pop(bisect.bisect_left(pool, (block.size, block.address), key=self.key))

    def malloc(self, size):
        size, small = rounded(size), rounded(size) <= SMALL
        pool = self.pools[0 if small else 1]
        at = bisect.bisect_left(pool, (size, -1), key=self.key)
        block = pool.pop(at)[2] if at < len(pool) else self.segment(size, small)
        if block is None:
            return None
        rest = block.size - size
        if rest >= BLOCK if small else rest > SMALL:
            tail = Block(rest, block.address + size, block.pool)
            tail.before, tail.after = block, block.after
            if block.after:
                block.after.before = tail
            block.after, block.size = tail, size
            self.insert(tail)
        block.free = False
        return block

    def segment(self, size, small):
        size = 2 * MIB if small else 20 * MIB if size < LARGE else -(-size // (2 * MIB)) * 2 * MIB
        if self.held + size > self.device:
            self.release()
            if self.held + size > self.device:
                return None
        self.held += size
        self.max_held = max(self.max_held, self.held)
        self.segments += 1
        return Block(size, self.segments << 44, 0 if small else 1)

    def release(self):
        for pool in self.pools:
            whole = [entry for entry in pool if not entry[2].before and not entry[2].after]
            self.held -= sum(entry[0] for entry in whole)
            pool[:] = [entry for entry in pool if entry[2].before or entry[2].after]

    def free(self, block):
        if block.before and block.before.free:
            left = block.before
            self.remove(left)
            left.size += block.size
            left.after = block.after
            if block.after:
                block.after.before = left
            block = left
        if block.after and block.after.free:
            right = block.after
            self.remove(right)
            block.size += right.size
            block.after = right.after
            if right.after:
                right.after.before = block
        self.insert(block)


def run(step, device):
    """(largest sum of tensors, maximum that was held), or None where the device is too small."""
    sizes, persistent, events = step
    allocator, live, now, peak = CachingAllocator(device), {}, 0, 0
    for held, is_made in [(held, True) for held in persistent] + events * STEPS:
        if sizes[held] == 0:
            continue
        if is_made:
            live[held] = allocator.malloc(sizes[held])
            if live[held] is None:
                return None
            now += rounded(sizes[held])
            peak = max(peak, now)
        else:
            allocator.free(live.pop(held))
            now -= rounded(sizes[held])
    return peak, allocator.max_held


def main(paths):
    if not paths:
        sys.exit(__doc__)
    print("| step | tensors, MiB | held where memory is plenty | smallest device |\n|---|---:|---:|---:|")
    for path in paths:
        step = read_step(path)
        tensors, held = run(step, 1 << 60)
        low, high = tensors - 1, held  # too small, enough
        while high - low > max(MIB // 4, tensors // 1000):
            middle = (low + high) // 2
            if run(step, middle):
                high = middle
            else:
                low = middle
        name = os.path.basename(path).split(".")[0]
        print(f"| {name} | {tensors / MIB:.1f} | +{held / tensors - 1:.1%} | +{high / tensors - 1:.1%} |",
              flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
