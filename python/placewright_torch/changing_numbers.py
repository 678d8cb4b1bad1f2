"""Numbers of the update that change between steps, as inputs of the step.

The hyper-parameters in an optimizer's groups (lr, betas, momentum, ...) and its counters of steps
are numbers of the program, and so are the numbers in the arguments of recorded ops that come from
them: lr / (1 - beta1 ** step). The file has such a number as it stood in the recorded step, and
says which numbers of the program it follows, by which formula.

That is proven, as the laws of the batch are: the update runs twice more, not recorded, with other
hyper-parameters and later steps. A number in the arguments that then differs is one that changes.
Its formula is one of those that the update computed, kept by a float that notes the arithmetic
which it takes part in; it must give all three values, to the last bit. A number that changes for
which there is none (its arithmetic leaves Python, or its origin is the user's own counter) is an
input itself.
"""

import contextlib
import math
import operator

import torch

from . import compat

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
             "**": operator.pow}
FUNCTIONS = {"-": operator.neg, "sqrt": math.sqrt, "abs": abs}
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
RUNS = 3  # the recorded one is the first
_sqrt = math.sqrt

# A formula is a number, the name of an input, or a tuple (operator, formula, formula), (function,
# formula).


def value_of(formula, inputs):
    """Its value where `inputs` has the values of names."""
    if isinstance(formula, str):
        return inputs[formula]
    if not isinstance(formula, tuple):
        return formula
    table = OPERATORS if len(formula) == 3 else FUNCTIONS
    return table[formula[0]](*(value_of(part, inputs) for part in formula[1:]))


def text_of(formula, strength=0):
    """As Python writes it, names of inputs in braces: "1 - {0.lr} * 0.01"."""
    if isinstance(formula, str):
        return "{" + formula + "}"
    if not isinstance(formula, tuple):
        text = repr(formula)
        return f"({text})" if formula < 0 and strength else text
    if len(formula) == 2:
        inner = text_of(formula[1], 3)
        text = f"-{inner}" if formula[0] == "-" else f"{formula[0]}({text_of(formula[1])})"
        return f"({text})" if formula[0] == "-" and strength >= 3 else text
    name, own = formula[0], STRENGTH[formula[0]]
    left = text_of(formula[1], own + (name == "**"))
    right = text_of(formula[2], own + (name != "**"))
    text = f"{left} {name} {right}"
    return f"({text})" if own < strength else text


def names_in(formula):
    if isinstance(formula, str):
        return [formula]
    return [name for part in formula[1:] for name in names_in(part)] \
        if isinstance(formula, tuple) else []


class _Followed:
    """A number that notes the formula of what is computed from it."""

    def __new__(cls, value, formula, numbers):
        self = super().__new__(cls, value)
        self.formula, self._numbers = formula, numbers
        return self

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    def __reduce__(self):
        return (cls_of(self), (cls_of(self)(self),))


def cls_of(number):
    return int if isinstance(number, int) else float


def plain(number):
    return cls_of(number)(number) if isinstance(number, _Followed) else number


def _binary(name, swapped):
    def compute(self, other):
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        value = OPERATORS[name](plain(a), plain(b))
        formulas = [x.formula if isinstance(x, _Followed) else plain(x) for x in (a, b)]
        return self._numbers.computed(value, _folded(name, *formulas))
    return compute


def _folded(name, left, right):
    """(x + -1) + 1 is x: counters of steps are read before or after they are counted up."""
    if name == "+" and isinstance(right, int) and isinstance(left, tuple) and left[0] == "+" \
            and len(left) == 3 and isinstance(left[2], int):
        right, left = left[2] + right, left[1]
        return left if right == 0 else ("+", left, right)
    return (name, left, right)


def _unary(name):
    def compute(self):
        return self._numbers.computed(FUNCTIONS[name](plain(self)), (name, self.formula))
    return compute


for _name, _method in (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("**", "pow")):
    setattr(_Followed, f"__{_method}__", _binary(_name, False))
    setattr(_Followed, f"__r{_method}__", _binary(_name, True))
_Followed.__neg__, _Followed.__abs__ = _unary("-"), _unary("abs")


class _Real(_Followed, float):
    pass


class _Count(_Followed, int):
    pass


def _sqrt_of(number):
    if isinstance(number, _Followed):
        return number._numbers.computed(_sqrt(plain(number)), ("sqrt", number.formula))
    return _sqrt(number)


class Numbers:
    """The numbers of one update in its three runs."""

    def __init__(self):
        self.values = [{} for _ in range(RUNS)]  # of the inputs' names, in each run
        self._formulas = {}  # value in the recorded run -> formulas that gave it
        self._run = 0
        self._counters = {}  # id of a counter -> (it, kept alive; the name of its slot)

    @contextlib.contextmanager
    def following(self, run):
        """While inside, numbers are those of this run."""
        self._run = run
        with compat.replaced(math, "sqrt", _sqrt_of):
            yield

    def computed(self, value, formula):
        if isinstance(value, complex) or value != value:
            return value
        if self._run == 0:
            known = self._formulas.setdefault(float(value), [])
            if formula not in known:
                known.append(formula)
        return (_Count if isinstance(value, int) else _Real)(value, formula, self)

    def _input(self, name, value):
        self.values[self._run][name] = plain(value)
        return self.computed(value, name)

    def groups(self, groups, prefix=""):
        """Follows the hyper-parameters of these groups, dicts that are changed."""
        for i, group in enumerate(groups):
            for key in group:
                if key != "params":
                    group[key] = self._followed(group[key], f"{prefix}{i}.{key}", key == "lr")

    def _followed(self, value, name, always):
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self._followed(item, f"{name}.{k}", False)
                               for k, item in enumerate(value))
        if isinstance(value, torch.Tensor):
            content = value
            if isinstance(value, compat.FakeTensor):
                content = getattr(value, "_placewright_content", None)
            if content is None or content.numel() != 1 or content.device.type == "meta":
                return value
            value = float(content)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        if not always and (isinstance(value, int) or value == 0 or value in (1.0, -1.0)):
            return value  # which way the update takes
        if value != value or abs(value) == math.inf:
            return value
        return self._input(name, self._changed(float(plain(value)), len(self.values[self._run])))

    def _changed(self, value, position):
        """Another number in each run, and near enough to take the same way."""
        if value == 0:  # a schedule may begin there
            return self._run * (position % 64 + 1) * 2.0**-16
        return value * (1 - self._run * (position % 64 + 1) * 2.0**-12)

    def counters(self, slots):
        """Follows the counters among an optimizer's state of one parameter, a dict."""
        for slot, value in slots.items():
            if slot == "step" and type(value) is int:  # as it will be when it is counted up
                later = self._distinct(slot, self._moved(value) + 1)
                slots[slot] = self.computed(plain(later) - 1, ("+", later.formula, -1))
            elif isinstance(value, torch.Tensor) and value.dim() == 0 \
                    and not isinstance(value, compat.FakeTensor):
                self._counters[id(value)] = (value, slot)
                with torch.no_grad():
                    if slot != "step" and float(value) in (0, 1):
                        continue  # which way the update takes
                    if float(value).is_integer():
                        value.fill_(self._moved(int(value)))
                    else:
                        value *= 1 + self._run * 2.0**-12

    def _moved(self, count):
        """Another number of steps in each run; few, where powers of betas are no zeros."""
        if self._run == 0:
            return count
        return count + self._run if count < 100 else 20 + 9 * self._run

    def read(self, tensor, value):
        """A number that the update read from a tensor: followed, if it is of a counter."""
        known = self._counters.get(id(tensor))
        if known is None or isinstance(value, (bool, complex)):
            return value
        return self._distinct(known[1], value)

    def _distinct(self, slot, value):
        """The input that a counter of this value is; those of most parameters are equal."""
        name, count = slot, 0
        values = self.values[self._run]
        while values.get(name, value) != value:
            count += 1
            name = f"{slot}.{count}"
        return self._input(name, value)

    # What changes

    def inputs_of(self, ops, others):
        """Notes in the records of ops which of their numbers change, as `numbers`, and returns the
        records of the inputs that these follow. `others` are, of the two other runs, lists of
        (operator, numbers). Returns None where these took another way."""
        recorded = [(op["target"], numbers_in(op["args"], op.get("kwargs", {}))) for op in ops]
        shapes = [[(target, [path for path, _ in found]) for target, found in run]
                  for run in (recorded, *others)]
        if any(shape != shapes[0] for shape in shapes):
            return None
        used, own = {}, {}
        for op, (_, first), (_, second), (_, third) in zip(ops, recorded, *others):
            changes = []
            for (path, a), (_, b), (_, c) in zip(first, second, third):
                if a == b == c:
                    continue
                formula = self._formula(a, b, c)
                if formula is None:
                    formula = own.setdefault((a, b, c), f"number.{len(own)}")
                    used[formula] = a
                used.update((name, self.values[0][name]) for name in names_in(formula)
                            if name not in used)
                changes.append([*path, text_of(formula)])
            if changes:
                op["numbers"] = changes
        return [{"name": f"hyper:{name}", "kind": "hyper", "shape": [], "dtype": "f64",
                 "value": float(value)} for name, value in used.items()]

    def _formula(self, *values):
        for sign, known in ((1, values[0]), (-1, -values[0])):
            for formula in self._formulas.get(float(known), ()):
                if all(self._gives(formula, run, sign * value)
                       for run, value in enumerate(values)):
                    return formula if sign == 1 else ("-", formula)
        return None

    def _gives(self, formula, run, value):
        try:
            return value_of(formula, self.values[run]) == value
        except (ArithmeticError, KeyError, ValueError):
            return False


def numbers_in(args, kwargs):
    """(path, number) of all numbers in the arguments of a record, or in those of a call."""
    found = []

    def walk(value, path):
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                walk(item, [*path, i])
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            if abs(value) < math.inf:
                found.append((path, plain(value)))

    walk(args, [])
    for key, value in kwargs.items():
        walk(value, [key])
    return found
