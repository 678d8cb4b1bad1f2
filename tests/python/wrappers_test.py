"""What functions that build a step do on the way: conversions, devices, wrappers, data, files."""

from support import VERSION, ExportTest  # first: skips without PyTorch

import contextlib
import gzip
import importlib.util
import io
import json
import os
import resource
import subprocess
import sys
import unittest

import placewright_export
import torch
from torch import nn
from support import EXPORTER, export

HEAD = """
import os
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def net():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

def step(model, x=None, y=None, loss=nn.functional.cross_entropy):
    x = torch.zeros(6, 8) if x is None else x
    y = torch.zeros(6, dtype=torch.int64) if y is None else y
    return model, (x,), loss, torch.optim.SGD(model.parameters(), lr=0.1), (y,)

def plain():
    return step(net())
"""


class Building(ExportTest):
    def record(self, body, *options, head=HEAD):
        """(status, what was printed, the file or None) of a function `f` with this body."""
        path = self.folder / "step.json.gz"
        path.unlink(missing_ok=True)
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        name = f"build_{len(list(self.folder.glob('build_*.py')))}_{id(self)}.py"
        (self.folder / name).write_text(f"{head}\ndef f():\n{lines}\n")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = placewright_export.main([f"{self.folder}/{name}:f", "-o", str(path), *options])
        graph = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else None
        return status, out.getvalue(), graph

    def same_as(self, expected, *bodies, head=HEAD):
        """All these functions build the step that `expected` builds."""
        _, said, plain = self.record(expected, head=head)
        self.assertIsNotNone(plain, said)
        for body in bodies:
            status, said, graph = self.record(body, head=head)
            self.assertEqual(status, 0, (body, said))
            self.assertEqual(graph, plain, body)

    def fails(self, words, body, without=(), options=()):
        status, said, _ = self.record(body, *options)
        self.assertEqual(status, 3, said)
        for word in words:
            self.assertIn(word, said)
        for word in without:
            self.assertNotIn(word, said)

    def test_devices_are_the_host(self):
        self.same_as(
            "return plain()",
            "return step(net().cuda(), torch.zeros(6, 8).cuda())",
            "return step(net().to('cuda:1'), torch.zeros(6, 8, device='cuda'))",
            "return step(net().to(0), torch.zeros(6, 8).to(0, non_blocking=True))",
            "return step(net().to(torch.device('cuda')), torch.zeros(6, 8).to(torch.device('mps')))",
            "return step(nn.Sequential(nn.Linear(8, 16, device='cuda'), nn.ReLU(), "
            "nn.Linear(16, 4, device=torch.device('cuda', 0))))",
            "torch.cuda.set_device(0)\ntorch.cuda.synchronize()\n"
            "return step(net().to(torch.cuda.current_device()))",
            "return step(net().share_memory(), torch.zeros(6, 8).pin_memory())")
        if VERSION >= (2, 0):
            self.same_as("return plain()",
                         "with torch.device('cuda'):\n    return plain()",
                         "torch.set_default_device('cuda')\nreturn plain()")

    def test_a_device_in_the_step(self):
        head = HEAD + """
class Moves(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()
    def forward(self, x):
        return self.net(x.cuda() * torch.ones(6, 1, device="cuda").to("cuda"))
"""
        self.same_as("m = Moves()\nm.forward = lambda x: m.net(x * torch.ones(6, 1))\nreturn step(m)",
                     "return step(Moves())", head=head)

    def test_conversions(self):
        for call, dtype in (("half()", "f16"), ("bfloat16()", "bf16"), ("double()", "f64"),
                            ("to(torch.bfloat16)", "bf16"), ("to('cuda', torch.half)", "f16"),
                            ("half().float().double()", "f64"), ("type(torch.half)", "f16"),
                            ("to(torch.zeros(1, dtype=torch.bfloat16))", "bf16")):
            status, said, graph = self.record(
                f"m = net().{call}\nreturn step(m, torch.zeros(6, 8, dtype=m[0].weight.dtype))")
            self.assertEqual(status, 0, (call, said))
            self.assertEqual({i["dtype"] for i in graph["inputs"] if i["kind"] == "param"}, {dtype})

    def test_tied_weights_stay_tied(self):
        _, said, graph = self.record("""
m = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False))
m[1].weight = m[0].weight
optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
m.half().cuda().to(torch.float64)
return m, torch.zeros(6, 8, dtype=torch.float64), nn.MSELoss(), optimizer, torch.zeros(6, 8)""")
        self.assertEqual(graph["parameters"], ["param:0.weight"], said)
        self.assertEqual(graph["inputs"][0]["dtype"], "f64")

    def test_strides(self):
        _, said, graph = self.record("""
m = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
assert m.weight.is_contiguous(memory_format=torch.channels_last), m.weight.stride()
return m, torch.zeros(2, 3, 8, 8)""", "--batch", "2")
        self.assertIsNotNone(graph, said)
        self.assertNotIn("obstacle", graph["batch_proof"])

    def test_convolutions_take_one_way_at_all_batches(self):
        status, said, graph = self.record("""
m = nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
m = m.to(memory_format=torch.channels_last)
x = torch.zeros(8, 3, 16, 16).to(memory_format=torch.channels_last)
return m, x, nn.CrossEntropyLoss(), None, torch.zeros(8, dtype=torch.int64)""", "--batch", "8")
        self.assertIn("scales with the batch", said)

    @unittest.skipIf(VERSION < (2, 0), "PyTorch 1.13 has no device contexts")
    def test_to_empty(self):
        self.same_as("return plain()",
                     "with torch.device('meta'):\n    m = net()\n"
                     "return step(m.to_empty(device='cuda'))")

    @unittest.skipIf(VERSION < (2, 0), "torch.compile is of PyTorch 2")
    def test_compiled(self):
        self.same_as("return plain()", "return step(torch.compile(net()))")
        _, said, graph = self.record("m = net()\nm[0] = torch.compile(m[0])\nreturn step(m)")
        self.assertEqual(len(graph["ops"]), len(self.record("return plain()")[2]["ops"]), said)

    @unittest.skipIf(not torch.distributed.is_available(), "PyTorch without torch.distributed")
    def test_data_parallel(self):
        self.same_as(
            "return plain()", "return step(nn.DataParallel(net()))",
            "return step(nn.DataParallel(net().cuda(), device_ids=[0, 1]))",
            "dist.init_process_group('nccl')\nassert dist.get_world_size() == 1\n"
            "m = DDP(net().cuda(), device_ids=[0], find_unused_parameters=True)\n"
            "m.module[0].weight\nreturn step(m)",
            "dist.init_process_group('gloo', rank=3, world_size=8, init_method='env://')\n"
            "return step(DDP(nn.DataParallel(net())))")
        self.assertFalse(torch.distributed.is_initialized())

    @unittest.skipIf(VERSION < (2, 6), "FSDP2 is of PyTorch 2.6")
    def test_fsdp(self):
        head = HEAD + "from torch.distributed.fsdp import fully_shard, FullyShardedDataParallel\n" \
                      "from torch.distributed.fsdp import MixedPrecisionPolicy, MixedPrecision\n"
        sharded = "m = net()\nfor layer in m:\n    fully_shard(layer{0})\nfully_shard(m{0})\n"
        self.same_as(
            "return plain()", sharded.format("") + "m.set_requires_gradient_sync(False)\n"
            "return step(m)",
            "dist.init_process_group('nccl')\n"
            "mesh = dist.device_mesh.init_device_mesh('cuda', (8, 2), mesh_dim_names=('dp', 'tp'))\n"
            + sharded.format(", mesh=mesh['dp']") + "return step(m)",
            "return step(FullyShardedDataParallel(net().cuda(), use_orig_params=True))", head=head)
        # Each layer's parameters, the first one's input and the second's (the ReLU's, of bf16) are
        # cast: 4 + 1 copies; their gradients, of 4 parameters, are cast back.
        policy = ", mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)"
        for body in (sharded.format(policy) + "return step(m, loss=lambda o, t: "
                     "nn.functional.cross_entropy(o.float(), t))",
                     "m = FullyShardedDataParallel(net(), mixed_precision="
                     "MixedPrecision(param_dtype=torch.bfloat16))\n"
                     "return step(m, loss=lambda o, t: nn.functional.cross_entropy(o.float(), t))"):
            status, said, graph = self.record(body, head=head)
            self.assertEqual(status, 0, said)
            casts = [op for op in graph["ops"] if op["target"] == "aten._to_copy.default"]
            down = [op for op in casts if op["outputs"][0]["dtype"] == "bf16"]
            read = [name for op in down for name in op["inputs"]]
            self.assertEqual([name for name in read if name.startswith("param:")], [
                "param:0.weight", "param:0.bias", "param:2.weight", "param:2.bias"])
            self.assertIn("input:input", read)
            self.assertTrue(all(op["outputs"][0]["dtype"] == "bf16" for op in graph["ops"]
                                if op["target"] == "aten.addmm.default"))
            self.assertEqual({op["outputs"][0]["dtype"] for op in graph["ops"]
                              if op["phase"] == "opt"}, {"f32"})

    @unittest.skipIf(VERSION < (2, 6), "FSDP2 is of PyTorch 2.6")
    def test_what_was_sharded_before(self):
        from torch.distributed.fsdp import fully_shard
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0,
                                             world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
        export(nn.parallel.DistributedDataParallel(model), torch.zeros(2, 8),
               path=self.folder / "ddp.json")
        names = json.loads((self.folder / "ddp.json").read_text())["parameters"]
        self.assertEqual(names[0], "param:0.weight")
        self.refused(["\"0.weight\"", "DTensor", "fully_shard"], fully_shard(model),
                     torch.zeros(2, 8))

    def test_files(self):
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        torch.save(model.state_dict(), self.folder / "state.pt")
        torch.save({"epoch": torch.tensor(7), "width": 16, "net": model}, self.folder / "all.pt")
        whole = ", weights_only=False" if VERSION >= (2, 0) else ""
        self.same_as(
            "return plain()",
            f"m = net()\nm.load_state_dict(torch.load({str(self.folder / 'state.pt')!r}, "
            "map_location='cuda'))\nreturn step(m.cuda())",
            f"c = torch.load({str(self.folder / 'all.pt')!r}{whole})\n"
            "assert c['width'] == 16 and c['epoch'].item() == 7\nreturn step(c['net'].half().float())",
            f"with open({str(self.folder / 'state.pt')!r}, 'rb') as f:\n    s = torch.load(f)\n"
            "m = net()\nm.load_state_dict(s)\nreturn step(m)")

    @unittest.skipIf(VERSION < (2, 1), "PyTorch 1.13 reads files whole")
    def test_a_large_file_takes_no_memory(self):
        torch.save({"w": torch.zeros(2**26)}, self.folder / "large.pt")  # 256 MiB
        code = f"""
import resource, sys
sys.path.insert(0, {str(EXPORTER.parent)!r})
import placewright_export
from placewright_torch import building
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
import torch
before = peak()
with building.building():
    w = torch.load({str(self.folder / "large.pt")!r})["w"]
    m = torch.nn.Module()
    m.w = torch.nn.Parameter(torch.zeros(2**26))
    m.load_state_dict({{"w": w}})
    m.half()
print(peak() - before)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLess(int(run.stdout), 100)

    def test_data_loaders(self):
        head = HEAD + """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, i):
        return torch.zeros(8), i % 4
"""
        loader = "from torch.utils.data import DataLoader\nloader = DataLoader({})\n" \
                 "x, y = next(iter(loader))\nassert 0 <= y.max().item() < 4\nreturn step(net(), x, y)"
        self.same_as(
            "return plain()",
            loader.format("Data(), batch_size=6, shuffle=True, num_workers=2, pin_memory=True"),
            loader.format("Data(), batch_size=6, shuffle=True, timeout=9, num_workers=1, "
                          "persistent_workers=True, drop_last=True"),
            loader.format("torch.utils.data.TensorDataset(torch.zeros(99, 8), "
                          "torch.arange(99) % 4), 6, shuffle=True, "
                          "generator=torch.Generator().manual_seed(3)"), head=head)

    def test_remedies(self):
        weights = "--real-weights"
        self.fails(["NameError", ".py:"], "return undefined", [weights])
        self.fails(["KeyError"], "return {}['x']", [weights])
        self.fails(["ValueError: no"], "raise ValueError('no')", [weights])
        self.fails(["mat1"], "net()(torch.zeros(2, 9))\nreturn plain()", [weights]) \
            if VERSION >= (2, 0) and VERSION < (2, 6) else None
        self.fails(["-m pip install not_there_at_all", sys.executable],
                   "import not_there_at_all.part", [weights])
        self.fails([weights], "return nn.Linear(int(torch.rand(1).item()) + 1, 2), "
                              "torch.zeros(2, 8)")
        self.fails([weights], "return nn.Linear(net()[0].weight.detach().numpy().size, 2), "
                              "torch.zeros(2, 8)")
        self.fails(["newer PyTorch"], "torch.not_there_at_all()", [weights])
        if "LOCAL_RANK" not in os.environ:
            self.fails(["torchrun sets LOCAL_RANK", "LOCAL_RANK=0", "in front of the command"],
                       "return int(os.environ['LOCAL_RANK'])", [weights])
            os.environ["LOCAL_RANK"] = "0"  # the remedy
            self.addCleanup(os.environ.pop, "LOCAL_RANK")
            self.same_as("return plain()", "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
                                           "return plain()")

    def test_real_weights(self):
        body = "w = int(torch.rand(1).item()) + 8\nreturn step(net().cuda(), torch.zeros(6, w))"
        _, _, plain = self.record("return plain()")
        status, said, graph = self.record(body, "--real-weights")
        self.assertEqual(status, 0, said)
        self.assertEqual(graph, plain)


def has(*packages):
    return all(importlib.util.find_spec(package) for package in packages)


LLAMA = """
import torch
def llama(layers=2, hidden=64, vocab=128, inner=128, heads=4):
    from transformers import AutoModelForCausalLM, LlamaConfig
    config = LlamaConfig(hidden_size=hidden, num_hidden_layers=layers, vocab_size=vocab,
                         intermediate_size=inner, num_attention_heads=heads,
                         num_key_value_heads=max(heads // 4, 1), use_cache=False)
    return AutoModelForCausalLM.from_config(config).to(torch.bfloat16)

def lora(batch=2, words=16, **sizes):
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(llama(**sizes), LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    ids = torch.zeros(batch, words, dtype=torch.int64)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    return model, {"input_ids": ids, "labels": ids.clone()}, None, optimizer

def large():
    return lora(2, 2048, layers=32, hidden=4096, vocab=128256, inner=14336, heads=32)

def prepared(precision="no"):
    from accelerate import Accelerator
    accelerator = Accelerator(mixed_precision=precision)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=9)
    data = torch.utils.data.TensorDataset(torch.zeros(40, 8), torch.zeros(40, dtype=torch.int64))
    data = torch.utils.data.DataLoader(data, batch_size=6, shuffle=True)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    x, y = next(iter(data))
    return model, (x,), torch.nn.functional.cross_entropy, optimizer, (y,)

def trainer(folder):
    from transformers import Trainer, TrainingArguments
    data = [{"input_ids": [1] * 16, "labels": [1] * 16} for _ in range(8)]
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, report_to=[])
    trainer = Trainer(model=llama(), args=arguments, train_dataset=data)
    trainer.create_optimizer_and_scheduler(100)
    return trainer.model, dict(next(iter(trainer.get_train_dataloader()))), None, trainer.optimizer
"""


@unittest.skipUnless(has("transformers", "peft", "accelerate"),
                     "this Python has no transformers, peft and accelerate")
class Libraries(ExportTest):
    def run_build(self, *arguments):
        (self.folder / "today.py").write_text(LLAMA)
        path = self.folder / "step.json.gz"
        run = subprocess.run([sys.executable, str(EXPORTER), *arguments, "-o", str(path)],
                             cwd=self.folder, capture_output=True, text=True, check=False)
        graph = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else None
        return run, graph

    def test_lora(self):
        run, graph = self.run_build("today.py:lora", "--batch", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        # Two matrices each at two projections of two layers are trained, the others frozen.
        self.assertEqual(len([i for i in graph["inputs"] if i["kind"] == "opt_state"]), 2 * 8)

    def test_lora_of_eight_thousand_million_parameters(self):
        run, graph = self.run_build("today.py:large")
        self.assertEqual(run.returncode, 0, run.stderr)
        # RUSAGE_CHILDREN has the largest child's peak: this one's.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        self.assertLess(peak, 4)
        self.assertGreater(sum(i["shape"][0] * i["shape"][-1] for i in graph["inputs"]
                               if i["kind"] == "param"), 8e9)

    def test_accelerate(self):
        run, graph = self.run_build("today.py:prepared", "--batch", "6")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(graph["optimizer"], "adamw")
        self.assertIn("hyper:0.lr", [i["name"] for i in graph["inputs"]])
        run, graph = self.run_build("today.py:prepared", "--set", "precision=bf16")
        self.assertIn("bf16", {op["outputs"][0]["dtype"] for op in graph["ops"]
                               if op["phase"] == "fwd"}, run.stderr)
        run, _ = self.run_build("today.py:prepared", "--set", "precision=fp16")
        self.assertIn("mixed_precision=\"bf16\"", run.stderr)

    def test_trainer(self):
        run, graph = self.run_build("today.py:trainer", "--set", f"folder={self.folder}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(graph["phases"]["opt"], 0)


if __name__ == "__main__":
    unittest.main()
