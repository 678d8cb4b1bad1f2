"""Files and folders of the reader's own that commands of the documents name, and that no page
shows and no command writes: made where a command first names them."""

import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Names that the Python examples take as given.
PYTHON_NAMES = """\
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.zeros(2, 8), torch.zeros(2, dtype=torch.int64)
example_inputs, path = (x,), "model.json.gz"


def loss(output):
    return output.mean()


"""

PACKAGE = """\
import torch


def build(layers=2):
    blocks = [torch.nn.Linear(8, 8) for _ in range(layers)]
    model = torch.nn.Sequential(*blocks)
    return model, (torch.zeros(2, 8),), lambda y: y.sum(), torch.optim.Adam(model.parameters())
"""

# A module of torch.jit for an input of [B, 3, 224, 224] and classes as output.
SCRIPT_MODULE = """\
import sys, torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 7, stride=32)
        self.classes = torch.nn.Linear(4 * 7 * 7, 10)

    def forward(self, x):
        return self.classes(self.convolution(x).relu().flatten(1))

torch.jit.save(torch.jit.trace(Net(), torch.zeros(1, 3, 224, 224)), sys.argv[1])
"""


def _varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _field(number, value):
    """One field of protobuf's wire format: a number, or bytes (texts, messages)."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def onnx_model():
    """ONNX: x [batch, 8] -> Gemm by w [8, 4] -> Relu -> y. Field numbers as in onnx.proto."""
    def value(name, dimensions):
        shape = b"".join(_field(1, _field(2 if isinstance(d, str) else 1, d)) for d in dimensions)
        return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, shape)))

    def node(kind, name, inputs, output):
        return (b"".join(_field(1, i) for i in inputs) + _field(2, output) + _field(3, name) +
                _field(4, kind))

    weight = _field(1, 8) + _field(1, 4) + _field(2, 1) + _field(8, "w") + _field(
        9, struct.pack("<32f", *[0.5] * 32))
    graph = (_field(1, node("Gemm", "fc", ["x", "w"], "h")) + _field(1, node("Relu", "act", ["h"], "y")) +
             _field(2, "net") + _field(5, weight) + _field(11, value("x", ["batch", 8])) +
             _field(12, value("y", ["batch", 4])))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))


def _script_module(path):
    subprocess.run([sys.executable, "-c", SCRIPT_MODULE, str(path)], check=True,
                   capture_output=True)


def _recorded(path):
    shutil.copy(ROOT / "examples" / "tiny_transformer_adam.json.gz", path)


def _machines(path):
    shutil.copy(ROOT / "examples" / "clusters" / "two-gpu-workstation.yaml", path)


def _package(path):
    path.parent.mkdir()
    path.write_text(PACKAGE)


def _shared_graph(path):
    data = pathlib.Path(os.environ["PLACEWRIGHT_SHARED_DATA"]) / "fx"
    shutil.copy(data / path.name, path)


def _placement(path):
    """The map of a plan of model.json.gz."""
    plan = path.with_name("of-model.plan.json")
    _plan_of([ROOT / "examples/tiny_transformer_adam.json.gz", "-c", "4xP100"], plan)
    path.write_text(json.dumps(json.loads(plan.read_text())["placement"]))


def _plan(path):
    """A plan of a graph that a page shows, or of the zoo's smallest model."""
    graph = path.with_name(path.name.replace(".plan.", "."))
    _plan_of([graph] if graph.exists() else ["mlp", "-c", "4xP100"], path)


def _plan_of(words, path):
    """Its ops whole."""
    subprocess.run([os.environ["PLACEWRIGHT_PROGRAM"], "plan", *map(str, words), "--space",
                    "placed", "--iterations", "10", "-o", str(path)], check=True, capture_output=True)


def _moved(path):
    path.parent.mkdir()
    shutil.copy(path.parent.parent / path.name, path)


def _packed(path):
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def _trace(path):
    """Of PyTorch's profiler: BERT-Base's softmax, as one kernel."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::_softmax", "pid": 1, "tid": 1, "ts": 10, "dur": 9,
         "args": {"External id": 1, "Input Dims": [[24, 12, 384, 384], [], []],
                  "Input type": ["float", "Scalar", "Scalar"]}},
        {"ph": "X", "cat": "kernel", "name": "softmax", "pid": 0, "tid": 7, "ts": 30, "dur": 400,
         "args": {"External id": 1}}]
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))


def _runtime_profile(path):
    """Of ONNX Runtime: the first node of onnx_model."""
    node = {"cat": "Node", "ph": "X", "name": "fc_kernel_time", "pid": 1, "tid": 1, "ts": 1, "dur": 20,
            "args": {"op_name": "Gemm", "provider": "CUDAExecutionProvider"}}
    kernel = {"cat": "Kernel", "ph": "X", "name": "gemm", "pid": -1, "tid": 1, "ts": 5, "dur": 20, "args": {}}
    path.write_text(json.dumps([node, kernel]))


def _record(path):
    """Of the repository, where the reader's own folder is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "bench/records" / path.name, path)


def _prices(path):
    path.write_text("currency: USD\nper_gpu_hour: {H100: 2.00, L4: 0.50}\n")


def _nccl_tests(path):
    """Of all_reduce_perf on eight H100."""
    ranks = "".join(f"#  Rank {rank:2} Group  0 Pid  9 on host0 device {rank} [0000:1b:00] NVIDIA H100 80GB HBM3\n"
                    for rank in range(8))
    path.write_text("# Collective test starting: all_reduce_perf\n" + ranks +
                    "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
                    "   1024    256  float    sum    -1  18.66   0.05   0.10       0\n"
                    "1048576 262144  float    sum    -1  27.76  37.78  66.11       0\n")


def _deepspeed(path):
    path.write_text('{"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 1}\n')


# name -> (who makes it, what it needs besides the program)
FILES = {
    "mypackage/models.py": (_package, "torch"),
    "model.onnx": (lambda path: path.write_bytes(onnx_model()), ""),
    "net.pt": (_script_module, "torch"),
    "trace.json.gz": (_trace, ""),
    "ort_profile.json": (_runtime_profile, ""),
    "all_reduce.log": (_nccl_tests, ""),
    "model.json.gz": (_recorded, ""),
    "my-machines.yaml": (_machines, ""),
    "moved/bert.json.gz": (_moved, ""),
    "my-placement.json": (_placement, ""),
    "first.plan.json": (_plan, ""),
    "second.plan.json": (_plan, ""),
    "workload.plan.json": (_plan, ""),
    "case.json.gz": (_packed, ""),
    "prices.yaml": (_prices, ""),
    "ds_config.json": (_deepspeed, ""),
    "gnmt_l8_b128_s40_adam.json.gz": (_shared_graph, "data"),
    "bench/records/seeds.jsonl": (_record, ""),
    "bench/records/traversal.jsonl": (_record, ""),
}
