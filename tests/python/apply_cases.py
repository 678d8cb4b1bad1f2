"""Models, optimizers and batches of the tests of apply, and what each rank does with them."""

import copy
import faulthandler
import importlib
import os
import pathlib
import random
import socket
import sys
import traceback

import torch
import torch._dynamo
from torch import nn
from torch.nn import functional as F

PYTHON = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
SAMPLES, STEPS = 8, 5
LIMIT = 120  # seconds that a rank may take for its cases


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.second(self.first(x).relu())


class Dropout(Perceptron):
    def forward(self, x):
        return self.second(F.dropout(self.first(x).relu(), 0.5))


class Images(nn.Module):
    """Convolutions with batch norms, whose statistics the step writes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))


def llama():
    """Grouped queries, and one weight for the embedding and the head."""
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
        tie_word_embeddings=True, use_cache=False))


MODELS = {"perceptron": Perceptron, "dropout": Dropout, "images": Images, "llama": llama}
OTHER_OPTIMIZERS = {
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, initial_accumulator_value=0.1),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5),
    "amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "groups": lambda p: torch.optim.Adam([{"params": one, "lr": 0.01 * (i + 1)}
                                          for i, one in enumerate(p)]),
}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}


def made(model, optimizer, dtype=torch.float64):
    """The same on every rank: a model, its optimizer, and the loss, or None where it has one."""
    torch.manual_seed(1)
    built = MODELS[model]().to(dtype)
    loss = {"llama": None, "images": F.cross_entropy}.get(model, F.mse_loss)
    return built, (OPTIMIZERS | OTHER_OPTIMIZERS)[optimizer](built.parameters()), loss


def batch(model, number, dtype=torch.float64):
    """What the model is given, and then what the loss is."""
    draws = torch.Generator().manual_seed(number)
    if model in ("perceptron", "dropout"):
        return [torch.randn(SAMPLES, width, generator=draws, dtype=torch.float64).to(dtype)
                for width in (12, 4)]
    if model == "images":
        return [torch.randn(SAMPLES, 3, 8, 8, generator=draws, dtype=torch.float64).to(dtype),
                torch.randint(0, 5, (SAMPLES,), generator=draws)]
    return [torch.randint(0, 64, (SAMPLES, 12), generator=draws) for _ in range(2)]


def loss_of(name, model, loss, given):
    if name == "llama":
        return model(input_ids=given[0], labels=given[1]).loss
    return loss(model(given[0]), given[1])


def trained(name, model, optimizer, loss, batches, schedule=None, clip=None):
    """The user's own loop: the losses."""
    losses = []
    for given in batches:
        optimizer.zero_grad()
        value = loss_of(name, model, loss, given)
        value.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(value.item())
    return losses


def apart(found, wanted):
    """The largest distance, of the tensor's magnitude where that is more than 1."""
    if isinstance(wanted, torch.Tensor):
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return float("inf")
        if not wanted.numel():
            return 0.0
        scale = max(1.0, wanted.double().abs().max().item())
        return (found.double() - wanted.double()).abs().max().item() / scale
    if isinstance(wanted, dict):
        if list(found) != list(wanted):
            return float("inf")
        return max([apart(found[key], value) for key, value in wanted.items()], default=0.0)
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return float("inf")
        return max([apart(a, b) for a, b in zip(found, wanted)], default=0.0)
    if isinstance(wanted, float):
        return abs(found - wanted) / max(1.0, abs(wanted))
    return 0.0 if found == wanted else float("inf")


def compared(case):
    """What a case comes to on this rank: distances from the user's own loop by what is compared."""
    from placewright import apply
    name, dtype = case["model"], getattr(torch, case["dtype"])
    model, optimizer, loss = made(name, case["optimizer"], dtype)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    given = [batch(name, number, dtype) for number in range(STEPS)]
    later = case.get("begun", 0)  # steps that the user has made before
    trained(name, model, optimizer, loss, given[:later])
    kept = {key: value.clone() for key, value in model.state_dict().items()}
    kept_update = copy.deepcopy(optimizer.state_dict()["state"])
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) if case.get("schedule") else None
    train = apply(case["plan"], model, optimizer, compile=case.get("compile", False),
                        clip=case.get("clip"), **case.get("options", {}))
    losses, compiled = [], torch._dynamo.utils.counters["stats"]["unique_graphs"]
    for number, values in enumerate(given[later:]):
        if case.get("then") and number == 3:
            model.load_state_dict(train.state_dict())
            optimizer.load_state_dict(train.optimizer_state_dict())
            kept_update = copy.deepcopy(optimizer.state_dict()["state"])
            train, kept = apply(case["then"], model, optimizer), train.state_dict()
        losses.append(train(*values).item())
        if schedule:
            schedule.step()
    if case.get("plain"):
        return {"values": losses}
    state, update = train.state_dict(), train.optimizer_state_dict()
    untouched = max(apart(dict(model.state_dict()), kept),
                    apart(optimizer.state_dict()["state"], kept_update))
    own, own_optimizer, loss = made(name, case["optimizer"], dtype)
    trained(name, own, own_optimizer, loss, given[:later])
    schedule = torch.optim.lr_scheduler.StepLR(own_optimizer, 2, 0.5) \
        if case.get("schedule") else None
    wanted = trained(name, own, own_optimizer, loss, given[later:], schedule,
                     case.get("clip"))
    moved = apart(before, dict(own.state_dict()))
    again, again_optimizer, _ = made(name, case["optimizer"], dtype)
    again.load_state_dict(state)
    again_optimizer.load_state_dict(update)
    return {"losses": apart(losses, wanted), "weights": apart(dict(state), dict(own.state_dict())),
            "optimizer": apart(update["state"], own_optimizer.state_dict()["state"]),
            "groups": apart(update["param_groups"], own_optimizer.state_dict()["param_groups"]),
            "untouched": untouched, "moved": moved,
            "graphs": torch._dynamo.utils.counters["stats"]["unique_graphs"] - compiled}


def refused(case, rank=0):
    """The code of the error that this rank gets."""
    from placewright import ApplyError, apply
    model, optimizer, _ = made(case.get("as", case["model"]), case.get("with", case["optimizer"]))
    if case.get("reshaped"):
        model.second = nn.Linear(16, 5).double()
    if case.get("decayed"):
        optimizer.param_groups[0]["weight_decay"] = 0.25
    before = {key: value.clone() for key, value in model.state_dict().items()}
    if rank and case.get("other_weights"):
        with torch.no_grad():
            before["first.weight"] = model.first.weight.add_(1e-3).detach().clone()
    plan = case["plan"]
    if rank and "plan_of_others" in case:
        plan = case["plan_of_others"]
    try:
        train = apply(plan, model, optimizer, **case.get("options", {}))
        if case.get("short"):
            train(*[value[:-2] for value in batch(case["model"], 0)])
        return {"code": "", "text": "", "untouched": 0.0}
    except ApplyError as error:
        return {"code": error.code, "text": str(error),
                "untouched": apart(dict(model.state_dict()), before)}


def done(case, rank):
    if "do" in case:  # "module.function"
        module, function = case["do"].split(".")
        return getattr(importlib.import_module(module), function)(case, rank)
    return refused(case, rank) if case.get("refused") else compared(case)


def rank_main(rank, ranks, port, tasks, results):
    """Lists of cases, one after the other, on one rank of a Gloo group, until None comes."""
    sys.path.insert(0, str(PYTHON))
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    for cases in iter(tasks.get, None):
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            results.put((rank, [done(case, rank) for case in cases]))
        except BaseException:
            results.put((rank, traceback.format_exc()))
            raise
    torch.distributed.destroy_process_group()


class Ranks:
    """Processes of a Gloo group on this machine that work through lists of cases."""

    def __init__(self, ranks):
        context = torch.multiprocessing.get_context("spawn")
        self._results, port = context.Queue(), free_port()
        self._tasks = [context.Queue() for _ in range(ranks)]
        self._processes = [context.Process(target=rank_main, daemon=True,
                                           args=(rank, ranks, port, tasks, self._results))
                           for rank, tasks in enumerate(self._tasks)]
        for process in self._processes:
            process.start()

    def run(self, cases):
        """What each rank says of each case; AssertionError if one fails."""
        for tasks in self._tasks:
            tasks.put(cases)
        found = {}
        while len(found) < len(self._tasks):
            rank, result = self._results.get(timeout=LIMIT + 30)
            if isinstance(result, str):
                raise AssertionError(f"rank {rank} failed:\n{result}")
            found[rank] = result
        return [found[rank] for rank in range(len(self._tasks))]

    def end(self):
        for tasks in self._tasks:
            tasks.put(None)
        for process in self._processes:
            process.join(10)
        self.kill()

    def kill(self):
        for process in self._processes:
            process.kill()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def random_layouts(said, devices, seed):
    """Layouts of a step: data parallelism, but for half of the groups some devices of their own,
    and parts of any axis that an op of the group can be split by. `said`: what
    `inspect --axes --json` prints."""
    draws = random.Random(seed)
    size, axes_of = {axis["name"]: axis["size"] for axis in said["axes"]}, {}
    for op in said["ops"]:
        axes = axes_of.setdefault(op["group"], set())
        for axis in (op.get("rule") or {}).get("axes", ()):
            if axis["parts"] != "whole":
                axes.update(axis["named"])
    layouts = [{"groups": "*", "axis": "batch", "devices": devices}]
    for group, axes in axes_of.items():
        some = draws.sample(devices, draws.randint(1, len(devices)))
        fitting = [axis for axis in sorted(axes) if size[axis] >= len(some)]
        layout = {"groups": group, "devices": some}
        if len(some) > 1 and fitting and draws.random() < 0.8:
            layout["axis"] = draws.choice(fitting)
            whole = size[layout["axis"]]
            ends = [0, *sorted(draws.sample(range(1, whole), len(some) - 1)), whole]
            layout["devices"] = [{"name": name, "from": begin, "to": end}
                                 for name, begin, end in zip(some, ends, ends[1:])]
        elif len(some) > 1:
            layout["option"] = "duplicate"
        if draws.random() < 0.5:
            layouts.append(layout)
    return {"layouts": layouts, "fusion_bytes": draws.choice([0, 1 << 20])}
