"""Splits that move from one axis to another, by all-to-alls between ranks: tokens outside of
attention, heads inside."""

import newer_torch  # noqa: F401  first

import gzip
import json
import unittest

from apply_models import LENGTH
from apply_support import PlannedTest
from support import VERSION

# Links on which few bytes take longer than the start of an all-to-all.
CLUSTER = """
devices: [{name: host0/gpu, kind: H100, count: %d}]
switches: [host0/switch]
links: [{between: ["host0/gpu*", host0/switch], bandwidth: 1 MB/s, latency: 1 us}]
"""
TOKENS = "input:input_ids[1]"
HEADS = "param:model.layers.%d.self_attn.q_proj.weight[0].0"  # of keys and values


def tokens_and_heads(split):
    """Attention of a llama by heads, its products and all else by tokens. `split`: axis -> how."""
    layouts = [{"groups": "*", **split(TOKENS)}]
    for layer in range(2):
        layouts.append({"groups": f"model.layers.{layer}.self_attn", **split(HEADS % layer)})
        layouts.append({"groups": f"model.layers.{layer}.self_attn.*_proj", **split(TOKENS)})
    return {"layouts": layouts}


def over_pairs(devices):
    """Samples over pairs of devices, the axis over the two of each."""
    return lambda axis: {"devices": devices, "mesh": [{"axis": "batch", "parts": len(devices) // 2},
                                                      {"axis": axis, "parts": 2}]}


def unevenly(devices):
    """Of tokens the first device has one."""
    def split(axis):
        first, second = devices
        if axis != TOKENS:
            return {"axis": axis, "devices": devices}
        return {"axis": axis, "devices": [{"name": first, "from": 0, "to": 1},
                                          {"name": second, "from": 1, "to": LENGTH}]}
    return split


class ExchangesTest(PlannedTest):
    def of_options(self, devices, *options, model="llama", **more):
        """A case, and how many members of all-to-alls its step has."""
        cluster = self.folder / f"slow{devices}.yaml"
        cluster.write_text(CLUSTER % devices)
        step = self.recorded(model, "adamw")
        number = len(list(self.folder.glob("*.plan.json")))
        plan = self.folder / f"exchanged{number}.plan.json"
        run = self.program("plan", step, "-c", cluster, *options, "-o", plan)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with gzip.open(str(plan).replace(".plan.json", ".plan.compiled.json.gz")) as file:
            kinds = [op["target"] for op in json.load(file)["ops"]]
        return {"model": model, "optimizer": "adamw", "dtype": "float64", "plan": str(plan),
                **more}, kinds.count("placewright.all_to_all.default")

    def exchanged(self, devices, how, **more):
        layouts = self.folder / "tokens_and_heads.json"
        layouts.write_text(json.dumps(tokens_and_heads(how([f"host0/gpu{i}"
                                                            for i in range(devices)]))))
        case, members = self.of_options(devices, "--layouts", layouts, **more)
        self.assertGreater(members, 8 * devices)
        return case

    def test_of_ranks(self):
        self.compare(2, [self.exchanged(2, how) for how in (over_pairs, unevenly)])

    def test_of_groups_of_ranks(self):
        self.compare(4, [self.exchanged(4, over_pairs)])

    def test_strategies(self):
        """Queries, keys and values of each layer, and what attention gives; twice for gradients."""
        ulysses, members = self.of_options(2, "--algo", "ulysses")
        self.assertGreaterEqual(members, 2 * 2 * (4 + 4))
        context, members = self.of_options(2, "--algo", "context")
        self.assertEqual(members, 0)
        self.compare(2, [ulysses, context])

    def test_experts(self):
        """To them and back, and so the gradients, but for what is small."""
        for devices in (2, 4):
            case, members = self.of_options(devices, "--algo", "experts", model="experts")
            self.assertGreaterEqual(members, 2 * devices)
            self.compare(devices, [case])

    @unittest.skipIf(VERSION < (2, 7), "attention in float64 has a derivative that PyTorch 2.6 "
                     "compiles to one of float32")
    def test_compiled(self):
        for results in self.compare(2, [self.exchanged(2, unevenly, compile=True)]):
            self.assertEqual([result["graphs"] for result in results], [1])


if __name__ == "__main__":
    unittest.main()
