"""Every function of ../shared/data/today, as users call them: what they build is recorded, or
refused with what is wrong and what helps."""

from support import SKIPPED, VERSION, ExportTest  # first: skips without PyTorch

import contextlib
import gzip
import io
import json
import os
import pathlib
import sys
import unittest

import placewright_export

TODAY = pathlib.Path(os.environ.get("PLACEWRIGHT_SHARED_DATA", "")) / "today"

# Function -> words of its refusal; the remedy is among them. The others are recorded.
REFUSED = {
    "lbfgs": ["LBFGS", "closure", "plain step()"],
    "flexattn": ["FlexAttention"],
    "packed": ["_pack_padded_sequence"],
    "nested": ["forward"],
    "fp8_scaled_mm": ["float8_e4m3fn", "convert to one of"],
}
# Function -> the package that it needs.
NEEDS = {"einops_": "einops", "bnb8bit": "bitsandbytes", "adafactor_hf": "transformers"}
# Of p01_mlp.py, what PyTorch 1.13 does not have: torch.device as a context.
SINCE_2_0 = {"to_meta_ctx", "to_empty"}
NO_BUILD = {"mk", "xy", "ce", "flash", "flash_bwd", "_"}


def functions_of(name):
    """The names of a file's functions, without loading it."""
    lines = (TODAY / f"{name}.py").read_text().splitlines()
    found = [line[4:line.index("(")] for line in lines if line.startswith("def ")]
    return [function for function in found if function not in NO_BUILD]


class Today(ExportTest):
    def record(self, function, *options):
        """(exit status, what was printed, the file or None)."""
        path = self.folder / "step.json.gz"
        path.unlink(missing_ok=True)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = placewright_export.main([f"{TODAY}/{function}", "-o", str(path), *options])
        graph = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else None
        self.assertEqual(graph is not None, status == 0, out.getvalue())
        return status, out.getvalue(), graph

    def expect(self, name, status, said):
        """Recorded, or refused as the tables above say."""
        missing = NEEDS.get(name)
        if missing and status != 0 and "ModuleNotFoundError" in said:
            self.assertIn(f"-m pip install {missing}", said, name)
        elif name in REFUSED:
            self.assertEqual(status, 3, (name, said))
            for word in REFUSED[name]:
                self.assertIn(word, said, name)
        else:
            self.assertEqual(status, 0, (name, said))
        if status != 0:  # nothing there needs values of weights
            self.assertNotIn("--real-weights", said, name)

    def test_conversions_and_devices(self):
        _, _, plain = self.record("p01_mlp.py:plain", "--batch", "16")
        types = {"to_bf16": "bf16", "bfloat16": "bf16", "half": "f16", "double": "f64",
                 "default_dtype": "bf16"}
        for name in functions_of("p01_mlp"):
            with self.subTest(name):
                status, said, graph = self.record(f"p01_mlp.py:{name}", "--batch", "8" if
                                                  name == "channels_last" else "16")
                if name in SINCE_2_0 and VERSION < (2, 0):
                    self.assertIn("newer PyTorch", said)
                    continue
                self.assertEqual(status, 0, said)
                self.assertIn("scales with the batch", said)
                self.inspected()
                if name == "channels_last":
                    continue
                text = json.dumps({**plain, "name": "step"})
                if name in types:
                    text = text.replace('"f32"', f'"{types[name]}"')
                    text = text.replace("torch.float32", f"torch.{LONG[types[name]]}")
                self.assertEqual(json.loads(text), graph)

    def test_patterns(self):
        if VERSION < (2, 4):
            status, said, _ = self.record("p03_patterns.py:compiled")
            self.assertEqual(status, 3)
            self.assertIn("has no attribute 'custom_op'", said)
            self.assertIn("newer PyTorch", said)
            return
        if VERSION < (2, 7):  # whose own operators return no lists
            status, said, _ = self.record("p03_patterns.py:compiled")
            self.assertEqual(status, 3)
            self.assertIn("infer_schema(func): Return has unsupported type list", said)
            return
        for name in functions_of("p03_patterns"):
            with self.subTest(name):
                status, said, graph = self.record(f"p03_patterns.py:{name}", "--batch", "16")
                self.expect(name, status, said)
                if graph:
                    self.inspected()

    def test_what_hooks_and_overridden_steps_do(self):
        _, _, plain = self.record("d04_hooks_dropped.py:build")
        for how, more in (("pre", 14), ("sub", 14), ("post", 4)):
            with self.subTest(how):
                status, said, graph = self.record("d04_hooks_dropped.py:build", "--set",
                                                  f"how={how}")
                if VERSION < (2, 0) and how != "sub":
                    self.assertIn("newer PyTorch", said)
                    continue
                self.assertEqual(status, 0, said)
                # 2.x: four norms, a stack, its norm, add, reciprocal, mul, clamp, four products;
                # 1.13 takes the reciprocal and the product in one. An average: one lerp_ each.
                extra = graph["phases"]["opt"] - plain["phases"]["opt"]
                self.assertEqual(extra, more, said)
                self.inspected()


LONG = {"bf16": "bfloat16", "f16": "float16", "f64": "float64"}

if __name__ == "__main__":
    if not TODAY.is_dir():
        print(f"SKIPPED: there is no folder {TODAY} with everyday patterns")
        sys.exit(SKIPPED)
    unittest.main()
