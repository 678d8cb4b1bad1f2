"""Steps of small models in parts: what plans make of them, executed by PyTorch alone, leaves behind what the
step on one device leaves."""

from support import PROGRAM, VERSION  # first

import json
import subprocess
import unittest

import torch
from torch import nn
from torch.nn import functional as F

from apply_models import Clipped, Normed
from in_parts import CLUSTER, InParts

SAMPLES = 8


class Attention(nn.Module):
    """Fused attention, with fewer heads of keys than of queries."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(16, n) for n in (16, 8, 8, 16))

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, 4)).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        k, v = (t.repeat_interleave(2, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).flatten(2))


class Cached(nn.Module):
    """Attention whose keys and values go through a cache, as transformers do it in training, too."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x):
        y = self.layer(x).unflatten(-1, (2, 8)).transpose(1, 2)
        y = torch.cat([torch.tensor([]), y], dim=-2)
        return y.transpose(1, 2).flatten(2)


class Widened(nn.Module):
    """What has been computed gets another size in place."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(12, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = self.a(x) * 2
        return self.b((1 - y.unsqueeze_(1)).squeeze(1))


class Experts(nn.Module):
    """Tokens sorted by their expert, computed group by group, put back. The gradient of the experts' bias is put
    into zeros whose size no sample has; with biases every other column is a gate, as in gpt-oss."""

    def __init__(self, biased=False, experts=4):
        super().__init__()
        self.experts, self.gate = experts, nn.Linear(8, experts)
        self.weight = nn.Parameter(torch.randn(experts, 8, 16 if biased else 8) * 0.1)
        self.bias = nn.Parameter(torch.randn(experts, 16)) if biased else None

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weights, keys = self.gate(tokens).softmax(-1).topk(2)
        sorted_keys, order = keys.flatten().sort()
        rows = tokens[order // 2]
        ends = torch.histc(sorted_keys.float(), self.experts, 0, self.experts - 1).cumsum(0, dtype=torch.int32)
        rows = torch._grouped_mm(rows, self.weight, ends)
        if self.bias is not None:
            rows = rows + self.bias[sorted_keys]
            rows = rows[:, ::2].sigmoid() * rows[:, 1::2]
        rows = rows * weights.flatten()[order].unsqueeze(-1)
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel())
        return rows[back].view(*weights.shape, -1).sum(1).view(x.shape)


class Bags(nn.Module):
    """Bags of one length, as of a recommender: their offsets are made in the step."""

    def __init__(self, sparse=False):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(10, 4, mode=mode, sparse=sparse)
                                    for mode in ("sum", "mean", *(() if sparse else ("max",))))
        self.weighted, self.dense = nn.EmbeddingBag(10, 4, mode="sum"), nn.Linear(4, 4)

    def forward(self, x, weights):
        found = [table(x) for table in self.tables]
        found.append(self.weighted(x, per_sample_weights=self.dense(weights).sigmoid()))
        offsets = torch.arange(x.shape[0]) * x.shape[1]
        found.append(self.weighted(x.flatten(), offsets, per_sample_weights=weights.flatten()))
        return torch.cat(found, 1)


class GivenBags(nn.Module):
    """Bags whose offsets are data."""

    def __init__(self, sparse=False):
        super().__init__()
        self.table = nn.EmbeddingBag(10, 4, mode="sum", sparse=sparse)

    def forward(self, x, offsets):
        return self.table(x.flatten(), offsets).tanh()


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(),
                         nn.ReflectionPad2d(1), nn.Conv2d(8, 16, 3), nn.PReLU(16),
                         nn.PixelShuffle(2), nn.Upsample(scale_factor=2, mode="bilinear"),
                         nn.Conv2d(4, 3, 1))


class Mixed(nn.Module):
    """Batch norms of 16 bits with weights of 32."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
                                    nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layers(x).float()


class OfAllOrders(Normed):
    """Norms over tokens and features, too, RMS norms in one kernel where PyTorch has it, and norms of other orders."""

    def __init__(self):
        super().__init__()
        self.both = nn.LayerNorm((5, 12))

    def forward(self, x):
        y = self.both(super().forward(x))
        if hasattr(F, "rms_norm"):
            y = y + F.rms_norm(y, (12,), self.scale, 1e-6)
        for order in (0, 1, float("inf"), float("-inf")):
            y = y / (1 + torch.linalg.vector_norm(y.detach(), order, -1, keepdim=True))
        return y


class OneKernel(torch.optim.Optimizer):
    """AdamW that updates all parameters by one call."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    def step(self, closure=None):
        parameters = self.param_groups[0]["params"]
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state.update(step=torch.zeros(1), m=torch.zeros_like(parameter), v=torch.zeros_like(parameter))
            state["step"] += 1
        m, v, steps = ([self.state[p][slot] for p in parameters] for slot in ("m", "v", "step"))
        torch._fused_adamw_(list(parameters), [p.grad for p in parameters], m, v, [], steps, lr=0.1, beta1=0.9,
                            beta2=0.99, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False)


# name -> (model, input, loss, target)
def steps():
    image, plain = torch.zeros(SAMPLES, 3, 6, 6), torch.zeros(SAMPLES, 12)
    words = torch.zeros(SAMPLES, 6, 16)
    yield "images", convolutions(), image, nn.MSELoss(), torch.zeros(SAMPLES, 3, 24, 24)
    yield "mixed norms", Mixed(), image, nn.MSELoss(), torch.zeros(SAMPLES, 4, 2, 2)
    yield "huber", nn.Linear(12, 4), plain, nn.HuberLoss(), torch.zeros(SAMPLES, 4)
    yield "smooth", nn.Sequential(nn.Linear(12, 8), nn.GLU()), plain, nn.SmoothL1Loss(), torch.zeros(SAMPLES, 4)
    yield "logits", nn.Linear(12, 4), plain, nn.BCEWithLogitsLoss(), torch.zeros(SAMPLES, 4)
    yield "margin", nn.Linear(12, 4), plain, nn.MultiMarginLoss(), torch.zeros(SAMPLES, dtype=torch.int64)
    yield "cached", Cached(), words, nn.MSELoss(), torch.zeros(SAMPLES, 6, 16)
    bags = (torch.zeros(SAMPLES, 4, dtype=torch.int64), torch.zeros(SAMPLES, 4))
    yield "bags", Bags(), bags, nn.MSELoss(), torch.zeros(SAMPLES, 20)
    if VERSION >= (2, 0):
        yield "attention", Attention(), words, nn.MSELoss(), torch.zeros(SAMPLES, 6, 16)
    if hasattr(torch, "_grouped_mm"):
        for name, biased in (("experts", False), ("experts with biases", True)):
            yield name, Experts(biased), words[..., :8].clone(), nn.MSELoss(), torch.zeros(SAMPLES, 6, 8)


class CompiledSteps(InParts):
    def test_shares_of_sums_are_no_copies(self):
        # The gradients of the tied weight are shares on every device, and so is their sum, which is reduced. The
        # weight's square is the same on every device.
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(64, 16))

            def forward(self, words):
                return F.embedding(words, self.weight) @ self.weight.t().square()

        graph, cluster = self.folder / "step.json.gz", self.folder / "c.yaml"
        cluster.write_text(CLUSTER)
        model = Tied()
        words = torch.zeros(SAMPLES, 3, dtype=torch.int64)
        self.exported(model, words, lambda y: y.square().mean(), torch.optim.SGD(model.parameters(), 0.1),
                      batch=SAMPLES)
        run = subprocess.run([PROGRAM, "plan", str(graph), "-c", str(cluster), "--algo", "data-parallel", "-o",
                              str(self.folder / "p.plan.json"), "--json"], capture_output=True, text=True, check=True)
        said = json.loads(run.stdout)
        self.assertEqual(sum(one["count"] for one in said["communication"]), 2)  # the loss and the gradient
        copied = {row["type"] for row in said["copied_ops"]["types"]}
        self.assertIn("aten.pow.Tensor_Scalar", copied)
        self.assertNotIn("aten.add.Tensor", copied)
        for row in said["copied_ops"]["types"]:
            self.assertNotEqual(row["reason"], "its layout")
            self.assertGreater(row["time_ns"], 0)

    def test_data_parallelism_is_the_step_on_one_device(self):
        for name, model, x, loss, target in steps():
            with self.subTest(name):
                graph = self.exported(model, x, loss, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
                                      targets=target, batch=SAMPLES)
                self.assertTrue(graph.get("batch_proof", {}).get("sizes"), graph.get("batch_proof"))
                compiled = self.compare("data-parallel")
                # Each device has its samples alone, of whatever computes on them, but for the statistics of norms.
                kinds = {op["target"].split(".")[1] for op in compiled["ops"]
                         if op["target"].startswith("placewright.")}
                self.assertEqual(kinds & {"all_gather", "concat"}, {"all_gather"} if name == "mixed norms" else set())

    # Each device has some of the experts, and of the tokens of its group the rows that these compute.
    @unittest.skipUnless(hasattr(torch, "_grouped_mm"), "a product by groups")
    def test_experts_apart_are_the_step_on_one_device(self):
        box = {"batch": [0, 5], "param:weight[0]": [0, 2]}
        other = {"batch": [5, SAMPLES], "param:weight[0]": [2, 5]}
        boxes = [box, {**box, "param:weight[0]": [2, 5]}, {**other, "param:weight[0]": [0, 2]}, other]
        uneven = [{"groups": "*", "devices": [{"name": f"host0/gpu{i}", "box": one} for i, one in enumerate(boxes)]}]
        by_experts = [{"groups": "*", "axis": "param:weight[0]", "devices": [
            {"name": "host0/gpu0", "from": 0, "to": 2}, {"name": "host0/gpu3", "from": 2, "to": 5}]}]
        for experts, layouts, biased in ((2, None, False), (4, None, False), (5, by_experts, False),
                                         (5, uneven, False), (4, None, True), (5, uneven, True)):
            with self.subTest(experts=experts, layouts=layouts, biased=biased):
                model = Experts(biased, experts)
                words = torch.zeros(SAMPLES, 5 if layouts else 6, 8)
                self.exported(model, words, nn.MSELoss(), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
                              targets=words.clone(), batch=SAMPLES)
                path = self.folder / "experts.json"
                path.write_text(json.dumps({"layouts": layouts}))
                compiled = self.compare("experts", layouts=path if layouts else None)
                parts = [op for op in compiled["ops"] if op["target"].startswith("placewright.sort_part.")]
                self.assertEqual(len(parts), 2 if layouts is by_experts else 4)
                if not layouts:  # each group gathers its tokens at once
                    self.assertFalse([op["name"] for op in compiled["ops"] if len(op["inputs"]) > 1 and
                                      op["target"].startswith("placewright.concat")])
                products = [op["outputs"][0]["shape"] for op in compiled["ops"]
                            if op["target"].startswith("aten._grouped_mm.")]
                self.assertTrue(all(shape[0] < 2 * words[..., 0].numel() for shape in products), products)

    # Rows of a sparse gradient are put together before the table is updated; offsets that are data leave bags whole.
    def test_bags_that_are_put_together(self):
        index = torch.zeros(SAMPLES, 4, dtype=torch.int64)
        for model, inputs, width in ((Bags(sparse=True), (index, torch.zeros(SAMPLES, 4)), 16),
                                     (GivenBags(), (index, torch.zeros(SAMPLES, dtype=torch.int64)), 4),
                                     (GivenBags(True), (index, torch.zeros(SAMPLES, dtype=torch.int64)), 4)):
            with self.subTest(type(model).__name__):
                self.exported(model, inputs, nn.MSELoss(), torch.optim.SGD(model.parameters(), 0.1),
                              targets=torch.zeros(SAMPLES, width), batch=SAMPLES)
                compiled = self.compare("data-parallel", given={"input:offsets": torch.arange(SAMPLES) * 4})
                bags = [op for op in compiled["ops"] if op["target"].startswith("aten._embedding_bag.")]
                shared = isinstance(model, Bags)
                self.assertEqual({op["outputs"][0]["shape"][0] for op in bags}, {SAMPLES // 4 if shared else SAMPLES})

    def test_norms_over_features_that_are_split(self):
        """No device has all features of a sample, and none is brought them."""
        model = OfAllOrders()
        self.exported(model, torch.zeros(SAMPLES, 5, 12), nn.MSELoss(), Clipped(model.parameters(), 0.1, momentum=0.9),
                      targets=torch.zeros(SAMPLES, 5, 12), batch=SAMPLES)
        features = "param:scale[0]"
        uneven = [{"name": f"host0/gpu{i}", "from": begin, "to": end}
                  for i, (begin, end) in enumerate(((0, 5), (5, 6), (6, 12)))]
        mesh = {"devices": ["host0/gpu*"], "mesh": [{"axis": "batch", "parts": 2}, {"axis": features, "parts": 2}]}
        for layout in ({"axis": features, "devices": uneven}, mesh):
            path = self.folder / "layouts.json"
            path.write_text(json.dumps({"layouts": [{"groups": "*", **layout}]}))
            compiled = self.compare(None, layouts=path)
            made = {op["target"].split(".")[1] for op in compiled["ops"]}
            self.assertTrue({"rsqrt", "amax"} <= made, made)
            self.assertIn("linalg_vector_norm", made)
            self.assertFalse({"native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm",
                              "_fused_rms_norm_backward"} & made, made)
            wide = [op["name"] for op in compiled["ops"]
                    for output in op["outputs"] if 12 in output.get("shape", ())]
            self.assertEqual(wide, [])

    @unittest.skipUnless(VERSION >= (2, 4), "PyTorch's update in one kernel needs a GPU")
    def test_updates_in_one_kernel(self):
        """One for each parameter, of shards, too."""
        model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))
        self.exported(model, torch.zeros(SAMPLES, 12), nn.MSELoss(), OneKernel(model.parameters()),
                      targets=torch.zeros(SAMPLES, 4), batch=SAMPLES)
        for algorithm, updated in (("single", 4), ("zero-2", 16)):
            compiled = self.compare(algorithm)
            updates = [op for op in compiled["ops"] if op["target"] == "aten._fused_adamw_.default"]
            self.assertEqual(len(updates), updated)

    def test_random_layouts_are_the_step_on_one_device(self):
        widened = ("widened", Widened(), torch.zeros(SAMPLES, 12), nn.MSELoss(), torch.zeros(SAMPLES, 4))
        for name, model, x, loss, target in (*steps(), widened):
            if "experts" in name or name == "bags":
                continue  # all ops of their regions have one layout
            with self.subTest(name):
                self.exported(model, x, loss, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
                              targets=target, batch=SAMPLES)
                for seed in range(3):
                    self.compare(None, layouts=self.random_layouts(seed))


if __name__ == "__main__":
    unittest.main()
