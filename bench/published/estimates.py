"""Strategies of Llama-3-8B on H100 beside estimates of what engines take.

    python3 bench/published/estimates.py [--program FILE] [--work FOLDER]

Llama-3-8B is transformers' in bf16, weights, states and all, with AdamW and 2,048 tokens a sample; Llama-2-7B has
adapters (LoRA). Records both from configurations (needs PyTorch, transformers and peft), plans them by each strategy
and prints in Markdown: step time and what the fullest GPU holds (`placewright memory`: the allocator's blocks, context
and NCCL's buffers), each beside the range that was estimated before; the bytes of its tensors, and the share of the
step in which communication is exposed. Recordings are kept in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
EXPORT = HERE.parent.parent / "python" / "placewright_export.py"
GIB = 1 << 30

LLAMA_3_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
}
LLAMA_2_7B = {
    **LLAMA_3_8B,
    "vocab_size": 32000,
    "intermediate_size": 11008,
    "num_key_value_heads": 32,
    "max_position_embeddings": 4096,
}
DESK = "gpus: {} x RTX 4090\ncpus: EPYC-7763\nmemory: 64 GiB\ninterconnect: pcie4\n"


@dataclass
class Row:
    name: str
    cluster: str
    batch: int
    plan: list[str]
    seconds: tuple[float, float] | None = None
    gib: tuple[float, float] | None = None
    exposed: float | None = None
    fits: bool = True
    model: str = "llama-3-8b"


HOSTS4, HOST, HOSTS32 = "4x 8xH100", "8xH100", "32x 8xH100"
PIPELINE = ["--pipeline", "1f1b", "--stages", "4", "--micro-batches", "8"]
ROWS = [
    Row("fsdp", HOSTS4, 64, ["--algo", "fsdp"], (0.45, 0.54), (40, 43), 0.10),
    Row("fsdp, full recomputation", HOSTS4, 64, ["--algo", "fsdp", "--recompute", "full"], (0.53, 0.65), (12, 16)),
    Row("hsdp", HOSTS4, 64, ["--algo", "hsdp"], (0.45, 0.54), (44, 47)),
    Row("tensor 8, data 4, sequence parallelism", HOSTS4, 64, ["--algo", "tensor", "--set", "tensor=8"], (0.60, 0.72)),
    Row("1f1b, 4 stages, 8 micro-batches", HOSTS4, 64, ["--algo", "1f1b", *PIPELINE], (0.60, 0.75)),
    Row("fsdp", HOST, 8, ["--algo", "fsdp"], (0.25, 0.31), (26, 28)),
    Row("ddp", HOST, 8, ["--algo", "ddp"], None, (80.0, 80.0), fits=False),
    Row("fsdp, 4 micro-batches", HOST, 64, ["--algo", "fsdp", "--micro-batches", "4"], (1.75, 1.95)),
    Row("fsdp, full recomputation", HOST, 64, ["--algo", "fsdp", "--recompute", "full"], (2.0, 2.2)),
    Row("fsdp", HOSTS32, 512, ["--algo", "fsdp"], (0.47, 0.57)),
    Row("7B with adapters, offload", DESK.format(1), 1, ["--algo", "offload"], model="llama-2-7b-lora"),
    Row(
        "7B with adapters, 1f1b, 2 stages, full recomputation",
        DESK.format(2),
        4,
        ["--algo", "1f1b", "--stages", "2", "--recompute", "full"],
        model="llama-2-7b-lora",
    ),
]


def record(model: str, work: pathlib.Path) -> pathlib.Path:
    path = work / f"{model}.json.gz"
    if not path.exists():
        lora = model.endswith("-lora")
        configuration = work / f"{model}.config" / "config.json"
        configuration.parent.mkdir(exist_ok=True)
        configuration.write_text(json.dumps(LLAMA_2_7B if lora else LLAMA_3_8B))
        command = [sys.executable, str(EXPORT), f"hf:{configuration}", "--dtype", "bf16", "--sequence", "2048"]
        command += ["--batch", "2", "--lora", "16"] if lora else ["--batch", "8"]
        subprocess.run([*command, "-o", str(path)], check=True, stdout=subprocess.DEVNULL)
    return path


def cluster_of(row: Row, work: pathlib.Path) -> str:
    if "\n" not in row.cluster:
        return row.cluster
    path = work / f"desk{row.cluster.split()[1]}.yaml"
    path.write_text(row.cluster)
    return str(path)


def run(row: Row, program: str, work: pathlib.Path, command: str, *options: str) -> dict[str, object]:
    arguments = [program, command, str(record(row.model, work)), "-c", cluster_of(row, work)]
    arguments += ["--batch", str(row.batch), *options, "--json", "--quiet"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    result = json.loads(done.stdout) if done.stdout else {}
    if "step_time_ns" not in result and not (result.get("feasible") is False):
        raise SystemExit(f"{row.name}: {done.stdout}{done.stderr}")
    return result


def beside(value: float, due: tuple[float, float] | None, text: str) -> str:
    if due is None:
        return f"{text} |"
    side = "" if due[0] <= value <= due[1] else f" ({value / due[value > due[1]]:.2f})"
    return f"{text}{side} | {due[0]:g}-{due[1]:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/placewright")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("published"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| strategy | machines | samples | step, s | estimated | a GPU holds, GiB | estimated | of it tensors | exposed |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    path = str(options.work / "estimate.plan.json")
    for row in ROWS:
        result = run(row, options.program, options.work, "plan", *row.plan, "-o", path)
        machines = row.cluster if "\n" not in row.cluster else row.cluster.split("\n", maxsplit=1)[0][6:]
        cells = [row.name, machines, str(row.batch)]
        if not result.get("feasible"):
            cells += ["does not fit", " | | | | |" if row.fits else "does not fit | | | | "]
        else:
            memory = run(row, options.program, options.work, "memory", *row.plan)
            gpus = [device for device in memory["devices"] if device["class"] == "gpu"]
            fullest = max(gpus, key=lambda device: device["device_bytes"])
            seconds = float(result["step_time_ns"]) / 1e9
            held, tensors = (fullest[f"{what}_bytes"] / GIB for what in ("device", "allocated"))
            exposed = float(result.get("exposed_communication_ns", 0)) / float(result["step_time_ns"])
            cells += [beside(seconds, row.seconds, f"{seconds:.3f}"), beside(held, row.gib, f"{held:.1f}")]
            cells += [f"{tensors:.1f}", f"{exposed:.1%}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
