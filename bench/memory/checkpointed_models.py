"""Peaks of five models with gradient checkpointing: what is predicted, and the bytes that live in PyTorch.

    python3 bench/memory/checkpointed_models.py [--program FILE]

Prints a table in Markdown. Each model of transformers (small ones, no weights are loaded) computes two training steps on
the CPU, whole and in micro-batches, and is recorded; the program says the recording's peak on one device. Models and
bytes are those of tests/python/peaks_of_models_test.py.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "python")]

import peaks_of_models_test as models  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from placewright_export import export  # noqa: E402

MICRO_BATCHES = (1, 2, 4)


def predicted(program: str, step: pathlib.Path, micro_batches: int) -> int:
    command = [program, "inspect", str(step), "--json"]
    if micro_batches > 1:
        command += ["--micro-batches", str(micro_batches)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    return json.loads(done.stdout)["memory"]["one_device_peak"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=str(ROOT / "build" / "bin" / "placewright"))
    program = parser.parse_args().program
    transformers.logging.set_verbosity_error()
    print("| model | micro-batches | predicted | in PyTorch | ratio |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        step = pathlib.Path(folder) / "step.json.gz"
        for build in (models.gpt2, models.llama, models.bert, models.vit, models.mixtral):
            torch.manual_seed(0)
            model, inputs = build(transformers)
            model.train()
            model.config.use_cache = False
            model.gradient_checkpointing_enable(
                gradient_checkpointing_kwargs={"use_reentrant": False}
            )
            batch = len(next(iter(inputs.values())))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            export(model, inputs, None, optimizer, step, batch=batch)
            for count in MICRO_BATCHES:
                own = models.own_peak(model, inputs, count)
                ours = predicted(program, step, count)
                name = type(model).__name__
                print(
                    f"| {name} | {count} | {ours:,} | {own:,} | {ours / own:.4f} |", flush=True
                )


if __name__ == "__main__":
    main()
