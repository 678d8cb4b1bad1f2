"""The rules by which operators are computed in parts, executed: what PyTorch's own tests call every operator
with, forward and backward, in two and in three uneven parts of every axis that can be split."""

from support import ExportTest, VERSION  # first

import collections
import importlib.util
import itertools
import os
import sys
import types
import unittest
import warnings

import torch
from torch.utils._pytree import tree_flatten

import rule_cases

# How many calls of each operator: of different shapes and other arguments.
CALLS = 6 if os.environ.get("PLACEWRIGHT_LONG") else 2

# What PyTorch's tests derive their cases from; of their table of operators nothing needs it.
if importlib.util.find_spec("expecttest") is None:
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
    sys.modules["expecttest"].ACCEPT = False

try:
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError as error:  # what PyTorch's own tests need besides PyTorch
    print(f"SKIPPED: PyTorch's table of operators cannot be read: {error}")
    sys.exit(77)

# What they make depends on more than what they read.
UNCHECKED = ("empty", "resize")


def dtype_of(info):
    for dtype in (torch.float64, torch.int64, torch.float32, torch.bool):
        if info.supports_dtype(dtype, "cpu"):
            return dtype
    return torch.float32


def call(info, sample):
    result = info.op(sample.input, *sample.args, **sample.kwargs)
    results = [r for r in tree_flatten(result)[0] if isinstance(r, torch.Tensor) and r.requires_grad]
    given = [t for t in tree_flatten((sample.input, sample.args, sample.kwargs))[0]
             if isinstance(t, torch.Tensor) and t.requires_grad]
    if not results or not given:
        return
    real = [r.abs() if r.is_complex() else r for r in results]
    torch.autograd.grad(sum((r * torch.rand_like(r)).sum() for r in real), given, allow_unused=True)


def recorded():
    """Calls of all operators, below autograd."""
    recorder = rule_cases.Recorder(lambda func: True, CALLS)
    for info in op_db:
        dtype = dtype_of(info)
        grad = info.supports_autograd and dtype == torch.float64
        try:
            samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=grad), 20))
        except Exception:  # needs what is not here
            continue
        for sample in samples:
            try:
                with recorder:
                    call(info, sample)
            except Exception:  # a sample of another device, or one that is to fail
                continue
    return recorder.calls


class Rules(ExportTest):
    def test_parts_make_the_whole(self):
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        wrong, held, without = [], collections.Counter(), collections.Counter()
        for one, rule, _ in rule_cases.rules_of(recorded(), self.folder):
            if rule is None:
                without[one.target] += 1
                continue
            if rule.get("draws_random") or any(word in one.target for word in UNCHECKED):
                continue
            check = rule_cases.RuleCheck(one, rule)
            said = check.run()
            if said:
                wrong.append(said)
            elif check.splits:
                held[one.target] += 1
        self.assertEqual(wrong, [])
        print(f"{len(held)} operators of PyTorch {torch.__version__} held, {sum(held.values())} calls; "
              f"{len(without)} have no rule")
        self.assertGreater(len(held), 400 if VERSION >= (2, 0) else 300)


if __name__ == "__main__":
    unittest.main()
