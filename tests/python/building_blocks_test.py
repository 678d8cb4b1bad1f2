"""Every common building block is recorded, and follows its batch size; what depends on data is
refused with a reason."""

from support import ExportTest, export  # first: skips without PyTorch

import unittest
import warnings

from building_blocks import BLOCKS, FIXED, REFUSED
from support import at_batch, without_slopes


class Blocks(ExportTest):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")  # of PyTorch, about what it will rename

    def test_every_block_is_recorded_and_follows_its_batch(self):
        for name, build in BLOCKS.items():
            with self.subTest(name):
                fixed = name in FIXED
                graph = self.exported(**build(4), batch=4, rebatch=None if fixed else build)
                if fixed:
                    self.assertIn(FIXED[name], graph["batch_proof"]["obstacle"])
                    continue
                self.assertEqual(graph["batch_proof"], {"sizes": [4, 5, 11]})
                # The step of batch 6, which no recording of the proof has seen.
                direct = self.exported(**build(6), batch=6, rebatch=False)
                self.assertEqual(at_batch(graph, 6), direct)

    def test_the_program_takes_each_block_to_another_batch(self):
        paths = {which: self.folder / f"{which}.json.gz" for which in ("proven", "direct")}
        keys = ("ops", "edges", "parameters", "macs", "memory", "phases", "batch")
        for name, build in BLOCKS.items():
            if name in FIXED:
                continue
            with self.subTest(name):
                export(**build(4), path=paths["proven"], batch=4, rebatch=build)
                export(**build(6), path=paths["direct"], batch=6, rebatch=False)
                proven = self.inspected(paths["proven"], "--batch", "6")
                direct = self.inspected(paths["direct"])
                for key in keys:
                    self.assertEqual(proven[key], direct[key], key)

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
