"""A recorded step and what a plan makes of it, executed operator by operator with PyTorch alone."""

import collections
import gzip
import json
import math

import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
          "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
          "u8": torch.uint8, "bool": torch.bool, "b8": torch.bool, "c64": torch.complex64,
          "c128": torch.complex128}


def read(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def made_up(inputs, below=()):
    """Values for the inputs of a step, by name: normal numbers, optimizer states positive, integers below
    `below[name]` or 2."""
    generator = torch.Generator().manual_seed(5)
    values = {}
    for record in inputs:
        shape, dtype = record["shape"], DTYPES[record["dtype"]]
        if dtype.is_floating_point:
            value = torch.randn(shape, generator=generator, dtype=torch.float64)
            scale = 0.1 if record["kind"] in ("param", "opt_state") else 1.0
            value = (value.abs() if record["kind"] == "opt_state" else value) * scale
            values[record["name"]] = value.to(dtype)
        else:
            limit = dict(below).get(record["name"], 2)
            values[record["name"]] = torch.randint(0, limit, shape, generator=generator).to(dtype)
    return values


def cut(tensor, dimension, outer, size, begin, end):
    """[begin, end) of the middle factor of a dimension that is outer * size * inner."""
    shape = list(tensor.shape)
    inner = shape[dimension] // (outer * size)
    split = tensor.reshape([*shape[:dimension], outer, size, inner, *shape[dimension + 1:]])
    shape[dimension] = outer * (end - begin) * inner
    return split.narrow(dimension + 1, begin, end - begin).reshape(shape).clone()


def part_of(whole, of):
    """What an input of a compiled step is of the original's; inner factors of a dimension are cut first."""
    box = of.get("box", [of] if "dimension" in of else [])
    for axis in sorted(box, key=lambda axis: axis["outer"], reverse=True):
        whole = cut(whole, axis["dimension"], axis["outer"], axis["size"], axis["from"], axis["to"])
    return whole.clone()


def join(parts, dimension, outer):
    shape = list(parts[0].shape)
    split = [p.reshape([*shape[:dimension], outer, p.shape[dimension] // outer, *shape[dimension + 1:]])
             for p in parts]
    shape[dimension] = sum(p.shape[dimension] for p in parts)
    return torch.cat(split, dimension + 1).reshape(shape)


def philox(block, draw, step, seed):
    """Four words of Philox4x32-10."""
    low = 0xFFFFFFFF
    counter = [block & low, block >> 32, draw & low, step & low]
    key = [seed & low, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(second >> 32) ^ counter[1] ^ key[0], second & low, (first >> 32) ^ counter[3] ^ key[1], first & low]
        key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
    return counter


def _normal(words):
    return math.sqrt(-2 * math.log((words[0] + 0.5) / 2**32)) * math.cos(2 * math.pi * words[1] / 2**32)


# Distribution -> how many words an element takes, and what it makes of them and the two numbers
DISTRIBUTIONS = {
    "uniform": (1, lambda w, a, b: a + (b - a) * (w[0] >> 8) / 2**24),
    "exponential": (1, lambda w, a, b: -math.log((w[0] + 0.5) / 2**32) / a),
    "cauchy": (1, lambda w, a, b: a + b * math.tan(math.pi * ((w[0] + 0.5) / 2**32 - 0.5))),
    "geometric": (1, lambda w, a, b: max(1.0, math.ceil(math.log((w[0] + 0.5) / 2**32) / math.log1p(-a)))),
    "normal": (2, lambda w, a, b: a + b * _normal(w)),
    "log_normal": (2, lambda w, a, b: math.exp(a + b * _normal(w))),
    "integers": (2, lambda w, a, b: a + ((w[0] * 2**32 + w[1]) * int(b - a) >> 64)),
}


def _elements(shape, place):
    """The index in the whole, row-major, of each element of a part."""
    dimension, outer, size, begin, end = place or (0, 1, 1, 0, 1)
    whole = list(shape)
    if place:
        whole[dimension] = shape[dimension] // (end - begin) * size
    indices = torch.arange(math.prod(whole)).reshape(whole)
    return (cut(indices, *place) if place else indices).flatten().tolist()


def counted(name, args, kwargs):
    """The operators placewright.counter_*, as docs/formats/aten-graph.md states them."""
    like = args[0]
    step, seed, draw, *numbers, place = args[1:]
    shape = like if isinstance(like, list) else list(like.shape)
    elements = _elements(shape, place)

    def words_of(element, count):
        of_block = 4 // count
        words = philox(element // of_block, draw, int(step), seed)
        return words[element % of_block * count:][:count]
    if "draw" in name:
        distribution, first, second = numbers
        count, of = DISTRIBUTIONS[distribution]
        values = [of(words_of(e, count), first, second) for e in elements]
        default = torch.int64 if distribution == "integers" else torch.float32
        made = torch.tensor(values, dtype=torch.float64).reshape(shape)
        if isinstance(like, list):
            return made.to(kwargs.get("dtype") or default)
        return like.copy_(made) if name == "counter_draw_" else made.to(kwargs.get("dtype") or like.dtype)
    probabilities = like.flatten().tolist() if name == "counter_bernoulli_of" else [numbers[0]] * len(elements)
    if name == "counter_dropout":
        probabilities = [1 - p for p in probabilities]
    mask = torch.tensor([words_of(e, 1)[0] < round(p * 2**32) for e, p in zip(elements, probabilities)],
                        dtype=torch.bool).reshape(shape)
    if name == "counter_dropout":
        return like * mask * (0 if numbers[0] == 1 else 1 / (1 - numbers[0])), mask
    return like.copy_(mask) if name == "counter_bernoulli_" else mask.to(like.dtype)


class Step:
    """`overrides`: operator -> function of (args, kwargs), in place of ATen's."""

    def __init__(self, graph, overrides=()):
        self.graph, self.overrides = graph, dict(overrides)
        self.values = {}

    def run(self, values):
        self.values = {record["name"]: self._input(record, values) for record in self.graph["inputs"]}
        collective = {name: one["members"] for one in self.graph.get("collectives", ())
                      for name in one["members"]}
        by_name = {op["name"]: op for op in self.graph["ops"]}
        waiting = {}  # device -> its ops, in the file's order; a member of a collective waits for the others
        for place, op in enumerate(self.graph["ops"]):
            waiting.setdefault(op.get("device"), []).append((place, op))
        queues = [collections.deque(queue) for queue in waiting.values()]
        while any(queues):
            heads = {queue[0][1]["name"] for queue in queues if queue}

            def ready(op, heads=heads):
                members = collective.get(op["name"], [op["name"]])
                return set(members) <= heads and all(
                    self._has(ref) for m in members for ref in by_name[m]["inputs"])

            queue = min((q for q in queues if q and ready(q[0][1])), key=lambda q: q[0][0])
            op = queue[0][1]
            members = collective.get(op["name"])
            if members is None:
                self._run(op)
            else:
                self._together([by_name[m] for m in members])
            for one in queues:
                if one and one[0][1]["name"] in (members or [op["name"]]):
                    one.popleft()
        return self.values

    def _has(self, reference):
        return reference in self.values

    @staticmethod
    def _input(record, values):
        of = record.get("of")
        if of is None:
            return values[record["name"]].clone()
        return part_of(values[of["input"]], of)

    def _given(self, op):
        inputs = [self.values[reference] for reference in op["inputs"]]

        def value(item):
            if isinstance(item, str) and item.startswith("%"):
                return inputs[int(item[1:])]
            if isinstance(item, str) and item.startswith("torch."):
                found = getattr(torch, item[len("torch."):], None)
                return found if found is not None else item
            if isinstance(item, list):
                return [value(one) for one in item]
            if item in ("inf", "-inf", "nan"):
                return float(item)
            return DTYPES.get(item, item) if isinstance(item, str) else item

        kwargs = {key: value(item) for key, item in op.get("kwargs", {}).items()}
        kwargs.pop("pin_memory", None)
        if isinstance(kwargs.get("device"), str):
            kwargs["device"] = "cpu"
        return [value(item) for item in op["args"]], kwargs

    def _keep(self, op, results):
        listed = len(op["outputs"]) > 1 or f"{op['name']}:0" in self._references()
        # A step may leave out results that nothing reads.
        for k, result in enumerate(results if listed else results[:1]):
            if isinstance(result, torch.Tensor):
                self.values[f"{op['name']}:{k}" if listed else op["name"]] = result
                if k == 0:
                    self.values[f"{op['name']}:0"] = self.values[op["name"]] = result

    def _references(self):
        if not hasattr(self, "_all_references"):
            self._all_references = {r for op in self.graph["ops"] for r in op["inputs"]}
        return self._all_references

    def _run(self, op):
        args, kwargs = self._given(op)
        target = op["target"]
        if target in self.overrides:
            result = self.overrides[target](*args, **kwargs)
        elif target.startswith("placewright."):
            result = self._own(target.split(".")[1], args, kwargs)
        else:
            name, overload = target.split(".")[1:]
            result = getattr(getattr(torch.ops.aten, name), overload)(*args, **kwargs)
        self._keep(op, result if isinstance(result, (list, tuple)) else [result])

    def _own(self, name, args, kwargs):
        if name.startswith("counter_"):
            return counted(name, args, kwargs)
        if name == "split":
            return cut(*args)
        if name == "concat":
            return join(*args)
        if name == "add_n":
            total = args[0][0].clone()
            for other in args[0][1:]:
                total = total + other
            return total
        if name == "pack":
            return torch.cat([part.reshape(-1) for part in args[0]])
        if name == "unpack":
            buffer, begin, shape = args
            return buffer[begin:begin + math.prod(shape)].view(shape)
        if name == "embedding_part":  # zeros for words of other parts
            weight, words, place = args[0], args[1], args[2]
            own = (words >= place[3]) & (words < place[4])
            rows = weight[(words - place[3]).clamp(0, weight.shape[0] - 1)]
            return rows * own.unsqueeze(-1).to(rows.dtype)
        if name == "embedding_dense_backward_part":
            gradient, words, rows, padding, place = args[:5]
            own = (words >= place[3]) & (words < place[4]) & (words != padding)
            total = gradient.new_zeros(rows, gradient.shape[-1])
            return total.index_add(0, (words[own] - place[3]).flatten(), gradient[own])
        if name in ("nll_loss_part", "nll_loss_backward_part"):  # targets of other parts count for nothing
            place, target_at = args[-1], 1 if name == "nll_loss_part" else 2
            target, ignored = args[target_at], args[target_at + 3]
            own = (target >= place[3]) & (target < place[4]) & (target != ignored)
            args[target_at], args[target_at + 3] = torch.where(own, target - place[3], -100), -100
            operator = name.replace("_part", "_forward" if target_at == 1 else "")
            return getattr(torch.ops.aten, operator).default(*args[:-1])
        if name == "causal_attention_part":
            (query, key, value, _, _, place), scale = args, kwargs.get("scale")
            scores = self._scores_seen(query, key, place, scale)
            repeated = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
            return torch.softmax(scores, -1) @ repeated, torch.logsumexp(scores, -1)
        if name == "causal_attention_backward_part":
            grad, place = args[0], args[8]
            leaves = [tensor.detach().clone().requires_grad_() for tensor in args[1:4]]
            with torch.enable_grad():
                scores = self._scores_seen(leaves[0], leaves[1], place, kwargs.get("scale"))
                repeated = leaves[2].repeat_interleave(grad.shape[1] // leaves[2].shape[1], 1)
                return torch.autograd.grad(torch.softmax(scores, -1) @ repeated, leaves, grad)
        if name in ("sort_part", "histc_part", "order_part_", "unsort_part", "sort_rows_part",
                    "rows_of_keys_part", "sum_by_keys_part"):
            return self._routed(name, *args)
        if name == "slice_backward_part":
            grad, sizes, dim, start, end, step, _ = args
            shape = [sizes[d] if d == dim else grad.shape[d] for d in range(grad.dim())]
            whole = torch.zeros(shape, dtype=grad.dtype)
            index = [slice(None)] * grad.dim()
            index[dim] = slice(start, end, step)
            whole[tuple(index)] = grad
            return whole
        raise NotImplementedError(name)

    @staticmethod
    def _scores_seen(query, key, place, scale):
        """Of queries of the places [place[3], place[4]): -inf for keys behind their own."""
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        keys = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
        run = key.shape[2] // place[2]
        later = torch.arange(key.shape[2]) > torch.arange(place[3] * run, place[4] * run).unsqueeze(1)
        return (query @ keys.transpose(-2, -1) * scale).masked_fill(later, float("-inf"))

    @staticmethod
    def _routed(name, x, *others):
        """Of rows that are sorted by their expert those of some experts."""
        *args, (_, _, _, begin, end) = others
        if name == "sort_part":
            order = torch.argsort(x, stable=True)
            order = order[(x[order] >= begin) & (x[order] < end)]
            return x[order], order
        if name == "histc_part":
            return torch.stack([(x == key).sum() for key in range(begin, end)]).to(x.dtype)
        places = args[0][0]
        if name == "rows_of_keys_part":
            return torch.stack([x[key - begin] for key in places.tolist()])
        if name == "sum_by_keys_part":
            return x + torch.stack([args[1][places == key].sum(0) for key in range(begin, end)])
        if name == "order_part_":
            return x.copy_(places)
        if name == "unsort_part":
            return torch.zeros(args[1], dtype=x.dtype).index_put((places,), x)
        return args[1][places]

    def _together(self, members):
        kind, overload = members[0]["target"].split(".")[1:3]
        given = [self._given(op)[0] for op in members]
        if overload == "coalesced":  # of several tensors: each as by itself
            made = [self._results(kind, [[args[0][k], *(args[k + 1] if args[1:] else ())]
                                         for args in given])
                    for k in range(len(given[0][0]))]
            results = [list(of_member) for of_member in zip(*made)]
        else:
            results = [[result] for result in self._results(kind, given)]
        for op, made in zip(members, results):
            self._keep(op, made)

    @staticmethod
    def _results(kind, given):
        """What each member gets."""
        members = given
        if kind == "broadcast":
            root = next(args[0] for args in given if args)
            results = [root.clone() for _ in members]
        elif kind == "all_gather":
            ordered = sorted(given, key=lambda args: args[4])
            whole = join([args[0] for args in ordered], ordered[0][1], ordered[0][2])
            results = [whole.clone() for _ in members]
        elif kind == "all_to_all":
            ordered = sorted(given, key=lambda args: args[4])
            results = [join([cut(one[0], *one[6:9], *args[9:]) for one in ordered], args[1], args[2])
                       for args in given]
        else:
            total = given[0][0].clone()
            for args in given[1:]:
                total = total + args[0]
            results = [total.clone() if kind == "all_reduce" else cut(total, *args[1:])
                       for args in given]
        return results


def in_double(graph):
    """The step with float64 in place of all narrower real numbers."""
    def of(item):
        if isinstance(item, list):
            return [of(one) for one in item]
        if isinstance(item, dict):
            return {key: of(one) for key, one in item.items()}
        return {"torch.float32": "torch.float64", "torch.bfloat16": "torch.float64",
                "torch.float16": "torch.float64", "f32": "f64", "bf16": "f64", "f16": "f64"}.get(item, item) \
            if isinstance(item, str) else item
    return {**graph, "inputs": [of(i) for i in graph["inputs"]], "ops": [of(op) for op in graph["ops"]]}
