"""What the tests of the package share. Importing it ends the test, as skipped, where the package's
core is not built for this Python."""

import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = SOURCE / "examples" / "tiny_transformer_adam.json.gz"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

# PLACEWRIGHT_INSTALLED: the package that this Python has installed is tested.
if not os.environ.get("PLACEWRIGHT_INSTALLED"):
    sys.path.insert(0, str(SOURCE / "python"))

import placewright  # noqa: E402
from placewright import _find  # noqa: E402

try:
    _find.core()
except placewright.PlacewrightError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(SKIPPED)


class PackageTest(unittest.TestCase):
    """Tests with a folder of their own."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, kind, code, words, function, *args, **kwargs):
        """The call raises an error of this class and code, whose text has all these words."""
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        error = caught.exception
        self.assertEqual(error.code, code, str(error))
        for word in words:
            self.assertIn(word, str(error))
        self.assertTrue(error.remedy, str(error))
        return error

    def written(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def two_gpus(self, memory):
        """A cluster file: two GPUs with so many MiB each, without a CPU."""
        return self.written(
            f"two-{memory}.yaml",
            f"name: two\ngpus: [{{kind: RTX-2080, count: 2, memory: {memory} MiB}}]\n")
