"""How the numbers of a step follow its batch size, proven by recordings at three sizes and, below
the recorded batch, a fourth.

The laws, their exactness and the fields that state them are those of docs/formats/aten-graph.md,
"Other batch sizes". With value v at batch b, a number is at batch n

    v + slope * (n - b)   exactly; integers, and real numbers with the value of one
    v * f(n) / f(b)       where f is a product of terms linear in the batch, "1/N", "N*(N-1)"; integers exactly, real
                          numbers up to 2^-51 of the value (batch_products.py)
"""

import struct

from . import batch_products

LARGEST_REAL = 2**53  # below, every integer is a double
NO_LAW = ", neither linear in the batch nor proportional to a product of such terms"


class Obstacle(Exception):
    """Why the step stands for the batch that it was recorded at alone."""


def size_pairs(batch):
    """Pairs of other sizes to record at, the best first: no number is linear at random."""
    pairs = ((batch + 1, 2 * batch + 3), (2 * batch, 3 * batch), (batch - 1, batch // 2))
    return [pair for pair in pairs if pair[1] >= 1 and pair[0] != pair[1]]


def smaller_sizes(sizes):
    """Sizes below those of a proof to compare at, the best first."""
    half = max(2, sizes[0] // 2)
    return [size for size in (1, half) if size < min(sizes)]


def number_at(value, law, batch, to):
    """`value`, an int or float of batch `batch`, at batch `to`; None where the law is none for it."""
    if isinstance(law, str):
        return batch_products.number_at(value, law, batch, to)
    if isinstance(value, int):
        return value + law * (to - batch)
    if not value.is_integer() or abs(value) > LARGEST_REAL:
        return None
    scaled = int(value) + law * (to - batch)
    return float(scaled) if abs(scaled) <= LARGEST_REAL else None


def prove(sizes, steps):
    """Adds `slopes` to the records of the first of three steps, recorded at these three sizes.
    Raises Obstacle, which names the first record that differs, before anything is added."""
    for record, slopes in _Proof(sizes, steps).run():
        record["slopes"] = slopes


def holds(sizes, steps):
    """Whether the laws that prove() added to the first of these steps are also those through the
    others."""
    try:
        found = _Proof(sizes, steps).run()
    except Obstacle:
        return False
    if any(record.get("slopes") != slopes for record, slopes in found):
        return False
    return len(found) == sum("slopes" in record for record in _records(steps[0]))


def _records(step):
    """All that may have slopes."""
    yield from step.inputs
    for op in step.ops:
        yield op
        yield from (output for output in op["outputs"] if output is not None)


class _Proof:
    def __init__(self, sizes, steps):
        self._sizes, self._steps = sizes, steps
        self._found = []  # (record, its slopes)
        self._op, self._laws = "", []

    def run(self):
        """(record of the first step, its slopes) of all whose numbers follow the batch."""
        self._same_count("inputs", [step.inputs for step in self._steps])
        for records in zip(*(step.inputs for step in self._steps)):
            self._input(records)
        for records in zip(*(step.ops for step in self._steps)):
            self._call(records)
        self._same_count("ops", [step.ops for step in self._steps])
        if any(step.outputs != self._steps[0].outputs for step in self._steps):
            raise Obstacle("the step leaves other tensors behind at another batch")
        return self._found

    def _differ(self, what, values, why=""):
        first, second, third = (str(value)[:80] for value in values)
        raise Obstacle(f"{what} is {first}, {second} and {third}{why}, at batch "
                       f"{self._sizes[0]}, {self._sizes[1]} and {self._sizes[2]}")

    def _same_count(self, what, lists):
        counts = [len(items) for items in lists]
        if len(set(counts)) > 1:
            self._differ(f"the number of {what}", counts)

    def _input(self, records):
        name = records[0]["name"]
        for record, size in zip(records, self._sizes):
            if (record["name"], record["kind"]) != (name, records[0]["kind"]):
                raise Obstacle(f"the input {name} is not there at batch {size}")
        self._tensor(f"input {name}", records)

    def _call(self, records):
        op = records[0]
        name = f"op {op['name']} ({op['target']})"
        for record, size in zip(records, self._sizes):
            if (record["name"], record["target"]) != (op["name"], op["target"]):
                raise Obstacle(f"{name} is {record['name']} ({record['target']}) at batch {size}")
            for key, what in (("inputs", "reads other tensors"), ("phase", "runs in another phase"),
                              ("scope", "is of another module"), ("alias", "is another view"),
                              ("after", "comes after other writes"),
                              ("numbers", "follows other numbers of the program")):
                if record.get(key) != op.get(key):
                    raise Obstacle(f"{name} {what} at batch {size}")
        self._op, self._laws = name, []
        self._values([record["args"] for record in records], "args", [])
        keywords = [record.get("kwargs", {}) for record in records]
        if any(list(given) != list(keywords[0]) for given in keywords):
            raise Obstacle(f"{name} has other keyword arguments at another batch")
        for key in keywords[0]:
            self._values([given[key] for given in keywords], f"kwargs.{key}", [key])
        if self._laws:
            self._found.append((op, self._laws))
        self._results(name, [record["outputs"] for record in records])

    def _results(self, name, outputs):
        if len({tuple(item is None for item in given) for given in outputs}) > 1:
            raise Obstacle(f"{name} has other outputs at another batch")
        for k, items in enumerate(zip(*outputs)):
            if items[0] is not None:
                self._tensor(f"output {k} of {name}", items)

    def _tensor(self, name, records):
        types = [record["dtype"] for record in records]
        if len(set(types)) > 1:
            self._differ(f"the type of {name}", types)
        shapes = [record["shape"] for record in records]
        if len({len(shape) for shape in shapes}) > 1:
            self._differ(f"the number of dimensions of {name}", [len(shape) for shape in shapes])
        laws = []
        for dimension, values in enumerate(zip(*shapes)):
            law = self._law(values)
            if law is None:
                self._differ(f"the size of dimension {dimension} of {name}", values, NO_LAW)
            laws.append(law)
        if any(laws):
            self._found.append((records[0], laws))

    def _law(self, values):
        """Of three integers: the slope of a line, else a product; None where they follow neither."""
        slope, rest = divmod(values[1] - values[0], self._sizes[1] - self._sizes[0])
        if rest == 0 and number_at(values[0], slope, self._sizes[0], self._sizes[2]) == values[2]:
            return slope
        return batch_products.law_of(values, self._sizes)

    def _values(self, values, place, path):
        """Compares one argument; `path` leads to it in the field `slopes`."""
        kinds = {type(value) for value in values}
        first = values[0]
        if kinds == {list} and len({len(value) for value in values}) == 1:
            for i, items in enumerate(zip(*values)):
                self._values(items, f"{place}[{i}]", [*path, i])
            return
        law = None
        if kinds == {int}:
            law = self._law(values)
        elif kinds == {float}:
            law = self._real_law(values)
        elif len(kinds) == 1 and all(value == first for value in values):
            law = 0
        if law is None:
            self._differ(f"{place} of {self._op}", values, NO_LAW)
        if law:
            self._laws.append([*path, law])

    def _real_law(self, values):
        """0: the same at every batch; None: no law."""
        if len({struct.pack("<d", value) for value in values}) == 1:
            return 0
        slope = (values[1] - values[0]) / (self._sizes[1] - self._sizes[0])
        line = int(slope) if 1 <= abs(slope) < 9e15 else 0
        if line and all(number_at(values[0], line, self._sizes[0], size) == value
                        for size, value in zip(self._sizes[1:], values[1:])):
            return line
        return batch_products.law_of(values, self._sizes)
