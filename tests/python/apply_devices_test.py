"""Several of a plan's devices on one rank: five steps leave what the user's own loop leaves."""

import newer_torch  # noqa: F401  first

import unittest

import apply_cases
from apply_support import PlannedTest


class DevicesTest(PlannedTest):
    def several(self, ranks, counts, *case, **more):
        """A case in which rank i has counts[i] devices."""
        found = self.case(sum(counts), *case, **more)
        self.assertEqual(len(counts), ranks)
        return {**found, "do": "apply_devices_test.on_rank", "counts": counts}

    def test_two_ranks_with_two_devices(self):
        """Collectives add up and cut within a rank and between ranks."""
        cases = [self.several(2, [2, 2], "images", "adamw", "--algo", algorithm)
                 for algorithm in ("data-parallel", "data-parallel-ps", "round-robin")]
        for seed, (model, optimizer) in enumerate((("perceptron", "adam"), ("images", "momentum"),
                                                   ("perceptron", "sgd"), ("images", "adamw"))):
            layouts = self.layouts(self.recorded(model, optimizer), 4, seed)
            cases.append(self.several(2, [2, 2], model, optimizer, *layouts))
        self.compare(2, cases)

    def test_uneven_ranks(self):
        """One has three devices, the other one."""
        cases = [self.several(2, [3, 1], "perceptron", "adam", "--algo", "data-parallel", clip=0.1)]
        for seed in (5, 6):
            layouts = self.layouts(self.recorded("images", "momentum"), 4, seed)
            cases.append(self.several(2, [3, 1], "images", "momentum", *layouts))
        self.compare(2, cases)

    def test_one_rank_with_all(self):
        """Without a process group, compiled too."""
        for options in (("--algo", "data-parallel"), ("--algo", "round-robin"),
                        self.layouts(self.recorded("images", "adamw"), 3, 2)):
            for compiled in (False, True) if "data-parallel" in options else (False,):
                with self.subTest(options=options, compile=compiled):
                    case = self.case(3, "images", "adamw", *options, compile=compiled,
                                     options={"devices": ["cpu"] * 3})
                    result = apply_cases.compared(case)
                    self.assertLessEqual(max(result["losses"], result["weights"],
                                             result["optimizer"]), 1e-9)
                    self.assertGreater(result["moved"], 1e-3)
                    self.assertEqual(result["untouched"], 0)

    def test_refused(self):
        case = self.case(3, "perceptron", "adam", "--algo", "data-parallel")
        for devices, code, text in ((["cpu"] * 2, "rank-count", "uses 3 devices.*have 2"),
                                    (["cpu", "cpu", "cuda:99"], "device", "cuda:99"),
                                    (["cpu", "cpu", "mps"], "device", "mps")):
            with self.subTest(devices=devices):
                result = apply_cases.refused({**case, "options": {"devices": devices}})
                self.assertEqual(result["code"], code)
                self.assertRegex(result["text"], text)
                self.assertEqual(result["untouched"], 0)


def on_rank(case, rank):
    devices = ["cpu"] * case["counts"][rank]
    return apply_cases.compared({**case, "options": {"devices": devices}})


if __name__ == "__main__":
    unittest.main()
