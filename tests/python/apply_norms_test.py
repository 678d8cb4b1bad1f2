"""Norms over what is split, under apply: layer and RMS norms over features of which no device has
all, and the norm of gradients that lie in shards."""

import newer_torch  # noqa: F401  first

import json
import unittest

from apply_support import PlannedTest
from apply_test import there

HIDDEN = 32  # of both models that people train


def operator_of(op):
    return op["target"].split(".")[1]


class NormsTest(PlannedTest):
    def by_hand(self, name, axis, devices, **mesh):
        """A file of layouts: all ops by one axis, or by a mesh of it and the batch."""
        path = self.folder / f"{name}.json"
        names = [f"host0/gpu{i}" for i in range(devices)]
        layout = {"groups": "*", "axis": axis, "devices": names}
        if mesh:
            layout = {"groups": "*", "devices": names, "mesh": [
                {"axis": "batch", "parts": mesh["batch"]},
                {"axis": axis, "parts": devices // mesh["batch"]}]}
        elif "uneven" in name:
            layout["devices"] = [{"name": names[0], "from": 0, "to": 5},
                                 {"name": names[1], "from": 5, "to": 12}]
        path.write_text(json.dumps({"layouts": [layout]}))
        return "--layouts", str(path)

    def compiled(self, case):
        """The ops of the compiled step."""
        path = self.folder / "compiled.json"
        self.assertEqual(self.program("compile", case["plan"], "-o", path).returncode, 0)
        return json.loads(path.read_text())["ops"]

    def test_features_that_are_split(self):
        """Layer norms, an RMS norm and an update that clips by the norm of all gradients."""
        even = self.by_hand("uneven", "param:scale[0]", 2)
        cases = [self.case(2, "normed", optimizer, *even, **more) for optimizer, more in (
            ("adamw", {"clip": 0.01}), ("clipped", {}),
            ("momentum", {"begun": 2, "schedule": True}))]
        for case in cases:
            ops = self.compiled(case)
            made = {operator_of(op) for op in ops}
            sizes = {size for op in ops for output in op["outputs"]
                     for size in output.get("shape", ())}
            self.assertTrue({"rsqrt", "amax"} <= made, made)
            self.assertFalse({"native_layer_norm", "native_layer_norm_backward"} & made, made)
            self.assertNotIn(12, sizes)  # all features of a sample
        self.compare(2, cases)
        mesh = self.by_hand("mesh", "param:scale[0]", 4, batch=2)
        self.compare(4, [self.case(4, "normed", "clipped", *mesh),
                         self.case(4, "normed", "adamw", *mesh, clip=0.01)])

    def test_norms_of_gradients_in_shards(self):
        """The update clips: each rank has parts of gradients, and none gathers them."""
        cases = [self.case(2, model, "clipped", "--algo", algorithm)
                 for model, algorithm in (("perceptron", "fsdp"), ("perceptron", "zero-2"),
                                          ("normed", "fsdp"), ("perceptron", "data-parallel"))]
        for case in cases[:3]:
            update = {operator_of(op) for op in self.compiled(case) if op["phase"] == "opt"}
            self.assertIn("linalg_vector_norm", update)
            self.assertFalse({"all_gather", "concat"} & update, update)
        self.compare(2, cases)

    def test_of_models_that_people_train(self):
        """The hidden size of a Llama (RMS norms) and of a ViT (layer norms) is split throughout."""
        cases = []
        for model, optimizer in (("llama", "adamw"), ("vit", "momentum")):
            if there(model):
                said = self.program("inspect", self.recorded(model, optimizer), "--axes", "--json")
                axes = [one for one in json.loads(said.stdout)["axes"] if one["size"] == HIDDEN]
                hidden = max(axes, key=lambda axis: axis["tensors"])["name"]
                cases.append(self.case(2, model, optimizer, *self.by_hand(model, hidden, 2),
                                       clip=0.1))
        self.compare(2, cases)


if __name__ == "__main__":
    unittest.main()
