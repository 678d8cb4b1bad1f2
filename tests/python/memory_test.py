"""Who must come after whom when views are written: the references and `after` of the file."""

from support import ExportTest, names_of, ops_of  # first: skips without PyTorch

import unittest

import torch
from torch import nn

X = torch.zeros(3, 4)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Writes(ExportTest):
    def forward(self, function, x=X):
        graph = self.exported(Function(function), x)
        self.inspected()
        return {op["name"]: (op["inputs"], op.get("after", [])) for op in ops_of(graph, "fwd")}

    def test_a_write_gives_its_tensor_a_new_reference(self):
        def function(x):
            y = x + 1
            y.mul_(2)
            return y * 3
        ops = self.forward(function)
        self.assertEqual(ops["mul_"], (["add"], []))
        self.assertEqual(ops["mul"], (["mul_"], []))

    def test_a_reader_of_the_base_waits_for_writes_through_views(self):
        def function(x):
            y = torch.zeros(3, 4)
            y[0] = x[0]
            y[1] = x[1]
            return y * 2
        ops = self.forward(function)
        # Row 1 does not overlap row 0; the product reads both.
        self.assertEqual(ops["copy__1"][1], [])
        self.assertEqual(ops["mul"], (["zeros"], ["copy_", "copy__1"]))

    def test_a_reader_of_a_view_waits_for_a_write_to_the_base(self):
        def function(x):
            y = x + 1
            row = y[0]
            y.mul_(2)
            return row * 3
        ops = self.forward(function)
        self.assertEqual(ops["mul"], (["select"], ["mul_"]))

    def test_a_view_made_after_the_write_needs_nothing(self):
        def function(x):
            y = x + 1
            y.mul_(2)
            return y[0] * 3
        ops = self.forward(function)
        self.assertEqual(ops["select"], (["mul_"], []))
        self.assertEqual(ops["mul"], (["select"], []))

    def test_detached_tensors_are_the_same_tensor(self):
        def function(x):
            y = x + 1
            y.detach().mul_(2)
            y.data.add_(3)
            return y.sum()
        ops = self.forward(function)
        self.assertEqual(ops["mul_"][0], ["add"])
        self.assertEqual(ops["add_"][0], ["mul_"])
        self.assertEqual(ops["sum"], (["add_"], []))

    def test_results_of_a_list_are_numbered(self):
        def function(x):
            first, second = x.split(2, dim=1)
            only, = x.split(4, dim=1)
            return first * second + only.sum()
        ops = self.forward(function)
        self.assertEqual(ops["mul"][0], ["split:0", "split:1"])
        self.assertEqual(ops["sum"][0], ["split_1:0"])

    def test_out_arguments_are_written(self):
        def function(x):
            y = torch.zeros(3, 4)
            with torch.no_grad():
                torch.mul(x, 2, out=y)
            return y + 1
        ops = self.forward(function)
        self.assertEqual(ops["mul"][0], ["input:x", "zeros"])
        self.assertEqual(ops["add"][0], ["mul"])

    def test_what_the_forward_pass_writes_is_an_output(self):
        class Average(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.slow = nn.Linear(4, 4), nn.Linear(4, 4)
                self.slow.requires_grad_(False)
                self.register_buffer("steps", torch.zeros(1))

            def forward(self, x):
                with torch.no_grad():
                    self.slow.weight.mul_(0.9).add_(self.layer.weight, alpha=0.1)
                    self.steps += 1
                return (self.layer(x) - self.slow(x)).pow(2).sum()

        model = Average()
        graph = self.exported(model, X, None, torch.optim.SGD(model.layer.parameters(), lr=0.1))
        # The loss; the updated weight, its bias, the average; the buffer.
        self.assertEqual(graph["outputs"], ["sum", "add__2", "add__3", "add_", "add__1"])

    def test_running_statistics_of_a_norm_that_is_used_twice(self):
        norm = nn.BatchNorm1d(4)

        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = norm

            def forward(self, a, b):
                return self.norm(a) + self.norm(b)

        graph = self.exported(Twice(), (X, X.clone()))
        ops = {op["name"]: op for op in ops_of(graph, "fwd")}
        self.assertNotIn("after", ops["native_batch_norm"])
        self.assertEqual(ops["native_batch_norm_1"]["after"], ["native_batch_norm"])
        self.assertEqual(self.inspected()["edges"], graph["n_edges"])

    def test_constants_of_one_number_are_made_by_the_step(self):
        mask = torch.full((4,), 0.5)
        model = Function(lambda x: x * mask * mask + torch.tensor(3.0))
        graph = self.exported(model, X)
        self.assertEqual([i["name"] for i in graph["inputs"]], ["input:x"])
        made = [op for op in graph["ops"] if op["target"] == "aten.full.default"]
        self.assertEqual([(op["args"], op["kwargs"]) for op in made],
                         [([[4], 0.5], {"dtype": "torch.float32"}),
                          ([[], 3.0], {"dtype": "torch.float32"})])
        # Both products read the one mask.
        self.assertEqual([op["inputs"] for op in ops_of(graph, "fwd")
                          if op["target"] == "aten.mul.Tensor"],
                         [["input:x", "full"], ["mul", "full"]])

    def test_a_constant_that_is_written_stays_from_step_to_step(self):
        count = torch.zeros(4)
        model = Function(lambda x: x * count.add_(1))
        graph = self.exported(model, X)
        self.assertEqual([i["kind"] for i in graph["inputs"]], ["input", "constant"])
        self.assertEqual(names_of(graph, "fwd"), ["add_", "mul"])

    def test_label_smoothing_keeps_its_numbers(self):
        graph = self.exported(nn.Linear(4, 3), torch.zeros(4, 4),
                              nn.CrossEntropyLoss(label_smoothing=0.1), None,
                              targets=(torch.zeros(4, dtype=torch.int64),))
        self.assertEqual([i["name"] for i in graph["inputs"] if i["kind"] == "constant"], [])

    def test_other_constants_are_inputs(self):
        mask = torch.arange(4.0)
        model = Function(lambda x: (x * mask * mask + torch.tensor([1.0, 2.0, 3.0, 4.0])
                                    + model.table["rows"][0]))
        model.table = {"rows": [torch.zeros(4), torch.zeros(4)]}
        graph = self.exported(model, X)
        self.assertEqual([(i["name"], i["kind"]) for i in graph["inputs"]], [
            ("input:x", "input"), ("constant:table.rows.0", "constant"),
            ("constant:0", "constant"), ("constant:1", "constant")])


if __name__ == "__main__":
    unittest.main()
