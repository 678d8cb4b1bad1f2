"""Steps under apply write over what nothing reads later, and over nothing else."""

from support import PROGRAM, SKIPPED, VERSION  # first

import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from torch import nn

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)

from placewright import apply
from placewright.applied import in_place, op_schemas
from placewright_export import export


class Between(nn.Module):
    """A linear layer between two functions."""

    def __init__(self, after, before):
        super().__init__()
        self.linear, self._after, self._before = nn.Linear(6, 6).double(), after, before

    def forward(self, x):
        return self._after(self.linear(self._before(x)))


class InPlaceTest(unittest.TestCase):
    def source_of(self, after, before=lambda x: x):
        """The source of a step with these functions, whose losses and weights are those of the
        user's own loop."""
        torch.manual_seed(3)
        model, own = Between(after, before), Between(after, before)
        own.load_state_dict(model.state_dict())
        optimizers = [torch.optim.AdamW(one.parameters(), lr=0.1) for one in (model, own)]
        draws = torch.Generator().manual_seed(1)
        batches = [torch.randn(6, 6, generator=draws, dtype=torch.float64) for _ in range(3)]

        def loss(y):
            return y.pow(2).mean()
        with tempfile.TemporaryDirectory() as folder:
            step, plan = pathlib.Path(folder) / "s.json.gz", pathlib.Path(folder) / "s.plan.json"
            export(model, batches[0], loss, optimizers[0], step)
            subprocess.run([PROGRAM, "plan", step, "-c", "4xP100", "--algo", "single", "-o", plan],
                           check=True, capture_output=True)
            train = apply(plan, model, optimizers[0])
        for x in batches:
            optimizers[1].zero_grad()
            wanted = loss(own(x))
            wanted.backward()
            optimizers[1].step()
            self.assertLessEqual(abs(train(x).item() - wanted.item()), 1e-12)
        for name, value in train.state_dict().items():
            self.assertLessEqual((value - own.state_dict()[name]).abs().max().item(), 1e-12, name)
        return train.source

    def test_forms_exist(self):
        """Each form writes its first argument, or the one that is named."""
        for target, form in in_place.WRITING.items():
            self.assertEqual(op_schemas.schema_of(form).written, (0,), form)
            self.assertEqual(op_schemas.schema_of(target).written, (), target)
        for form, name in in_place.WRITING_OUT.values():
            self.assertEqual(op_schemas.schema_of(form).written, (name,), form)

    def test_last_use_is_written(self):
        """The product is read by the activation alone; its gradient by what follows alone; the
        root of the second moment, by the update's division alone."""
        source = self.source_of(lambda y: y.relu())
        for call in ("aten_relu__default(", "grad_input=", "aten_div__Tensor("):
            self.assertIn(call, source)

    def test_later_use_is_kept(self):
        """The product is read again, behind the activation."""
        source = self.source_of(lambda y: y.relu() * y)
        self.assertIn("aten_relu_default(", source)
        self.assertNotIn("aten_relu__default(", source)

    def test_view_is_kept(self):
        """A part of the product is read again."""
        def after(y):
            part = y[:3]
            return y.relu() + part.sum()
        source = self.source_of(after)
        self.assertNotIn("aten_relu__default(", source)

    def test_overlap_is_kept(self):
        """What would be written is read in another order by the same op."""
        source = self.source_of(lambda y: y + y.t())
        self.assertIn("aten_add_Tensor(", source)

    def test_wider_result_is_kept(self):
        """The argument is smaller than the result."""
        source = self.source_of(lambda y: y.sum(0) + torch.ones(6, 6, dtype=torch.float64))
        self.assertIn("aten_add_Tensor(", source)

    def test_batch_is_kept(self):
        source = self.source_of(lambda y: y, lambda x: x.exp())
        self.assertIn("aten_exp_default(b0)", source)


if __name__ == "__main__":
    unittest.main()
