"""Published runs beside what Placewright predicts of them.

    python3 bench/published/published.py [--program FILE] [--only NAME...] [--work FOLDER]

Records each model on meta (needs PyTorch), plans it by the strategy of the run and prints a table in
Markdown: published and predicted step time and memory of the fullest GPU, their ratio, and the cause
where it is beyond the limit. Of a family of runs the first is the base of the others' times: limits are of
how many times as long as that a step takes, 10% on one host and 15% on several. All other limits are of the
ratio itself: time and reserved 10%, allocated 5%. Rows without a plan are listed with what is missing.
Recordings are kept in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
EXPORT = HERE.parent.parent / "python" / "placewright_export.py"
GIB = 1 << 30
LIMITS = {"ms": 0.10, "allocated": 0.05, "reserved": 0.10}
ACROSS_HOSTS = 0.15  # of step times within a family

DLPERF = "DLPerf Megatron-LM, 8 x V100-SXM2-16GB"
MEGATRON = "Megatron-LM functional tests, H100"
TITAN = "torchtitan, H100"


@dataclass
class Row:
    name: str
    source: str
    published: dict[str, float]  # "ms" of a step; "allocated", "reserved" in GiB
    model: dict[str, object] = field(default_factory=dict)  # of build() in the script
    plan: list[str] = field(default_factory=list)  # of `memory`
    cause: str = ""  # of what is beyond the limit
    missing: str = ""  # why no plan says it
    script: str = "gpt"
    base: bool = False  # of the family of this source
    hosts: int = 1


GPT_1536 = {
    "layers": 16,
    "width": 1536,
    "heads": 16,
    "length": 2048,
    "vocabulary": 50688,
    "batch": 16,
    "half": "f16",
    "recompute": 1,
}
GPT_512 = {
    "layers": 12,
    "width": 512,
    "heads": 8,
    "length": 1024,
    "vocabulary": 50304,
    "batch": 32,
    "half": "bf16",
}
GPT_7B = {
    "layers": 32,
    "width": 4096,
    "heads": 32,
    "groups": 8,
    "length": 8192,
    "vocabulary": 131072,
    "batch": 8,
    "half": "bf16",
    "flash": 1,
    "tied": 0,
    "in_parts": 1,
}
V100 = ["-c", "8xV100-16GB", "--batch", "16"]
# Gradients lie in buffers for the whole step.
KEPT = ["--mixed-precision", "gradients=kept"]
TENSOR = ["--algo", "tensor", "--set", "sequence=off", "--set"]

ROWS = [
    Row(
        "1x1x1_2_1536x16",
        DLPERF,
        {"ms": 464.12},
        GPT_1536,
        ["-c", "1xV100-16GB", "--batch", "2", "--algo", "single"],
        base=True,
    ),
    Row(
        "8x1x1_16_1536x16",
        DLPERF,
        {"ms": 480.96},
        GPT_1536,
        [*V100, "--algo", "data-parallel"],
    ),
    Row(
        "1x8x1_16_1536x16",
        DLPERF,
        {"ms": 692.44},
        {**GPT_1536, "in_parts": 1},
        [*V100, *TENSOR, "tensor=8"],
    ),
    Row(
        "2x4x1_16_1536x16",
        DLPERF,
        {"ms": 576.48},
        {**GPT_1536, "in_parts": 1},
        [*V100, *TENSOR, "tensor=4"],
    ),
    Row(
        "8x1x4_512_1536x16",
        DLPERF,
        {"ms": 4893.55},
        {**GPT_1536, "tied": 0},
        ["-c", str(HERE / "dlperf.yaml"), "--batch", "512", "--algo", "1f1b"]
        + ["--pipeline", "1f1b", "--stage-layers", "4,4,4,4", "--micro-batches", "32"],
        hosts=4,
    ),
    Row(
        "GPT-3 7B, tensor 4, data 2",
        MEGATRON,
        {"ms": 1115, "allocated": 53.2},
        GPT_7B,
        ["-c", "8xH100", "--batch", "8", "--micro-batches", "2", *TENSOR, "tensor=4"]
        + ["--set", "optimizer=shards", *KEPT],
    ),
    Row(
        "GPT 12 x 512, data 8, distributed optimizer",
        MEGATRON,
        {"allocated": 4.4},
        {**GPT_512, "recompute": 0},
        ["-c", "8xH100", "--algo", "zero-1", *KEPT],
    ),
    Row(
        "GPT 12 x 512, data 8, full recomputation",
        MEGATRON,
        {"allocated": 2.4},
        {**GPT_512, "recompute": 1},
        ["-c", "8xH100", "--algo", "data-parallel", *KEPT],
    ),
    Row(
        "Llama-3.1-8B, FSDP 8, selective",
        TITAN,
        {"reserved": 82.4, "ms": 2 * 8192 / 5762 * 1000},
        {"batch": 16},
        ["-c", str(HERE / "torchtitan.yaml"), "--algo", "fsdp", "--recompute", "selective"]
        + ["--mixed-precision", "param=bf16 reduce=f32"],
        script="llama",
    ),
    Row("the same, compiled", TITAN, {}, missing="kernels that torch.compile fuses"),
    Row("Llama-3.1-8B, 64 GPUs, compiled", TITAN, {}, missing="kernels that torch.compile fuses"),
]


def record(row: Row, work: pathlib.Path) -> pathlib.Path:
    settings = [f"{name}={value}" for name, value in row.model.items()]
    path = work / ("-".join([row.script, *settings]) + ".json.gz")
    if not path.exists():
        command = [sys.executable, str(EXPORT), f"{HERE / row.script}.py:build", "-o", str(path)]
        for setting in settings:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def predict(row: Row, program: str, work: pathlib.Path) -> dict[str, float]:
    command = [program, "memory", str(record(row, work)), *row.plan, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{row.name}: {done.stdout}{done.stderr}")
    result = json.loads(done.stdout)
    fullest = max(result["devices"], key=lambda device: device["device_bytes"])
    return {
        "ms": result["step_time_ns"] / 1e6,
        "allocated": fullest["allocated_bytes"] / GIB,
        "reserved": fullest["reserved_bytes"] / GIB,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/bin/placewright")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("published"))
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print(
        "| run | of | published | predicted | ratio | to the base: published | predicted | |\n"
        "|---|---|---:|---:|---:|---:|---:|---|",
        flush=True,
    )
    bases: dict[str, tuple[float, float]] = {}  # of each family: published, predicted
    figures = within = 0
    for row in ROWS:
        if options.only and row.name not in options.only and not row.base:
            continue
        if row.missing:
            print(f"| {row.name} | {row.source} | | | | | | no plan: {row.missing} |", flush=True)
            continue
        predicted = predict(row, options.program, options.work)
        for what, value in row.published.items():
            ratio, limit, to_base = predicted[what] / value, LIMITS[what], "| |"
            judged = ratio
            if what == "ms" and row.base:
                bases[row.source] = (value, predicted[what])
            elif what == "ms" and row.source in bases:
                base, of_base = bases[row.source]
                to_base = f"{value / base:.2f} | {predicted[what] / of_base:.2f} |"
                judged = ratio * base / of_base
                limit = ACROSS_HOSTS if row.hosts > 1 else limit
            good = abs(judged - 1) <= limit
            figures, within = figures + 1, within + good
            unit = "ms" if what == "ms" else f"GiB {what}"
            cause = "" if good else row.cause or "not explained"
            print(
                f"| {row.name} | {row.source} | {value:.4g} {unit} | {predicted[what]:.4g} | {ratio:.2f} "
                f"| {to_base} {cause} |",
                flush=True,
            )
    print(f"\n{within} of {figures} figures are within the limits.")


if __name__ == "__main__":
    main()
