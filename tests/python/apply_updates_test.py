"""The optimizer's own class on the pieces of one process, which has all of a plan's devices."""

import newer_torch  # noqa: F401  first

import copy
import unittest

import torch

import apply_cases
import apply_support
from apply_support import PlannedTest
from placewright import ApplyError, apply
from placewright_export import export

STEPS = 4


class Signs(torch.optim.Optimizer):
    """Works on each element by itself, with a number that it reads from a tensor: it cannot be
    recorded, and no step of it is another's."""

    def __init__(self, params, lr=0.01):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state.update(step=torch.zeros(()), mean=torch.zeros_like(parameter), calls=0)
                state["step"] += 1
                state["calls"] += 1
                state["mean"].lerp_(parameter.grad, 0.5)
                rate = group["lr"] / state["step"].item()
                parameter.sub_(state["mean"].sign() * rate)


OPTIMIZERS = {**apply_cases.OPTIMIZERS, "signs": Signs,
              "fused": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, fused=True),
              "adafactor": lambda p: torch.optim.Adafactor(p, lr=0.01)}


class UpdatesTest(PlannedTest):
    def own(self, model, recorded, optimizer, *options, devices=2, clip=None, folder=None,
            schedule=False):
        """Distances from the own loop, of an own update under a plan of another recorded one. With
        a folder the last two steps are those of a second training that a checkpoint begins."""
        plan = self.case(devices, model, recorded, *options)["plan"]
        def begin():
            built, _, loss = apply_support.made(model, "sgd")
            return built, OPTIMIZERS[optimizer](built.parameters()), loss
        def applied():
            built, update, _ = begin()
            schedule_of = torch.optim.lr_scheduler.StepLR(update, 2, 0.5) if schedule else None
            return apply(plan, built, update, devices=["cpu"] * devices, update="own",
                         clip=clip), schedule_of, built
        train, scheduler, user = applied()
        before = copy.deepcopy(user.state_dict())
        losses = []
        for number in range(STEPS):
            if folder is not None and number == 2:
                train.save(folder)
                train, scheduler, user = applied()
                train.load(folder)
            losses.append(train(*apply_support.batch(model, number)).item())
            if scheduler:
                scheduler.step()
        self.assertEqual(apply_cases.apart(dict(user.state_dict()), dict(before)), 0)
        built, update, loss = begin()
        wanted = apply_support.trained(
            model, built, update, loss, [apply_support.batch(model, n) for n in range(STEPS)],
            torch.optim.lr_scheduler.StepLR(update, 2, 0.5) if schedule else None, clip)
        state = train.optimizer_state_dict()
        other_model, other, _ = begin()
        other_model.load_state_dict(train.state_dict())
        other.load_state_dict(state)
        return {"losses": apply_cases.apart(losses, wanted),
                "weights": apply_cases.apart(dict(train.state_dict()), dict(built.state_dict())),
                "optimizer": apply_cases.apart(state["state"], update.state_dict()["state"])}

    def test_equal_to_the_own_loop(self):
        uneven = self.layouts(self.recorded("images", "sgd"), 2, 3)
        for case in (("perceptron", "sgd", "signs", "--algo", "data-parallel"),
                     ("images", "sgd", "fused", "--algo", "data-parallel"),
                     ("perceptron", "adam", "adam", "--algo", "data-parallel-ps"),
                     ("perceptron", "adam", "adam", "--algo", "round-robin"),
                     ("images", "sgd", "signs", *uneven)):
            with self.subTest(case=case):
                self.assertLessEqual(max(self.own(*case).values()), 1e-9)

    def test_clipped_and_scheduled(self):
        found = self.own("images", "sgd", "momentum", "--algo", "data-parallel", clip=0.1,
                         schedule=True)
        self.assertLessEqual(max(found.values()), 1e-9)

    def test_checkpoint(self):
        for optimizer in ("signs", "adamw"):
            with self.subTest(optimizer=optimizer):
                found = self.own("images", "sgd", optimizer, *self.layouts(
                    self.recorded("images", "sgd"), 2, 3), folder=self.folder / optimizer)
                self.assertLessEqual(max(found.values()), 1e-9)

    def test_refused(self):
        with self.assertRaisesRegex(ApplyError, "Adafactor looks at whole tensors"):
            for seed in range(20):  # until a weight lies in parts
                self.own("perceptron", "sgd", "adafactor", *self.layouts(
                    self.recorded("perceptron", "sgd"), 2, seed))
        plan = self.case(1, "perceptron", "sgd", "--algo", "layered")["plan"]
        model, optimizer, _ = apply_support.made("perceptron", "sgd")
        with self.assertRaisesRegex(ApplyError, "mine"):
            apply(plan, model, optimizer, update="mine")

    def test_loss_scaling_is_refused_by_name(self):
        model, _, _ = apply_support.made("perceptron", "sgd")
        x, y = apply_support.batch("perceptron", 0)
        scaler = torch.amp.GradScaler("cpu")

        class Scaled(torch.optim.SGD):
            def step(self, closure=None):
                scaler.unscale_(self)
                return super().step(closure)

        optimizer = Scaled(model.parameters(), lr=0.1)
        step, plan = self.folder / "scaled.json.gz", self.folder / "scaled.plan.json"
        export(model, x, lambda out, y: scaler.scale(torch.nn.functional.mse_loss(out, y)),
               optimizer, step, targets=y)
        cluster = self.folder / "1.yaml"
        cluster.write_text("hosts:\n  - {gpus: 1 x H100}\nname: one\n")
        self.program("plan", step, "-c", cluster, "--algo", "layered", "-o", plan)
        for update in ("recorded", "own"):
            with self.assertRaisesRegex(ApplyError, "GradScaler"):
                apply(plan, model, optimizer, update=update)


if __name__ == "__main__":
    unittest.main()
