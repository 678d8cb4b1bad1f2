"""Models of the tests of apply, small ones of the kinds that people train: how each is built, what
a batch of it is, and what its loss is."""

import dataclasses
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from compiled_steps import counted
from support import VERSION

SAMPLES, WORDS, LENGTH, CLASSES = 8, 64, 6, 5


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.second(self.first(x).relu())


class Dropout(Perceptron):
    """`step`: None for PyTorch's own dropout, or the number of the step whose counted masks are
    taken, as a plan that splits ops draws them."""

    step = None

    def forward(self, x):
        return self.second(self._drop(self.first(self._drop(x, 0)).relu(), 1))

    def _drop(self, x, draw):
        if self.step is None:
            return F.dropout(x, 0.25)
        given = [torch.empty_like(x), self.step, 0, draw, 0.75, []]
        mask = counted("counter_bernoulli_", given, {})
        return x * (mask / 0.75)


class Images(nn.Module):
    """Convolutions with batch norms, whose statistics the step writes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))


class Translation(nn.Module):
    """A GRU reads a text, another writes one from where the first ended; they share words."""

    def __init__(self, width=16):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.encoder = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.decoder = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, source, target):
        _, state = self.encoder(self.words(source))
        return self.head(self.decoder(self.words(target), state)[0]).flatten(0, 1)


class Clicks(nn.Module):
    """As DLRM: numbers through a perceptron, features through bags of embeddings, products of all
    pairs, and a perceptron of these."""

    def __init__(self, rows=(20, 32, 11), width=8):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, width, mode="sum") for n in rows)
        pairs = len(rows) * (len(rows) + 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 16), nn.ReLU(), nn.Linear(16, 1))
        first, second = torch.tril_indices(len(rows) + 1, len(rows) + 1, -1)
        self.register_buffer("first", first)
        self.register_buffer("second", second)

    def forward(self, numbers, features):
        dense = self.bottom(numbers)
        rows = [bag(features[:, i]) for i, bag in enumerate(self.bags)]
        stacked = torch.stack([dense, *rows], 1)
        products = stacked @ stacked.transpose(1, 2)
        return self.top(torch.cat([dense, products[:, self.first, self.second]], 1)).squeeze(1)


def llama():
    """Grouped queries, and one weight for the embedding and the head."""
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
        tie_word_embeddings=True, use_cache=False))


def mixtral(implementation="batched_mm"):
    """Two experts of four for each token."""
    from transformers import MixtralConfig, MixtralForCausalLM
    return MixtralForCausalLM(MixtralConfig(
        vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
        num_local_experts=4, num_experts_per_tok=2, use_cache=False,
        experts_implementation=implementation))


def routed_mixtral():
    """The same, with tokens sorted by their expert. In float32, as the product by groups is."""
    return mixtral("grouped_mm")


def vit():
    from transformers import ViTConfig, ViTForImageClassification
    return ViTForImageClassification(ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        image_size=16, patch_size=4, num_labels=CLASSES, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0))


def unet():
    """Two resolutions, with attention at the lower one."""
    from diffusers import UNet2DModel
    return UNet2DModel(sample_size=8, in_channels=3, out_channels=3, layers_per_block=1,
                       block_out_channels=(8, 16), norm_num_groups=4, attention_head_dim=4,
                       down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                       up_block_types=("AttnUpBlock2D", "UpBlock2D"), dropout=0.0)


class Draws:
    """The tensors of one batch."""

    def __init__(self, seed, dtype, samples=SAMPLES):
        self._generator, self._dtype = torch.Generator().manual_seed(seed), dtype
        self._samples = samples

    def numbers(self, *shape):
        drawn = torch.randn(self._samples, *shape, generator=self._generator, dtype=torch.float64)
        return drawn.to(self._dtype)

    def integers(self, below, *shape):
        return torch.randint(0, below, (self._samples, *shape), generator=self._generator)


class Experts(nn.Module):
    """Weights of all experts in one tensor, as GShard has them."""

    def __init__(self, experts=4, width=6, inner=8):
        super().__init__()
        self.up = nn.Parameter(torch.randn(experts, width, inner) * 0.3)
        self.down = nn.Parameter(torch.randn(experts, inner, width) * 0.3)

    def forward(self, x):  # [expert, sample, place, width]
        rows = x.reshape(x.shape[0], -1, x.shape[-1])
        return torch.bmm(torch.tanh(torch.bmm(rows, self.up)), self.down).reshape(x.shape)


class Mixture(nn.Module):
    """Every expert takes two tokens of each sample, those that its router likes best."""

    def __init__(self):
        super().__init__()
        self.router, self.experts, self.head = nn.Linear(6, 4), Experts(), nn.Linear(6, 3)

    def forward(self, x):  # [sample, token, width]
        weights, tokens = self.router(x).softmax(-1).transpose(1, 2).topk(2, -1)
        picked = F.one_hot(tokens, x.shape[1]).to(x.dtype)
        routed = torch.einsum("gecs,gsm->gecm", picked, x)
        made = self.experts(routed.transpose(0, 1)).transpose(0, 1)
        return self.head(x + torch.einsum("gecs,gec,gecm->gsm", picked, weights, made))


class Normed(nn.Module):
    """Norms over features, by layer norms and an RMS norm, and the largest feature."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.plain = nn.LayerNorm(12, bias=False) if VERSION >= (2, 1) else nn.LayerNorm(12)
        self.scale = nn.Parameter(torch.ones(12))

    def forward(self, x):
        y = self.plain(self.norm(x).tanh() * self.scale)
        y = y * (y.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        return y - y.amax(-1, keepdim=True)


class Clipped(torch.optim.SGD):
    """Clips all gradients by their norm."""

    def step(self, closure=None):
        parameters = [p for group in self.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, 0.01)
        return super().step(closure)


@dataclasses.dataclass
class Kind:
    build: Callable       # the model
    batch: Callable       # Draws -> what the model is given, and then what the loss is
    loss: Callable | None = None  # (output, target); None: the model's output has it
    names: tuple = ()     # of what the model is given, where it is not given by position
    needs: str = ""       # the library that it is of
    exact: bool = True    # whether all of it is computed in the weights' type
    exact_compiled: bool = True  # the same of what torch.compile makes of it, which rounds float32 otherwise


def text(draws):
    return [draws.integers(WORDS, LENGTH), draws.integers(WORDS, LENGTH)]


KINDS = {
    "perceptron": Kind(Perceptron, lambda d: [d.numbers(12), d.numbers(4)], F.mse_loss),
    "dropout": Kind(Dropout, lambda d: [d.numbers(12), d.numbers(4)], F.mse_loss),
    "images": Kind(Images, lambda d: [d.numbers(3, 8, 8), d.integers(CLASSES)], F.cross_entropy),
    "normed": Kind(Normed, lambda d: [d.numbers(5, 12), d.numbers(5, 12)], F.mse_loss),
    "experts": Kind(Mixture, lambda d: [d.numbers(5, 6), d.numbers(5, 3)], F.mse_loss),
    "llama": Kind(llama, text, names=("input_ids", "labels"), needs="transformers", exact=False),
    "mixtral": Kind(mixtral, text, names=("input_ids", "labels"), needs="transformers",
                    exact=False),
    "routed mixtral": Kind(routed_mixtral, text, names=("input_ids", "labels"),
                           needs="transformers", exact=False),
    "vit": Kind(vit, lambda d: [d.numbers(3, 16, 16), d.integers(CLASSES)],
                names=("pixel_values", "labels"), needs="transformers"),
    "unet": Kind(unet, lambda d: [d.numbers(3, 8, 8), d.integers(1000), d.numbers(3, 8, 8)],
                 lambda output, y: F.mse_loss(output.sample, y), needs="diffusers",
                 exact_compiled=False),  # the embedding of time steps
    "translation": Kind(Translation,
                        lambda d: [*text(d), d.integers(WORDS, LENGTH)],
                        lambda output, y: F.cross_entropy(output, y.flatten())),
    "clicks": Kind(Clicks, lambda d: [d.numbers(6), d.integers(11, 3, 4), d.numbers().sigmoid()],
                   F.binary_cross_entropy_with_logits),
}
