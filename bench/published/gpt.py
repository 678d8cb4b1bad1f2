"""Megatron's GPT as a training step: weights in half precision, masters, gradients and Adam in f32.

A parameter is its f32 master; the half-precision copy that the model computes with is made of it in
the forward pass and lies there until its gradient, as Megatron's always does. Layers may be computed
again whole in the backward pass (full recomputation). No dropout.
"""

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Linear(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(outputs, inputs))
        self.bias = torch.nn.Parameter(torch.empty(outputs))


class Norm(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(width))
        self.bias = torch.nn.Parameter(torch.empty(width))


class Block(torch.nn.Module):
    def __init__(self, width: int, heads: int, attention: str) -> None:
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1 = Norm(width)
        self.query = Linear(width, width)
        self.key = Linear(width, width)
        self.value = Linear(width, width)
        self.out = Linear(width, width)
        self.norm2 = Norm(width)
        self.up = Linear(width, 4 * width)
        self.down = Linear(4 * width, width)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        if self.attention == "flash":
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        # Two products around one kernel that scales, masks and normalises the scores.
        scores = torch.matmul(q, k.transpose(2, 3))
        return torch.matmul(torch.softmax(scores, dim=-1), v)

    def forward(self, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        (n1, m1, q, bq, k, bk, v, bv, o, bo, n2, m2, u, bu, d, bd) = weights
        batch, length, width = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        y = functional.layer_norm(x, (width,), n1, m1)
        attended = self.attend(
            split(functional.linear(y, q, bq)),
            split(functional.linear(y, k, bk)),
            split(functional.linear(y, v, bv)),
        )
        x = x + functional.linear(attended.transpose(1, 2).reshape(batch, length, width), o, bo)
        y = functional.layer_norm(x, (width,), n2, m2)
        return x + functional.linear(functional.gelu(functional.linear(y, u, bu)), d, bd)


class Gpt(torch.nn.Module):
    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        length: int,
        vocabulary: int,
        half: torch.dtype,
        recompute: bool,
        attention: str,
    ) -> None:
        super().__init__()
        self.half, self.recompute = half, recompute
        self.words = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, attention) for _ in range(layers))
        self.norm = Norm(width)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        table = self.words.weight.to(self.half)
        places = torch.arange(words.shape[1], device=words.device)
        x = functional.embedding(words, table)
        x = x + functional.embedding(places, self.positions.weight.to(self.half))
        for block in self.blocks:
            weights = [parameter.to(self.half) for parameter in block.parameters()]
            x = (
                checkpoint(block, x, *weights, use_reentrant=False)
                if self.recompute
                else block(x, *weights)
            )
        x = functional.layer_norm(
            x, x.shape[-1:], self.norm.weight.to(self.half), self.norm.bias.to(self.half)
        )
        return functional.linear(x, table)


class CrossEntropy(torch.autograd.Function):
    """Megatron's: one tensor of f32 for scores, softmax and gradient."""

    @staticmethod
    def forward(context, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores = logits.float()
        scores.sub_(scores.max(-1, keepdim=True).values)
        chosen = scores.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        scores.exp_()
        total = scores.sum(-1, keepdim=True)
        scores.div_(total)
        context.save_for_backward(scores, labels)
        context.half = logits.dtype
        return (total.squeeze(-1).log() - chosen).mean()

    @staticmethod
    def backward(context, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        scores, labels = context.saved_tensors
        ones = torch.ones_like(labels.unsqueeze(-1), dtype=scores.dtype)
        scores.scatter_add_(-1, labels.unsqueeze(-1), -ones)
        scores.mul_(gradient / labels.numel())
        return scores.to(context.half), None


def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return CrossEntropy.apply(logits, labels)


def build(
    layers=12,
    width=512,
    heads=8,
    length=1024,
    vocabulary=50304,
    batch=32,
    half="bf16",
    recompute=0,
    attention="core",
):
    kind = {"bf16": torch.bfloat16, "f16": torch.float16}[half]
    model = Gpt(layers, width, heads, length, vocabulary, kind, bool(recompute), attention)
    words = torch.zeros(batch, length, dtype=torch.int64)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    return {
        "model": model,
        "example_inputs": words,
        "loss": loss,
        "optimizer": optimizer,
        "targets": torch.zeros(batch, length, dtype=torch.int64),
        "batch": batch,
    }
