"""Planned steps under apply on one GPU, beside the user's own loop on it.

    python tests/gpu/apply_gpu.py --make FOLDER     # records and plans; needs the program, no GPU
    python tests/gpu/apply_gpu.py FOLDER            # runs; needs PyTorch alone, and a GPU
    python tests/gpu/apply_gpu.py FOLDER --device cpu --small

One line a case: PASS or FAIL, its name, and the distance from what it is compared with, as a share of
each tensor's magnitude. Then what a step takes: medians of alternating repeats with their spread, and
the most memory that tensors had. The exit status is that of the checks; times are only printed.
"""

import argparse
import contextlib
import gc
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
import traceback

import torch
from torch import nn
from torch.nn import functional as F

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "python"))

STEPS = 5
LIMIT = 1e-4         # of float32, of each tensor's magnitude
HALF_FACTOR = 2.0    # bfloat16: so many times the distance of PyTorch's own autocast from float32
SECONDS = 130        # that one process may take


# Models: each makes a module that returns its loss, and a batch for it.

class Attention(nn.Module):
    """Without a bias of keys: its gradient is 0 but for rounding, which Adam would follow."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.into, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def forward(self, x):
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for part in self.into(x).chunk(3, -1))
        made = F.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.out(made.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.outer(F.gelu(self.inner(self.second(x))))


class Gpt(nn.Module):
    """One weight for the embedding and the head, as GPT-2 has it."""

    def __init__(self, words=256, width=64, heads=4, layers=2, length=32):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.places.weight[:tokens.size(1)]
        for block in self.blocks:
            x = block(x)
        scores = F.linear(self.norm(x), self.words.weight)
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


class Vit(nn.Module):
    def __init__(self, width=64, heads=4, layers=2, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, False) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, images, targets):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x[:, 0]), targets)


class Cnn(nn.Module):
    """With batch norms, whose statistics the step writes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1, groups=2, bias=False),
            nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(128, 10)

    def forward(self, images, targets):
        return F.cross_entropy(self.head(self.layers(images)), targets)


class Dropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 64), nn.Linear(64, 10)

    def forward(self, x, targets):
        return F.cross_entropy(self.second(F.dropout(self.first(x).relu(), 0.3)), targets)


class Llama(nn.Module):
    """Of transformers, with fewer heads of keys than of queries."""

    def __init__(self):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM
        self.model = LlamaForCausalLM(LlamaConfig(
            vocab_size=256, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            tie_word_embeddings=True, use_cache=False))

    def forward(self, tokens, targets):
        return self.model(input_ids=tokens, labels=targets).loss


class Autocast(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, first, targets):
        with torch.autocast(first.device.type, torch.bfloat16):
            return self.model(first, targets)


LARGE = {"words": 8192, "width": 1024, "heads": 16, "layers": 4, "length": 512}
SMALL = {"words": 256, "width": 64, "heads": 4, "layers": 2, "length": 32}
MODELS = {"gpt2": Gpt, "vit": Vit, "cnn": Cnn, "llama": Llama, "dropout": Dropout,
          "large": lambda: Gpt(**LARGE)}
# eps: Adam follows rounding where gradients are nearly 0.
OPTIMIZERS = {"adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, eps=1e-5, weight_decay=0.1),
              "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)}


def made(name, half=False, optimizer="adamw", device="cpu"):
    """The same in every process: a model and its optimizer."""
    torch.manual_seed(1)
    model = MODELS[name]().to(device)
    model = Autocast(model) if half else model
    return model, OPTIMIZERS[optimizer](model.parameters())


def batch(name, number, device="cpu"):
    draws = torch.Generator().manual_seed(number)
    if name in ("vit", "cnn"):
        given = torch.randn(8, 3, 16, 16, generator=draws), torch.randint(0, 10, (8,),
                                                                          generator=draws)
    elif name == "dropout":
        given = torch.randn(8, 32, generator=draws), torch.randint(0, 10, (8,), generator=draws)
    else:
        sizes = LARGE if name == "large" else SMALL
        given = tuple(torch.randint(0, sizes["words"], (8, sizes["length"]), generator=draws)
                      for _ in range(2))
    return [tensor.to(device) for tensor in given]


# Cases: name -> (model, half, optimizer, hosts of the cluster, options of the plan)

ONE = "  - {gpus: 1 x H100}\n"
TWO = "  - {gpus: 2 x H100}\n"
MIXED = "  - {gpus: 1 x H100, cpus: 1 x EPYC-7763, memory: 64 GiB}\n"
STEPS_OF = {
    **{f"{name}{'-bf16' if half else ''}-one": (name, half, "adamw", ONE, ["--algo", "layered"])
       for name in ("gpt2", "llama", "vit", "cnn") for half in (False, True)},
    "cnn-sgd-one": ("cnn", False, "sgd", ONE, ["--algo", "layered"]),
    "large-one": ("large", False, "adamw", ONE, ["--algo", "layered"]),
    "large-bf16-one": ("large", True, "adamw", ONE, ["--algo", "layered"]),
    **{f"{name}-{algorithm}-two": (name, False, "adamw", TWO, ["--algo", algorithm])
       for name in ("gpt2", "cnn") for algorithm in ("data-parallel", "data-parallel-ps",
                                                     "expert-hybrid", "round-robin")},
    "llama-data-parallel-two": ("llama", False, "adamw", TWO, ["--algo", "data-parallel"]),
    "llama-bf16-data-parallel-two": ("llama", True, "adamw", TWO, ["--algo", "data-parallel"]),
    "vit-layout-search-two": ("vit", False, "adamw", TWO,
                              ["--algo", "layout-search", "--iterations", "50"]),
    "dropout-data-parallel-two": ("dropout", False, "adamw", TWO, ["--algo", "data-parallel"]),
    **{f"{name}-round-robin-mixed": (name, False, "adamw", MIXED, ["--algo", "round-robin"])
       for name in ("gpt2", "llama", "vit", "cnn")},
}


def make(folder):
    """Records and plans all cases into a folder."""
    from placewright_export import export
    program = os.environ.get("PLACEWRIGHT_PROGRAM", str(SOURCE / "build" / "bin" / "placewright"))
    folder.mkdir(parents=True, exist_ok=True)
    for case, (name, half, optimizer, hosts, options) in STEPS_OF.items():
        step = folder / f"{name}{'-bf16' if half else ''}-{optimizer}.json.gz"
        if not step.exists():
            model, update = made(name, half, optimizer)
            first, targets = batch(name, 0)
            export(model, (first, targets), None, update, step, batch=len(first),
                   rebatch=False if name == "large" else None)
        cluster = folder / f"{case}.yaml"
        cluster.write_text(f"hosts:\n{hosts}name: of-{case}\n" +
                           ("network: 25 Gbps\n" if "cpus" in hosts else ""))
        plan = folder / f"{case}.plan.json"
        run = subprocess.run([program, "plan", step, "-c", cluster, *options, "-o", plan],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"{case}: {run.stdout}{run.stderr}")
        for beside in folder.glob(f"{case}*"):  # which apply does not read
            if "costs" in beside.name or "schedule" in beside.name or beside.suffix == ".yaml":
                beside.unlink()
        print(case, json.loads(plan.read_text())["step_time_ns"])


# Checks

def apart(found, wanted):
    """The largest distance, as a share of the tensor's magnitude."""
    if isinstance(wanted, torch.Tensor):
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return float("inf")
        difference = (found.double().cpu() - wanted.double().cpu()).abs().max().item()
        return difference / max(wanted.double().abs().max().item(), 1e-3)
    if isinstance(wanted, dict):
        if list(found) != list(wanted):
            return float("inf")
        return max([apart(found[key], value) for key, value in wanted.items()], default=0.0)
    return max([abs(a - b) / max(abs(b), 1e-3) for a, b in zip(found, wanted, strict=True)])


def own_loop(name, half, optimizer, device):
    """(losses, weights) of the user's own loop."""
    model, update = made(name, half, optimizer, device)
    losses = []
    for number in range(STEPS):
        update.zero_grad()
        loss = model(*batch(name, number, device))
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses, dict(model.state_dict())


def applied(folder, case, device, where=None, **more):
    """(losses, weights) under a plan. `where`: devices= of apply."""
    from placewright import apply
    name, half, optimizer, _, _ = STEPS_OF[case]
    model, update = made(name, half, optimizer, device)
    train = apply(folder / f"{case}.plan.json", model, update, devices=where or device, **more)
    losses = [train(*batch(name, number, device)).item() for number in range(STEPS)]
    return losses, dict(train.state_dict())


def without_prefix(weights):
    return {key.removeprefix("model.") if key.startswith("model.") else key: value
            for key, value in weights.items()}


def compare(folder, case, device, where=None, **more):
    """A text of what was found; AssertionError where it is too far away."""
    name, half, optimizer, _, _ = STEPS_OF[case]
    losses, weights = applied(folder, case, device, where, **more)
    own_losses, own_weights = own_loop(name, half, optimizer, device)
    moved = apart(weights, dict(made(name, half, optimizer)[0].state_dict()))
    far = apart(losses, own_losses), apart(weights, own_weights)
    text = f"losses {far[0]:.1e}, weights {far[1]:.1e} from the own loop"
    assert moved > 1e-3, f"nothing moved: {moved}"
    if not half:
        assert max(far) <= LIMIT, text
        return text
    exact, _ = own_loop(name, False, optimizer, device)
    own, planned = apart(own_losses, exact), apart(losses, exact)
    text += f"; losses from float32's: {planned:.1e}, the own loop's {own:.1e}"
    assert planned <= max(HALF_FACTOR * own, 1e-3), text
    return text


def attention_call(device, dtype, causal=False, masked=False, groups=4, rows=40, size=16, part=None):
    """How far the device's attention is from products in float64, forward and backward; `part`: of places [begin, end)
    under a causal mask."""
    from placewright.applied import device_ops
    torch.manual_seed(3)
    query = torch.randn(2, rows, 4, size, device=device, dtype=dtype).transpose(1, 2)
    key, value = (torch.randn(2, rows, groups, size, device=device, dtype=dtype).transpose(1, 2)
                  for _ in range(2))
    grad = torch.randn_like(query)
    mask = None
    if masked:
        mask = torch.zeros(2, 1, rows, rows, device=device, dtype=dtype)
        mask[:, :, :, rows // 2:] = float("-inf")
    wide = [tensor.double() for tensor in (query, key, value)]
    wide_mask = None if mask is None else mask.double()
    wanted = device_ops.products(*wide, wide_mask, causal, 0.3)
    found = device_ops.attention(query, key, value, 0.0, causal, attn_mask=mask, scale=0.3)
    of = device_ops.attention_backward(grad, query, key, value, *found, 0.0, causal,
                                       attn_mask=mask, scale=0.3)
    of_wanted = device_ops.products_backward(grad.double(), *wide, *wanted, wide_mask, causal, 0.3)
    kernel = device_ops._kernel_of(query, key, value, mask)
    if part is not None:
        own = [one[:, :, slice(*part)] for one in (grad, query)]
        found = device_ops.causal_part(own[1], key, value, part[0], 0.3)
        of = device_ops.causal_part_backward(*own, key, value, *found, part[0], 0.3)
        wide_own = [one.double() for one in own]
        wanted = device_ops.causal_part(wide_own[1], *wide[1:], part[0], 0.3)
        of_wanted = device_ops.causal_part_backward(*wide_own, *wide[1:], *wanted, part[0], 0.3)
    far = [apart(a.double(), b) for a, b in zip((*found, *of), (*wanted, *of_wanted), strict=True)]
    text = f"{kernel}: output {far[0]:.1e}, logarithms {far[1]:.1e}, gradients {max(far[2:]):.1e}"
    assert max(far) <= (2e-2 if dtype == torch.bfloat16 else LIMIT), text
    return text


ATTENTION = {
    "causal-f32": {"dtype": torch.float32, "causal": True},
    "masked-f32": {"dtype": torch.float32, "masked": True},
    "masked-odd-f32": {"dtype": torch.float32, "masked": True, "rows": 37},
    "groups-f32": {"dtype": torch.float32, "causal": True, "groups": 2},
    "odd-head-f32": {"dtype": torch.float32, "causal": True, "size": 15},
    "f64": {"dtype": torch.float64, "causal": True},
    "causal-bf16": {"dtype": torch.bfloat16, "causal": True},
    "part-f32": {"dtype": torch.float32, "causal": True, "part": (8, 24)},
    "part-bf16": {"dtype": torch.bfloat16, "causal": True, "part": (8, 24)},
    "last-part-bf16": {"dtype": torch.bfloat16, "causal": True, "groups": 2, "part": (24, 40)},
    "plain-bf16": {"dtype": torch.bfloat16, "rows": 65, "size": 64},
    "masked-bf16": {"dtype": torch.bfloat16, "masked": True},
    "groups-bf16": {"dtype": torch.bfloat16, "causal": True, "groups": 2},
}


def norm_call(device, name):
    """How far a norm of bfloat16 with weights of float32 is from float64, forward and backward."""
    from placewright.applied import device_ops
    torch.manual_seed(3)
    x, grad = (torch.randn(2, 6, 8, device=device).bfloat16() for _ in range(2))
    weight, bias = (torch.randn(8 if name == "layer" else 6, device=device) for _ in range(2))
    leaves = [tensor.double().requires_grad_() for tensor in (x, weight, bias)]
    if name == "layer":
        wanted = F.layer_norm(leaves[0], [8], *leaves[1:])
        given, of = (x, [8], weight, bias, 1e-5), (grad, x, [8], None, None, weight, bias)
        at = 3
    else:
        wanted = F.group_norm(leaves[0], 3, *leaves[1:])
        given, of = (x, weight, bias, 2, 6, 8, 3, 1e-5), (grad, x, None, None, weight, 2, 6, 8, 3)
        at = 2
    wanted.backward(grad.double())
    own = f"aten.native_{name}_norm"
    found, mean, scale = device_ops.operator_on(f"{own}.default", "cuda")(*given)
    of = [*of[:at], mean, scale, *of[at + 2:], [True, True, True]]
    gradients = device_ops.operator_on(f"{own}_backward.default", "cuda")(*of)
    far = [apart(a.double(), b) for a, b in zip(
        (found, *gradients), (wanted.detach(), *(leaf.grad for leaf in leaves)), strict=True)]
    assert max(far) <= 2e-2, str(far)
    return f"{max(far):.1e} from float64"


def compare_draws(folder, case, device):
    """Counted draws are the same on any device."""
    losses, _ = applied(folder, case, "cpu", ["cpu", "cpu"])
    here, _ = applied(folder, case, device, [device, device])
    text = f"losses {apart(here, losses):.1e} from the CPU's"
    assert apart(here, losses) <= LIMIT, text
    return text


class Report:
    def __init__(self):
        self.failed = 0

    def case(self, name, check):
        try:
            print(f"PASS {name}: {check()}", flush=True)
        except Exception as error:
            self.failed += 1
            reason = str(error) if isinstance(error, AssertionError) else "".join(
                traceback.format_exception(error)[-3:])[-900:]
            print(f"FAIL {name}: {reason}", flush=True)


def check_kernels(folder, device, report):
    if device != "cpu":
        for name, options in ATTENTION.items():
            report.case(f"attention {name}", lambda: attention_call(device, **options))
    for name in ("layer", "group"):
        report.case(f"norm of mixed types, {name}", lambda: norm_call(device, name))
    for case in STEPS_OF:
        if case.endswith("-one") and not case.startswith("large"):
            report.case(f"one rank {case}", lambda: compare(folder, case, device))


def check_group_of_one(folder, device, report):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), LOCAL_RANK="0")
    backend = "gloo" if device == "cpu" else "nccl"
    torch.distributed.init_process_group(backend, rank=0, world_size=1)
    report.case(f"{backend} of one rank, gpt2", lambda: compare(folder, "gpt2-one", device))
    report.case(f"{backend} of one rank, clipped, as it is without", lambda: clipped(folder, device))
    torch.distributed.destroy_process_group()


def clipped(folder, device):
    (losses, weights), (others, _) = (applied(folder, "gpt2-one", device, clip=limit)
                                      for limit in (1e9, 0.05))
    own, own_weights = own_loop("gpt2", False, "adamw", device)
    far = max(apart(losses, own), apart(weights, own_weights))
    assert far <= LIMIT, f"{far:.1e} from the own loop"
    assert apart(others, own) > 1e-5, "clipping changed nothing"
    return f"{far:.1e} from the own loop beyond the norm"


def check_several_devices(folder, device, report):
    for case in STEPS_OF:
        if case.endswith("-mixed"):
            report.case(f"one rank, GPU and CPU, {case}",
                        lambda: compare(folder, case, device, [device, "cpu"]))
        elif case.endswith("-two") and not case.startswith("dropout"):
            report.case(f"one rank, the GPU twice, {case}",
                        lambda: compare(folder, case, device, [device, device]))
    report.case("one rank, its own update", lambda: compare(
        folder, "gpt2-data-parallel-two", device, [device, device], update="own"))
    report.case("counted draws", lambda: compare_draws(folder, "dropout-data-parallel-two", device))


def check_two_ranks(folder, device, report):
    rank = int(os.environ["RANK"])
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    for case in STEPS_OF:
        if case.endswith("-two") and not case.startswith("dropout"):
            report.case(f"gloo, rank {rank} of two on one GPU, {case}",
                        lambda: compare(folder, case, device))
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


# Times

def synchronize(device):
    if device != "cpu":
        torch.cuda.synchronize()


def own_step(name, half, device, compiled, foreach=None):
    model, update = made(name, half, "adamw", device)
    update.param_groups[0]["foreach"] = foreach
    forward = torch.compile(model) if compiled else model

    def step(given):
        update.zero_grad()
        loss = forward(*given)
        loss.backward()
        update.step()
        return loss
    return step


def peak_of(make_step, given, device):
    """The step, and the most bytes that its state and two steps had, in MiB."""
    gc.collect()
    before = 0
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    step = make_step()
    for _ in range(2):
        step(given)
    synchronize(device)
    peak = (torch.cuda.max_memory_allocated() - before) / 2**20 if device != "cpu" else 0
    return step, peak


def measure(folder, device, half, compiled, repeats, steps):
    """Milliseconds of a step, own and under apply, in turn."""
    from placewright import apply
    case = f"large{'-bf16' if half else ''}-one"
    given = batch("large", 0, device)

    def planned(who):
        model, optimizer = made("large", half)  # stays on the CPU
        train = apply(folder / f"{case}.plan.json", model, optimizer, devices=device,
                      compile=compiled, update=who)
        return lambda batch: train(*batch)
    steps_of, peaks = {}, {}
    for name, make_step in (
            ("own", lambda: own_step("large", half, device, compiled)),
            ("own without foreach", lambda: own_step("large", half, device, compiled, False)),
            ("apply", lambda: planned("recorded")),
            ("apply with the own update", lambda: planned("own"))):
        if compiled and name not in ("own", "apply"):  # which take a minute each to compile
            continue
        steps_of[name], peaks[name] = peak_of(make_step, given, device)
    times = {name: [] for name in steps_of}
    for _ in range(repeats):
        for name, step in steps_of.items():
            synchronize(device)
            begin = time.perf_counter()
            for _ in range(steps):
                step(given)
            synchronize(device)
            times[name].append((time.perf_counter() - begin) / steps * 1e3)
    medians = {name: statistics.median(row) for name, row in times.items()}
    texts = [f"{name} {medians[name]:.2f} ms ({min(row):.2f} to {max(row):.2f}), "
             f"{peaks[name]:.0f} MiB" for name, row in times.items()]
    return f"{'; '.join(texts)}; ratio {medians['apply'] / medians['own']:.3f}"


def check_times(folder, device, report):
    few = device == "cpu"
    for half, compiled in ((False, False), (True, False), (True, True), (False, True)):
        name = f"{'bf16' if half else 'f32'}, {'compiled' if compiled else 'eager'}"
        begin = time.perf_counter()
        report.case(f"time of a step, {name}", lambda: measure(
            folder, device, half, compiled, 3 if few else 9, 1 if few else 10))
        print(f"     ({time.perf_counter() - begin:.0f} s with building)", flush=True)


GROUPS = {"kernels": check_kernels, "group": check_group_of_one,
          "devices": check_several_devices, "ranks": check_two_ranks, "times": check_times}


def start(group, arguments, **environment):
    return subprocess.Popen(
        [sys.executable, __file__, *arguments, "--only", group], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})


def finish(process, group):
    """Prints what a process said; 1 where something failed."""
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[0] + f"\nFAIL {group}: it took more than {SECONDS} s\n"
    lines = [line for line in said.splitlines() if line.strip()]
    if process.returncode and not any(line.startswith("FAIL") for line in lines):
        lines.append(f"FAIL {group}: exit status {process.returncode}")
    print("\n".join(lines), flush=True)
    return any(line.startswith("FAIL") for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", action="store_true", help="record and plan into the folder")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="with a small model for the times")
    parser.add_argument("--only", choices=GROUPS, help="one group of checks, in this process")
    options = parser.parse_args()
    if options.small:
        LARGE.update(SMALL)
    if options.make:
        return make(options.folder)
    arguments = sys.argv[1:]
    if not options.only:
        print(f"PyTorch {torch.__version__}, {options.device}", flush=True)
        port = str(free_port())
        begun = [(group, start(group, arguments)) for group in ("kernels", "group", "devices")]
        begun += [("ranks", start("ranks", arguments, RANK=str(rank), MASTER_ADDR="127.0.0.1",
                                  MASTER_PORT=port)) for rank in range(2)]
        failed = [finish(process, group) for group, process in begun]
        failed.append(finish(start("times", arguments), "times"))  # alone
        return int(any(failed))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    report = Report()
    if options.device != "cpu":
        torch.cuda.set_device(options.device)
    with contextlib.suppress(BrokenPipeError):
        GROUPS[options.only](options.folder, options.device, report)
    return int(report.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
