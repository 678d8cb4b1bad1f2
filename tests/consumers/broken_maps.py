"""Maps that real GPUs would refuse, to show that the pretended ones do."""

import torch
from accelerate import dispatch_model

from pretend_devices import Pretended, WrongDevice


class Borrows(torch.nn.Module):
    """Reads a parameter of another module, past its hooks."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(8, 4)
        self.body = torch.nn.Linear(4, 4)

    def forward(self, ids):
        return self.body(self.table(ids)) @ self.table.weight.t()


def _run(mapping):
    with Pretended():
        ids = torch.zeros(2, 3, dtype=torch.int64).to("cuda:0")
        return dispatch_model(Borrows(), mapping)(ids)


def borrowed_parameter():
    try:
        _run({"table": 0, "body": 1})
    except WrongDevice as error:
        return f"refused: {error}"
    raise AssertionError("a product of two devices was computed")


def together():
    _run({"table": 0, "body": 0})
    return "one device computes"


def uncovered():
    try:
        _run({"table": 0})
    except ValueError as error:
        return f"refused: {str(error).splitlines()[0]}"
    raise AssertionError("Accelerate took a map that leaves a module out")


CASES = {"borrowed-parameter": borrowed_parameter, "together": together, "uncovered": uncovered}
