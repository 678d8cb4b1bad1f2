#!/usr/bin/python3
"""Records one training step of a small two-tower transformer in the ATen graph format.

    ./record_training_step.py [OUTPUT]          (needs Debian's python3-torch; default: the file
                                                 tiny_transformer_adam.json.gz beside this script)

The model matches questions with passages: two transformer encoders of their own weights, joined
only by the matrix of scores and its loss, so that a planner has two branches to spread. The whole
step is recorded: forward, loss, backward, and Adam written out for each tensor. Nothing is
computed (tensors are fakes with a shape), and no weights are stored. The same PyTorch gives the
same bytes in every run. docs/formats/aten-graph.md describes the format.
"""

import contextlib
import gzip
import json
import operator
import pathlib
import sys

import torch
from torch import nn
from torch.fx.experimental import proxy_tensor
from torch.nn.utils import stateless

BATCH, LENGTH = 32, 128
VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 16000, 512, 8, 2048, 2
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8

DTYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128",
}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.outer(nn.functional.gelu(self.inner(self.norm2(x))))


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x.mean(dim=1))


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.question, self.passage = Tower(), Tower()

    def forward(self, questions, passages):
        return self.question(questions) @ self.passage(passages).t()


class Marks:
    """Where the recording stands; every node gets the phase and the module of its making."""

    def __init__(self):
        self.phase, self.scopes = "fwd", []

    def watch(self, model):
        for path, module in model.named_modules():
            name = "m." + path if path else "m"
            module.register_forward_pre_hook(lambda *_, name=name: self.scopes.append(name))
            module.register_forward_hook(lambda *_: self.scopes.pop() and None)

    @contextlib.contextmanager
    def on_every_node(self):
        tracer = proxy_tensor.PythonKeyTracer
        create_node = tracer.create_node

        def marked(tracer_self, *args, **kwargs):
            node = create_node(tracer_self, *args, **kwargs)
            node.meta["phase"] = self.phase
            node.meta["scope"] = self.scopes[-1] if self.scopes else None
            return node

        tracer.create_node = marked
        try:
            yield
        finally:
            tracer.create_node = create_node


def adam(parameter, gradient, mean, square, correction1, correction2):
    """One update in place. The bias corrections are tensors: no step count is baked in."""
    mean.mul_(BETA1).add_(gradient, alpha=1 - BETA1)
    square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
    root = square.sqrt().div_(correction2).add_(EPSILON).mul_(correction1)
    parameter.addcdiv_(mean, root, value=-RATE)


def record(model):
    """The traced step, and the inputs of the graph as (name, kind) in the order of its arguments."""
    marks = Marks()
    marks.watch(model)
    parameters = dict(model.named_parameters())
    paths = list(parameters)

    def step(weights, means, squares, count, questions, passages, labels):
        marks.phase = "fwd"
        scores = stateless.functional_call(model, dict(zip(paths, weights)), (questions, passages))
        loss = nn.functional.cross_entropy(scores, labels)
        marks.phase = "bwd"
        gradients = torch.autograd.grad(loss, weights)
        marks.phase = "opt"
        with torch.no_grad():
            count.add_(1)
            correction1 = 1 - torch.pow(BETA1, count)
            correction2 = (1 - torch.pow(BETA2, count)).sqrt_()
            for weight, gradient, mean, square in zip(weights, gradients, means, squares):
                adam(weight, gradient, mean, square, correction1, correction2)
        return [loss, *weights, *means, *squares, count]

    weights = list(parameters.values())
    ids = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    arguments = (weights, [torch.zeros_like(w) for w in weights],
                 [torch.zeros_like(w) for w in weights], torch.zeros(()), ids, ids.clone(),
                 torch.zeros(BATCH, dtype=torch.int64))
    with marks.on_every_node():
        graph = proxy_tensor.make_fx(step, tracing_mode="fake")(*arguments).graph
    names = [("param:m." + p, "param") for p in paths]
    names += [(f"opt_state:m.{p}.exp_avg", "opt_state") for p in paths]
    names += [(f"opt_state:m.{p}.exp_avg_sq", "opt_state") for p in paths]
    names += [("opt_state:step", "opt_state")]
    names += [(f"input:{name}", "input") for name in ("questions", "passages", "labels")]
    return graph, names


def describe(value):
    return None if value is None else {"shape": list(value.shape), "dtype": DTYPES[value.dtype]}


def alias_of(schema):
    """"view", "inplace" or None, by what the schema says of the first argument and the results."""
    first = schema.arguments[0].alias_info if schema.arguments else None
    if first is not None and first.is_write:
        return "inplace"
    views = [r.alias_info for r in schema.returns if r.alias_info is not None]
    return "view" if views and not any(a.is_write for a in views) else None


class Writer:
    """Turns traced nodes into the records of the format."""

    def __init__(self, graph, names):
        self.references = {}  # node -> reference
        self.inputs, self.ops, self.outputs = [], [], []
        names = iter(names)
        for node in graph.nodes:
            if node.op == "placeholder":
                self.add_input(node, *next(names))
            elif node.op == "output":
                # An input that was written is known by its last writer: list each result once.
                results = [self.latest(n) for n in node.args[0]]
                self.outputs = list(dict.fromkeys(self.references[n] for n in results))
            elif node.target is operator.getitem:
                self.references[node] = f"{self.references[node.args[0]]}:{node.args[1]}"
            elif node.target is torch.ops.aten.detach.default:
                self.references[node] = self.references[node.args[0]]
            else:
                self.add_op(node)

    def add_input(self, node, name, kind):
        self.references[node] = name
        self.inputs.append({"name": name, "kind": kind, **describe(node.meta["val"])})

    def latest(self, node):
        writers = [n for n in node.users if n.args and n.args[0] is node
                   and n.op == "call_function" and n.target is not operator.getitem
                   and alias_of(n.target._schema) == "inplace"]
        return self.latest(writers[-1]) if writers else node

    def argument(self, value, inputs):
        if isinstance(value, torch.fx.Node):
            inputs.append(self.references[value])
            return f"%{len(inputs) - 1}"
        if isinstance(value, (list, tuple)):
            return [self.argument(item, inputs) for item in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value)  # torch.float32, cpu, torch.strided, ...

    @staticmethod
    def values(node):
        """The results of a node; one of several is known by the nodes that pick it."""
        if "val" in node.meta:
            return [node.meta["val"]]
        picked = {n.args[1]: n.meta["val"] for n in node.users if n.target is operator.getitem}
        count = max(len(node.target._schema.returns), 1 + max(picked, default=-1))
        return [picked.get(k) for k in range(count)]

    def add_op(self, node):
        inputs = []
        record = {"name": node.name, "target": str(node.target), "phase": node.meta["phase"],
                  "inputs": inputs, "args": self.argument(node.args, inputs)}
        if node.kwargs:
            record["kwargs"] = {k: self.argument(v, inputs) for k, v in node.kwargs.items()}
        if node.meta["scope"] and node.meta["phase"] == "fwd":
            record["scope"] = node.meta["scope"]
        record["outputs"] = [describe(value) for value in self.values(node)]
        alias = alias_of(node.target._schema)
        if alias:
            record["alias"] = alias
        self.references[node] = node.name
        self.ops.append(record)

    def edges(self):
        producers = {op["name"] for op in self.ops}
        pairs = set()
        for op in self.ops:
            for reference in op["inputs"]:
                name = reference if reference in producers else reference.rpartition(":")[0]
                if name in producers:
                    pairs.add((name, op["name"]))
        return len(pairs)


def lines(items):
    return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in items) + "]"


def main():
    default = pathlib.Path(__file__).with_name("tiny_transformer_adam.json.gz")
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    graph, names = record(Matcher())
    step = Writer(graph, names)
    phases = {p: sum(op["phase"] == p for op in step.ops) for p in ("fwd", "bwd", "opt")}
    head = {"name": "tiny_transformer_adam", "optimizer": "adam", "torch": torch.__version__,
            "batch": BATCH, "n_ops": len(step.ops), "n_edges": step.edges(), "phases": phases,
            "parameters": [i["name"] for i in step.inputs if i["kind"] == "param"]}
    fields = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in head.items()]
    fields.append(f'"inputs":{lines(step.inputs)}')
    fields.append(f'"ops":{lines(step.ops)}')
    fields.append(f'"outputs":{json.dumps(step.outputs, separators=(",", ":"))}')
    text = "{" + ",\n".join(fields) + "}\n"
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode())
    print(f"{path}: {len(step.ops)} ops, {step.edges()} edges, {phases}")


if __name__ == "__main__":
    main()
