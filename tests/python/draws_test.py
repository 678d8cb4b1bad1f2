"""Steps that draw random numbers: compiled ones draw by counting, each device its part of what one device draws."""

import support  # first: skips without PyTorch

import json
import unittest

import torch
from torch import nn
from torch.nn import functional as F

import compiled_steps
from in_parts import InParts

SAMPLES = 8
# Operator -> (distribution, where its numbers stand, what they are where they are left out, where the size stands)
DRAWS = {
    "uniform_.default": ("uniform", (1, 2), (0, 1), None), "normal_.default": ("normal", (1, 2), (0, 1), None),
    "exponential_.default": ("exponential", (1,), (1,), None), "cauchy_.default": ("cauchy", (1, 2), (0, 1), None),
    "log_normal_.default": ("log_normal", (1, 2), (1, 2), None), "geometric_.default": ("geometric", (1,), (), None),
    "random_.from": ("integers", (1, 2), (), None), "random_.to": ("integers", (None, 1), (0,), None),
    "rand_like.default": ("uniform", (), (0, 1), None), "randn_like.default": ("normal", (), (0, 1), None),
    "randint_like.default": ("integers", (None, 1), (0,), None), "randint_like.low_dtype": ("integers", (1, 2), (), None),
    "rand.default": ("uniform", (), (0, 1), 0), "randn.default": ("normal", (), (0, 1), 0),
    "randint.default": ("integers", (None, 0), (0,), 1), "randint.low": ("integers", (0, 1), (), 2),
    "normal.float_float": ("normal", (0, 1), (), 2),
}


class Noised(nn.Module):
    """Denoising diffusion (Ho, Jain, Abbeel 2020): noise and time of each sample."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 2, 3, padding=1)
        self.times = nn.Embedding(10, 4)
        self.register_buffer("kept", torch.linspace(0.99, 0.01, 10))

    def forward(self, x):
        noise = torch.randn_like(x)
        time = torch.randint(0, 10, (x.shape[0],))
        a = self.kept[time].sigmoid()[:, None, None, None]
        y = self.first(a.sqrt() * x + (1 - a).sqrt() * noise) + self.times(time)[:, :, None, None]
        return F.mse_loss(self.last(F.silu(y)), noise)


class Flow(nn.Module):
    """Flow matching: times from a normal distribution, noise of a stated size, samples without their condition."""

    def __init__(self):
        super().__init__()
        self.layer, self.condition = nn.Linear(6, 6), nn.Linear(3, 6)

    def forward(self, x, c):
        n = x.shape[0]
        time = torch.normal(mean=0.0, std=1.0, size=(n,)).sigmoid()[:, None] * torch.rand(n, 1)
        noise = torch.randn(x.shape)
        c = torch.where((torch.rand(n) < 0.3)[:, None], torch.zeros_like(c), c)
        return F.mse_loss(self.layer((1 - time) * noise + time * x) + self.condition(c), noise - x)


class Masks(nn.Module):
    """Every distribution that counts, in place, of a tensor and of a size."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        n = x.shape[0]
        y = self.layer(x) + torch.empty_like(x).normal_(0, 0.1) + torch.empty_like(x).uniform_(-1, 1)
        y = F.dropout(y * x.new_empty((n, 1)).bernoulli_(0.9), 0.2)
        y = y - torch.empty_like(x).exponential_().log() + torch.bernoulli(torch.sigmoid(x))
        y = y * torch.empty(n, 6).cauchy_().clamp(-1, 1) + torch.empty(n, 6).log_normal_(0, 0.1)
        y = y + torch.randint_like(x, 5) + torch.randint_like(x, 2, 4) + torch.rand_like(x)
        y = y + torch.zeros(n, 6).random_(0, 7) + torch.zeros(n, 1).random_(3) + torch.empty(n, 6).geometric_(0.4)
        return (F.gumbel_softmax(y, tau=2.0) + torch.randint(4, (n, 1))).pow(2).mean()


def steps():
    image, row = torch.zeros(SAMPLES, 2, 4, 4), torch.zeros(SAMPLES, 6)
    yield Noised(), (image,)
    yield Noised().to(memory_format=torch.channels_last), (image.to(memory_format=torch.channels_last),)
    yield Flow(), (row, torch.zeros(SAMPLES, 3))
    yield Masks(), (row,)


def counting(graph, seed):
    """A recorded step with draws that count: what compiled ones are held to."""
    counter = "buffer:placewright.step"
    ops = []
    draws = 0
    for op in graph["ops"]:
        name = op["target"].removeprefix("aten.") if op["target"].startswith("aten.") else ""
        args, keywords = op["args"], op.get("kwargs", {})
        step = f"%{len(op['inputs'])}"
        if name in DRAWS:
            distribution, places, defaults, size = DRAWS[name]
            numbers = [defaults[i] if place is None or place >= len(args) else args[place]
                       for i, place in enumerate(places)] or list(defaults)
            numbers = [float(number) for number in (*numbers, 0)[:2]]
            kind = "counter_draw_new" if size is not None else \
                "counter_draw_" if op.get("alias") == "inplace" else "counter_draw_like"
            given = ["%0" if size is None else args[size], step, seed, draws, distribution, *numbers, []]
        elif name in ("bernoulli_.float", "native_dropout.default"):
            kind = "counter_bernoulli_" if name[0] == "b" else "counter_dropout"
            given = ["%0", step, seed, draws, args[1] if len(args) > 1 else 0.5, []]
        elif name == "bernoulli.default":
            kind, given = "counter_bernoulli_of", ["%0", step, seed, draws, []]
        else:
            ops.append(op)
            continue
        draws += 1
        ops.append({**op, "target": f"placewright.{kind}.default", "args": given, "kwargs": keywords,
                    "inputs": [*op["inputs"], counter]})
    ops.append({"name": "placewright.step.add_", "target": "aten.add_.Scalar", "phase": "opt", "alias": "inplace",
                "inputs": [counter], "args": ["%0", 1], "outputs": [{"shape": [], "dtype": "i64"}]})
    inputs = [*graph["inputs"], {"name": counter, "kind": "buffer", "shape": [], "dtype": "i64"}]
    return {**graph, "inputs": inputs, "ops": ops}, draws


class Draws(InParts):
    def test_each_device_draws_its_part_of_one_stream(self):
        for model, inputs in steps():
            with self.subTest(type(model).__name__):
                graph = self.exported(model, inputs, None, torch.optim.SGD(model.parameters(), 0.1),
                                      batch=SAMPLES)
                counted, draws = counting(graph, 0)
                self.assertGreater(draws, 1)
                path = self.folder / "counted.json"
                for batch in (SAMPLES, 9):  # 2 and 3 samples a device at the last
                    if batch != SAMPLES:
                        self.exported(model, tuple(torch.zeros(batch, *x.shape[1:]).to(x) for x in inputs), None,
                                      torch.optim.SGD(model.parameters(), 0.1), batch=batch)
                        counted, _ = counting(compiled_steps.read(self.folder / "step.json.gz"), 0)
                    path.write_text(json.dumps(counted))
                    compiled = self.compare("data-parallel", original=path)
                    kinds = [op["target"].split(".")[1] for op in compiled["ops"]]
                    # No device draws for another, and no part is put together.
                    self.assertEqual(set(kinds) & {"all_gather", "concat", "split", "broadcast"}, set())
                    self.assertEqual(sum(kind.startswith("counter_") for kind in kinds), 4 * draws)


if __name__ == "__main__":
    unittest.main()
