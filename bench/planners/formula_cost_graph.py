"""A cost graph of any size by a formula, for figures of large graphs.

    python3 bench/planners/formula_cost_graph.py 1000000 8 > million.json

`WIDTH` chains go side by side: op i reads what the op before it in its chain made, and that of another chain. Devices
are alike in memory, and joined each with each.
"""

import json
import sys
from collections.abc import Iterator

WIDTH = 100


def inputs_of(op: int) -> list[str]:
    if op < WIDTH:
        return ["x"]
    layer = op - WIDTH
    other = layer - layer % WIDTH + (op * 31 + 7) % WIDTH
    return [f"t{layer}"] if other >= op else list(dict.fromkeys([f"t{layer}", f"t{other}"]))


def elements(ops: int, devices: int) -> Iterator[tuple[str, Iterator[dict]]]:
    pairs = [(a, b) for a in range(devices) for b in range(devices) if a != b]
    yield "devices", ({"name": f"d{d}", "memory_bytes": 80 * 10**9} for d in range(devices))
    yield (
        "links",
        ({"name": f"l{a}-{b}", "bandwidth": 25 * 10**9, "latency_ns": 2000} for a, b in pairs),
    )
    yield "routes", ({"from": f"d{a}", "to": f"d{b}", "links": [f"l{a}-{b}"]} for a, b in pairs)
    yield (
        "tensors",
        (
            {"name": "x", "bytes": 4096, "kind": "input"}
            if i < 0
            else {"name": f"t{i}", "bytes": 1024 + i * 7919 % 100_000}
            for i in range(-1, ops)
        ),
    )
    yield (
        "ops",
        (
            {
                "name": f"op{i}",
                "time_ns": [1000 + (i * 104_729 + d * 31) % 20_000 for d in range(devices)],
                "inputs": inputs_of(i),
                "outputs": [f"t{i}"],
            }
            for i in range(ops)
        ),
    )


def main() -> None:
    ops, devices = int(sys.argv[1]), int(sys.argv[2])
    sys.stdout.write('{"schema": "placewright.costgraph/1", "name": "formula"')
    for name, items in elements(ops, devices):
        sys.stdout.write(f',\n"{name}": [')
        for i, item in enumerate(items):
            sys.stdout.write((",\n" if i else "\n") + json.dumps(item))
        sys.stdout.write("]")
    sys.stdout.write("}\n")


if __name__ == "__main__":
    main()
