#!/usr/bin/python3
"""Records one training step of a small two-tower transformer in the ATen graph format.

    ./record_training_step.py [OUTPUT]          (needs Debian's python3-torch; default: the file
                                                 tiny_transformer_adam.json.gz beside this script)

The model matches questions with passages: two transformer encoders of their own weights, joined
only by the matrix of scores and its loss, so that a planner has two branches to spread. The same
from a shell: ../python/placewright_export.py record_training_step.py:build -o OUTPUT
"""

import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from placewright_export import export  # noqa: E402

BATCH, LENGTH = 32, 128
VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 16000, 512, 8, 2048, 2


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


def build():
    """What export() takes: the model, its inputs, the loss and its targets, the optimizer."""
    model = Matcher()
    ids = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    return {"model": model, "example_inputs": (ids, ids.clone()),
            "loss": nn.CrossEntropyLoss(), "targets": torch.zeros(BATCH, dtype=torch.int64),
            "optimizer": torch.optim.Adam(model.parameters(), lr=1e-3), "batch": BATCH}


def main():
    default = pathlib.Path(__file__).with_name("tiny_transformer_adam.json.gz")
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    written = export(path=path, **build())
    print(f"{path}: {written['ops']} ops, {written['edges']} edges, {written['phases']}")


if __name__ == "__main__":
    main()
