"""Steps that ask tensors for values: what is answered without data, and what the user says."""

from support import VERSION, ExportTest, names_of, ops_of  # first: skips without PyTorch

import pathlib
import sys
import unittest
import warnings

import torch
from torch import nn

X = torch.zeros(4, 8)
HERE = pathlib.Path(__file__).name
EXACT = sys.version_info >= (3, 11)  # Python knows which expression runs


class Model(nn.Module):
    def __init__(self, then):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.then = then

    def forward(self, x, *more):
        return self.then(self.layer(x), *more).sum()


def raises(y):
    if y.max() >= 5:
        raise ValueError("too large")
    return y


def raises_unless(y):
    if not (y < 5).all():
        text = "too large"
        raise ValueError(text)
    return y


def one_of_two(y):
    if y.max().item() > 5 or y.min().item() < -5:
        raise ValueError("out of range")
    return y


def asserts(y):
    assert y.max().item() < 7, "too large"
    return y


def too_large(y):
    return bool((y > 5).any())


def asks_a_function(y):
    if too_large(y):
        raise ValueError("too large")
    largest = y.max().item()
    if largest > 5:
        raise ValueError("too large")
    return y


def warns(y):
    if (y < 0).any():
        warnings.warn("negative")
    return y


def checks(y):
    """As transformers' torch_compilable_check does."""
    torch._check_tensor_all_with(ValueError, y < 100, lambda: "too large")
    torch._check_tensor_all(y > -100, lambda: "too small")
    return y


def clamps(y):
    if not torch.isfinite(y).all():
        y = y.clamp(-1, 1)
    if torch.isinf(y).any() or torch.isnan(y).any():
        y = y.clamp(-1, 1)
    return y


def loops(y):
    done = torch.zeros(4, dtype=torch.bool)
    for count in range(1, 9):
        y = y * 2
        done = done | torch.full((4,), count >= 3)
        if done.all():
            break
    return y


def drops(y):
    return y if torch.rand([]) < 0.1 else y * 2


def branches(y):
    if y.sum() > 0:
        return y * 2
    return y


def selects(y):
    rows, columns = torch.where(y > 0)
    return y[y > 0] + rows + columns


def experts(y):
    """Each word goes to one of four experts, as in textbooks."""
    words = y.flatten(0, 1)
    chosen = words[:, :4].argmax(1)
    result = torch.zeros_like(words)
    for expert in range(4):
        index = (chosen == expert).nonzero().squeeze(1)
        result = result.index_add(0, index, words[index] * expert)
    return result


@unittest.skipUnless(EXACT, "the very expression is known from Python 3.11 on")
class Checks(ExportTest):
    def step(self, then, *inputs, **options):
        model = Model(then)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return self.exported(model, (X, *inputs), None, optimizer, **options)

    def test_checks_that_only_raise_pass(self):
        ways = [(raises, 1), (raises_unless, 1), (one_of_two, 1), (asserts, 1), (asks_a_function, 2), (warns, 1)]
        if hasattr(torch, "_check_tensor_all_with"):
            ways.append((checks, 2))
        for then, count in ways:
            assumed = self.step(then)["assumed"]
            self.assertEqual(len(assumed), count, (then, assumed))
            self.assertIn(f"{HERE}:", assumed[0])
            self.assertIn("is taken to pass", assumed[0])
        self.assertIn("2 times", self.step(one_of_two)["assumed"][0])  # both halves

    def test_what_is_done_otherwise_is_no_check(self):
        for then in (branches, drops):
            model = Model(then)
            if then is branches:
                line = branches.__code__.co_firstlineno + 1
                self.refused([f"--assume {HERE}:{line}=true", f"--assume {HERE}:{line}=false"],
                             model, X)
        self.assertNotIn("assumed", self.exported(Model(lambda y: y), X))

    def test_data_are_finite(self):
        graph = self.step(clamps)
        self.assertNotIn("clamp", names_of(graph, "fwd"))
        self.assertIn("finite", graph["assumed"][0])

    def test_numbers_of_the_program_are_known(self):
        graph = self.step(loops)
        self.assertEqual(names_of(graph, "fwd").count("mul"), 3)
        self.assertNotIn("assumed", graph)

    def test_layers_are_not_dropped(self):
        graph = self.step(drops)
        self.assertEqual(names_of(graph, "fwd").count("mul"), 1)
        self.assertIn("no layer is dropped", graph["assumed"][0])

    def test_labels_are_valid(self):
        def masked(y, labels):
            kept = labels.masked_select((labels >= 0) & (labels != -100))
            return y[kept]
        graph = self.step(masked, torch.zeros(4, dtype=torch.int64))
        selected = [op for op in graph["ops"] if op["target"] == "aten.masked_select.default"]
        self.assertEqual(selected[0]["outputs"][0]["shape"], [4])
        self.assertIn("no label is taken to be ignored", graph["assumed"][0])


class Assume(ExportTest):
    def step(self, then, **options):
        model = Model(then)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        return self.exported(model, X, None, optimizer, **options)

    def test_a_branch(self):
        place = f"{HERE}:{branches.__code__.co_firstlineno + 1}"
        for answer, count in ((True, 1), ("true", 1), (False, 0), ("false", 0)):
            graph = self.step(branches, assume={place: answer})
            self.assertEqual(names_of(graph, "fwd").count("mul"), count)
            self.assertIn("as given", graph["assumed"][0])
        graph = self.step(branches, assume={f"{HERE}:branches": False})
        self.assertEqual(names_of(graph, "fwd").count("mul"), 0)

    def test_how_many(self):
        self.refused([f"--assume {HERE}:{selects.__code__.co_firstlineno + 1}=12.5%", "a share"],
                     Model(selects), X)
        # 25% of 4 x 8 elements; the graph follows the batch: each sample has two
        graph = self.step(selects, assume={f"{HERE}:selects": "25%"}, batch=4)
        shapes = {op["target"]: op["outputs"][0] for op in graph["ops"]}
        self.assertEqual(shapes["aten.nonzero.default"]["shape"], [8, 2])
        self.assertEqual(shapes["aten.index.Tensor"]["shape"], [8])
        self.assertEqual(shapes["aten.index.Tensor"]["slopes"], [2])
        self.inspected()
        graph = self.step(selects, assume={f"{HERE}:selects": 5})
        self.assertIn([5, 2], [op["outputs"][0]["shape"] for op in ops_of(graph, "fwd")])

    def test_capacity_of_experts(self):
        model = Model(experts)
        graph = self.exported(model, torch.zeros(4, 16, 8), None,
                              torch.optim.SGD(model.parameters(), lr=0.1), batch=4,
                              assume={f"{HERE}:experts": "25%"})
        rows = [op["outputs"][0] for op in graph["ops"] if op["target"] == "aten.index.Tensor"]
        # a quarter of 4 x 16 words, 4 of each sample
        self.assertEqual(rows, [{"shape": [16, 8], "dtype": "f32", "slopes": [4, 0]}] * 4)
        self.assertNotIn("obstacle", graph["batch_proof"])

    def test_mistakes(self):
        for words, given in ((["FILE:LINE"], {"train.py": True}),
                             (["12.5%"], {"train.py:1": "perhaps"}),
                             (["100%"], {"train.py:1": "120%"})):
            self.refused(words, Model(branches), X, assume=given)

    def test_a_place_that_asks_for_nothing(self):
        from placewright_export import export
        said = export(nn.Linear(8, 8), X, path=self.folder / "x.json", assume={"train.py:3": True})
        self.assertIn("train.py:3", said["notes"][0])


class Optimizers(ExportTest):
    @unittest.skipUnless(hasattr(torch.optim, "Adafactor"), "PyTorch 2.5 and newer")
    def test_adafactor(self):
        model = nn.Linear(8, 8)
        graph = self.exported(model, X, lambda y: y.sum(), torch.optim.Adafactor(model.parameters()))
        self.assertIn("linalg_vector_norm", names_of(graph, "opt"))
        self.assertIn("taken to be 1", graph["assumed"][0])

    def test_an_average_of_the_weights(self):
        from torch.optim.swa_utils import AveragedModel
        model = nn.Linear(8, 8)
        average = AveragedModel(model)

        class Averaging(torch.optim.SGD):
            def step(self, closure=None):
                super().step(closure)
                average.update_parameters(model)

        graph = self.exported(model, X, lambda y: y.sum(), Averaging(model.parameters(), lr=0.1),
                              batch=4)
        # weight and bias: the average moves toward the new value, as in the middle of a training
        self.assertEqual(names_of(graph, "opt").count("copy_"), 2)
        self.assertNotIn("obstacle", graph["batch_proof"])
        self.assertEqual(int(average.n_averaged), 0)  # as it was
        self.inspected()

    @unittest.skipUnless(VERSION >= (2, 3), "1.13 has no loss scaling on the CPU")
    def test_loss_scaling(self):
        model = nn.Linear(8, 8)
        scaler = torch.amp.GradScaler("cpu")

        class Scaled(torch.optim.SGD):
            def step(self, closure=None):
                scaler.unscale_(self)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                return super().step(closure)

        before = dict(vars(scaler))
        graph = self.exported(model, X, lambda y: scaler.scale(y.sum()),
                              Scaled(model.parameters(), lr=0.1), batch=4)
        self.assertIn("_amp_foreach_non_finite_check_and_unscale_", names_of(graph, "opt"))
        self.assertEqual(names_of(graph, "opt").count("linalg_vector_norm"), 3)
        self.assertNotIn("obstacle", graph["batch_proof"])
        self.assertEqual(before, dict(vars(scaler)))


class Switches(ExportTest):
    def test_flex_attention(self):
        try:
            from torch.nn.attention.flex_attention import flex_attention
        except ImportError:
            self.skipTest("PyTorch 2.5 and newer")

        def call(y):
            heads = y.view(1, 1, 4, 8).expand(1, 1, 16, 4, 8).reshape(1, 1, 64, 8)
            return flex_attention(heads, heads, heads)
        model = Model(call)
        self.refused(["attn_implementation=\"sdpa\"", "scaled_dot_product_attention"], model, X, None,
                     torch.optim.SGD(model.parameters(), lr=0.1))

    def test_packed_sequences(self):
        def call(y, lengths):
            from torch.nn.utils.rnn import pack_padded_sequence
            return pack_padded_sequence(y.view(2, 2, 8), lengths, batch_first=True).data
        self.refused(["the padded sequences, without pack_padded_sequence"], Model(call),
                     (X, torch.tensor([2, 1])))

    @unittest.skipUnless(hasattr(torch, "float8_e4m3fn"), "PyTorch 2.1 and newer")
    def test_float8(self):
        self.refused(["model.to(torch.bfloat16)"],
                     Model(lambda y: y.to(torch.float8_e4m3fn).float()), X)

    def test_a_module_chosen_by_a_number_of_the_step(self):
        class Chosen(nn.ModuleDict):
            def forward(self, x):
                return self[f"expert_{x.argmax()}"](x)
        self.refused(["depends on its data", "for i in range(len(experts))"],
                     Chosen({"expert_0": nn.Linear(4, 4)}), torch.zeros(4))

    def test_a_module_is_named_with_its_class(self):
        self.refused(["in module \"0\" (Model)"], nn.Sequential(Model(branches)), X)


if __name__ == "__main__":
    unittest.main()
