"""Checkpoints of pieces: saved under one plan and read under another, by PyTorch too."""

import newer_torch  # noqa: F401  first

import pathlib
import unittest

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

import apply_cases
import apply_support
from apply_support import PlannedTest
from placewright import ApplyError, apply
from placewright.applied.checkpoints import chunks_of
from placewright.applied.tensors import piece_of

BEFORE, STEPS = 3, 5


def saved(case, rank):
    """Three steps, and a checkpoint behind them."""
    model, optimizer, _ = apply_support.made(case["model"], case["optimizer"])
    train = apply(case["plan"], model, optimizer)
    for number in range(BEFORE):
        train(*apply_support.batch(case["model"], number))
    train.save(case["folder"])
    files = len(list(pathlib.Path(case["folder"]).glob(f"__{rank}_*.distcp")))
    whole, update = train.state_dict(), train.optimizer_state_dict()
    plain, plain_optimizer, _ = apply_support.made(case["model"], case["optimizer"])
    plain_optimizer.load_state_dict(update)
    state = get_optimizer_state_dict(plain, plain_optimizer)
    read = {"model": dict(plain.state_dict()), "optimizer": {
        "state": {path: {slot: torch.zeros_like(value) for slot, value in slots.items()}
                  for path, slots in state["state"].items()}}}
    dcp.load(read, checkpoint_id=case["folder"])
    return {"files": files, "plain": apply_cases.apart(read["model"], dict(whole)),
            "plain_optimizer": apply_cases.apart(read["optimizer"]["state"], state["state"])}


def resumed(case, _=0):
    """Distances from the own loop of all steps, of a training that a checkpoint begins."""
    model, optimizer, _ = apply_support.made(case["model"], case["optimizer"])
    optimizer.param_groups[0]["lr"] = 0.5  # the checkpoint says another
    train = apply(case["plan"], model, optimizer)
    train.load(case["folder"])
    losses = [train(*apply_support.batch(case["model"], number)).item()
              for number in range(BEFORE, STEPS)]
    own, own_optimizer, loss = apply_support.made(case["model"], case["optimizer"])
    wanted = apply_support.trained(case["model"], own, own_optimizer, loss, [
        apply_support.batch(case["model"], number) for number in range(STEPS)])
    return {"losses": apply_cases.apart(losses, wanted[BEFORE:]),
            "weights": apply_cases.apart(dict(train.state_dict()), dict(own.state_dict())),
            "optimizer": apply_cases.apart(train.optimizer_state_dict()["state"],
                                           own_optimizer.state_dict()["state"])}


class CheckpointTest(PlannedTest):
    def test_another_plan(self):
        """From uneven layouts on two ranks to data parallelism on two and to one device."""
        case = {**self.case(2, "images", "adamw", *self.layouts(
            self.recorded("images", "adamw"), 2, 3)), "folder": str(self.folder / "kept")}
        for result in self.on_ranks(2, [{**case, "do": "apply_checkpoint_test.saved"}]):
            self.assertGreater(result[0]["files"], 0)  # each rank has written its own
            self.assertEqual([result[0]["plain"], result[0]["plain_optimizer"]], [0, 0])
        other = self.case(2, "images", "adamw", "--algo", "data-parallel")
        one = self.case(1, "images", "adamw", "--algo", "layered")
        found = [result[0] for result in self.on_ranks(2, [
            {**case, "plan": other["plan"], "do": "apply_checkpoint_test.resumed"}])]
        found.append(resumed({**case, "plan": one["plan"]}))
        for result in found:
            self.assertLessEqual(max(result.values()), 1e-9)
        model, optimizer, _ = apply_support.made("perceptron", "adam")
        train = apply(self.case(1, "perceptron", "adam", "--algo", "layered")["plan"], model,
                      optimizer)
        with self.assertRaisesRegex(ApplyError, "model.first.weight.*none of this name"):
            train.load(case["folder"])
        model, optimizer, _ = apply_support.made("images", "adamw")
        train = apply(one["plan"], model, optimizer)
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
        with self.assertRaisesRegex(ApplyError, "has 1 groups of parameters, this one 2"):
            train.load(case["folder"])
        with self.assertRaisesRegex(ApplyError, "nowhere"):
            train.load(self.folder / "nowhere")

    def test_chunks(self):
        """A factor of a dimension in the middle is as many chunks as there are outer parts."""
        whole = torch.arange(24).view(12, 2)
        box = [{"dimension": 0, "outer": 2, "size": 3, "from": 1, "to": 2},
               {"dimension": 1, "outer": 1, "size": 2, "from": 1, "to": 2}]
        piece = piece_of(whole, box)
        chunks = chunks_of(whole.shape, box, piece)
        self.assertEqual([chunk.begin for chunk in chunks], [(2, 1), (8, 1)])
        for chunk in chunks:
            (row, column), (rows, columns) = chunk.begin, chunk.tensor.shape
            self.assertTrue(torch.equal(chunk.tensor,
                                        whole[row:row + rows, column:column + columns]))
        self.assertEqual(sum(chunk.tensor.numel() for chunk in chunks), piece.numel())


if __name__ == "__main__":
    unittest.main()
