"""What cannot be exported is refused with reason, place and remedy, and leaves no file."""

from support import EXPORTER, ExportTest, export, names_of  # first: skips without PyTorch

import os
import pathlib
import subprocess
import sys
import unittest
import warnings

import torch
from torch import nn

X = torch.zeros(4, 8)


class Model(nn.Module):
    """A layer, and then whatever a test wants."""

    def __init__(self, then):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.then = then

    def forward(self, x):
        return self.then(self.layer(x))


def branch(y):
    if y.sum() > 0:
        return y
    return -y


class DependsOnData(ExportTest):
    def refused_step(self, words, then):
        model = Model(then)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.refused(words, model, X, lambda y: y.sum(), optimizer)

    def test_control_flow(self):
        words = ["depends on its data", "torch.where", "errors_test.py:", "in branch"]
        self.refused_step(words, branch)
        self.refused(words, Model(branch), X)  # inference

    def test_values(self):
        self.refused_step(["_local_scalar_dense", ".item()"], lambda y: y * y.max().item())
        self.refused_step(["depends on its data"], lambda y: y * len(y.tolist()))
        self.refused_step(["leaves PyTorch"], lambda y: y * y.detach().numpy().sum())
        # Targets one behind the other: how long each is stands in values alone.
        self.refused_step(["_ctc_loss", "lengths", "as numbers"], lambda y: nn.functional.ctc_loss(
            y.view(4, 2, 4).log_softmax(2), torch.ones(2, dtype=torch.int64), (4, 4),
            (y.flatten()[:2] > 0).long()))

    def test_sizes(self):
        for then in (lambda y: y[y > 0], lambda y: y[y.sum(1).nonzero()],
                     lambda y: y + torch.unique(y).sum(),
                     lambda y: torch.masked_select(y, y > 0),
                     lambda y: torch.repeat_interleave(y, y[:, 0].long(), dim=0)):
            self.refused_step(["size depends on values"], then)

    def test_what_only_looks_like_it(self):
        def assigned(y):
            y = y * 1
            y[y > 0] = 2
            return y
        for then in (assigned, lambda y: y.masked_fill(y > 0, 1.0),
                     lambda y: torch.where(y > 0, y, -y),
                     lambda y: y * torch.tensor(3.0).item(),
                     lambda y: torch.repeat_interleave(y, 2, dim=0)):
            self.exported(Model(then), X)
            self.inspected()


class Refused(ExportTest):
    def test_optimizers(self):
        model = nn.Linear(8, 8)
        self.refused(["no parameter of the model", "[2, 3]"], model, X, lambda y: y.sum(),
                     torch.optim.SGD(nn.Linear(3, 2).parameters(), lr=0.1))
        self.refused(["LBFGS", "closure"], model, X, lambda y: y.sum(),
                     torch.optim.LBFGS(model.parameters()))
        self.refused(["torch.optim.Optimizer"], model, X, lambda y: y.sum(), torch.optim.SGD)

    def test_losses(self):
        model = nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.refused(["[4, 8]", "mean()"], model, X, lambda y: y, optimizer)
        self.refused(["no parameter that wants a gradient"], model, X, lambda y: y.detach().sum(),
                     optimizer)
        self.refused(["not a function"], model, X, "mse", optimizer)
        self.refused(["float"], model, X, lambda y: 1.0, optimizer)

    def test_parameters_that_the_model_does_not_know(self):
        weight = nn.Parameter(torch.ones(8))
        self.refused(["[8]", "register_parameter"], Model(lambda y: y * weight), X)
        model = Model(lambda y: y)
        model.hidden = [nn.Parameter(torch.ones(8))]
        self.refused(["hidden.0", "nn.ParameterList"], model, X)

    def test_shared_memory_of_two_parameters(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
        model[1].weight.data = model[0].weight.data
        self.refused(["0.weight", "1.weight", "module.weight = other.weight"], model, X)

    def test_models(self):
        self.refused(["torch.jit"], torch.jit.script(nn.Linear(8, 8)), X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # lazy modules warn that they are new
            self.refused(["no shape yet"], nn.LazyLinear(8), X)
        self.refused(["not a torch.nn.Module"], lambda x: x, X)
        self.refused(["RuntimeError", "errors_test.py:"], Model(lambda y: y @ torch.zeros(3, 3)), X)
        self.refused(["dense"], nn.Linear(8, 8), X.to_sparse())
        model = nn.Linear(8, 8)
        model.register_buffer("mask", X.to_sparse())
        self.refused(["the buffer \"mask\"", "sparse", "dense"], model, X)
        self.refused(["no tensor"], Model(lambda y: None), X)
        self.refused(["batch"], nn.Linear(8, 8), X, batch=0)
        self.refused(["name is ''"], nn.Linear(8, 8), X, name="")
        self.refused(["no loss that takes them"], nn.Linear(8, 8), X, targets=X)

    def test_a_failure_leaves_model_and_optimizer_as_they_were(self):
        model = Model(branch)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        before = [*model.parameters()]
        self.refused([], model, X, lambda y: y.sum(), optimizer)
        self.assertTrue(all(a is b for a, b in zip(before, model.parameters())))
        self.assertTrue(all(a is b for a, b in zip(before, optimizer.param_groups[0]["params"])))
        model.then = torch.relu
        self.exported(model, X, lambda y: y.sum(), optimizer)


class Files(ExportTest):
    def test_a_file_is_replaced_whole_or_not_at_all(self):
        path = self.folder / "net.json"
        path.write_text("before")
        with self.assertRaisesRegex(RuntimeError, "depends on its data"):
            export(Model(branch), X, path=path)
        self.assertEqual(path.read_text(), "before")
        export(nn.Linear(8, 8), X, path=path)
        self.assertTrue(path.read_text().startswith('{"name":"net"'))
        self.assertEqual(os.listdir(self.folder), ["net.json"])

    def test_places_that_cannot_be_written(self):
        for path in (self.folder / "missing" / "net.json", self.folder):
            with self.assertRaisesRegex(RuntimeError, "cannot write"):
                export(nn.Linear(8, 8), X, path=path)
        self.assertEqual(os.listdir(self.folder), [])
        with self.assertRaisesRegex(RuntimeError, "where to write"):
            export(nn.Linear(8, 8), X)


class WithoutPyTorch(ExportTest):
    def run_without(self, arguments):
        """Runs Python with a module `torch` in front that cannot be imported."""
        (self.folder / "torch.py").write_text("raise ImportError('none here')\n")
        environment = {**os.environ, "PYTHONPATH": f"{self.folder}:{EXPORTER.parent}"}
        return subprocess.run([sys.executable, *arguments], env=environment, cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def test_the_module_can_be_imported_and_says_what_to_install(self):
        run = self.run_without(["-c", """
from placewright_export import export, MissingTorchError
try:
    export(None, None, path="x.json")
except MissingTorchError as error:
    print(error)
"""])
        self.assertIn("python3-torch", run.stdout, run.stderr)
        self.assertIn("pip install torch", run.stdout)

    def test_the_command_line(self):
        run = self.run_without([str(EXPORTER), "model.py:build", "-o", "x.json"])
        self.assertEqual(run.returncode, 6)
        self.assertIn("python3-torch", run.stderr)
        self.assertNotIn("Traceback", run.stderr)
        self.assertFalse(pathlib.Path(self.folder / "x.json").exists())


class Conversions(ExportTest):
    """A module that is converted within the step, as routers of transformers are."""

    class Router(torch.nn.Module):
        def __init__(self, dtype):
            super().__init__()
            self.layer, self.dtype = torch.nn.Linear(4, 4), dtype

        def forward(self, x):
            self.layer = self.layer.to(self.dtype)
            return self.layer(x).sum()

    def test_to_what_it_is(self):
        model = self.Router(torch.float32)
        graph = self.exported(model, torch.zeros(2, 4), None, torch.optim.SGD(model.parameters(), 0.1))
        self.assertIn("addmm", names_of(graph, "fwd"))
        self.assertNotIn("_to_copy", names_of(graph, "fwd"))

    def test_to_something_else(self):
        model = self.Router(torch.float64)
        self.refused(["converts the weights of Linear", "where the model is built"], model, torch.zeros(2, 4),
                     None, torch.optim.SGD(model.parameters(), 0.1))
        self.assertEqual(model.layer.weight.dtype, torch.float32)


if __name__ == "__main__":
    unittest.main()
