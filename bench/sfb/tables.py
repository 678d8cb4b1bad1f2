#!/usr/bin/env python3
"""Tables 5 and 6 of the TAG paper beside ours: bench/sfb/tables.py PLACEWRIGHT BENCH_SFB [FOLDER]

PLACEWRIGHT is the program (./run), BENCH_SFB the built bench_sfb. Records the six models at batch 4 where FOLDER (default
a temporary one) does not have them, and runs `bench_sfb steps` for two machines with one GTX 1080Ti each: data parallelism and the fastest
plan of all planners of splits, without and with sufficient factor broadcasting, all but "dense" with gradients of
embeddings from their rows, as TensorFlow has them. Times are modelled. Takes minutes."""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

CLUSTER = pathlib.Path(__file__).parent / "two-1080ti.yaml"
BATCH = "4"
# Table 5 (seconds a step, data parallelism and TAG, each without and with).
PAPER = {
    "inception-v3": ("Inception-V3", (0.0898, 0.0452), (0.0775, 0.0420)),
    "resnet-101": ("ResNet101", (0.1122, 0.0854), (0.0508, 0.0490)),
    "vgg-19": ("VGG19", (0.1195, 0.1192), (0.1167, 0.1169)),
    "transformer": ("Transformer", (0.1199, 0.0455), (0.0521, 0.0451)),
    "bert-small": ("BERT-Small", (0.0618, 0.0546), (0.0597, 0.0535)),
    "bert-large": ("BERT-Large", (0.4576, 0.4317), (0.4331, 0.4266)),
}
# Table 6: the ops duplicated most often, all six models together.
PAPER_OPS = [("Reshape", 341), ("MatMul", 336), ("Transpose", 89), ("Conv2DBackpropFilter", 66), ("Add", 26)]
ROW = re.compile(r"^\S+ (\S+) (embeddings|paper|cut): ([\d.]+) -> ([\d.]+) ms .*?(, does not fit)?$")


def steps(program, bench, model, folder):
    """[(planner, mode)]: ms without and with, whether it does not fit; what `paper` duplicates under data parallelism."""
    graph = folder / f"{model}.json.gz"
    if not graph.exists():
        capture = [program, "capture", f"{model}@tag", "--batch", BATCH, "-o", str(graph), "--quiet"]
        subprocess.run(capture, check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run([bench, "steps", str(graph), str(CLUSTER), BATCH], check=True, capture_output=True, text=True)
    times, ops, row = {}, collections.Counter(), None
    for line in text.stdout.splitlines():
        found = ROW.match(line)
        if found:
            row = found.group(1, 2)
            times[row] = float(found.group(3)), float(found.group(4)), bool(found.group(5))
        elif row == ("data-parallel", "paper"):
            for name, count in re.findall(r"(\S+) (\d+),", line):
                ops[name] += int(count)
    return times, ops


def gained(before, after, form, too_large=False):
    return f"{before:{form}} -> {after:{form}} ({100 * (before / after - 1):.1f}%)" + (", does not fit" if too_large else "")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    program, bench = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        all_ops = collections.Counter()
        print("| model | paper: DP | paper: TAG | DP, dense | DP, `paper` | DP, `cut` | best | best, `cut` |")
        print("|---|---|---|---|---|---|---|---|")
        for model, (name, parallel, tag) in PAPER.items():
            times, ops = steps(program, bench, model, folder)
            all_ops += ops
            cuts = [pair for (_, mode), (*pair, too_large) in times.items() if mode == "cut" and not too_large]
            ours = []
            for mode in ("paper", "cut"):
                without, within, too_large = times[("data-parallel", mode)]
                ours.append(gained(without, within, ".1f", too_large))
            dense = f"{times[('data-parallel', 'embeddings')][0]:.1f}"
            before, after = (min(pair[i] for pair in cuts) for i in (0, 1))
            last = f"{after:.1f} ({100 * (before / after - 1):.1f}%)"
            print(f"| {name} | {gained(*parallel, '.4f')} | {gained(*tag, '.4f')} | {dense} | {ours[0]} | {ours[1]} | {before:.1f} "
                  f"| {last} |", flush=True)
    print("\n| paper | count | ours | count |\n|---|---|---|---|")
    for (theirs, count), (name, times_duplicated) in zip(PAPER_OPS, all_ops.most_common(len(PAPER_OPS))):
        print(f"| {theirs} | {count} | `{name}` | {times_duplicated} |")


if __name__ == "__main__":
    main()
