"""Plans as PyTorch's own DistributedDataParallel, fully_shard and parallelize_module, on 2 Gloo
ranks of this machine: five steps leave what one process leaves. What they cannot say is refused,
with the module's name."""

from support import PROGRAM, SKIPPED, VERSION  # first

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which fully_shard needs")
    sys.exit(SKIPPED)

import engines_cases
from placewright import PlacewrightError, engines
from placewright_export import export

try:
    import transformers  # noqa: F401
    TRANSFORMERS = True
except ImportError:
    print("without Llama, GPT-2 and ViT: there is no transformers")
    TRANSFORMERS = False

CLUSTER = "hosts:\n  - {gpus: 2 x H100}\nname: two\n"
GPUS = ["host0/gpu0", "host0/gpu1"]
SINGLE = 1e-5  # of the magnitude, in float32
CALLS = {"ddp": "to_ddp", "fsdp2": "to_fsdp2", "tp": "to_parallelize_module"}


class EnginesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "two.yaml").write_text(CLUSTER)
        cls.steps, cls.ranks = {}, None

    def program(self, *arguments, fails=False):
        run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode != 0, fails, run.stdout + run.stderr)
        return run.stderr if fails else run.stdout

    def recorded(self, name):
        if name not in self.steps:
            model, optimizer, loss = engines_cases.made(name)
            given, target = engines_cases.batch(name, 0)
            self.steps[name] = self.folder / f"{name}.json.gz"
            export(model, given, loss, optimizer, self.steps[name], targets=target,
                   batch=engines_cases.SAMPLES)
        return self.steps[name]

    def planned(self, name, *options):
        plan = self.folder / f"p{len(list(self.folder.glob('*.plan.json')))}.plan.json"
        self.program("plan", self.recorded(name), "-c", self.folder / "two.yaml", "--iterations",
                     "1", *options, "-o", plan)
        return str(plan)

    def by_hand(self, name, *layouts, **more):
        path = self.folder / f"{name}.layouts.json"
        path.write_text(json.dumps({"layouts": layouts, **more}))
        return self.planned(name, "--layouts", path)

    def inspected(self, name):
        return json.loads(self.program("inspect", self.recorded(name), "--axes", "--json"))

    def in_parts(self, name):
        """A plan with every parameter, its state and its update in parts along its first axis."""
        layouts = {}
        recorded = json.loads(gzip.decompress(self.recorded(name).read_bytes()))
        updates = {op["name"] for op in recorded["ops"] if op["phase"] == "opt"}
        for op in self.inspected(name)["ops"]:
            if op["name"] in updates:
                layouts.setdefault(op["group"], op["rule"]["axes"][0]["named"][0])
        return self.by_hand(name, {"groups": "*", "axis": "batch", "devices": GPUS},
                            *({"groups": group, "axis": axis, "devices": GPUS}
                              for group, axis in layouts.items()))

    def by_axes(self, name, *wanted):
        """A plan with all samples on both devices, and what has the axes split by them."""
        layouts = {}
        for op in self.inspected(name)["ops"]:
            for axis in (op["rule"] or {"axes": []})["axes"]:
                for named in axis["named"]:
                    if axis["parts"] != "whole" and any(one in named for one in wanted):
                        layouts[op["group"]] = named
        return self.by_hand(name, {"groups": "*", "option": "duplicate", "devices": GPUS},
                            *({"groups": group, "axis": axis, "devices": GPUS}
                              for group, axis in layouts.items()))

    def on_ranks(self, cases):
        if type(self).ranks is None:
            type(self).ranks = engines_cases.EngineRanks(2)
            self.addClassCleanup(lambda ranks=self.ranks: ranks.end())
        try:
            return self.ranks.run(cases)
        except BaseException:
            self.ranks.kill()
            type(self).ranks = None
            raise

    def trained(self, engine, *names):
        """Plans of the engine's search, trained by; what each rank says of each."""
        cases = [{"model": name, "call": CALLS[engine],
                  "plan": self.planned(name, "--for", engine)} for name in names]
        return self.compare(cases)

    def compare(self, cases):
        found = self.on_ranks(cases)
        for rank, results in enumerate(found):
            for case, result in zip(cases, results, strict=True):
                with self.subTest(rank=rank, model=case["model"], call=case["call"]):
                    self.assertLessEqual(result["losses"], SINGLE)
                    self.assertLessEqual(result["weights"], SINGLE)
                    self.assertGreater(result["moved"], 1e-3)
        return found

    def test_ddp(self):
        names = ["perceptron", "gpt", *(["llama", "gpt2", "vit"] if TRANSFORMERS else [])]
        for results in self.trained("ddp", *names):
            for result in results:
                self.assertEqual(result["elements"], result["all"])

    def test_fsdp2(self):
        names = ["perceptron", "gpt", *(["llama", "gpt2", "vit"] if TRANSFORMERS else [])]
        for results in self.trained("fsdp2", *names):
            for result in results:
                self.assertLess(result["elements"], result["all"])

    def test_columns_and_rows(self):
        names = ["perceptron", "gpt", *(["llama"] if TRANSFORMERS else [])]
        for results in self.trained("tp", *names):
            for result in results:
                self.assertLess(result["elements"], result["all"])

    def test_all_in_parts(self):
        names = ["perceptron", "gpt", *(["llama", "gpt2", "vit"] if TRANSFORMERS else [])]
        cases = [{"model": name, "call": "to_fsdp2", "plan": self.in_parts(name)}
                 for name in names]
        for results in self.compare(cases):
            for result in results:
                self.assertEqual(result["elements"], result["all"] // 2)

    def test_all_columns_and_rows(self):
        gpt = self.by_axes("gpt", ".q.weight[0].0", ".up.weight[0]")
        cases = [{"model": "gpt", "call": "to_parallelize_module", "plan": gpt}]
        if TRANSFORMERS:
            llama = self.by_axes("llama", "q_proj.weight[0].0", "gate_proj.weight[0]")
            cases.append({"model": "llama", "call": "to_parallelize_module", "plan": llama})
        for results in self.compare(cases):
            for result in results:
                self.assertLess(result["elements"], 0.75 * result["all"])


if __name__ == "__main__":
    unittest.main()
