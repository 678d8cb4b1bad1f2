"""Every optimizer of torch.optim, one parameter at a time, and what users write themselves."""

from support import ExportTest, inputs_of, names_of, ops_of  # first: skips without PyTorch

import unittest

import torch
from torch import nn

X = torch.zeros(2, 4)


def loss(y):
    return y.sum()


class Split(ExportTest):
    def opt(self, optimizer, model):
        graph = self.exported(model, X, loss, optimizer)
        self.inspected()
        return graph

    def test_foreach_fused_and_capturable_are_the_plain_update(self):
        model = nn.Linear(4, 4)
        for kind in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta",
                     "Adamax", "ASGD", "Rprop"):
            plain = names_of(self.opt(getattr(torch.optim, kind)(model.parameters(), lr=0.1),
                                      model), "opt")
            self.assertTrue(plain)
            self.assertFalse([name for name in plain if "foreach" in name or "fused" in name])
            for switch in ("foreach", "fused", "capturable"):
                optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1)
                # Set afterwards: the constructors of some want a GPU.
                optimizer.param_groups[0][switch] = True
                self.assertEqual(names_of(self.opt(optimizer, model), "opt"), plain, (kind, switch))
                self.assertIs(optimizer.param_groups[0][switch], True)

    def test_state_is_an_input_and_counters_are_numbers(self):
        model = nn.Linear(4, 4)
        graph = self.opt(torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.5, 0.0)), model)
        self.assertEqual(inputs_of(graph, "opt_state"), [
            "opt_state:weight.exp_avg", "opt_state:weight.exp_avg_sq",
            "opt_state:bias.exp_avg", "opt_state:bias.exp_avg_sq"])
        last = ops_of(graph, "opt")[-1]
        self.assertEqual(last["target"], "aten.addcdiv_.default")
        # In the thousandth step 1 - 0.5^1000 is 1 to the last bit: minus the learning rate.
        self.assertEqual(last["kwargs"], {"value": -0.5})

    def test_a_resumed_optimizer_goes_on_from_its_step(self):
        model = nn.Linear(4, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.5, 0.0))
        for _ in range(2):
            model(X).sum().backward()
            optimizer.step()
        last = ops_of(self.opt(optimizer, model), "opt")[-1]
        # The third step: 0.5 / (1 - 0.5^3) = 4/7
        self.assertEqual(last["kwargs"], {"value": -0.5 / 0.875})

    def test_radam_takes_the_way_of_later_steps(self):
        model = nn.Linear(4, 4)
        self.assertIn("sqrt", names_of(self.opt(torch.optim.RAdam(model.parameters()), model),
                                       "opt"))

    def test_parameters_without_a_gradient_have_no_state(self):
        model = nn.ModuleDict({"used": nn.Linear(4, 4), "idle": nn.Linear(4, 4)})
        model.forward = lambda x: model["used"](x)
        graph = self.opt(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model)
        self.assertEqual(inputs_of(graph, "opt_state"), [
            "opt_state:used.weight.momentum_buffer", "opt_state:used.bias.momentum_buffer"])
        self.assertEqual(len(graph["parameters"]), 4)


class Own(ExportTest):
    def test_lists_of_tensors_are_split(self):
        class Lists(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {})

            @torch.no_grad()
            def step(self):
                weights = self.param_groups[0]["params"]
                gradients = [weight.grad for weight in weights]
                torch._foreach_mul_(gradients, [0.5, 0.25])
                roots = torch._foreach_sqrt(gradients)
                torch._foreach_addcdiv_(weights, gradients, roots, -0.1)
                torch._foreach_add_(weights, gradients, alpha=2)

        model = nn.Linear(4, 4)
        graph = self.exported(model, X, loss, Lists(model.parameters()))
        self.assertEqual(names_of(graph, "opt"), [
            "mul", "mul", "sqrt", "sqrt", "addcdiv_", "addcdiv_", "add_", "add_"])
        ops = ops_of(graph, "opt")
        self.assertEqual([op["args"][1] for op in ops[:2]], [0.5, 0.25])
        self.assertEqual(ops[4]["inputs"], ["param:weight", "mul_", "sqrt"])
        self.assertEqual(ops[4]["kwargs"], {"value": -0.1})
        self.assertEqual(ops[7]["inputs"], ["addcdiv__1", "mul__1"])

    def test_a_counter_that_meets_the_device_is_a_tensor(self):
        class Clipped(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {})

            @torch.no_grad()
            def step(self):
                total = torch.zeros(())
                for weight in self.param_groups[0]["params"]:
                    total += weight.grad.pow(2).sum()
                for weight in self.param_groups[0]["params"]:
                    weight.addcdiv_(weight.grad, total.sqrt() + 1, value=-0.1)

        model = nn.Linear(4, 4)
        graph = self.exported(model, X, loss, Clipped(model.parameters()))
        self.assertEqual(names_of(graph, "opt"), [
            "pow", "sum", "add_", "pow", "sum", "add_",
            "sqrt", "add", "addcdiv_", "sqrt", "add", "addcdiv_"])
        ops = ops_of(graph, "opt")
        self.assertEqual(ops[5]["inputs"][0], ops[2]["name"])
        self.assertEqual(ops[6]["inputs"], [ops[5]["name"]])

    def test_a_loss_with_parameters_of_its_own(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(4))

            def forward(self, y, target):
                return ((y - target) * self.scale).pow(2).mean()

        model, criterion = nn.Linear(4, 4), Scaled()
        optimizer = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.1)
        graph = self.exported(model, X, criterion, optimizer, targets=X)
        self.assertEqual(graph["parameters"], ["param:weight", "param:bias", "param:loss.scale"])
        self.assertEqual(names_of(graph, "opt"), 3 * ["add_"])


if __name__ == "__main__":
    unittest.main()
