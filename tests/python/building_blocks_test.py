"""Every common building block is recorded, and follows its batch size; what depends on data is
refused with a reason."""

from support import ExportTest  # first: skips without PyTorch

import os
import unittest
import warnings

from building_blocks import BLOCKS, REFUSED
from support import at_batch, without_slopes


class Blocks(ExportTest):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")  # of PyTorch, about what it will rename

    def test_every_block_is_recorded_and_follows_its_batch(self):
        some = list(BLOCKS.items())[::1 if os.environ.get("PLACEWRIGHT_LONG") else 12]
        self.assertGreater(len(some), 10)
        for name, build in some:
            with self.subTest(name):
                self.check_other_batch(build)

    def test_a_recording_that_failed_leaves_nothing_to_the_next(self):
        build = BLOCKS["checkpoint of dropout and batch norm, not reentrant"]
        try:
            self.exported(**build(1), batch=1, rebatch=False)
        except Exception as error:  # kept, with the frames of the calls that failed
            failed = error
        self.assertIn("more than 1 value per channel", str(failed))
        self.exported(**build(6), batch=6, rebatch=False)

    def check_other_batch(self, build):
        graph = self.exported(**build(4), batch=4, rebatch=build)
        proof = graph["batch_proof"]
        self.assertEqual(proof["sizes"], [4, 5, 11])
        seen = self.inspected("--batch", "6")
        # The step of batch 6, which no recording of the proof has seen.
        direct = self.exported(**build(6), batch=6, rebatch=False)
        self.assertEqual(at_batch(graph, 6), direct)
        expected = self.inspected()
        for key in ("batch", "ops", "edges", "parameters", "macs", "memory", "phases"):
            self.assertEqual(seen[key], expected[key], key)
        if "smaller" in proof:
            smaller = proof["smaller"]
            self.assertEqual(at_batch(graph, smaller),
                             self.exported(**build(smaller), batch=smaller, rebatch=False))

    def test_what_depends_on_data_is_refused(self):
        for name, build in REFUSED.items():
            with self.subTest(name):
                arguments, words = build(4)
                place = [] if name == "Adafactor" else ["building_blocks.py:"]
                self.refused([*words, *place], **arguments)

    def test_the_proof_adds_nothing_but_slopes(self):
        build = BLOCKS["transformer encoder"]
        plain = self.exported(**build(4), batch=4, rebatch=False)
        self.assertEqual(without_slopes(self.exported(**build(4), batch=4)), plain)


if __name__ == "__main__":
    unittest.main()
