"""Plans and ranks of apply_test, for tests of apply in other files."""

import unittest

import apply_test


class PlannedTest(unittest.TestCase):
    for _name in ("setUpClass", "program", "recorded", "planned", "case", "on_ranks", "compare",
                  "layouts", "refuse"):
        locals()[_name] = vars(apply_test.ApplyTest)[_name]
