"""A model that moved to another type or device, before a plan is applied and since."""

import newer_torch  # noqa: F401  first

import unittest

import torch

import apply_cases
import apply_support
from apply_support import PlannedTest
from placewright import ApplyError, apply


class MovedTest(PlannedTest):
    def made(self):
        plan = self.case(1, "perceptron", "adam", "--algo", "layered")["plan"]
        return plan, *apply_support.made("perceptron", "adam")[:2]

    def test_before(self):
        plan, model, optimizer = self.made()
        with self.assertRaisesRegex(ApplyError, "first.weight.*float32.*float64"):
            apply(plan, model.float(), optimizer)
        plan, model, _ = self.made()
        model.to("meta")
        with self.assertRaisesRegex(ApplyError, "first.weight.*no values"):
            apply(plan, model, torch.optim.Adam(model.parameters(), lr=0.01))

    def test_since(self):
        """The training goes on; what the model would be given back in another type is refused."""
        plan, model, optimizer = self.made()
        train = apply(plan, model, optimizer)
        own, own_optimizer, loss = apply_support.made("perceptron", "adam")
        wanted = apply_support.trained("perceptron", own, own_optimizer, loss,
                                     [apply_support.batch("perceptron", n) for n in range(2)])
        losses = [train(*apply_support.batch("perceptron", 0)).item()]
        model.to("meta")  # whose parameters are other objects
        losses.append(train(*apply_support.batch("perceptron", 1)).item())
        self.assertLessEqual(apply_cases.apart(losses, wanted), 1e-12)
        found = train.state_dict()
        self.assertLessEqual(apply_cases.apart(dict(found), dict(own.state_dict())), 1e-12)
        model.float()
        with self.assertRaisesRegex(ApplyError, "first.weight.*float32 by now.*float64"):
            train.state_dict()


if __name__ == "__main__":
    unittest.main()
