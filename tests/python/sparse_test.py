"""Gradients of embeddings built with sparse=True: rows, never the whole table."""

from support import ExportTest, names_of, ops_of  # first: skips without PyTorch

import unittest

import torch
from torch import nn

SAMPLES, WORDS, TABLE, WIDTH = 4, 6, 1000, 8
ROWS = SAMPLES * WORDS


class Model(nn.Module):
    """A table, read `times` times, and a layer."""

    def __init__(self, table, times=1):
        super().__init__()
        self.table, self.layer, self.times = table, nn.Linear(WIDTH, 1), times

    def forward(self, ids):
        total = 0
        for _ in range(self.times):
            read = self.table(ids)
            total = total + (read if read.dim() == 2 else read.sum(1))
        return self.layer(total).sum()


class Sparse(ExportTest):
    def step(self, model, optimizer):
        ids = torch.zeros(SAMPLES, WORDS, dtype=torch.int64)
        graph = self.exported(model, ids, None, optimizer, batch=SAMPLES)
        self.assertNotIn("obstacle", graph["batch_proof"])
        self.inspected()
        return graph

    def only_rows(self, graph):
        """No op makes a tensor of the table's size: those that have it write the table or its
        state in place."""
        for op in graph["ops"]:
            made = [output for output in op["outputs"] if output and output["shape"] == [TABLE, WIDTH]]
            self.assertTrue(not made or op.get("alias") == "inplace", op["name"])

    def test_bags_with_sgd(self):
        model = Model(nn.EmbeddingBag(TABLE, WIDTH, sparse=True, mode="sum"))
        graph = self.step(model, torch.optim.SGD(model.parameters(), lr=0.5))
        self.only_rows(graph)
        update = [op for op in ops_of(graph, "opt") if op["target"] == "aten.index_add_.default"]
        self.assertEqual(len(update), 1)
        self.assertEqual(update[0]["inputs"][0], "param:table.weight")
        self.assertEqual(update[0]["kwargs"], {"alpha": -0.5})
        self.assertIn(update[0]["name"], graph["outputs"])
        shapes = [output["shape"] for op in ops_of(graph, "bwd") for output in op["outputs"]]
        self.assertIn([ROWS, WIDTH], shapes)

    def test_sparse_adam(self):
        model = Model(nn.Embedding(TABLE, WIDTH, sparse=True))
        model.layer.requires_grad_(False)
        graph = self.step(model, torch.optim.SparseAdam(list(model.table.parameters())))
        self.only_rows(graph)
        # coalesced once; both moments are read and changed at these rows, then the table
        self.assertEqual(names_of(graph, "opt").count("sort"), 1)
        self.assertEqual(names_of(graph, "opt").count("index_add_"), 3)
        states = {i["name"]: i["shape"] for i in graph["inputs"] if i["kind"] == "opt_state"}
        self.assertEqual(states, {"opt_state:table.weight.exp_avg": [TABLE, WIDTH],
                                  "opt_state:table.weight.exp_avg_sq": [TABLE, WIDTH]})

    def test_a_table_that_is_read_twice(self):
        model = Model(nn.Embedding(TABLE, WIDTH, sparse=True), times=2)
        graph = self.step(model, torch.optim.Adagrad(model.parameters()))
        self.only_rows(graph)
        shapes = [output["shape"] for op in ops_of(graph, "opt") for output in op["outputs"]]
        self.assertIn([2 * ROWS, WIDTH], shapes)

    def test_gradients_alone(self):
        model = Model(nn.Embedding(TABLE, WIDTH, sparse=True))
        ids = torch.zeros(SAMPLES, WORDS, dtype=torch.int64)
        graph = self.exported(model, ids, lambda loss: loss)
        self.only_rows(graph)
        # the loss, which rows, the rows, gradients of weight and bias
        self.assertEqual(len(graph["outputs"]), 5)

    def test_calls_of_the_function(self):
        class Functional(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(TABLE, WIDTH))

            def forward(self, ids):
                return nn.functional.embedding(ids, self.weight, sparse=True).sum()

        model = Functional()
        self.only_rows(self.step(model, torch.optim.SGD(model.parameters(), lr=0.1)))
        # Without a gradient the flag does nothing.
        self.exported(nn.Embedding(10, 4, sparse=True), torch.zeros(3, dtype=torch.int64))

    def test_what_pytorch_does_not_update(self):
        model = Model(nn.Embedding(TABLE, WIDTH, sparse=True))
        ids = torch.zeros(SAMPLES, WORDS, dtype=torch.int64)
        self.refused(["Adam does not support sparse gradients"], model, ids, None,
                     torch.optim.Adam(model.parameters()))

    def test_what_has_no_dense_form(self):
        class Squares(torch.optim.SGD):
            def step(self, closure=None):
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.grad.mul_(parameter.grad)

        model = Model(nn.Embedding(TABLE, WIDTH, sparse=True))
        ids = torch.zeros(SAMPLES, WORDS, dtype=torch.int64)
        self.refused(["aten.mul_ of a sparse gradient", "sparse=False"], model, ids, None,
                     Squares(model.parameters(), lr=0.1))


if __name__ == "__main__":
    unittest.main()
