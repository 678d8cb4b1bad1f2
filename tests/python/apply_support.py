"""Plans and ranks of apply_test, for tests of apply in other files."""

import json
import unittest

import apply_cases
import apply_test
import torch
from apply_models import KINDS, Draws
from placewright.applied import plan_files
from torch import nn


def made(model, optimizer, dtype="float64"):
    """The same on every rank: a model, its optimizer, and the loss, or None where it has one."""
    user = apply_cases.Training({"model": model, "optimizer": optimizer, "dtype": dtype})
    return user.model, user.optimizer, KINDS[model].loss


def batch(model, number, dtype=torch.float64):
    """What the model is given, and then what the loss is."""
    return list(KINDS[model].batch(Draws(number, dtype)))


def trained(name, model, optimizer, loss, batches, schedule=None, clip=None):
    """The user's own loop: the losses."""
    losses = []
    for given in batches:
        optimizer.zero_grad()
        if KINDS[name].names:
            value = model(**dict(zip(KINDS[name].names, given))).loss
        else:
            value = loss(model(*given[:-1]), given[-1])
        value.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(value.item())
    return losses


class PlannedTest(unittest.TestCase):
    for _name in ("setUpClass", "program", "recorded", "planned", "on_ranks", "compare_one",
                  "refuse"):
        locals()[_name] = vars(apply_test.ApplyTest)[_name]

    def case(self, devices, model, optimizer, *options, dtype="float64", **more):
        """A plan by the program's options for so many devices."""
        plan = self.planned(self.recorded(model, optimizer, dtype), devices, *options)
        self.assertIsNotNone(plan, self.refusal)
        self.assertLessEqual(len(plan_files.read(plan).devices), devices)
        return {"model": model, "optimizer": optimizer, "dtype": dtype, "plan": plan, **more}

    def compare(self, ranks, cases):
        """Each rank's distances from the user's own loop, which are small."""
        found = self.on_ranks(ranks, cases)
        for rank, results in enumerate(found):
            for case, result in zip(cases, results):
                self.compare_one(rank, case, result)
        return found

    def layouts(self, step, devices, seed):
        """A file of layouts by hand, any for each group."""
        axes = json.loads(self.program("inspect", step, "--axes", "--json").stdout)
        path = self.folder / f"layouts{devices}-{seed}-{step.stem}.json"
        path.write_text(json.dumps(apply_cases.random_layouts(
            axes, [f"host0/gpu{i}" for i in range(devices)], seed)))
        return "--layouts", str(path)
