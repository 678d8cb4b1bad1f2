"""What a long recording says of itself."""

from support import ExportTest  # first: skips without PyTorch

import unittest
from unittest import mock

import torch
from torch import nn

from placewright_torch.progress import Progress


class Clock:
    """A clock on which every look takes `step` seconds."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


class Sentences(unittest.TestCase):
    def test_every_five_seconds(self):
        said = []
        progress = Progress(said.append, Clock(1.0))
        progress.begin("recording")  # at 2
        for count in range(1, 12):
            progress.op(count, "fwd")  # at 3, 4, ...
        self.assertEqual(said, ["recording: 5 ops, fwd, 5 s", "recording: 10 ops, fwd, 10 s"])

    def test_proofs_that_take_long(self):
        said = []
        progress = Progress(said.append, Clock(4.0))
        progress.begin("recording")
        progress.proof_begins()  # after 4 seconds
        self.assertEqual(said, [])
        progress = Progress(said.append, Clock(12.0))
        progress.begin("recording")
        progress.proof_begins()
        self.assertIn("recorded in 12 s", said[0])
        self.assertIn("about 36 s: --one-batch", said[0])


class Recordings(ExportTest):
    def test_of_every_op_where_that_is_asked_for(self):
        said = []
        with mock.patch.multiple("placewright_torch.progress", EVERY=0.0, LONG=0.0):
            self.exported(nn.Linear(2, 2), torch.zeros(4, 2), batch=4, progress=said.append)
        self.assertEqual([text.split(",")[0] for text in said[:2]],
                         ["recording: 1 ops", "recording: 2 ops"])
        self.assertIn("--one-batch", said[2])
        self.assertTrue(said[3].startswith("recording again, for the proof: 1 ops"))


if __name__ == "__main__":
    unittest.main()
