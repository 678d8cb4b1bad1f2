"""Policies and records that come with the program are found from the place of libplacewright.so, not
from that of the program that has loaded it (PLACEWRIGHT_PROGRAM)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = SOURCE / "examples" / "tiny_transformer_adam.json.gz"
RECORDS = SOURCE / "bench" / "records" / "traversal.jsonl"
POLICY = SOURCE / "policies" / "gdp.policy"
PROGRAM = pathlib.Path(os.environ["PLACEWRIGHT_PROGRAM"]).resolve()


def library():
    """The libplacewright.so that the program is linked to."""
    linked = subprocess.run(["ldd", str(PROGRAM)], check=True, capture_output=True, text=True).stdout
    return pathlib.Path(re.search(r"=> (/\S*/libplacewright\.so\S*)", linked).group(1))


class ShippedFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.program = self.folder / "elsewhere" / "bin" / "placewright"
        self.program.parent.mkdir(parents=True)
        shutil.copy(PROGRAM, self.program)

    def install(self, lib):
        """An installation in a folder of its own, with its library in `lib`; what is shipped lies
        in the folder that it gives."""
        prefix = self.folder / lib.replace("/", "-")
        (prefix / lib).mkdir(parents=True)
        linked = library()
        shutil.copy(linked.resolve(), prefix / lib / linked.name)
        shipped = prefix / "share" / "placewright"
        (shipped / "policies").mkdir(parents=True)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("PLACEWRIGHT_")}
        self.environment["LD_LIBRARY_PATH"] = f"{prefix / lib}:{linked.parent}"
        self.environment["PLACEWRIGHT_TORCH_LIBRARY"] = str(self.folder / "libplacewright_torch.so")
        return shipped

    def run_json(self, *arguments):
        run = subprocess.run([str(self.program), *arguments, "--json"], env=self.environment,
                             cwd=self.folder, capture_output=True, text=True, check=False)
        return json.loads(run.stdout)

    def with_policy(self, name):
        return self.run_json("plan", str(EXAMPLE), "-c", "4xP100", "--algo", "gdp", "--policy", name,
                             "--no-store")["error"]

    def test_records_lie_beside_the_library(self):
        for lib in ("lib", "lib/x86_64-linux-gnu", "lib64"):
            with self.subTest(lib):
                shipped = self.install(lib)
                error = self.run_json("advise", str(EXAMPLE))["error"]
                self.assertEqual(error["code"], "file-unreadable")
                self.assertIn(str(shipped / "traversal.jsonl"), error["message"])
                self.assertNotIn("elsewhere", error["message"])
                shutil.copy(RECORDS, shipped)
                self.assertEqual(self.run_json("advise", str(EXAMPLE))["schema"],
                                 "placewright.advise/1")

    def test_policies_lie_beside_the_library(self):
        shipped = self.install("lib")
        missing = self.with_policy("ours")
        self.assertEqual(missing["code"], "file-unreadable")
        self.assertIn(str(shipped / "policies"), missing["message"])
        self.assertNotIn("elsewhere", missing["message"])
        shutil.copy(POLICY, shipped / "policies" / "ours.policy")
        # Found and read: what is missing then is LibTorch.
        self.assertEqual(self.with_policy("ours")["code"], "missing-runtime")

    def test_what_measures_placewright_is_a_program_beside_it(self):
        self.install("lib")
        error = self.run_json("bench", "seeds", "--table", "mars2", "--no-runs")["error"]
        self.assertEqual(error["code"], "missing-runtime")
        self.assertIn(str(self.program.parent / "placewright_bench"), error["message"])
        shutil.copy(PROGRAM.parent / "placewright_bench", self.program.parent)
        table = self.run_json("bench", "seeds", "--table", "mars2", "--no-runs")
        self.assertEqual(table["schema"], "placewright.bench-seeds/1")


if __name__ == "__main__":
    unittest.main()
