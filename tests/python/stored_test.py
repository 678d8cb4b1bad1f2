"""Frozen weights in 4 and 8 bits: their bytes, no gradient, no state, made whole for each product."""

from support import VERSION, ExportTest  # first: skips without PyTorch

import contextlib
import gzip
import io
import json
import math
import subprocess
import unittest

import placewright_export
import torch

from support import PROGRAM

OUT, IN, RANK, BATCH = 96, 128, 4, 6  # sizes that differ from one another
BYTES = {"f32": 4, "bf16": 2, "u8": 1, "i8": 1, "i64": 8}
FORMATS = ("nf4", "nf4-double", "fp4", "fp4-double", "int8")


class Adapted(torch.nn.Module):
    """A frozen layer with an adapter of low rank, as peft makes it."""

    def __init__(self, columns, rows):
        super().__init__()
        self.base_layer = torch.nn.Linear(columns, rows)
        self.base_layer.requires_grad_(False)
        self.a = torch.nn.Linear(columns, RANK, bias=False)
        self.b = torch.nn.Linear(RANK, rows, bias=False)

    def forward(self, x):
        return self.base_layer(x) + self.b(self.a(x))


def adapted(columns=IN, rows=OUT):
    return torch.nn.Sequential(torch.nn.Linear(columns, columns), Adapted(columns, rows),
                               torch.nn.Tanh(), Adapted(rows, columns))


def loss_of(output):
    return output.square().mean()


def size_of(record):
    return math.prod(record["shape"]) * BYTES[record["dtype"]]


class StoredWeights(ExportTest):
    def step(self, kind, model=None, **options):
        model = adapted() if model is None else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # frozen ones, too
        return self.exported(model, torch.zeros(BATCH, IN), loss_of, optimizer,
                             frozen_weights=kind, **options)

    def stored(self, graph, path):
        return [i for i in graph["inputs"] if i["name"].split(":")[1].startswith(path + ".weight")]

    def test_bytes_are_those_of_bitsandbytes(self):
        elements = OUT * IN
        scales = elements // 64
        expected = {
            "nf4": elements // 2 + 4 * scales + 4 * 16,
            "nf4-double": elements // 2 + scales + 4 * math.ceil(scales / 256) + 4 * 256 + 4 * 16,
            "int8": elements + 4 * OUT,
        }
        for kind in FORMATS:
            graph = self.step(kind)
            for path in ("1.base_layer", "3.base_layer"):
                parts = self.stored(graph, path)
                if path.startswith("1"):
                    self.assertEqual(sum(map(size_of, parts)), expected[kind.replace("fp", "nf")], kind)
                self.assertEqual([part["kind"] for part in parts],
                                 ["param"] + ["buffer"] * (len(parts) - 1))
            of = graph["frozen_weights"][kind]
            self.assertEqual((of["weights"], of["elements"]), (2, 2 * elements))
            self.assertEqual(of["bytes"], sum(size_of(part) for path in ("1.base_layer", "3.base_layer")
                                              for part in self.stored(graph, path)))

    def test_neither_gradient_nor_state(self):
        for kind in FORMATS:
            graph = self.step(kind)
            names = [i["name"] for i in graph["inputs"]]
            self.assertFalse([n for n in names if n.startswith("opt_state:") and "base_layer" in n])
            self.assertTrue([n for n in names if n.startswith("opt_state:") and ".a.weight" in n])
            read = {reference for op in graph["ops"] if op["phase"] == "opt"
                    for reference in op["inputs"]}
            self.assertFalse([n for n in read if "base_layer" in n])
            # No dense weight is an input.
            self.assertFalse([i for i in graph["inputs"]
                              if i["dtype"] == "f32" and i["shape"] == [OUT, IN]])

    def test_made_whole_once_in_each_pass(self):
        graph = self.step("nf4")
        made = [op for op in graph["ops"] if op["target"] == "stored.dequantize.default"]
        self.assertEqual([op["phase"] for op in made], ["fwd", "fwd", "bwd", "bwd"])
        self.assertEqual([op["scope"] for op in made],
                         ["1.base_layer", "3.base_layer", "3.base_layer", "1.base_layer"])
        for op in made:
            self.assertIn(op["outputs"][0]["shape"], ([OUT, IN], [IN, OUT]))
            # Nothing of it lives from one pass to the other.
            readers = [r for r in graph["ops"] if op["name"] in r["inputs"]]
            self.assertEqual({r["phase"] for r in readers}, {op["phase"]})
        if VERSION >= (2, 0):
            self.assertEqual([op["scope"] for op in graph["ops"] if op["phase"] == "bwd"
                              and "dequantize" in op["name"]], ["3.base_layer", "1.base_layer"])

    def test_eight_bits_are_computed_with_operators_of_pytorch(self):
        graph = self.step("int8")
        self.assertFalse([op for op in graph["ops"] if not op["target"].startswith("aten.")])

    def test_the_same_products_as_without(self):
        plain = self.step(None)
        for kind in FORMATS:
            graph = self.step(kind)
            shapes = [[op["outputs"][0]["shape"] for op in g["ops"]
                       if op["target"] in ("aten.mm.default", "aten.addmm.default")]
                      for g in (plain, graph)]
            self.assertEqual(*map(sorted, shapes))

    def test_follows_its_batch(self):
        graph = self.step("nf4", batch=BATCH)
        self.assertNotIn("obstacle", graph["batch_proof"])

    def test_parameters_are_counted_whole(self):
        from placewright_export import export
        counts = [export(adapted(), torch.zeros(BATCH, IN), loss_of, path=self.folder / "s.json.gz",
                         frozen_weights=kind)["parameters"] for kind in (None, *FORMATS)]
        self.assertEqual(counts, counts[:1] * len(counts))

    def test_outputs_of_language_models_and_tied_weights_stay(self):
        class Words(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(50, IN)
                self.body, self.head = Adapted(IN, IN), torch.nn.Linear(IN, 50, bias=False)
                self.tied = torch.nn.Linear(IN, 50, bias=False)
                self.tied.weight = self.words.weight
                for part in (self.words, self.head, self.tied):
                    part.requires_grad_(False)

            def get_output_embeddings(self):
                return self.head

            def forward(self, x):
                y = self.body(self.words(x))
                return self.head(y) + self.tied(y)

        graph = self.exported(Words(), torch.zeros(BATCH, 3, dtype=torch.int64), loss_of,
                              frozen_weights="nf4")
        dtypes = {i["name"]: i["dtype"] for i in graph["inputs"] if i["kind"] == "param"}
        self.assertEqual(dtypes["param:head.weight"], "f32")
        self.assertEqual(dtypes["param:words.weight"], "f32")
        self.assertEqual(dtypes["param:body.base_layer.weight"], "u8")

    def test_autocast_decides_the_type_of_products(self):
        class Mixed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = adapted()

            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return self.body(x).float()

        graph = self.step("nf4", Mixed())
        made = [op for op in graph["ops"] if op["target"] == "stored.dequantize.default"]
        self.assertEqual({op["outputs"][0]["dtype"] for op in made}, {"bf16"})

    def test_refusals_say_what_to_do(self):
        self.refused(["frozen_weights", "int4", "nf4-double"], adapted(), torch.zeros(BATCH, IN),
                     loss_of, frozen_weights="int4")
        free = torch.nn.Linear(IN, OUT)
        self.refused(["no weight of a linear layer is frozen", "requires_grad_(False)"], free,
                     torch.zeros(BATCH, IN), loss_of, frozen_weights="nf4")

        class Reads(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = Adapted(IN, OUT)

            def forward(self, x):
                return self.layer(x) + self.layer.base_layer.weight.sum()

        self.refused(["layer.base_layer.weight", "stored as nf4", "--frozen-weights"], Reads(),
                     torch.zeros(BATCH, IN), loss_of, frozen_weights="nf4")

    def test_the_model_is_left_as_it_was(self):
        model = adapted()
        before = {name: (id(p), p.dtype) for name, p in model.named_parameters()}
        self.step("nf4", model)
        self.assertEqual({name: (id(p), p.dtype) for name, p in model.named_parameters()}, before)
        self.assertEqual(model(torch.zeros(BATCH, IN)).shape, (BATCH, IN))
        self.assertNotIn("forward", vars(model[1].base_layer))

    def test_plans_hold(self):
        """Split and placed, checked by the program that knows neither planner nor simulator."""
        for kind in ("nf4", "nf4-double", "int8"):
            self.step(kind, batch=BATCH)
            for space in ("placed", "replicated"):
                plan = self.folder / "p.plan.json"
                run = subprocess.run(
                    [PROGRAM, "plan", str(self.folder / "step.json.gz"), "-c", "2xV100", "--space",
                     space, "--iterations", "50", "-o", str(plan), "--json"],
                    capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assertEqual(json.loads(run.stdout)["unknown_types"], [])
                check = subprocess.run([PROGRAM, "check", str(plan)], capture_output=True, text=True,
                                       check=False)
                self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


class OfBitsandbytes(ExportTest):
    """Modules of the library itself, with weights and without."""

    def setUp(self):
        super().setUp()
        try:
            import bitsandbytes
        except ImportError:
            self.skipTest("bitsandbytes is not installed")
        self.library = bitsandbytes

    def test_its_modules_have_their_own_format(self):
        nn = self.library.nn
        makes = {
            "nf4": lambda: nn.Linear4bit(IN, OUT, compute_dtype=torch.bfloat16, quant_type="nf4",
                                         compress_statistics=False),
            "nf4-double": lambda: nn.Linear4bit(IN, OUT, compute_dtype=torch.bfloat16,
                                                quant_type="nf4"),
            "fp4-double": lambda: nn.Linear4bit(IN, OUT, quant_type="fp4"),
            "int8": lambda: nn.Linear8bitLt(IN, OUT, has_fp16_weights=False),
        }
        for kind, make in makes.items():
            for moved in (False, True):  # quantized only as it moves to a device
                layer = make()
                layer = layer.to("cpu") if moved else layer
                model = torch.nn.Sequential(torch.nn.Linear(IN, IN), layer)
                graph = self.exported(model, torch.zeros(BATCH, IN), loss_of)
                of = graph["frozen_weights"]
                self.assertEqual({k: v["elements"] for k, v in of.items()}, {kind: IN * OUT})


class OfConfigurations(ExportTest):
    """Adapters on a model of transformers, whose configuration may say how it is stored."""

    LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
             "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 64}
    LINEAR = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128)  # elements of all layers but the last

    def setUp(self):
        super().setUp()
        try:
            import peft  # noqa: F401
            import transformers  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))

    def recorded(self, *options, **changes):
        config = self.folder / "config.json"
        config.write_text(json.dumps({**self.LLAMA, **changes}))
        path = self.folder / "step.json.gz"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = placewright_export.main([f"hf:{config}", "-o", str(path), "--batch", "2",
                                              "--sequence", "16", "--one-batch", *options])
        self.assertEqual(status, 0)
        return json.loads(gzip.decompress(path.read_bytes()))

    def test_adapters_alone_are_trained(self):
        graph = self.recorded("--lora", "4")
        self.assertNotIn("frozen_weights", graph)
        states = [i["name"] for i in graph["inputs"] if i["kind"] == "opt_state"]
        self.assertTrue(states)
        self.assertFalse([name for name in states if "lora_" not in name and name != "opt_state:step"
                          and "." in name])

    def test_the_option_and_the_configuration_say_the_format(self):
        of_option = self.recorded("--lora", "4", "--frozen-weights", "nf4")
        self.assertEqual(of_option["frozen_weights"]["nf4"]["elements"], self.LINEAR)
        given = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
                 "bnb_4bit_use_double_quant": True}
        for stated, kind in ((given, "nf4-double"),
                             ({**given, "bnb_4bit_use_double_quant": False}, "nf4"),
                             ({"load_in_8bit": True}, "int8")):
            graph = self.recorded("--lora", "4", quantization_config=stated)
            self.assertEqual(list(graph["frozen_weights"]), [kind])
        graph = self.recorded("--lora", "4", "--frozen-weights", "fp4", quantization_config=given)
        self.assertEqual(list(graph["frozen_weights"]), ["fp4"])


if __name__ == "__main__":
    unittest.main()
