"""torchtitan's Llama 3 as a training step in bf16, losses of scores in f32. Parameters, AdamW and sums of gradients in f32
are FSDP's mixed precision, which the plan states (--mixed-precision).
"""

import torch
from torch.nn import functional

HALF = torch.bfloat16


class Linear(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(outputs, inputs, dtype=HALF))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weight)


class Norm(torch.nn.Module):
    """In operators of f32, as torchtitan's RMSNorm and PyTorch's until 2.8 compute it: no kernel of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(width, dtype=HALF))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return normed.type_as(x) * self.weight


def turned(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    """Rotary positions, as torchtitan has them: pairs as complex numbers of f32."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3).type_as(x)


class Attention(torch.nn.Module):
    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.size, self.times = width // heads, heads // groups
        self.wq = Linear(width, width)
        self.wk = Linear(width, groups * self.size)
        self.wv = Linear(width, groups * self.size)
        self.wo = Linear(width, width)

    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape

        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, -1, self.size)

        q, k = turned(heads(self.wq(x)), turns), turned(heads(self.wk(x)), turns)
        k, v = (
            torch.repeat_interleave(y, self.times, dim=2).transpose(1, 2)
            for y in (k, heads(self.wv(x)))
        )
        y = functional.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).contiguous().view(batch, length, width))


class Perceptron(torch.nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.w1 = Linear(width, inner)
        self.w2 = Linear(inner, width)
        self.w3 = Linear(width, inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Layer(torch.nn.Module):
    def __init__(self, width: int, heads: int, groups: int, inner: int) -> None:
        super().__init__()
        self.attention_norm = Norm(width)
        self.attention = Attention(width, heads, groups)
        self.ffn_norm = Norm(width)
        self.feed_forward = Perceptron(width, inner)

    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), turns)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(torch.nn.Module):
    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        groups: int,
        inner: int,
        vocabulary: int,
        length: int,
    ) -> None:
        super().__init__()
        self.tok_embeddings = torch.nn.Embedding(vocabulary, width, dtype=HALF)
        self.layers = torch.nn.ModuleList(Layer(width, heads, groups, inner) for _ in range(layers))
        self.norm = Norm(width)
        self.output = Linear(width, vocabulary)
        turns = torch.empty(length, 1, width // heads // 2, dtype=torch.complex64)
        self.register_buffer("turns", turns)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = functional.embedding(words, self.tok_embeddings.weight)
        for layer in self.layers:
            x = layer(x, self.turns)
        return self.output(self.norm(x))


def loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(scores.flatten(0, 1).float(), labels.flatten(0, 1))


def build(
    layers=32,
    width=4096,
    heads=32,
    groups=8,
    inner=14336,
    vocabulary=128256,
    length=8192,
    batch=16,
):
    model = Llama(layers, width, heads, groups, inner, vocabulary, length)
    return {
        "model": model,
        "example_inputs": torch.zeros(batch, length, dtype=torch.int64),
        "loss": loss,
        "optimizer": torch.optim.AdamW(model.parameters(), foreach=False),
        "targets": torch.zeros(batch, length, dtype=torch.int64),
        "batch": batch,
    }
