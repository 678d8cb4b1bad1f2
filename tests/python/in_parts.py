"""Recorded steps, planned over several devices and executed operator by operator beside the step on one."""

from support import ExportTest, PROGRAM  # first

import subprocess

import torch

import compiled_steps

CLUSTER = "hosts:\n  - {gpus: 4 x V100-32GB, interconnect: nvlink}\nname: four\n"


def grouped_mm(a, b, ends=None, *_, **__):
    """In float64, which the kernel does not take."""
    ends = [0, *ends.tolist()]
    groups = [slice(*pair) for pair in zip(ends, ends[1:])]
    if a.dim() == 2 and b.dim() == 3:
        return torch.cat([a[rows] @ b[i] for i, rows in enumerate(groups)])
    if a.dim() == 2:
        return torch.stack([a[:, rows] @ b[rows] for rows in groups])
    return torch.cat([a[i] @ b[:, rows] for i, rows in enumerate(groups)], 1)


class InParts(ExportTest):
    def place(self, *arguments):
        run = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def compare(self, algorithm, batch=None, original=None, given=None):
        """The compiled step of the recording in `folder`, at a batch, which has left behind what the file `original`
        leaves behind, by default the recording; `given`: values of inputs by name, others are made up."""
        graph = self.folder / "step.json.gz"
        cluster, plan, step = (self.folder / name for name in ("c.yaml", "p.plan.json", "s.json"))
        cluster.write_text(CLUSTER)
        self.place("plan", str(graph), "-c", str(cluster), "--algo", algorithm, "-o", str(plan),
                   *(["--batch", str(batch)] if batch else []))
        self.place("check", str(plan))
        self.place("compile", str(plan), "-o", str(step))
        original = compiled_steps.in_double(compiled_steps.read(original or graph))
        compiled = compiled_steps.in_double(compiled_steps.read(step))
        values = {**compiled_steps.made_up(original["inputs"]), **(given or {})}
        overrides = {"aten._grouped_mm.default": grouped_mm}
        with torch.no_grad():
            expected = compiled_steps.Step(original, overrides).run(values)
            found = compiled_steps.Step(compiled, overrides).run(values)
        checked = 0
        for record in compiled["inputs"]:
            of = record.get("of", {"input": record["name"]})
            if record["kind"] not in ("param", "opt_state", "buffer"):
                continue
            whole = expected[of["input"]]
            if "dimension" in of:
                whole = compiled_steps.cut(whole, of["dimension"], of["outer"], of["size"],
                                           of["from"], of["to"])
            apart = (found[record["name"]] - whole).abs().max().item()
            self.assertLessEqual(apart, 1e-12 * max(1.0, whole.abs().max().item()), record["name"])
            checked += 1
        self.assertGreater(checked, 0)
        return compiled
