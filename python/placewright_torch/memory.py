"""Which tensors share memory, and which op wrote it last.

Every tensor that PyTorch hands around is a `Value`: the reference that names it in the file, and
the bytes that it shows of one `Memory`. In the file a reference stands for what the op left there.
A write through another view of the same bytes gives a tensor no new reference; what reads it
then must still come after that write, so the op carries the writer's name in `after`.
"""


class Memory:
    """One storage and all ops that wrote to it, as (name of the op, first byte, end)."""

    def __init__(self):
        self.writes = []


class Value:
    """A tensor as the file knows it."""

    def __init__(self, reference, memory, extent):
        self.reference = reference
        self.memory = memory
        self.extent = extent
        self.seen = len(memory.writes)  # the writes that the reference stands for
        self._number = None  # (what every element is, writes of the memory when that was so)

    def view(self, reference, extent):
        """Other bytes of the same memory, as old as this value."""
        value = Value(reference, self.memory, extent)
        value.seen = self.seen
        value._number = self._number
        return value

    def fill(self, number):
        """Notes that every element is this number, until somebody writes."""
        self._number = (number, len(self.memory.writes))

    def number(self):
        """The number that every element is, or None where that is unknown."""
        known = self._number is not None and self._number[1] == len(self.memory.writes)
        return self._number[0] if known else None

    def later_writers(self):
        """Ops that wrote bytes of this value since its reference was made."""
        first, end = self.extent
        return [name for name, low, high in self.memory.writes[self.seen:]
                if low < end and first < high]

    def written_by(self, name):
        """Notes a write that gives the value no new reference."""
        self.memory.writes.append((name, *self.extent))

    def replaced_by(self, name, reference):
        """Notes a write whose result is the value from now on."""
        self.written_by(name)
        self.reference = reference
        self.seen = len(self.memory.writes)


def extent_of(tensor):
    """The bytes of its storage that a strided tensor reaches: (first, end)."""
    if tensor.numel() == 0:
        return (0, 0)
    reach = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))
    first, width = tensor.storage_offset(), tensor.element_size()
    return (int(first * width), int((first + reach + 1) * width))
