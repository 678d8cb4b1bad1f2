"""What users add to an update (hooks, an own step(), averages), and the numbers in it that change
between steps."""

from support import VERSION, ExportTest, inputs_of, names_of, ops_of  # first: skips without PyTorch

import copy
import functools
import math
import re
import unittest

import torch
from torch import nn

X = torch.zeros(2, 4)


def loss(y):
    return y.sum()


def value_of(formula, inputs):
    """As docs/formats/aten-graph.md says: Python's arithmetic, names in braces."""
    text = re.sub(r"{([^{}]*)}", lambda found: f"inputs[{found[1]!r}]", formula)
    return eval(text, {"inputs": inputs, "sqrt": math.sqrt, "abs": abs})


def hyper(graph):
    return {record["name"][len("hyper:"):]: record["value"] for record in graph["inputs"]
            if record["kind"] == "hyper"}


def numbers(graph):
    """(op, value in the arguments, formula) of all numbers that change."""
    for op in graph["ops"]:
        for *path, formula in op.get("numbers", ()):
            value = op["kwargs"] if isinstance(path[0], str) else op["args"]
            for step in path:
                value = value[step]
            yield op["name"], value, formula


class Plain(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)


class Added(ExportTest):
    """Clipping is two norms, their norm, its comparison; an average one lerp_ for each tensor."""

    def setUp(self):
        super().setUp()
        self.model = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def opt(self, optimizer=None, function=loss):
        graph = self.exported(self.model, X, function, optimizer or self.optimizer)
        self.inspected()
        return graph

    def clip(self):
        held = tuple(self.model.parameters())  # a tuple in a closure

        def clip(*_):
            nn.utils.clip_grad_norm_(held, 1.0)

        return clip

    def assert_clipped(self, graph):
        names = names_of(graph, "opt")
        self.assertEqual(names[-2:], ["add_", "add_"])
        self.assertIn("clamp", names)
        ops = {op["name"]: op for op in graph["ops"]}
        gradients = [op["inputs"][1] for op in ops_of(graph, "opt")[-2:]]
        self.assertEqual([ops[name]["target"] for name in gradients], 2 * ["aten.mul.Tensor"])
        self.assertEqual({ops[ops[name]["inputs"][0]]["phase"] for name in gradients}, {"bwd"})
        self.assertEqual(len([i for i in graph["inputs"] if i["kind"] == "constant"]), 0)

    def test_an_attribute_named_step(self):
        clip, plain = self.clip(), self.optimizer.step

        def step(*args):
            clip()
            return plain(*args)

        self.optimizer.step = step
        self.assert_clipped(self.opt())
        self.assertIs(self.optimizer.step, step)

    def test_a_subclass(self):
        clip = self.clip()

        class Clipped(torch.optim.SGD):
            def step(self, closure=None):
                clip()
                return super().step(closure)

        self.assert_clipped(self.opt(Clipped(self.model.parameters(), lr=0.1)))

    @unittest.skipIf(VERSION < (2, 0), "hooks of optimizers are of PyTorch 2")
    def test_hooks(self):
        handle = self.optimizer.register_step_pre_hook(self.clip())
        self.assert_clipped(self.opt())
        handle.remove()
        from torch.optim.optimizer import register_optimizer_step_pre_hook
        handle = register_optimizer_step_pre_hook(self.clip())  # of all optimizers
        self.addCleanup(handle.remove)
        self.assert_clipped(self.opt())

    def average(self, held):
        originals = list(self.model.parameters())

        @torch.no_grad()
        def update(*_):
            for average, parameter in zip(held, originals):
                average.lerp_(parameter, 0.25)

        return update

    def test_averages_of_weights_are_state(self):
        for held in ([p.detach().clone() for p in self.model.parameters()],
                     list(copy.deepcopy(self.model).parameters())):  # which want a gradient
            before = [tensor.detach().clone() for tensor in held]
            plain, update = torch.optim.SGD.step, self.average(held)

            class Averaged(torch.optim.SGD):
                def step(self, closure=None):
                    plain(self, closure)
                    update()

            graph = self.opt(Averaged(self.model.parameters(), lr=0.1))
            last = ops_of(graph, "opt")[-2:]
            self.assertEqual([op["target"] for op in last], 2 * ["aten.lerp_.Scalar"])
            self.assertEqual([op["inputs"] for op in last],
                             [["opt_state:0", "add_"], ["opt_state:1", "add__1"]])
            self.assertEqual(graph["outputs"][-2:], [op["name"] for op in last])
            self.assertEqual(inputs_of(graph, "param"), ["param:weight", "param:bias"])
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(held, before)))

    def test_a_loss_that_holds_parameters(self):
        held = {"all": list(self.model.parameters())}
        graph = self.opt(function=lambda y: y.sum() + sum(p.pow(2).sum() for p in held["all"]))
        self.assertEqual(names_of(graph, "fwd").count("pow"), 2)
        self.assertEqual(inputs_of(graph, "constant"), [])
        # Both gradients of the weight are added.
        updates = {op["name"]: op for op in graph["ops"]}
        weight = updates[ops_of(graph, "opt")[0]["inputs"][1]]
        self.assertEqual(weight["phase"], "bwd")
        self.assertIn("add", weight["target"])

    def test_data_is_replaced(self):
        class Functional(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {"lr": 0.5})

            def step(self):
                for p in self.param_groups[0]["params"]:
                    p.data = p.data - self.param_groups[0]["lr"] * p.grad

        graph = self.opt(Functional(self.model.parameters()))
        self.assertEqual(names_of(graph, "opt"), ["mul", "sub", "mul", "sub"])
        subs = [op["name"] for op in ops_of(graph, "opt") if "sub" in op["target"]]
        self.assertEqual(graph["outputs"][1:], subs)

    def test_what_the_user_holds_is_put_back(self):
        schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda epoch: 0.5 ** epoch)
        calls, total, count = [], torch.zeros(()), {"n": 0}

        def step(*args, plain=self.optimizer.step):
            plain(*args)
            schedule.step()
            calls.append(1)
            total.add_(1)
            count["n"] += 1

        self.optimizer.step = step
        graph = self.opt()
        self.assertEqual((schedule.last_epoch, calls, total.item(), count["n"]), (0, [], 0, 0))
        self.assertEqual(self.optimizer.param_groups[0]["lr"], 0.1)
        self.assertIs(type(self.optimizer.param_groups[0]["lr"]), float)
        self.assertEqual(list(numbers(graph)), [("add_", -0.1, "-{0.lr}"),
                                                ("add__1", -0.1, "-{0.lr}")])
        self.assertEqual(hyper(graph), {"0.lr": 0.1})
        self.assertIs(self.optimizer.step, step)


class Changing(ExportTest):
    def setUp(self):
        super().setUp()
        self.model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4, bias=False))

    def opt(self, optimizer):
        graph = self.exported(self.model, X, loss, optimizer)
        self.inspected()
        inputs = hyper(graph)
        for name, value, formula in numbers(graph):
            self.assertEqual(value_of(formula, inputs), value, (name, formula))
        return graph

    def kinds(self):
        """Constructors of optimizers of two kinds of settings."""
        for kind, first, second in (
                ("SGD", dict(lr=0.1, momentum=0.9), dict(lr=0.03, momentum=0.8)),
                ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
                 dict(lr=0.3, momentum=0.7, nesterov=True, weight_decay=0.2)),
                ("Adam", dict(lr=0.1), dict(lr=0.2, betas=(0.8, 0.99), eps=1e-6)),
                ("Adam", dict(lr=0.1, amsgrad=True, weight_decay=0.1),
                 dict(lr=0.2, amsgrad=True, weight_decay=0.3)),
                ("AdamW", dict(lr=0.1), dict(lr=0.2, betas=(0.8, 0.99), weight_decay=0.3)),
                ("RMSprop", dict(lr=0.1, alpha=0.9), dict(lr=0.2, alpha=0.7)),
                ("Adagrad", dict(lr=0.1, lr_decay=0.1), dict(lr=0.2, lr_decay=0.3)),
                ("Adadelta", dict(lr=0.9), dict(lr=0.5, rho=0.8)),
                ("Adamax", dict(lr=0.1), dict(lr=0.2, betas=(0.8, 0.99)))):
            make = getattr(torch.optim, kind)
            yield kind, functools.partial(make, **first), functools.partial(make, **second)

    def test_formulas_hold_at_other_values(self):
        # The step recorded with other values has the numbers that the formulas give for them.
        for kind, first, second in self.kinds():
            with self.subTest(kind):
                one, two = (self.opt(make(self.model.parameters())) for make in (first, second))
                inputs = hyper(two)
                self.assertEqual(list(hyper(one)), list(inputs))
                self.assertEqual(one["inputs"][:-len(inputs)], two["inputs"][:-len(inputs)])
                self.assertFalse([name for name in inputs if name.startswith("number")])
                pairs = list(zip(numbers(one), numbers(two)))
                self.assertTrue(pairs)
                for (name, _, formula), (other, value, _) in pairs:
                    self.assertEqual(name, other)
                    self.assertEqual(value_of(formula, inputs), value, (name, formula))
                # Nothing else differs.
                for graph in (one, two):
                    for op in graph["ops"]:
                        for *path, _ in op.get("numbers", ()):
                            holder = op["kwargs"] if isinstance(path[0], str) else op["args"]
                            holder[path[0]] = None
                self.assertEqual(one["ops"], two["ops"])

    def test_steps_are_counted(self):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.5, betas=(0.5, 0.75))
        middle = self.opt(optimizer)
        self.assertEqual(hyper(middle)["step"], 1000)
        for _ in range(2):
            self.model(X).sum().backward()
            optimizer.step()
        third = self.opt(optimizer)
        self.assertEqual(hyper(third)["step"], 3)
        inputs = {**hyper(middle), "step": 3}
        self.assertEqual([value_of(formula, inputs) for _, _, formula in numbers(middle)],
                         [value for _, value, _ in numbers(third)])

    def test_schedules(self):
        schedules = torch.optim.lr_scheduler
        for make in (lambda o: schedules.OneCycleLR(o, 0.1, total_steps=9),
                     lambda o: schedules.CyclicLR(o, 0.01, 0.1, cycle_momentum=False),
                     lambda o: schedules.CosineAnnealingLR(o, 9),
                     lambda o: schedules.LambdaLR(o, lambda step: step / 9)):  # from 0 on
            optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
            schedule = make(optimizer)
            first = self.opt(optimizer)
            self.assertIn("0.lr", hyper(first))
            for _ in range(3):
                optimizer.step()
                schedule.step()
            fourth = self.opt(optimizer)
            self.assertNotEqual(hyper(first)["0.lr"], hyper(fourth)["0.lr"])
            self.assertEqual([formula for _, _, formula in numbers(first)],
                             [formula for _, _, formula in numbers(fourth)])

    def test_groups_have_numbers_of_their_own(self):
        first, second, third = self.model.parameters()
        optimizer = torch.optim.SGD([{"params": [first, second], "lr": 0.5},
                                     {"params": [third], "lr": 0.25}], lr=0.1)
        graph = self.opt(optimizer)
        self.assertEqual([formula for _, _, formula in numbers(graph)],
                         ["-{0.lr}", "-{0.lr}", "-{1.lr}"])

    @unittest.skipIf(VERSION < (2, 0), "rates that are tensors are of PyTorch 2")
    def test_a_rate_that_is_a_tensor(self):
        rate = torch.tensor(0.5)
        graph = self.opt(torch.optim.AdamW(self.model.parameters(), lr=rate, foreach=False))
        self.assertEqual(hyper(graph)["0.lr"], 0.5)
        self.assertEqual(rate.item(), 0.5)

    def test_counters_of_the_users_own(self):
        class Own(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {"rates": (0.5, 0.25)})
                self.time = 3

            @torch.no_grad()
            def step(self):
                self.time += 1
                rate = self.param_groups[0]["rates"][1] * math.exp(-self.time)
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    p.add_(p.grad, alpha=-rate)
                    p.mul_(1 - 1 / state["step"])

        optimizer = Own(self.model.parameters())
        graph = self.opt(optimizer)
        self.assertEqual(optimizer.time, 3)
        self.assertEqual({formula for _, _, formula in numbers(graph)},
                         {"{number.0}", "1 - 1 / {step}"})
        self.assertEqual(hyper(graph)["step"], 1000)

    def test_optimizers_inside_of_an_optimizer(self):
        first, second, third = self.model.parameters()
        inner = [torch.optim.SGD([first, second], lr=0.5, momentum=0.9),
                 torch.optim.Adam([third], lr=0.25)]

        class Both(torch.optim.Optimizer):
            def step(self, closure=None):
                for optimizer in inner:
                    optimizer.step()

        graph = self.opt(Both(self.model.parameters(), {}))
        inputs = hyper(graph)
        self.assertEqual(inputs["step"], 1000)
        for kind, rate in (("SGD", 0.5), ("Adam", 0.25)):
            self.assertEqual([value for name, value in inputs.items()
                              if name.startswith(f"{kind}_") and name.endswith(".lr")], [rate])
        # Momentum of two tensors, two averages of the third: made before, not in the step.
        self.assertEqual(len(inputs_of(graph, "opt_state")), 4)
        self.assertNotIn("zeros_like", names_of(graph, "opt"))
        self.assertFalse(any(optimizer.state for optimizer in inner))
        self.assertEqual(inner[0].param_groups[0]["lr"], 0.5)

    @unittest.skipIf(VERSION < (2, 1), "such hooks are of PyTorch 2.1")
    def test_optimizers_in_hooks_of_parameters_are_refused(self):
        table = {p: torch.optim.SGD([p], lr=0.1) for p in self.model.parameters()}
        for parameter in self.model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda p: table[p].step())
        self.refused(["KeyError", "hooks of parameters", "one optimizer"], self.model, X, loss)

    def test_averaging_optimizers_keep_their_way(self):
        # 1 in the state of ASGD says that its average is the last tensor.
        graph = self.opt(torch.optim.ASGD(self.model.parameters()))
        self.assertIn("-{eta}", {formula for _, _, formula in numbers(graph)})

    def test_another_way_at_other_values_is_said(self):
        class Large(torch.optim.SGD):
            @torch.no_grad()
            def step(self, closure=None):
                if self.param_groups[0]["lr"] >= 0.5:
                    for p in self.param_groups[0]["params"]:
                        p.mul_(0.5)
                super().step(closure)

        from placewright_export import export
        said = export(self.model, X, loss, Large(self.model.parameters(), lr=0.5),
                      self.folder / "large.json")
        self.assertIn("another way", said["notes"][0])
        said = export(self.model, X, loss, Plain(self.model.parameters(), lr=0.5),
                      self.folder / "plain.json")
        self.assertEqual(said["notes"], [])

    def test_the_batch_is_proven_while_a_schedule_goes_on(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)

        def step(*args, plain=optimizer.step):
            plain(*args)
            schedule.step()

        optimizer.step = step
        graph = self.exported(self.model, torch.zeros(6, 4), loss, optimizer, batch=6, rebatch=True)
        self.assertEqual(graph["batch_proof"]["sizes"], [6, 7, 15])
        self.inspected("--batch", "12")


if __name__ == "__main__":
    unittest.main()
