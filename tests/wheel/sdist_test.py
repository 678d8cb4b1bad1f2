"""An sdist has all that a wheel is built of, and no tests: CMake finds every file of the build among
those that are packed. Nothing is compiled."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from packed_files import SOURCE, packed, setting, tracked

MAX_BYTES = 16 << 20
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
DEFINES = dict(re.findall(r'^(PLACEWRIGHT_\w+) = "(\w+)"$',
                          (SOURCE / "pyproject.toml").read_text(), re.M))
# Where a source's "..." and <placewright/...> are looked for.
ROOTS = ("src/", "include/", "include/placewright/", "tools/")


class Sdist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = packed()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name in cls.names:
            (cls.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, cls.folder / name)

    def test_the_build_finds_its_files(self):
        # nanobind may not be here: of python/core the sources are looked at instead.
        self.assertEqual(DEFINES["PLACEWRIGHT_PYTHON"], "ON")
        defines = [f"-D{name}={value}" for name, value in DEFINES.items()
                   if name != "PLACEWRIGHT_PYTHON"]
        build = self.folder / "build"
        for words in (["cmake", "-G", "Ninja", "-S", self.folder, "-B", build, *defines],
                      ["ninja", "-C", build, "-n", "placewright"]):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{words[0]}: {done.stdout[-2000:]}{done.stderr}")
        self.assertIn("Linking CXX executable", done.stdout)
        core = (self.folder / "python/core/CMakeLists.txt").read_text()
        sources = re.findall(r"\b\w+\.cc\b", core)
        self.assertGreater(len(sources), 3)
        for name in sources:
            self.assertIn(f"python/core/{name}", self.names)

    def test_headers_that_sources_include(self):
        found, seen = set(self.names), 0
        for name in self.names:
            if not name.startswith(("src/", "include/", "tools/", "python/core/")):
                continue
            if not name.endswith((".cc", ".h")):
                continue
            roots = (*ROOTS, name.rpartition("/")[0] + "/")
            text = (self.folder / name).read_text()
            for header in re.findall(r'^#include (?:"|<(?=placewright/))([^">]+)', text, re.M):
                seen += 1
                self.assertTrue(any(root + header in found for root in roots),
                                f"{name} includes {header}, which is not packed")
        self.assertGreater(seen, 1000)

    def test_the_package_and_its_licences(self):
        whole = [name for name in tracked() if name.startswith(("python/placewright", "policies/"))]
        licences = [name for name in tracked() if name.endswith("/LICENSE") or name == "LICENSE"]
        self.assertGreater(len(licences), 1)
        for name in [*whole, *licences, "docs/python.md", "pyproject.toml", "tools/build_wheel",
                     "tools/packages.txt", "bench/records/traversal.jsonl"]:
            self.assertIn(name, self.names)
        for pattern in setting("wheel.license-files"):
            self.assertTrue(list(self.folder.glob(pattern)), pattern)

    def test_neither_tests_nor_data(self):
        for name in self.names:
            self.assertFalse(name.endswith("_test.cc"), name)
            self.assertFalse(name.startswith(("tests/", "examples/", "fuzz/")), name)
        size = sum((self.folder / name).stat().st_size for name in self.names)
        self.assertLess(size, MAX_BYTES)


if __name__ == "__main__":
    if not tracked():
        print(f"SKIPPED: {SOURCE} is no repository")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
