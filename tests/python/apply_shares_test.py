"""Ranks that are given their share of each batch train as those that are given all of it."""

import newer_torch  # noqa: F401  first

import unittest

import torch

import apply_cases
import apply_support
from apply_support import PlannedTest
from placewright import ApplyError, apply
from placewright.applied.shares import BatchSampler, Shares

STEPS = 3
LAYOUTS = {"layouts": [{"groups": "*", "axis": "batch", "devices": [
    {"name": "host0/gpu0", "from": 0, "to": 3}, {"name": "host0/gpu1", "from": 3, "to": 8}]}]}


def both_ways(case, rank):
    """Losses and weights when this rank is given all samples, and when it is given its own."""
    found = []
    samples = 4 * apply_cases.SAMPLES + 3
    data = [torch.cat(columns)[:samples] for columns in zip(
        *(apply_support.batch(case["model"], number) for number in range(5)))]
    for batch in ("global", "share"):
        model, optimizer, _ = apply_support.made(case["model"], case["optimizer"])
        train = apply(case["plan"], model, optimizer, batch=batch)
        sampler = train.sampler(range(samples), seed=7)
        sampler.set_epoch(1)
        rows = list(sampler)
        losses = [train(*(column[indices] for column in data)).item() for indices in rows[:STEPS]]
        found.append((losses, dict(train.state_dict()), [len(indices) for indices in rows],
                      [train.share.start, train.share.stop]))
    (losses, weights, *_), (others, other_weights, lengths, share) = found
    return {"losses": apply_cases.apart(others, losses), "lengths": lengths, "share": share,
            "weights": apply_cases.apart(other_weights, weights), "given": found[0][2]}


class SharesTest(PlannedTest):
    def test_equal_to_the_global_batch(self):
        """Uneven parts, and a plan of which each rank reads some inputs whole or none."""
        import json
        path = self.folder / "uneven.json"
        path.write_text(json.dumps(LAYOUTS))
        cases = [{**self.case(2, model, "adam", *options), "do": "apply_shares_test.both_ways"}
                 for model, options in (("perceptron", ("--layouts", path)),
                                        ("images", ("--layouts", path)),
                                        ("perceptron", ("--algo", "round-robin")))]
        ranks = self.on_ranks(2, cases)
        for results in ranks:
            for result in results:
                self.assertLessEqual(max(result["losses"], result["weights"]), 1e-12)
                self.assertEqual(result["given"], [8] * 4)  # 35 samples: four whole batches
        for case in (0, 1):
            self.assertEqual([ranks[0][case]["share"], ranks[1][case]["share"]], [[0, 3], [3, 8]])
            self.assertEqual(ranks[0][case]["lengths"], [3] * 4)
            self.assertEqual(ranks[1][case]["lengths"], [5] * 4)

    def test_sampler(self):
        """The shares of all ranks make up each batch; epochs have orders of their own."""
        def rows(begin, end, epoch=0, shuffle=True):
            sampler = BatchSampler(21, 8, begin, end, shuffle, 3)
            sampler.set_epoch(epoch)
            self.assertEqual(len(sampler), 2)
            return list(sampler)
        whole = rows(0, 8)
        self.assertEqual([a + b for a, b in zip(rows(0, 3), rows(3, 8))], whole)
        self.assertEqual(len({index for row in whole for index in row}), 16)
        self.assertNotEqual(rows(0, 8, epoch=1), whole)
        self.assertEqual(rows(2, 4, shuffle=False), [[2, 3], [10, 11]])

    def test_refused(self):
        """A share that is no interval of samples, and a batch that is not the rank's."""
        case = self.case(1, "perceptron", "adam", "--algo", "layered")
        model, optimizer, _ = apply_support.made("perceptron", "adam")
        train = apply(case["plan"], model, optimizer, batch="share")
        with self.assertRaisesRegex(ApplyError, r"\[6, 12\].*this rank's is \[8, 12\]"):
            train(*(column[:6] for column in apply_support.batch("perceptron", 0)))
        with self.assertRaisesRegex(ApplyError, "global.*share"):
            apply(case["plan"], model, optimizer, batch="half")
        step = train._prepared.step
        name = train._rank_step.batch[0][0]
        for box, code in (({"outer": 2, "size": 2, "from": 0, "to": 1}, "batch-share"),
                          ({"outer": 1, "size": 12, "from": 0, "to": 1}, "batch-share"),
                          ({"outer": 1, "size": 4, "from": 1, "to": 3}, "")):
            step.inputs[name].box = [{"dimension": 0, **box}]
            try:
                found = Shares(step, [name], True)
                self.assertEqual((code, found.begin, found.end), ("", 2, 6))
            except ApplyError as error:
                self.assertEqual(error.code, code)


if __name__ == "__main__":
    unittest.main()
