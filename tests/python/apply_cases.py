"""Cases of the tests of apply: a model, an optimizer and a plan each, and what ranks make of
them."""

import copy
import faulthandler
import functools
import importlib
import itertools
import math
import os
import pathlib
import queue
import random
import socket
import sys
import time
import traceback

import torch
import torch._dynamo
from torch import nn

from apply_models import KINDS, SAMPLES, Clipped, Draws

PYTHON = pathlib.Path(__file__).resolve().parent.parent.parent / "python"
STEPS = 5
LONG = bool(os.environ.get("PLACEWRIGHT_LONG"))
LIMIT = 900  # seconds that a rank may take for a list of cases

OTHER_OPTIMIZERS = {
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, initial_accumulator_value=0.1),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5),
    "amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "clipped": lambda p: Clipped(p, lr=0.05, momentum=0.9),
    "groups": lambda p: torch.optim.Adam([{"params": one, "lr": 0.01 * (i + 1)}
                                          for i, one in enumerate(p)]),
}
# Adam's `eps` is so large that no rounding of a small gradient decides where its weight goes.
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, eps=1e-4, weight_decay=0.1),
}

# Strategies by which steps are planned.
STRATEGIES = {
    "data-parallel": ("--algo", "data-parallel"),
    "parameter-server": ("--algo", "data-parallel-ps"),
    "expert-hybrid": ("--algo", "expert-hybrid"),
    "fsdp": ("--algo", "fsdp"),
    "layout-search": ("--algo", "layout-search", "--iterations", "50"),
    "placed": ("--algo", "round-robin"),
    "single": ("--algo", "single"),
    "by hand": (),      # BY_HAND
    "any layouts": (),  # random_layouts()
}
SEVERAL = [strategy for strategy in STRATEGIES if strategy != "single"]
# Of models that attend; steps that are rewritten before they are laid out.
REWRITTEN = {
    "tensor": ("--algo", "tensor"),
    "experts": ("--algo", "experts"),
    "3d": ("--algo", "3d", "--stages", "2", "--micro-batches", "2"),
    "micro-batches": ("--algo", "data-parallel", "--micro-batches", "2"),
    "recomputed": ("--algo", "zero-2", "--recompute", "full", "--micro-batches", "4"),
    "fsdp in parts": ("--algo", "fsdp", "--micro-batches", "2", "--recompute", "selective"),
    "1f1b": ("--algo", "1f1b", "--stages", "2", "--micro-batches", "4"),
    "zb-h1": ("--algo", "zb-h1", "--stages", "2", "--micro-batches", "2", "--recompute", "full"),
    "placed in parts": ("--algo", "round-robin", "--micro-batches", "2"),
    "placed, recomputed": ("--algo", "round-robin", "--micro-batches", "2", "--recompute", "full"),
    "wider": ("--algo", "fsdp", "--mixed-precision", "param=f32 reduce=f64 master=f64"),
    "wider, placed": ("--algo", "round-robin", "--mixed-precision", "param=f32 master=f64"),
    "in lanes": ("--algo", "fsdp", "--batch", "40"),
}
# Layouts by hand: the samples in uneven shares, and then (groups, what of them). A number stands
# for the device that they lie on.
BY_HAND = {
    "perceptron": [("first", "param:first.weight[0]")],
    "dropout": [("second", 1)],
    "images": [("head", 1)],
    "llama": [("model.embed_tokens", "param:model.embed_tokens.weight[0]"),
              ("model.layers.0.mlp*", "param:model.layers.0.mlp.gate_proj.weight[0]"),
              ("model.layers.1.*", 1)],
    "mixtral": [("model.layers.0.mlp.experts",
                 "param:model.layers.0.mlp.experts.gate_up_proj[1].1"),
                ("model.layers.1.self_attn*", "parameter-server")],
    "vit": [("vit.layers.0.mlp*", "param:vit.layers.0.mlp.fc1.weight[0]"), ("classifier", 1)],
    "unet": [("mid_block*", 1), ("up_blocks.1*", "parameter-server")],
    "translation": [("encoder*", 1), ("head", "param:head.weight[0]")],
    "clicks": [("bags.0", 0), ("bags.1", 1), ("bottom*", "parameter-server")],
}
WELL_KNOWN = ("llama", "mixtral", "vit", "unet", "translation", "clicks")
REFUSED = {  # what the planner refuses, or no loop repeats
    ("clicks", "expert-hybrid"): "no strategy for the step",
    ("clicks", "any layouts"): "bags of embeddings read their indices in one layout",
    ("dropout", "placed"): "drawn by PyTorch's generator of each rank",
}
# Of what splits heads of keys and values, of which these have two.
ON_TWO = (("llama", "expert-hybrid"), ("mixtral", "expert-hybrid"))


def grid():
    """All models that people train under all strategies, on 2 and 4 ranks; what else a training
    has is drawn."""
    draws, rows = random.Random(4), []
    models = *WELL_KNOWN, "images", "dropout"
    for strategy, model, ranks in itertools.product(SEVERAL, models, (2, 4)):
        if (model, strategy) in REFUSED:
            continue
        dtype = draws.choice(("float64", "float64", "float32"))
        optimizer = draws.choice(("momentum", "adam", "adamw"))
        row = {"model": model, "strategy": strategy, "ranks": ranks, "dtype": dtype,
               "optimizer": "adamw" if dtype == "float32" else optimizer,
               "clip": draws.choice((None, 0.1)), "schedule": draws.random() < 0.5,
               # SGD counts no steps, by which numbers are drawn.
               "begun": 0 if (model, optimizer) == ("dropout", "momentum") else
               draws.choice((0, 2))}
        if ranks == 2 or (model, strategy) not in ON_TWO:
            rows.append(row)
    return rows


def compiled_grid():
    """Each model compiled; what is sent from device to device is not."""
    rows = [{"model": model, "strategy": strategy, "ranks": 2, "dtype": "float64",
             "optimizer": optimizer, "compile": True, "schedule": True}
            for model, strategy, optimizer in (
                ("llama", "data-parallel", "adamw"), ("mixtral", "data-parallel", "adam"),
                ("vit", "expert-hybrid", "momentum"), ("unet", "data-parallel", "momentum"),
                ("translation", "data-parallel", "adamw"), ("clicks", "data-parallel", "adam"),
                ("dropout", "data-parallel", "adamw"), ("images", "data-parallel", "momentum"))]
    return [*rows, {**rows[5], "ranks": 4, "clip": 0.1}]


def resumed_grid():
    """Pairs of rows: three steps under one plan on so many ranks, two under another on others."""
    pairs = [("data-parallel", 2, "parameter-server", 4), ("by hand", 4, "layout-search", 2),
             ("placed", 2, "by hand", 4), ("expert-hybrid", 4, "data-parallel", 2),
             ("any layouts", 2, "data-parallel", 4), ("parameter-server", 4, "placed", 2)]
    rows = []
    for i, (model, (first, ranks, second, others)) in enumerate(
            zip((*WELL_KNOWN, "images", "dropout"), [*pairs, pairs[1], pairs[0]])):
        counts = i % 2 == 0 or model == "dropout"  # its steps, by which numbers are drawn
        both = {"model": model, "optimizer": "adamw" if counts else "momentum",
                "dtype": "float64", "schedule": True, "clip": 0.1 if i % 2 else None}
        rows.append(({**both, "strategy": first, "ranks": ranks, "until": 3},
                     {**both, "strategy": second, "ranks": others, "begun": 3}))
    return rows


def all_rows():
    """What tools/record_apply runs: lists of a row, or of two of which the second goes on from the
    first."""
    return [*([row] for row in [*grid(), *compiled_grid()]), *map(list, resumed_grid())]


def apart(found, wanted):
    """The largest distance, of the magnitude: a tensor's largest element, or 1e-3 if that is
    less."""
    if isinstance(wanted, torch.Tensor):
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return float("inf")
        if not wanted.numel():
            return 0.0
        scale = max(1e-3, wanted.double().abs().max().item())
        distance = (found.double() - wanted.double()).abs().max().item() / scale
        return float("inf") if math.isnan(distance) else distance
    if isinstance(wanted, dict):
        if list(found) != list(wanted):
            return float("inf")
        return max([apart(found[key], value) for key, value in wanted.items()], default=0.0)
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return float("inf")
        return max([apart(a, b) for a, b in zip(found, wanted)], default=0.0)
    if isinstance(wanted, float):
        distance = abs(found - wanted) / max(1e-3, abs(wanted))
        return float("inf") if math.isnan(distance) else distance
    return 0.0 if found == wanted else float("inf")


class Training:
    """The user's own training of a case: equal on every rank, and on one device."""

    def __init__(self, case):
        torch.manual_seed(1)
        self._kind, self._clip = KINDS[case["model"]], case.get("clip")
        self._samples = case.get("samples") or SAMPLES
        self._dtype = getattr(torch, case["dtype"])
        self._wider = case.get("wider")  # the type that parameters are kept in
        self.model = nn.Module.to(self._kind.build(), getattr(torch, self._wider or case["dtype"]))
        made = (OPTIMIZERS | OTHER_OPTIMIZERS)[case["optimizer"]]
        self.optimizer = made(self.model.parameters())
        self.schedule = torch.optim.lr_scheduler.StepLR(
            self.optimizer, 2, 0.5 if case.get("schedule") else 1.0)

    def batch(self, number):
        """What the model is given in a step, and then what the loss is."""
        return self._kind.batch(Draws(number, self._dtype, self._samples))

    def inputs(self):
        """As the exporter takes them: those of the model, and the loss with its targets."""
        given = self.batch(0)
        if self._kind.names:
            return dict(zip(self._kind.names, given)), None, None
        return tuple(given[:-1]), self._kind.loss, given[-1]

    def step(self, number):
        """One step of the user's own loop: the loss."""
        given = self.batch(number)
        if hasattr(self.model, "step"):
            self.model.step = number  # whose random numbers are counted
        self.optimizer.zero_grad()
        if self._kind.names:
            loss = self._output((), dict(zip(self._kind.names, given))).loss
        else:
            loss = self._kind.loss(self._output(tuple(given[:-1])), given[-1])
        loss.backward()
        if self._clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self._clip)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def _output(self, given, named=None):
        if not self._wider:
            return self.model(*given, **named or {})
        cast = {name: tensor.to(self._dtype) for name, tensor in itertools.chain(
            self.model.named_parameters(), self.model.named_buffers())}
        return torch.func.functional_call(self.model, cast, given, named)

    def state(self):
        return copy.deepcopy({"model": dict(self.model.state_dict()),
                              "optimizer": self.optimizer.state_dict(),
                              "schedule": self.schedule.state_dict()})

    def load(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])


OF_TRAINING = ("model", "optimizer", "dtype", "clip", "schedule", "samples", "wider")


@functools.lru_cache
def own_loop(*of_training):
    """The losses of the user's own loop, and the state before each step and behind the last."""
    own = Training(dict(zip(OF_TRAINING, of_training)))
    losses, states = [], [own.state()]
    for number in range(STEPS):
        losses.append(own.step(number))
        states.append(own.state())
    return losses, states


def compared(case):
    """What a case comes to on this rank: distances from the user's own loop by what is compared.

    Steps from `begun` (0) to `until` (5) are made by the plan; those before are the user's own, or
    are read from the file `kept`. What is then gathered is kept in the file `keep`.
    """
    from placewright import apply
    begun, until = case.get("begun", 0), case.get("until", STEPS)
    losses, states = own_loop(*(case.get(key) for key in OF_TRAINING))
    user = Training(case)
    if "kept" in case:
        user.load(torch.load(case["kept"]))
    else:
        for number in range(begun):
            user.step(number)
    before = user.state()
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    train = apply(case["plan"], user.model, user.optimizer, compile=case.get("compile", False),
                  clip=case.get("clip"), **case.get("options", {}))
    found = []
    for number in range(begun, until):
        found.append(train(*user.batch(number)).item())
        user.schedule.step()
    after = user.state()
    gathered = {"model": dict(train.state_dict()), "optimizer": train.optimizer_state_dict(),
                "schedule": user.schedule.state_dict()}
    Training(case).load(gathered)  # which refuses what is not of the user's form
    if "keep" in case and torch.distributed.get_rank() == 0:
        torch.save(gathered, case["keep"])
    wanted = states[until]
    return {"losses": apart(found, losses[begun:until]),
            "weights": apart(gathered["model"], wanted["model"]),
            "optimizer": apart(gathered["optimizer"]["state"], wanted["optimizer"]["state"]),
            "groups": apart(gathered["optimizer"]["param_groups"],
                            wanted["optimizer"]["param_groups"]),
            "untouched": max(apart(after["model"], before["model"]),
                             apart(after["optimizer"]["state"], before["optimizer"]["state"])),
            "moved": apart(states[begun]["model"], wanted["model"]),
            "graphs": torch._dynamo.utils.counters["stats"]["unique_graphs"] - graphs}


def refused(case, rank=0):
    """The code of the error that this rank gets."""
    from placewright import ApplyError, apply
    user = Training({**case, "model": case.get("as", case["model"]),
                     "optimizer": case.get("with", case["optimizer"])})
    model, optimizer = user.model, user.optimizer
    if case.get("reshaped"):
        model.second = nn.Linear(16, 5).double()
    if case.get("decayed"):
        optimizer.param_groups[0]["weight_decay"] = 0.25
    if case.get("optimizer_class"):
        optimizer = type(optimizer)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    if rank and case.get("other_weights"):
        with torch.no_grad():
            before["first.weight"] = model.first.weight.add_(1e-3).detach().clone()
    plan = case["plan"]
    if rank and "plan_of_others" in case:
        plan = case["plan_of_others"]
    given = torch.nn.parallel.DistributedDataParallel(model) if case.get("wrapped") else model
    try:
        train = apply(plan, given, optimizer, **case.get("options", {}))
        if case.get("short"):
            train(*[value[:-2] for value in Training(case).batch(0)])
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
    faulthandler.enable()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    for cases in iter(tasks.get, None):
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            results.put((rank, [done(case, rank) for case in cases]))
        except BaseException:
            results.put((rank, traceback.format_exc()))
            raise
        faulthandler.cancel_dump_traceback_later()
    torch.distributed.barrier()  # the store of rank 0 lasts as long as all of them
    torch.distributed.destroy_process_group()


class Ranks:
    """Processes of a Gloo group on this machine that work through lists of cases."""

    main = staticmethod(rank_main)

    def __init__(self, ranks):
        context = torch.multiprocessing.get_context("spawn")
        self._results, port = context.Queue(), free_port()
        self._tasks = [context.Queue() for _ in range(ranks)]
        self._processes = [context.Process(target=self.main, daemon=True,
                                           args=(rank, ranks, port, tasks, self._results))
                           for rank, tasks in enumerate(self._tasks)]
        for process in self._processes:
            process.start()

    def run(self, cases):
        """What each rank says of each case; AssertionError, with what every rank says, if one
        fails."""
        for tasks in self._tasks:
            tasks.put(cases)
        found, end = {}, time.monotonic() + LIMIT + 30
        while len(found) < len(self._tasks) and time.monotonic() < end:
            try:
                rank, result = self._results.get(timeout=1)
            except queue.Empty:
                dead = [process for process in self._processes if not process.is_alive()]
            else:
                found[rank] = result
                dead = isinstance(result, str)
            if dead:
                end = min(end, time.monotonic() + 10)  # the others may know why
        results = [found.get(rank, f"it ended with {process.exitcode}, or goes on")
                   for rank, process in enumerate(self._processes)]
        if any(isinstance(result, str) for result in results):
            raise AssertionError("\n".join(
                f"rank {rank}: {result if isinstance(result, str) else 'done'}"
                for rank, result in enumerate(results)))
        return results

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


def layouts_by_hand(model, devices):
    """BY_HAND of a model, on devices."""
    ends = [0, *(SAMPLES * (i + 1) // len(devices) - 1 for i in range(len(devices) - 1)), SAMPLES]
    layouts = [{"groups": "*", "axis": "batch", "devices": [
        {"name": name, "from": begin, "to": end}
        for name, begin, end in zip(devices, ends, ends[1:])]}]
    for groups, how in BY_HAND[model]:
        if isinstance(how, int):
            layouts.append({"groups": groups, "option": "place", "devices": [devices[how]]})
        elif how == "parameter-server":
            layouts.append({"groups": groups, "option": how, "axis": "batch", "devices": devices})
        else:
            layouts.append({"groups": groups, "axis": how, "devices": devices})
    return {"layouts": layouts, "fusion_bytes": 1 << 20}


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
