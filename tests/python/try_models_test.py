"""The table of models by name (bench/models/try_models) on two tiny ones, and what it says where one is refused."""

from support import PROGRAM, SKIPPED, SOURCE  # first: skips without PyTorch

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TRY = SOURCE / "bench" / "models" / "try_models"
MODELS = json.loads((TRY.parent / "models.json").read_text())
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 32, "vocab_size": 64,
         "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2}
STEPS = '''
import torch
from torch import nn

def small(batch, width):
    model = nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.Flatten(), nn.Linear(36 * width, 4))
    return {"model": model, "example_inputs": (torch.zeros(batch, 3, 8, 8),), "batch": batch,
            "loss": nn.CrossEntropyLoss(), "targets": (torch.zeros(batch, dtype=torch.int64),),
            "optimizer": torch.optim.AdamW(model.parameters())}

class Asks(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return (x * self.weight)[x > 0].sum()

def refused(batch):
    model = Asks()
    return {"model": model, "example_inputs": (torch.zeros(batch, 4),), "batch": batch,
            "optimizer": torch.optim.AdamW(model.parameters())}
'''


class TryModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "steps.py").write_text(STEPS)
        self.models = [
            {"name": "Tiny Llama", "group": "language", "sizes": "whole", "config": LLAMA, "batch": 2, "sequence": 8},
            {"name": "Tiny convolution", "group": "vision", "sizes": "whole", "file": str(self.folder / "steps.py"),
             "function": "small", "batch": 2, "set": {"width": 4}},
            {"name": "Asks", "group": "vision", "sizes": "whole", "file": str(self.folder / "steps.py"),
             "function": "refused", "batch": 2, "set": {}}]

    def try_models(self, *options):
        (self.folder / "list.json").write_text(json.dumps(self.models))
        run = subprocess.run(
            [sys.executable, str(TRY), "--list", str(self.folder / "list.json"), "--program", PROGRAM,
             "--results", str(self.folder / "results.jsonl"), "--write", str(self.folder / "models.md"),
             "--iterations", "20", *options], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stderr

    def results(self):
        lines = (self.folder / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def test_two_are_planned_and_one_is_refused(self):
        (self.folder / "models.md").write_text("# Models\n\n<!-- made by bench/models/try_models -->\nold\n"
                                               "<!-- end -->\n\nBehind.\n")
        self.try_models()
        llama, convolution, asks = self.results()
        for found in (llama, convolution):
            self.assertNotIn("refused", found)
            self.assertIsNone(found["record"]["obstacle"])
            self.assertTrue(all(found[plan]["holds"] for plan in ("one", "parallel", "auto")), found)
            self.assertAlmostEqual(found["keeps"], found["one"]["step_ns"] / found["parallel"]["step_ns"])
        # Statistics over all devices cost exchanges that those of each device do without.
        self.assertGreater(convolution["keeps_local"], convolution["keeps"])
        self.assertNotIn("keeps_local", llama)
        self.assertEqual(asks["refused"]["stage"], "record")
        self.assertIn("--assume", asks["refused"]["text"])
        page = (self.folder / "models.md").read_text()
        self.assertTrue(page.startswith("# Models\n") and page.endswith("\nBehind.\n"), page)
        self.assertNotIn("\nold\n", page)
        self.assertIn("3 models, of which 2 are recorded", page)
        self.assertIn("| Tiny Llama | whole | 2 |", page)
        self.assertIn("| Asks | record |", page)

    def test_it_goes_on_where_it_stopped(self):
        self.models = self.models[2:]
        self.try_models()
        with (self.folder / "results.jsonl").open("a") as results:
            results.write('{"name": "cut o')
        self.assertNotIn("Asks", self.try_models())  # it has a line
        self.assertIn("Asks", self.try_models("--again"))
        lines = (self.folder / "results.jsonl").read_text().splitlines()
        self.assertEqual([line[:14] for line in lines], ['{"name": "Asks', '{"name": "cut ', '{"name": "Asks'])
        self.models[0]["batch"] = 3
        self.assertIn("Asks", self.try_models())  # another entry

    def test_limits(self):
        self.models = self.models[1:2]
        self.try_models("--seconds", "1")  # less than Python takes to import PyTorch
        self.assertEqual(self.results()[0]["refused"]["text"], "takes more than 1 s")
        self.try_models("--memory", "0.05", "--again")
        self.assertEqual(self.results()[-1]["refused"]["stage"], "record")

    def test_the_list(self):
        names = [model["name"] for model in MODELS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 60)
        for model in MODELS:
            self.assertTrue(("config" in model) != ("function" in model), model["name"])


if __name__ == "__main__":
    if importlib.util.find_spec("transformers") is None:
        print("SKIPPED: this Python has no transformers")
        sys.exit(SKIPPED)
    unittest.main()
