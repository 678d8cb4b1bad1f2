"""Models of the tests of recipes, and what each rank does with them."""

import faulthandler
import os
import sys
import traceback

import torch
from torch import nn
from torch.nn import functional as F

from apply_cases import LIMIT, PYTHON, STEPS, Ranks, apart
from apply_models import SAMPLES, Perceptron, llama

WORDS, PLACES, WIDTH = 64, 12, 32


class Block(nn.Module):
    """A block of GPT-2 with linear layers; `heads` of its forward pass: fixed, or what there is."""

    def __init__(self, fixed):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.heads, self.fixed = 4, fixed

    def forward(self, x):
        y = self.norm1(x)
        shape = {"": (-1, WIDTH // self.heads), "heads": (self.heads, WIDTH // self.heads),
                 "silently": (self.heads, -1)}[self.fixed]
        q, k, v = (each(y).view(*y.shape[:2], *shape).transpose(1, 2)
                   for each in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, fixed=""):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.blocks = nn.ModuleList(Block(fixed) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).transpose(1, 2)


class PerHead(Gpt):
    """Queries are normalised by a weight that all heads share."""

    def __init__(self):
        super().__init__()
        for block in self.blocks:
            block.q = nn.Sequential(block.q, nn.Unflatten(-1, (-1, 8)), nn.LayerNorm(8),
                                    nn.Flatten(-2))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.Linear(16, 4))

    def forward(self, x):
        return self.layers(x)


def gpt2():
    """Weights of nn.Linear's other way round, one for the embedding and the head."""
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(
        vocab_size=WORDS, n_positions=32, n_embd=WIDTH, n_layer=2, n_head=4, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, use_cache=False))


def vit():
    from transformers import ViTConfig, ViTForImageClassification
    return ViTForImageClassification(ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        image_size=16, patch_size=8, num_labels=6, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0))


MODELS = {"perceptron": Perceptron, "llama": llama, "gpt": Gpt, "gpt2": gpt2, "vit": vit,
          "gpt-heads": lambda: Gpt("heads"), "gpt-silently": lambda: Gpt("silently"),
          "per-head": PerHead, "normed": Normed}
LANGUAGE = ("llama", "gpt2")  # that return their loss


def made(name):
    """The same on every rank: a model, its optimizer and its loss, or None where it has one."""
    torch.manual_seed(1)
    model = MODELS[name]()
    loss = None if name in (*LANGUAGE, "vit") else \
        F.cross_entropy if isinstance(model, Gpt) else F.mse_loss
    return model, optimizer_of(model), loss


def optimizer_of(model):
    """Of gradients that are zero but for rounding, as those of the biases of keys, eps makes steps
    of no size; with the default 1e-8 their steps would be of the rate's size, by chance."""
    return torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1, eps=1e-4)


def batch(name, number):
    """What the model is given, by name, and what the loss is."""
    draws = torch.Generator().manual_seed(number)

    def words():
        return torch.randint(0, WORDS, (SAMPLES, PLACES), generator=draws)
    if name in LANGUAGE:
        return {"input_ids": words(), "labels": words()}, None
    if name == "vit":
        return {"pixel_values": torch.randn(SAMPLES, 3, 16, 16, generator=draws),
                "labels": torch.randint(0, 6, (SAMPLES,), generator=draws)}, None
    if name in ("perceptron", "normed"):
        return {"x": torch.randn(SAMPLES, 12, generator=draws)}, \
            torch.randn(SAMPLES, 4, generator=draws)
    return {"x": words()}, words()


def share(given, target, rank, ranks):
    """A rank's samples."""
    part = slice(rank * SAMPLES // ranks, (rank + 1) * SAMPLES // ranks)
    return {key: value[part] for key, value in given.items()}, \
        None if target is None else target[part]


def trained(name, model, optimizer, loss, rank=0, ranks=1):
    """Five steps with fresh batches: the losses."""
    losses = []
    for number in range(STEPS):
        given, target = share(*batch(name, number), rank, ranks)
        optimizer.zero_grad()
        value = model(**given).loss if loss is None else loss(model(**given), target)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def whole(state):
    """Tensors of all ranks put together."""
    return {key.removeprefix("module."): value.full_tensor() if hasattr(value, "full_tensor")
            else value for key, value in state.items()}


def compared(case, rank, ranks):
    """Distances of a distributed training from the same on one process."""
    from placewright import engines
    name = case["model"]
    model, _, loss = made(name)
    recipe = getattr(engines, case["call"])(case["plan"])
    distributed = recipe.apply(model)
    optimizer = optimizer_of(distributed)
    shares = case["call"] != "to_parallelize_module"
    losses = trained(name, distributed, optimizer, loss, *((rank, ranks) if shares else (0, 1)))
    losses = torch.tensor(losses)
    if shares:
        torch.distributed.all_reduce(losses)
        losses /= ranks
    own, own_optimizer, loss = made(name)
    before = {key: value.clone() for key, value in own.state_dict().items()}
    wanted = trained(name, own, own_optimizer, loss)
    found = whole(distributed.state_dict())
    return {"losses": apart(losses, torch.tensor(wanted)),
            "weights": apart({key: found.get(key) for key in own.state_dict()},
                             dict(own.state_dict())),
            "moved": apart(before, dict(own.state_dict())),
            "elements": sum((p.to_local() if hasattr(p, "to_local") else p).numel()
                            for p in distributed.parameters()),
            "all": sum(p.numel() for p in own.parameters())}


def refused(case):
    """What a recipe or its application raises, and whether the model stayed as it was."""
    from placewright import PlacewrightError, engines
    model, _, _ = made(case.get("as", case["model"]))
    before = {key: value.clone() for key, value in model.state_dict().items()}
    try:
        getattr(engines, case["call"])(case["plan"]).apply(model)
    except PlacewrightError as error:
        return {"code": error.code, "place": error.place, "text": str(error),
                "untouched": apart(dict(model.state_dict()), before)}
    return {"code": "", "place": "", "text": "", "untouched": 0.0}


def rank_main(rank, ranks, port, tasks, results):
    """Lists of cases, one after the other, on one rank of a Gloo group, until None comes."""
    sys.path.insert(0, str(PYTHON))
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    for cases in iter(tasks.get, None):
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            results.put((rank, [refused(case) if case.get("refused") else
                                compared(case, rank, ranks) for case in cases]))
        except BaseException:
            results.put((rank, traceback.format_exc()))
            raise
    torch.distributed.destroy_process_group()


class EngineRanks(Ranks):
    main = staticmethod(rank_main)
