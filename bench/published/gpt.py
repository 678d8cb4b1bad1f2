"""Megatron's GPT as a training step, in the operators that its runs had.

Weights in half precision are made of f32 masters in the forward pass and lie there until their
gradients, as Megatron's always do. Dropout, scores of attention that are kept for the backward pass, the
loss scaled and unscaled, gradients in f32 for all parameters before the first update, and their norm
are there as in the run; layers may be computed again whole (full recomputation).
"""

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

HALVES = {"bf16": torch.bfloat16, "f16": torch.float16}


def dropped(x: torch.Tensor, share: float) -> torch.Tensor:
    """Dropout as one kernel with a mask of bytes, as on a GPU."""
    return torch.native_dropout(x, share, True)[0] if share > 0 else x


class Weights(torch.nn.Module):
    """A weight and a bias: of a product, or of a norm."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(*shape))
        self.bias = torch.nn.Parameter(torch.empty(shape[0]))


class Attention(torch.nn.Module):
    """Fused attention has no dropout of its own here: its mask is never in memory."""

    def __init__(self, width: int, heads: int, groups: int, dropout: float, flash: bool) -> None:
        super().__init__()
        self.size, self.dropout, self.flash = width // heads, dropout, flash
        self.query = Weights(width, width)
        self.key = Weights(groups * self.size, width)
        self.value = Weights(groups * self.size, width)
        self.out = Weights(width, width)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        if self.flash:
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        # Two products around one kernel that scales, masks and normalises the scores.
        probabilities = torch.softmax(torch.matmul(q, k.transpose(2, 3)), dim=-1)
        return torch.matmul(dropped(probabilities, self.dropout), v)

    def forward(self, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        (q, bq, k, bk, v, bv, o, bo) = weights
        batch, length, width = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, -1, self.size).transpose(1, 2)

        attended = self.attend(
            split(functional.linear(x, q, bq)),
            split(functional.linear(x, k, bk)),
            split(functional.linear(x, v, bv)),
        )
        y = attended.transpose(1, 2).reshape(batch, length, width)
        return dropped(functional.linear(y, o, bo), self.dropout)


class Perceptron(torch.nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.up = Weights(4 * width, width)
        self.down = Weights(width, 4 * width)

    def forward(self, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        (u, bu, d, bd) = weights
        y = functional.gelu(functional.linear(x, u, bu), approximate="tanh")
        return dropped(functional.linear(y, d, bd), self.dropout)


class Block(torch.nn.Module):
    def __init__(self, width: int, heads: int, groups: int, dropout: float, flash: bool) -> None:
        super().__init__()
        self.norm1 = Weights(width)
        self.attention = Attention(width, heads, groups, dropout, flash)
        self.norm2 = Weights(width)
        self.mlp = Perceptron(width, dropout)

    def forward(self, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        (n1, m1, *of_attention, n2, m2, u, bu, d, bd) = weights
        x = x + self.attention(functional.layer_norm(x, n1.shape, n1, m1), *of_attention)
        return x + self.mlp(functional.layer_norm(x, n2.shape, n2, m2), u, bu, d, bd)


class Gpt(torch.nn.Module):
    def __init__(
        self,
        layers: int,
        width: int,
        heads: int,
        groups: int,
        length: int,
        vocabulary: int,
        half: torch.dtype,
        dropout: float,
        recompute: bool,
        flash: bool,
        tied: bool,
    ) -> None:
        super().__init__()
        self.half, self.dropout, self.recompute = half, dropout, recompute
        self.words = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(
            Block(width, heads, groups, dropout, flash) for _ in range(layers)
        )
        self.norm = Weights(width)
        self.register_buffer("places", torch.arange(vocabulary))
        # The first and the last stage of a pipeline each have a table.
        self.head = None if tied else torch.nn.Parameter(torch.empty(vocabulary, width))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        table = self.words.weight.to(self.half)
        places = torch.arange(words.shape[1], device=words.device)
        x = functional.embedding(words, table)
        x = x + functional.embedding(places, self.positions.weight.to(self.half))
        x = dropped(x, self.dropout)
        for block in self.blocks:
            weights = [parameter.to(self.half) for parameter in block.parameters()]
            # Megatron's checkpoint computes a layer again to its end, as PyTorch's reentrant one.
            x = (
                checkpoint(block, x, *weights, use_reentrant=True)
                if self.recompute
                else block(x, *weights)
            )
        weight, bias = self.norm.weight.to(self.half), self.norm.bias.to(self.half)
        x = functional.layer_norm(x, x.shape[-1:], weight, bias)
        return functional.linear(x, table if self.head is None else self.head.to(self.half))


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


class CrossEntropyInParts(torch.autograd.Function):
    """The same over parts of the words, in operators that can be in parts: what is subtracted at the labels is where
    `places`, the numbers of the words, are these."""

    @staticmethod
    def forward(context, logits: torch.Tensor, labels: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        scores = logits.float()
        scores.sub_(scores.amax(-1, keepdim=True))
        chosen = functional.nll_loss(scores.flatten(0, 1), labels.flatten())
        total = scores.exp_().sum(-1, keepdim=True)
        scores.div_(total)
        context.save_for_backward(scores, labels, places)
        context.half = logits.dtype
        return total.log().mean() + chosen

    @staticmethod
    def backward(context, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        scores, labels, places = context.saved_tensors
        scores.add_(labels.unsqueeze(-1) == places, alpha=-1)
        scores.mul_(gradient / labels.numel())
        return scores.to(context.half), None, None


class Adam(torch.optim.AdamW):
    """Unscales the gradients of all parameters and clips them by their norm, then updates each in one kernel.

    Where GPUs have parts of gradients each adds up the squares of its own, and the norm is the root of their sum over
    all.
    """

    def __init__(self, parameters, scale: float) -> None:
        super().__init__(parameters, foreach=False)
        self.scale = scale

    def step(self, closure=None):
        parameters = [p for group in self.param_groups for p in group["params"]]
        squares = [(p.grad * p.grad).sum() for p in parameters]
        norm = torch.stack(squares).sum().sqrt() / self.scale
        share = (1.0 / (norm + 1e-6)).clamp(max=1.0) / self.scale
        for parameter in parameters:
            parameter.grad.mul_(share)
        for group in self.param_groups:
            numbers = {name: group[name] for name in ("lr", "weight_decay", "eps")}
            numbers["beta1"], numbers["beta2"] = group["betas"]
            for parameter in group["params"]:
                self._update(parameter, self.state[parameter], numbers)

    @staticmethod
    def _update(parameter, state, numbers) -> None:
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        state["step"] += 1
        torch._fused_adamw_(
            [parameter],
            [parameter.grad],
            [state["exp_avg"]],
            [state["exp_avg_sq"]],
            [],
            [state["step"]],
            amsgrad=False,
            maximize=False,
            grad_scale=None,
            found_inf=None,
            **numbers,
        )


def build(
    layers=12,
    width=512,
    heads=8,
    length=1024,
    vocabulary=50304,
    batch=32,
    half="bf16",
    dropout=0.1,
    recompute=0,
    flash=0,
    tied=1,
    groups=0,
    in_parts=0,
):
    flags = (bool(recompute), bool(flash), bool(tied))
    model = Gpt(layers, width, heads, groups or heads, length, vocabulary, HALVES[half], dropout, *flags)
    scale = 2.0**16 if half == "f16" else 1.0

    def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if in_parts:
            return CrossEntropyInParts.apply(logits, labels, model.places) * scale
        return CrossEntropy.apply(logits, labels) * scale

    return {
        "model": model,
        "example_inputs": torch.zeros(batch, length, dtype=torch.int64),
        "loss": loss,
        "optimizer": Adam(model.parameters(), scale),
        "targets": torch.zeros(batch, length, dtype=torch.int64),
        "batch": batch,
    }
