"""Convolutions of compiled steps have channels last on CPUs, unless something looks at how elements
lie; without compiling anything for a machine."""

from support import PROGRAM, SKIPPED, VERSION  # first

import functools
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch
from torch import nn

if VERSION < (2, 6):
    print(f"SKIPPED: PyTorch {torch.__version__} is older than 2.6, which apply needs")
    sys.exit(SKIPPED)

from placewright import apply
from placewright_export import export
from torch._dynamo.backends.common import aot_autograd

LAST = torch.channels_last


class Images(nn.Module):
    """Two convolutions, and a function between the second one and the head."""

    def __init__(self, after):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8 * 6 * 6, 4)
        self._after = after

    def forward(self, x):
        return self.head(self._after(self.second(self.first(x).relu())).flatten(1))


def add_through_a_view(y):
    y = y.clone()
    y.view(4, -1).add_(1)
    return y.relu()


class ChannelsLast(unittest.TestCase):
    def compiled(self, after):
        """(source, graph) of a step with this function, whose losses and weights are those of the
        user's own loop."""
        torch.manual_seed(3)
        model, own = Images(after).double(), Images(after).double()
        own.load_state_dict(model.state_dict())
        optimizers = [torch.optim.AdamW(one.parameters(), lr=0.01) for one in (model, own)]
        batches = [torch.randn(4, 3, 6, 6, dtype=torch.float64) for _ in range(3)]
        graphs = []

        def keep(graph, _):
            graphs.append(graph)
            return graph

        def loss(y):
            return y.pow(2).mean()
        with tempfile.TemporaryDirectory() as folder:
            step, plan = pathlib.Path(folder) / "s.json.gz", pathlib.Path(folder) / "s.plan.json"
            export(model, batches[0], loss, optimizers[0], step)
            subprocess.run([PROGRAM, "plan", step, "-c", "4xP100", "--algo", "single", "-o", plan],
                           check=True, capture_output=True)
            backend = aot_autograd(fw_compiler=keep)
            with unittest.mock.patch("torch.compile", functools.partial(
                    torch.compile, backend=backend)):
                train = apply(plan, model, optimizers[0], compile=True)
        for x in batches:
            optimizers[1].zero_grad()
            wanted = loss(own(x))
            wanted.backward()
            optimizers[1].step()
            self.assertLessEqual(abs(train(x).item() - wanted.item()), 1e-12)
        for name, value in train.state_dict().items():
            self.assertLessEqual((value - own.state_dict()[name]).abs().max().item(), 1e-12, name)
        graph, = graphs
        return train.source, graph

    def test_activations_are_never_copied(self):
        """Into another form are the image and each weight, which the step has as it got them."""
        for name, after in (("relu", torch.relu), ("relu_", torch.relu_)):
            with self.subTest(after=name):
                source, graph = self.compiled(after)
                backward = [node for node in graph.graph.nodes
                            if node.target == torch.ops.aten.convolution_backward.default]
                self.assertEqual(len(backward), 2)
                for node in backward:
                    for argument in node.args[:3]:
                        self.assertTrue(argument.meta["val"].is_contiguous(memory_format=LAST))
                copied = {node.args[0] for node in graph.graph.nodes
                          if node.target == torch.ops.aten.clone.default
                          and node.kwargs.get("memory_format") == LAST}
                gradient = {node for node in copied if node.op != "placeholder"}
                # The gradient that comes from the flat head.
                self.assertLessEqual(len(gradient), 1, gradient)
                self.assertEqual(len(copied - gradient), 3)
                self.assertEqual(source.count("channels_last"), 2 * 2 + 2 * 3)

    def test_what_looks_at_strides_keeps_them(self):
        for name, after in (("view", add_through_a_view),
                            ("as_strided", lambda y: y.as_strided((4, 288), (288, 1)))):
            with self.subTest(after=name):
                self.assertNotIn("channels_last", self.compiled(after)[0])


if __name__ == "__main__":
    unittest.main()
