"""Models of transformers from their configurations: `hf:PATH`, in the exporter and the program."""

from support import EXPORTER, PROGRAM, SOURCE, ExportTest, names_of  # first: skips without PyTorch

import gzip
import importlib.util
import json
import os
import stat
import subprocess
import sys
import unittest

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
EXAMPLE = SOURCE / "examples" / "tiny_transformer_adam.json.gz"
SMALL = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
WORDS = dict(SMALL, vocab_size=128, max_position_embeddings=64)
IMAGES = dict(SMALL, image_size=32, patch_size=8)

# Name -> (configuration, what stands in its inputs, words of the operators that must be there)
MODELS = {
    "llama": (dict(WORDS, model_type="llama", num_key_value_heads=2, torch_dtype="bfloat16",
                   architectures=["LlamaForCausalLM"]),
              {"input:input_ids": [4, 64], "input:labels": [4, 64]}),
    "mixtral": (dict(WORDS, model_type="mixtral", num_key_value_heads=2, num_local_experts=4,
                     architectures=["MixtralForCausalLM"]), {"input:input_ids": [4, 64]}),
    "bert": (dict(WORDS, model_type="bert", architectures=["BertForMaskedLM"]),
             {"input:input_ids": [4, 64], "input:labels": [4, 64]}),
    "classifier": (dict(WORDS, model_type="bert", architectures=["BertForSequenceClassification"]),
                   {"input:labels": [4]}),
    "t5": (dict(model_type="t5", vocab_size=128, d_model=32, d_kv=8, d_ff=64, num_layers=2,
                num_heads=4), {"input:input_ids": [4, 1024], "input:labels": [4, 1024]}),
    "vit": (dict(IMAGES, model_type="vit", architectures=["ViTForImageClassification"]),
            {"input:pixel_values": [4, 3, 32, 32], "input:labels": [4]}),
    "clip": (dict(model_type="clip", architectures=["CLIPModel"], projection_dim=32,
                  text_config=dict(WORDS, projection_dim=32), vision_config=IMAGES),
             {"input:input_ids": [4, 64], "input:pixel_values": [4, 3, 32, 32]}),
    "segformer": (dict(model_type="segformer", hidden_sizes=[8, 16, 16, 32], depths=[1] * 4,
                       num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16, image_size=64,
                       architectures=["SegformerForSemanticSegmentation"]),
                  {"input:labels": [4, 64, 64]}),
    "wav2vec2": (dict(SMALL, model_type="wav2vec2", vocab_size=32, conv_dim=[32] * 7,
                      architectures=["Wav2Vec2ForCTC"]),
                 {"input:input_values": [4, 160000], "input:labels": [4, 64]}),
    "wav2vec2-bert": (dict(SMALL, model_type="wav2vec2-bert", vocab_size=32, conformer_conv_dropout=0.0,
                           architectures=["Wav2Vec2BertForCTC"]),
                      {"input:input_features": [4, 1000, 160], "input:labels": [4, 64]}),
    "depth": (dict(model_type="depth_anything", neck_hidden_sizes=[8, 8, 8, 8], reassemble_hidden_size=32,
                   fusion_hidden_size=8, head_hidden_size=8,
                   backbone_config=dict(SMALL, model_type="dinov2", num_hidden_layers=4, image_size=28, patch_size=14,
                                        out_indices=[1, 2, 3, 4], reshape_hidden_states=False)),
              {}),
    "captions": (dict(model_type="vision-encoder-decoder", decoder_start_token_id=1, pad_token_id=0,
                      encoder=dict(IMAGES, model_type="vit", image_size=48),
                      decoder=dict(WORDS, model_type="bert", is_decoder=True, add_cross_attention=True)),
                 {"input:pixel_values": [4, 3, 48, 48]}),
    "whisper": (dict(model_type="whisper", vocab_size=128, d_model=32, encoder_layers=2,
                     decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                     encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=50,
                     max_target_positions=32, pad_token_id=0, decoder_start_token_id=1,
                     architectures=["WhisperForConditionalGeneration"]),
                {"input:input_features": [4, 80, 100], "input:labels": [4, 32]}),
}


# How many patches of an image count depends on it.
VILT = dict(WORDS, model_type="vilt", image_size=32, patch_size=16, num_labels=5,
            architectures=["ViltForQuestionAnswering"])


class Configurations(ExportTest):
    def config(self, name, values=None):
        folder = self.folder / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(values or MODELS[name][0]))
        return f"hf:{folder}"

    def run_exporter(self, *arguments):
        return subprocess.run([sys.executable, str(EXPORTER), *arguments], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def run_program(self, *arguments, python):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={**os.environ, "PLACEWRIGHT_PYTHON": str(python)})

    def written(self, name="step.json.gz"):
        return json.loads(gzip.decompress((self.folder / name).read_bytes()))


@unittest.skipUnless(HAS_TRANSFORMERS, "this Python has no transformers")
class Recorded(Configurations):
    def record(self, name, *options):
        run = self.run_exporter(self.config(name), "--batch", "4", "-o", "step.json.gz", *options)
        self.assertEqual(run.returncode, 0, (name, run.stderr[-2000:]))
        return self.written()

    def test_every_kind(self):
        for name, (_, expected) in MODELS.items():
            with self.subTest(name):
                graph = self.record(name)
                self.assertEqual((graph["name"], graph["batch"]), (name, 4))
                shapes = {i["name"]: i["shape"] for i in graph["inputs"]}
                for tensor, shape in expected.items():
                    self.assertEqual(shapes[tensor], shape, name)
                self.assertNotIn("obstacle", graph["batch_proof"])
                self.assertGreater(graph["phases"]["opt"], 0)
                self.inspected()

    def test_what_is_changed(self):
        graph = self.record("llama", "--sequence", "16", "--set", "num_hidden_layers=1",
                            "--optimizer", "sgd", "--dtype", "f32", "--one-batch")
        shapes = {i["name"]: (i["shape"], i["dtype"]) for i in graph["inputs"]}
        self.assertEqual(shapes["input:input_ids"], ([4, 16], "i64"))
        self.assertEqual(shapes["param:model.embed_tokens.weight"], ([128, 32], "f32"))
        self.assertFalse(any("layers.1." in name for name in shapes))
        self.assertEqual(graph["optimizer"], "sgd")

    def test_dtype_task_and_inference(self):
        graph = self.record("bert", "--task", "question-answering", "--one-batch")
        self.assertIn("input:start_positions", [i["name"] for i in graph["inputs"]])
        (self.folder / "bert" / "config.json").unlink()
        (self.folder / "bert").rmdir()
        graph = self.record("bert", "--inference", "--one-batch")
        self.assertEqual(graph["phases"]["opt"], 0)

    def test_the_program_plans_it(self):
        graph = self.config("llama") + "/config.json@sequence=16"
        run = self.run_program("plan", graph, "-c", "2xV100", "--batch", "4", "--iterations", "50",
                               python=sys.executable)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.folder / "llama-sequence16-batch4.step.json.gz").exists())
        plan = self.folder / "llama-sequence16.plan.json"
        run = self.run_program("check", str(plan), python=sys.executable)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_the_program_records_it(self):
        run = self.run_program("capture", self.config("vit"), "--batch", "4", "--train", "sgd",
                               "--param", "num_hidden_layers=1", "--json", python=sys.executable)
        self.assertEqual(run.returncode, 0, run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual((said["file"], said["batch"], said["train"]), ("vit.step.json.gz", 4, "sgd"))
        self.assertIn("addmm", names_of(self.written("vit.step.json.gz"), "fwd"))

    def test_mistakes(self):
        llama = self.config("llama")
        unknown = self.config("unknown", {"model_type": "no_such_model"})
        four_bits = self.config("four", {**MODELS["llama"][0], "quantization_config": {"load_in_4bit": True}})
        gptq = self.config("gptq", {**MODELS["llama"][0], "quantization_config": {"quant_method": "gptq", "bits": 4}})
        for arguments, status, words in (
                ([unknown], 3, "no model of type \"no_such_model\""),
                ([self.config("bare", {"a": 1})], 3, "no \"model_type\""),
                (["hf:" + str(self.folder / "nowhere")], 3, "there is no file"),
                ([self.config("vilt", VILT)], 3, "--assume transformers/models/vilt/modeling_vilt.py:"),
                ([four_bits], 3, "add adapters with --lora RANK"),
                ([gptq, "--lora", "4"], 3, "stored as gptq cannot be recorded"),
                ([llama, "--task", "dancing"], 2, "choose one of causal-lm"),
                ([llama, "--task", "image-classification"], 3, "has no image-classification"),
                ([llama, "--sequence", "0"], 2, "--sequence 0"),
                (["x.py:build", "--sequence", "8"], 2, "--set sequence=VALUE"),
                ([llama, "--batch-argument", "size"], 2, "takes --batch")):
            run = self.run_exporter(*arguments, "-o", "x.json")
            self.assertEqual(run.returncode, status, (arguments, run.stderr))
            self.assertIn(words, run.stderr)
            self.assertNotIn("Traceback", run.stderr)
            self.assertNotIn("--real-weights", run.stderr)


class WithoutTransformers(Configurations):
    """What the program does with its Python, whatever that has: a script in its place."""

    def python(self, text):
        script = self.folder / "python"
        script.write_text("#!/bin/sh\n" + text)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return script

    def test_the_exporter_is_called(self):
        python = self.python(f'echo "$@" > {self.folder}/words\n'
                             f'case "$4" in *.gz) cp {EXAMPLE} "$4";; *) gunzip -c {EXAMPLE} > "$4";; esac\n'
                             'echo \'{"path": "x", "notes": ["one assumption"]}\'\n')
        run = self.run_program("capture", "hf:models/tiny@sequence=8,layers=2", "--batch", "3",
                               "--one-batch", "--train", "none", python=python)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("one assumption", run.stderr)
        self.assertEqual((self.folder / "tiny-sequence8-layers2.step.json.gz").read_bytes(),
                         EXAMPLE.read_bytes())
        words = (self.folder / "words").read_text().split()
        self.assertTrue(words[0].endswith("placewright_export.py"))
        self.assertEqual(words[1], "hf:models/tiny")
        self.assertEqual(words[4:], ["--json", "--batch", "3", "--sequence", "8", "--set", "layers=2",
                                     "--inference", "--one-batch"])
        run = self.run_program("inspect", "hf:models/tiny", "--json", python=python)
        self.assertGreater(json.loads(run.stdout)["ops"], 100)

    def test_what_is_missing(self):
        for python, status, words in (
                ("/no/such/python", 6, "PLACEWRIGHT_PYTHON=/path/to/python3"),
                (self.python("echo 'placewright_export.py: no transformers' >&2; exit 6\n"), 6,
                 "no transformers")):
            run = self.run_program("plan", "hf:models/tiny", "-c", "2xV100", python=python)
            self.assertEqual(run.returncode, status, run.stderr)
            self.assertIn(words, run.stderr)
        run = self.run_program("plan", "hf:models/tiny", "-c", "2xV100",
                               python=self.python("echo 'placewright_export.py: too odd' >&2; exit 3\n"))
        self.assertEqual(run.returncode, 3)
        self.assertIn("too odd", run.stderr)
        self.assertIn("[not-recordable]", run.stderr)

    def test_mistakes(self):
        for arguments, words in ((["hf:"], "names no folder"),
                                 (["hf:tiny", "--amp", "f16"], "dtype=bf16"),
                                 (["hf:tiny@a=1,b", "--batch", "2"], "is not NAME=VALUE"),
                                 (["hf:tiny", "--weights", "w.safetensors"], "not read")):
            run = self.run_program("capture", *arguments, python="/no/such/python")
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(words, run.stderr)

    @unittest.skipIf(HAS_TRANSFORMERS, "this Python has transformers")
    def test_the_exporter_says_what_to_install(self):
        run = self.run_exporter(self.config("llama"), "-o", "x.json")
        self.assertEqual(run.returncode, 6)
        self.assertIn("pip install transformers", run.stderr)


if __name__ == "__main__":
    unittest.main()
