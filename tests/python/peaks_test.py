"""Peaks of recorded steps on one device beside PyTorch's own: its allocations, traced while it computes the step."""

from support import ExportTest  # first: skips without PyTorch

import unittest

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

GRANULE = 512  # what every tensor is rounded up to
# Not nn.MSELoss: the storage of its result holds the losses of all elements, of which the recorded shape says nothing.


class Blocks(nn.Module):
    """Blocks one after the other, each computed again in the backward pass where `again`."""

    def __init__(self, block, count, again):
        super().__init__()
        self.blocks = nn.ModuleList([block() for _ in range(count)])
        self.again = again

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return x


class Feed(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.parts(x)


class Gated(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.gate, self.up = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(torch.sigmoid(self.gate(x)) * self.up(x))


class Attention(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (part.reshape(n, t, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        weights = torch.softmax(q @ k.transpose(-1, -2) / 4, dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(n, t, width))


class Residual(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.second(torch.tanh(self.first(self.norm(x))))


class Wide(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(width, 8 * width), nn.Tanh(), nn.Linear(8 * width, width), nn.Tanh())

    def forward(self, x):
        return self.parts(x)


def rounded(tensors):
    return sum(-(-t.numel() * t.element_size() // GRANULE) * GRANULE for t in tensors)


def traced_peak(model, x, y):
    """Bytes: what lies there before the step, and the most that it allocates on top."""
    loss = nn.L1Loss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):  # the second step: gradients are new tensors, as in the recording
        optimizer.zero_grad(set_to_none=True)
        with torch.autograd.profiler.profile(profile_memory=True) as trace:
            loss(model(x), y).backward()
            optimizer.step()
    now = peak = 0
    events = [event for event in trace.kineto_results.events() if event.name() == "[memory]"]
    start = "start_ns" if hasattr(events[0], "start_ns") else "start_us"
    for event in sorted(events, key=lambda event: getattr(event, start)()):
        now += event.nbytes()
        peak = max(peak, now)
    return rounded([*model.parameters(), x, y]) + peak


class Peaks(ExportTest):
    def recorded_peak(self, model, x, y):
        self.exported(model, (x,), nn.L1Loss(), torch.optim.SGD(model.parameters(), lr=0.1), targets=(y,))
        return self.inspected()["memory"]["one_device_peak"]

    def test_plain_and_checkpointed_steps_need_what_pytorch_needs(self):
        for block in (Feed, Gated, Attention, Residual, Wide):
            peaks = {}
            for again in (False, True):
                with self.subTest(block=block.__name__, again=again):
                    model = Blocks(block, 8, again)
                    x, y = torch.randn(8, 128, 64), torch.randn(8, 128, 64)
                    own = traced_peak(model, x, y)
                    peaks[again] = self.recorded_peak(model, x, y)
                    self.assertLess(abs(peaks[again] / own - 1), 0.02, f"{peaks[again]} and {own}")
                    if not again:
                        rewritten = self.inspected("--recompute", "blocks.*")["memory"]["one_device_peak"]
            # So does the plain step, rewritten to compute each block again.
            self.assertLess(abs(rewritten / own - 1), 0.02, f"{block.__name__}: {rewritten} and {own}")
            # Checkpoints keep a small part of it.
            self.assertLess(peaks[True], 0.6 * peaks[False], block.__name__)


if __name__ == "__main__":
    unittest.main()
