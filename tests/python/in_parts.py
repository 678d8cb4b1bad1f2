"""Recorded steps, planned over several devices and executed operator by operator beside the step on one."""

from support import ExportTest, PROGRAM  # first

import json
import random
import subprocess

import torch

import compiled_steps

CLUSTER = "hosts:\n  - {gpus: 4 x H100}\nname: four\n"


def grouped_mm(a, b, ends=None, *_, **__):
    """In float64, which the kernel does not take."""
    ends = [0, *ends.tolist()]
    groups = [slice(*pair) for pair in zip(ends, ends[1:])]
    if a.dim() == 2 and b.dim() == 3:
        return torch.cat([a[rows] @ b[i] for i, rows in enumerate(groups)])
    if a.dim() == 2:
        return torch.stack([a[:, rows] @ b[rows] for rows in groups])
    return torch.cat([a[i] @ b[:, rows] for i, rows in enumerate(groups)], 1)


def fused_adamw(parameters, gradients, moments, squares, _, counters, *, lr, beta1, beta2, weight_decay, eps, **__):
    """With a counter in float64, which the kernel does not take."""
    for p, g, m, v, step in zip(parameters, gradients, moments, squares, counters):
        p.mul_(1 - lr * weight_decay)
        m.lerp_(g, 1 - beta1)
        v.lerp_(g * g, 1 - beta2)
        p.sub_(lr / (1 - beta1**step) * m / ((v / (1 - beta2**step)).sqrt() + eps))


class InParts(ExportTest):
    def place(self, *arguments):
        run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def random_layouts(self, seed):
        """A file of layouts for the recording in `folder`: data parallelism, but for half of the groups some devices of
        their own, and parts of any axis that an op of the group can be split by."""
        run = subprocess.run([PROGRAM, "inspect", str(self.folder / "step.json.gz"), "--axes", "--json"],
                             capture_output=True, text=True, check=True)
        said, draws = json.loads(run.stdout), random.Random(seed)
        size = {axis["name"]: axis["size"] for axis in said["axes"]}
        axes_of = {}
        for op in said["ops"]:
            axes = axes_of.setdefault(op["group"], set())
            for axis in (op.get("rule") or {}).get("axes", ()):
                if axis["parts"] != "whole":
                    axes.update(axis["named"])
        devices = [f"host0/gpu{i}" for i in range(4)]
        layouts = [{"groups": "*", "axis": "batch", "devices": devices}]
        for group, axes in axes_of.items():
            some = draws.sample(devices, draws.randint(1, 4))
            fitting = [axis for axis in sorted(axes) if size[axis] >= len(some)]
            layout = {"groups": group, "devices": some}
            if len(some) > 1 and fitting and draws.random() < 0.8:
                layout["axis"] = draws.choice(fitting)
                whole = size[layout["axis"]]
                ends = [0, *sorted(draws.sample(range(1, whole), len(some) - 1)), whole]
                layout["devices"] = [{"name": name, "from": begin, "to": end}
                                     for name, begin, end in zip(some, ends, ends[1:])]
            elif len(some) > 1:
                layout["option"] = "duplicate"
            if draws.random() < 0.5:
                layouts.append(layout)
        path = self.folder / "layouts.json"
        path.write_text(json.dumps({"layouts": layouts, "fusion_bytes": draws.choice([0, 1 << 20])}))
        return path

    def compare(self, algorithm, batch=None, original=None, given=None, layouts=None, options=()):
        """The compiled step of the recording in `folder`, at a batch, which has left behind what the file `original`
        leaves behind, by default the recording; `given`: values of inputs by name, others are made up; `layouts`: a
        file of layouts, in place of the algorithm's; `options`: further ones of `plan`."""
        graph = self.folder / "step.json.gz"
        cluster, plan, step = (self.folder / name for name in ("c.yaml", "p.plan.json", "s.json"))
        cluster.write_text(CLUSTER)
        chosen = ["--layouts", str(layouts)] if layouts else ["--algo", algorithm]
        self.place("plan", str(graph), "-c", str(cluster), *chosen, *options, "-o", str(plan),
                   *(["--batch", str(batch)] if batch else []))
        self.place("check", str(plan))
        self.place("compile", str(plan), "-o", str(step))
        original = compiled_steps.in_double(compiled_steps.read(original or graph))
        compiled = compiled_steps.in_double(compiled_steps.read(step))
        values = {**compiled_steps.made_up(original["inputs"]), **(given or {})}
        # Parts that were joined lie in the order of their dimensions, whatever the whole does.
        overrides = {"aten._grouped_mm.default": grouped_mm, "aten.view.default": torch.Tensor.reshape,
                     "aten._fused_adamw_.default": fused_adamw}
        with torch.no_grad():
            expected = compiled_steps.Step(original, overrides).run(values)
            found = compiled_steps.Step(compiled, overrides).run(values)
        checked = 0
        for record in compiled["inputs"]:
            of = record.get("of", {"input": record["name"]})
            if record["kind"] not in ("param", "opt_state", "buffer"):
                continue
            whole = compiled_steps.part_of(expected[of["input"]], of)
            apart = (found[record["name"]] - whole).abs().max().item()
            self.assertLessEqual(apart, 1e-12 * max(1.0, whole.abs().max().item()), record["name"])
            checked += 1
        self.assertGreater(checked, 0)
        return compiled
