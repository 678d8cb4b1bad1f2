"""Which module every op belongs to: tables that add up, layers that are alike, pins that hold what
they name, and device maps; with the graph's own attribution of backward ops held to what autograd
itself says."""

from support import PROGRAM, ExportTest, export, ops_of  # first: skips without PyTorch

import collections
import gzip
import json
import subprocess
import unittest

import models
import torch
from torch import nn

IDS = torch.zeros(2, 16, dtype=torch.int64)
LABELS = torch.zeros(32, dtype=torch.int64)
IMAGES = torch.zeros(2, 3, 16, 16)
# name: model, arguments, loss, targets, paths of equal blocks
STEPS = {
    "llama": (lambda: models.Llama(5, False), IDS, nn.CrossEntropyLoss(), LABELS, ["layers"]),
    "tied llama": (lambda: models.Llama(5, True), IDS, nn.CrossEntropyLoss(), LABELS, ["layers"]),
    "checkpointed llama": (lambda: models.Llama(5, False, checkpointed=True), IDS,
                           nn.CrossEntropyLoss(), LABELS, ["layers"]),
    "mixture of experts": (lambda: models.Llama(4, False, experts=3), IDS, nn.CrossEntropyLoss(),
                           LABELS, ["layers", "layers.0.mlp.experts", "layers.1.mlp.experts"]),
    "vision transformer": (lambda: models.VisionTransformer(4), IMAGES, nn.CrossEntropyLoss(),
                           torch.zeros(2, dtype=torch.int64), ["layers"]),
    "encoder and decoder": (lambda: models.EncoderDecoder(4), (IDS, IDS), nn.CrossEntropyLoss(),
                            LABELS, ["encoder", "decoder"]),
    "diffusion": (lambda: models.DiffusionUNet(3), (IMAGES, torch.zeros(2)), nn.MSELoss(), IMAGES,
                  ["down1", "down2", "attention", "up2", "up1"]),
}


class ModulesTest(ExportTest):
    recorded = {}  # name -> the file of the step, recorded once for all tests

    def step(self, name):
        """The recorded graph; it lies in step.json.gz."""
        path = self.folder / "step.json.gz"
        if name not in self.recorded:
            build, inputs, loss, targets, _ = STEPS[name]
            model = build()
            self.exported(model, inputs, loss, torch.optim.Adam(model.parameters()), targets=(targets,))
            self.recorded[name] = path.read_bytes()
        path.write_bytes(self.recorded[name])
        return json.loads(gzip.decompress(self.recorded[name]))

    def without_scopes(self, graph):
        """The same file as recorders write it that do not know what backward ops differentiate."""
        graph = json.loads(json.dumps(graph))
        for op in ops_of(graph, "bwd"):
            op.pop("scope", None)
        (self.folder / "bare.json.gz").write_bytes(gzip.compress(json.dumps(graph).encode()))

    def run_program(self, *arguments, status=0):
        run = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def table(self, name):
        run = self.run_program("inspect", name, "--modules", "--depth", "9", "--json")
        return {row["path"]: row for row in json.loads(run.stdout)["modules"]}


def parent_of(path):
    return path.rpartition(".")[0]


class Tables(ModulesTest):
    def test_they_add_up(self):
        for name in STEPS:
            with self.subTest(name):
                graph = self.step(name)
                rows = self.table("step.json.gz")
                self.assertEqual(rows[""]["ops"], len(graph["ops"]))
                below = collections.Counter()
                for path, row in rows.items():
                    self.assertEqual(row["forward"] + row["backward"] + row["optimizer"],
                                     row["ops"], path)
                    if path:
                        below[parent_of(path)] += row["ops"]
                for path, row in rows.items():
                    self.assertEqual(row["own_ops"] + below[path], row["ops"], path)

    def test_the_graph_knows_what_autograd_says(self):
        for name in STEPS:
            with self.subTest(name):
                graph = self.step(name)
                self.without_scopes(graph)
                self.assertEqual(self.table("step.json.gz"), self.table("bare.json.gz"))

    def test_layers_are_alike(self):
        """But for the sums of gradients: a tensor that n ops read has n - 1 of them, which the output
        of the last layer lacks, and others where layers read each other."""
        for name, (*_, parents) in STEPS.items():
            with self.subTest(name):
                graph = self.step(name)
                counts = collections.defaultdict(collections.Counter)
                for op in graph["ops"]:
                    for parent in parents:
                        path = op.get("scope", "")
                        if path.startswith(parent + "."):
                            number, _, rest = path[len(parent) + 1:].partition(".")
                            counts[parent, number][op["phase"], rest] += 1
                for parent in parents:
                    layers = {number: counts[p, number] for p, number in counts if p == parent}
                    # The first layers of encoder and decoder have a table of their own.
                    first = "1" if name == "encoder and decoder" else "0"
                    self.assertGreaterEqual(len(layers), 3)
                    for number, layer in layers.items():
                        if number >= first:
                            self.assertEqual(layer, layers[first], f"{parent}.{number}")


class Scopes(ModulesTest):
    def test_backward_ops_state_the_module_of_their_forward_op(self):
        graph = self.step("llama")
        unstated = [op["target"] for op in ops_of(graph, "bwd") if "scope" not in op]
        self.assertEqual(set(unstated), {"aten.ones_like.default", "aten.add.Tensor"})
        attention = [op for op in ops_of(graph, "bwd")
                     if op.get("scope") == "layers.3.attention"]
        # The softmax of the layer, four products with cos or sin, two of them for q and two for k.
        names = collections.Counter(op["target"].split(".")[1] for op in attention)
        self.assertEqual(names["_softmax_backward_data"], 1)
        tables = [op for op in attention if {"slice_1", "slice"} & set(op["inputs"])]
        self.assertEqual([op["target"] for op in tables], 4 * ["aten.mul.Tensor"])

    def test_the_model_itself_is_stated(self):
        graph = self.step("llama")
        scopes = {op["name"]: op.get("scope") for op in ops_of(graph, "fwd")}
        self.assertEqual(scopes["triu"], "")
        self.assertEqual(scopes["nll_loss_forward"], "loss")

    def test_recomputed_ops_are_in_their_module(self):
        graph = self.step("checkpointed llama")
        again = [op["scope"] for op in ops_of(graph, "bwd") if op["target"] == "aten.silu.default"]
        self.assertEqual(again, [f"layers.{i}.mlp" for i in (4, 3, 2, 1, 0)])


class Pins(ModulesTest):
    def test_they_hold_exactly_what_they_name(self):
        for bare in (False, True):
            graph = self.step("llama")
            self.without_scopes(graph)
            wanted = {f"layers.{i}": f"host0/gpu{i % 2}" for i in range(5)}
            pins = [word for layer, device in wanted.items()
                    for word in ("--pin", f"{layer}={device}")]
            self.run_program("plan", "bare.json.gz" if bare else "step.json.gz", "-c", "2xV100",
                             "--algo", "single", "--pin", "head=host0/gpu1", *pins, "-o", "p.json")
            placement = json.loads((self.folder / "p.json").read_text())["placement"]
            for op in graph["ops"]:
                layer = ".".join(op.get("scope", "").split(".")[:2])
                if layer in wanted and op.get("alias") != "view":
                    self.assertEqual(placement[op["name"]], wanted[layer], op["name"])


class DeviceMaps(ModulesTest):
    OPTIONS = ["--colocate-each", "layers.*", "--colocate", "embedding", "--colocate", "norm",
               "--colocate", "head"]

    def covered(self, device_map, name):
        """By the rules of Accelerate: the longest path that fits."""
        while name not in device_map and name:
            name = parent_of(name)
        self.assertIn(name, device_map)
        return device_map[name]

    def plan(self, *options):
        # Layers 0 to 2 and 3 to 4 apart, so that no plan is on one device.
        self.run_program("plan", "step.json.gz", "-c", "2xV100", "--iterations", "200",
                         "--pin", "layers.[0-2]=host0/gpu0", "--pin", "layers.[34]=host0/gpu1",
                         *options, "-o", "p.json")

    def test_a_llama_is_divided_between_layers(self):
        for name, tied in (("llama", False), ("tied llama", True)):
            with self.subTest(name):
                self.step(name)
                together = ["--pin", "embedding=host0/gpu1", "--pin", "head=host0/gpu1"]
                self.plan(*self.OPTIONS, *(together if tied else []))
                self.run_program("export", "p.json", "--to", "accelerate", "-o", "map.json")
                device_map = json.loads((self.folder / "map.json").read_text())
                for tensor in models.Llama(5, tied).state_dict():
                    device = self.covered(device_map, tensor)
                    if tensor.startswith("layers."):
                        self.assertEqual(device, 0 if tensor[7] in "012" else 1, tensor)
                self.assertEqual([device_map[f"layers.{i}"] for i in range(5)], [0, 0, 0, 1, 1])

    def test_a_refusal_names_the_option(self):
        self.step("llama")
        pins = ["--pin", "layers.1.attention=host0/gpu0", "--pin", "layers.1.mlp=host0/gpu1"]
        self.run_program("plan", "step.json.gz", "-c", "2xV100", "--iterations", "10", *pins,
                         "-o", "p.json")
        run = self.run_program("export", "p.json", "--to", "accelerate", "-o", "map.json", status=3)
        self.assertIn("is split across devices", run.stderr)
        self.assertIn("--colocate-each 'layers.*'", run.stderr)


if __name__ == "__main__":
    unittest.main()
