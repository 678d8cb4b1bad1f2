"""Random numbers that count, as apply draws them, beside their definition in
docs/formats/aten-graph.md."""

from support import SKIPPED, VERSION  # first

import sys
import unittest

import torch

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)

import compiled_steps
from placewright.applied import counted_draws

PLACES = ([], [1, 2, 6, 1, 4], [0, 1, 8, 2, 5])
SEED, DRAW = 0x9E3779B97F4A7C15, 7


def part(place):
    """The shape of a part of a tensor of [8, 24]."""
    shape = [8, 24]
    if place:
        dimension, outer, size, begin, end = place
        shape[dimension] = shape[dimension] // size * (end - begin)
    return shape


class Draws(unittest.TestCase):
    def given(self, name, *args, **kwargs):
        """What both give; the tensors among the arguments are copied."""
        copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        mine = counted_draws.OPERATORS[name](*args, **kwargs)
        wanted = compiled_steps.counted(name, copies, kwargs)
        return [pair if isinstance(pair, tuple) else (pair,) for pair in (mine, wanted)]

    def test_masks_are_equal_to_the_bit(self):
        step = torch.tensor(3)
        for place in PLACES:
            x = torch.arange(float(torch.Size(part(place)).numel())).view(part(place)) + 1
            p = (x / x.max()).clamp(max=1)
            for mine, wanted in (self.given("counter_bernoulli_", x, step, SEED, DRAW, 0.3, place),
                                 self.given("counter_bernoulli_of", p, step, SEED, DRAW, place),
                                 self.given("counter_dropout", x, step, SEED, DRAW, 0.25, place)):
                for a, b in zip(mine, wanted):
                    self.assertTrue(torch.equal(a, b))
                self.assertTrue(0 < mine[0].count_nonzero() < mine[0].numel())

    def test_numbers(self):
        step = torch.tensor(5)
        for place in PLACES:
            for distribution, a, b in (("uniform", -1.0, 2.0), ("exponential", 2.0, 0.0),
                                       ("cauchy", 0.0, 1.0), ("geometric", 0.3, 0.0),
                                       ("normal", 1.0, 2.0), ("log_normal", 0.0, 0.5)):
                x = torch.zeros(part(place), dtype=torch.float64)
                (mine,), (wanted,) = self.given("counter_draw_like", x, step, SEED, DRAW,
                                                distribution, a, b, place)
                torch.testing.assert_close(mine, wanted, rtol=1e-12, atol=1e-12)
                self.assertGreater(mine.std(), 0)

    def test_integers_are_equal_to_the_bit(self):
        for top in (5.0, 2.0**40 + 3):
            (mine,), (wanted,) = self.given("counter_draw_new", [8, 24], torch.tensor(5), SEED,
                                            DRAW, "integers", -2.0, top, [])
            self.assertTrue(torch.equal(mine, wanted))
            self.assertEqual(mine.dtype, torch.int64)


if __name__ == "__main__":
    unittest.main()
