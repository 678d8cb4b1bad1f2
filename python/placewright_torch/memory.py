"""Which tensors share memory, and which op wrote it last.

Every tensor that PyTorch hands around is a `Value`: the reference that names it in the file, and
the bytes that it shows of one `Memory`. In the file a reference stands for what the op left there.
A write through another view of the same bytes gives a tensor no new reference; what reads it
then must still come after that write, so the op carries the writer's name in `after`.
"""


class Memory:
    """One storage and all ops that wrote to it, as (name of the op, first byte, end)."""

    def __init__(self, is_given=False):
        self.writes = []
        self.is_given = is_given  # an example input or target
        self.last_use = None  # see lifetimes.py


class Value:
    """A tensor as the file knows it."""

    def __init__(self, reference, memory, extent):
        self.reference = reference
        self.memory = memory
        self.extent = extent
        self.seen = len(memory.writes)  # the writes that the reference stands for
        self._known = None  # (known.Known of every element, writes of the memory when it was so)

    def view(self, reference, extent):
        """Other bytes of the same memory, as old as this value."""
        value = Value(reference, self.memory, extent)
        value.seen = self.seen
        value._known = self._known
        return value

    def fill(self, known):
        """Notes what every element is (known.Known), until somebody writes."""
        self._known = (known, len(self.memory.writes))

    def known(self):
        """The Known that every element is, or None."""
        holds = self._known is not None and self._known[1] == len(self.memory.writes)
        return self._known[0] if holds else None

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


def _same_places(sizes, strides, others):
    """Strides of dimensions that have one element do not count."""
    return all(size == 1 or a == b for size, a, b in zip(sizes, strides, others))


def keeps_elements(tensor, size, stride, storage_offset=None):
    """Whether as_strided with these arguments gives all elements of the tensor, in their order: "same"
    where their shape stays, too; "view" where both lie behind one another; else None."""
    if storage_offset not in (None, tensor.storage_offset()) or len(size) != len(stride):
        return None
    if tuple(size) == tuple(tensor.size()):
        return "same" if _same_places(size, stride, tensor.stride()) else None
    contiguous, behind = [], 1
    for one in reversed(size):
        contiguous.insert(0, behind)
        behind *= one
    behind_one_another = behind == tensor.numel() and tensor.is_contiguous()
    return "view" if behind_one_another and _same_places(size, stride, contiguous) else None
