"""Calls of ATen operators with values, written as a graph that `placewright inspect --axes` reads, and
executed in parts as the rules say that it prints."""

import itertools
import json
import math
import subprocess

from support import PROGRAM

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
          torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
          torch.uint8: "u8", torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128"}


class Call:
    """One call below autograd: its operator, its arguments before it wrote on them, its results."""

    def __init__(self, func, args, kwargs, result, before):
        self.func, self.args, self.kwargs, self.before = func, args, kwargs, before
        self.listed = isinstance(result, (list, tuple))
        self.results = [r.clone() if isinstance(r, torch.Tensor) else r
                        for r in (result if self.listed else [result])]

    @property
    def target(self):
        name = self.func._schema.name.replace("aten::", "aten.")
        return f"{name}.{self.func._overloadname}"


class Recorder(TorchDispatchMode):
    """Keeps calls on dense tensors of the CPU, one for each operator, shapes and other arguments."""

    def __init__(self, wanted, at_most=6):
        super().__init__()
        self.wanted, self.at_most = wanted, at_most
        self.calls, self._seen, self._count = [], set(), {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        # `before` keeps the strides of what is read.
        before = None
        if self._is_wanted(func, tensors):
            before = {id(t): _copied(t) for t in tensors}
        result = func(*args, **kwargs)
        if before is not None:
            key = (str(func), repr(tree_map(_outline, (args, kwargs))))
            if key not in self._seen and self._count.get(str(func), 0) < self.at_most:
                self._seen.add(key)
                self._count[str(func)] = self._count.get(str(func), 0) + 1
                self.calls.append(Call(func, args, kwargs, result, before))
        return result

    def _is_wanted(self, func, tensors):
        schema = getattr(func, "_schema", None)
        if schema is None or not schema.name.startswith("aten::") or not self.wanted(func):
            return False
        return all(type(t) in (torch.Tensor, torch.nn.Parameter) and t.layout == torch.strided and
                   t.dtype in DTYPES and t.device.type == "cpu" for t in tensors)


def _copied(tensor):
    strides = tensor.stride()
    if tensor.numel() == 0 or 0 in strides:
        return tensor.detach().clone()
    copy = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
    return copy.copy_(tensor.detach())


def _outline(value):
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)}{value.dtype}"
    return value


def _encoded(value, inputs):
    if isinstance(value, torch.Tensor):
        inputs.append(value)
        return f"%{len(inputs) - 1}"
    if isinstance(value, (list, tuple)):
        return [_encoded(item, inputs) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, complex):
        raise ValueError("a complex number is no argument of a file")
    if value in DTYPES:
        return DTYPES[value]
    return str(value)


def rules_of(calls, folder):
    """[call] -> the rule that the program has for it, or None; with the reason in that case."""
    inputs, ops, kept = [], [], []
    for number, call in enumerate(calls):
        read = []
        try:
            args = [_encoded(value, read) for value in call.args]
            kwargs = {key: _encoded(value, read) for key, value in call.kwargs.items()}
            text = json.dumps([args, kwargs], allow_nan=False)
        except ValueError:
            continue
        names = []
        positions = {}
        for tensor in read:
            if id(tensor) not in positions:
                positions[id(tensor)] = len(names)
                names.append(f"input:{number}.{len(names)}")
                inputs.append({"name": names[-1], "kind": "input", "shape": list(tensor.shape),
                               "dtype": DTYPES[tensor.dtype]})
        args, kwargs = _renumbered(json.loads(text), [positions[id(t)] for t in read])
        outputs = [None if not isinstance(r, torch.Tensor) or r.dtype not in DTYPES else
                   {"shape": list(r.shape), "dtype": DTYPES[r.dtype]} for r in call.results]
        if not any(outputs):
            continue
        record = {"name": f"op{number}", "target": call.target, "phase": "fwd", "inputs": names,
                  "args": args, "outputs": outputs}
        if kwargs:
            record["kwargs"] = kwargs
        call.inputs = list({id(t): call.before[id(t)] for t in read}.values())
        call.positions = positions
        kept.append(call)
        ops.append(record)
    path = folder / "calls.json"
    path.write_text(json.dumps({"name": "calls", "inputs": inputs, "ops": ops, "outputs": []}))
    run = subprocess.run([PROGRAM, "inspect", str(path), "--axes", "--json"], capture_output=True,
                         text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stdout[-2000:] + run.stderr[-2000:])
    found = {op["name"]: op for op in json.loads(run.stdout)["ops"]}
    return [(call, found[op["name"]].get("rule"), found[op["name"]].get("reason", ""))
            for call, op in zip(kept, ops)]


def _renumbered(value, positions):
    if isinstance(value, list):
        return [_renumbered(item, positions) for item in value]
    if isinstance(value, dict):
        return {key: _renumbered(item, positions) for key, item in value.items()}
    if isinstance(value, str) and value.startswith("%"):
        return f"%{positions[int(value[1:])]}"
    return value


def _parts(size, count):
    """[0, size) in intervals of different lengths."""
    intervals, begin = [], 0
    for i in range(count):
        left = size - begin - (count - 1 - i)
        length = size - begin if i + 1 == count else max(1, left // 3)
        intervals.append((begin, length))
        begin += length
    return intervals


class RuleCheck:
    """A rule held to its call: every axis that can be split, in two and in three uneven parts."""

    TOLERANCE = 1e-10

    def __init__(self, call, rule):
        self.call, self.rule = call, rule
        self.sizes = [axis["size"] for axis in rule["axes"]]
        self.outputs = [r for r in call.results if isinstance(r, torch.Tensor)]
        self.splits = 0

    def run(self):
        """What is wrong, the first found, or ""."""
        for axis, one in enumerate(self.rule["axes"]):
            # Operators of the program's own compute parts of some axes: its runtime's tests execute these.
            if one["parts"] not in ("split", "sum") or "part_op" in one:
                continue
            for count in (2, 3):
                if one["size"] < count:
                    continue
                self.splits += 1
                try:
                    wrong = self._run(axis, one, _parts(one["size"], count))
                except Exception as error:
                    wrong = f"{type(error).__name__}: {str(error)[:300]}"
                if wrong:
                    return (f"{self.call.target}: axis {axis} of {one['size']} in {count} parts: "
                            f"{wrong}")
        return ""

    def _cut(self, tensor, axes, axis, interval):
        for dimension, factors in enumerate(axes):
            if axis not in factors:
                continue
            shape = list(tensor.shape)
            split = shape[:dimension] + [self.sizes[f] for f in factors] + shape[dimension + 1:]
            at = dimension + factors.index(axis)
            tensor = tensor.reshape(split).narrow(at, *interval)
            shape[dimension] = shape[dimension] // self.sizes[axis] * interval[1]
            tensor = tensor.reshape(shape)
        return tensor

    def _run(self, axis, one, intervals):
        sums = {}
        for number, interval in enumerate(intervals):
            parts = {}
            for i, tensor in enumerate(self.call.inputs):
                part = _dense(self._cut(tensor, self.rule["inputs"][i], axis, interval), tensor)
                once = {"axis": axis, "input": i} in self.rule.get("once", ())
                parts[i] = torch.zeros_like(part) if once and number > 0 else part
            results = self._call(axis, one, parts, interval)
            for i, (found, whole) in enumerate(zip(results, self.outputs)):
                held = any(axis in dimension for dimension in self.rule["outputs"][i])
                if held:
                    expected = self._cut(whole, self.rule["outputs"][i], axis, interval)
                elif one["parts"] == "sum":
                    sums[i] = found.clone() if i not in sums else sums[i] + found
                    continue
                else:
                    expected = whole
                if "_ctc_loss" in self.call.target and i == 1:
                    continue  # as long as the longest target of the part, and not filled beyond its own
                wrong = self._compare(found, expected, whole)
                if wrong:
                    return f"result {i}: {wrong}"
        if "divided_by_result" in self.rule and len(sums) > 1:
            sums[0] = sums[0] / sums[1]
        for i, found in sums.items():
            wrong = self._compare(found, self.outputs[i], self.outputs[i])
            if wrong:
                return f"sum {i}: {wrong}"
        return ""

    def _call(self, axis, one, parts, interval):
        call, rule = self.call, self.rule
        lengths = list(self.sizes)
        lengths[axis] = interval[1]
        numbers = {}
        for size in rule.get("sizes", ()):
            number = size["times"]
            for factor in size["axes"]:
                number *= lengths[factor]
            numbers[size["number"]] = number
        counter = itertools.count()

        def given(value):
            if isinstance(value, torch.Tensor):
                return parts[call.positions[id(value)]]
            if isinstance(value, (list, tuple)):
                return [given(item) for item in value]
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return numbers.get(next(counter), value)
            return value

        args = [given(value) for value in call.args]
        kwargs = {key: given(value) for key, value in call.kwargs.items()}
        func = call.func
        if "divisor" in rule or "divided_by_result" in rule:
            at = rule.get("reduction_argument")
            if at is None:
                func = {"mean.default": torch.ops.aten.sum.default,
                        "mean.dim": torch.ops.aten.sum.dim_IntList}[call.target[len("aten."):]]
            elif at < len(args):
                args[at] = 2
            else:
                kwargs["reduction"] = 2
        if "part_op" in rule:
            name, overload = rule["part_op"]["type"].split(".")[1:]
            func = getattr(getattr(torch.ops.aten, name), overload)
            args, kwargs = args[:rule["part_op"]["arguments"]], {}
            if rule["part_op"].get("sizes"):
                args.append([math.prod(lengths[f] for f in factors)
                             for factors in rule["outputs"][0]])
        if "part_op" in one:
            raise NotImplementedError("an operator of the program's own")
        result = func(*args, **kwargs)
        results = [r for r in (result if isinstance(result, (list, tuple)) else [result])
                   if isinstance(r, torch.Tensor)]
        if "divisor" in rule:
            results[0] = results[0] / rule["divisor"]
        return results

    def _compare(self, found, expected, whole):
        if found.shape != expected.shape:
            return f"shape {list(found.shape)}, not {list(expected.shape)}"
        if found.dtype != expected.dtype:
            return f"dtype {found.dtype}, not {expected.dtype}"
        if found.numel() == 0:
            return ""
        if not found.is_floating_point() and not found.is_complex():
            return "" if torch.equal(found, expected) else "other integers"
        wide = torch.complex128 if found.is_complex() else torch.float64
        found, expected, whole = found.to(wide), expected.to(wide), whole.to(wide)
        if not torch.equal(torch.isfinite(found.abs()), torch.isfinite(expected.abs())):
            return "other infinities"
        apart = (found - expected).abs().nan_to_num(0, 0, 0).max().item()
        scale = whole.abs().nan_to_num(0, 0, 0).max().item()
        if apart <= self.TOLERANCE * max(scale, 1e-3):
            return ""
        return f"off by {apart:.3g} of {scale:.3g}"


def _dense(part, like):
    """A part as a device has it: packed, in the order of the whole's strides."""
    order = sorted(range(like.dim()), key=lambda d: -like.stride(d))
    strides, stride = [0] * like.dim(), 1
    for d in reversed(order):
        strides[d] = stride
        stride *= max(part.shape[d], 1)
    return torch.empty_strided(part.shape, strides, dtype=part.dtype).copy_(part)
