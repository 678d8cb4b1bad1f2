"""Frozen weights that are stored in 4 or 8 bits, and computed with as they are needed (QLoRA).

A linear layer with such a weight has, instead of the parameter, what the library stores: packed
elements and the scales of their blocks. Its forward pass and, for the gradient of its input, its
backward pass make the weight of the types of their products first, for as long as the product takes;
so does bitsandbytes (MatMul4Bit). Modules of bitsandbytes are recorded in their own format; for all
others the user says which.
"""

import contextlib
import math

import torch
from torch.nn import functional

from . import compat
from .errors import ExportError

BLOCK = 64  # elements of a block of bitsandbytes, which has a scale of its own
SCALES = 256  # scales of a block of scales, where these are stored in 8 bits
FORMATS = ("nf4", "nf4-double", "fp4", "fp4-double", "int8")

_library = []  # keeps the operator's definition


def _operator():
    """stored::dequantize: the weight of what is stored in less than a byte an element."""
    if not _library:
        library = torch.library.Library("stored", "DEF")
        library.define("dequantize(Tensor[] stored, int[] size, ScalarType dtype) -> Tensor")
        library.impl("dequantize", lambda stored, size, dtype: torch.empty(
            size, dtype=dtype, device=stored[0].device), "Meta")
        _library.append(library)
    return torch.ops.stored.dequantize


class Format:
    """How a weight of `rows` x `columns` is stored: parts() lists (suffix of the name, kind, sizes,
    type), with the rows as first dimension where a row has a part of its own."""

    def __init__(self, name, block=BLOCK):
        self.name, self._block = name, block

    def parts(self, rows, columns):
        if self.name == "int8":
            return [("", "param", (rows, columns), torch.int8),
                    (".SCB", "buffer", (rows,), torch.float32)]
        elements = rows * columns
        scales = math.ceil(elements / self._block)
        packed = (rows, columns // 2) if columns % 2 == 0 else (math.ceil(elements / 2),)
        by_rows = (rows, columns // self._block) if columns % self._block == 0 else (scales,)
        parts = [("", "param", packed, torch.uint8)]
        if self.name.endswith("-double"):
            parts += [(".absmax", "buffer", by_rows, torch.uint8),
                      (".nested_absmax", "buffer", (math.ceil(scales / SCALES),), torch.float32),
                      (".nested_quant_map", "buffer", (256,), torch.float32)]
        else:
            parts += [(".absmax", "buffer", by_rows, torch.float32)]
        return [*parts, (".quant_map", "buffer", (16,), torch.float32)]


class Weight:
    """A stored weight in a recording."""

    def __init__(self, kind, layer, path):
        self.format, self.path = kind, path
        self.rows, self.columns = layer.out_features, layer.in_features
        self.dtype = layer.weight.dtype if layer.weight.is_floating_point() else torch.bfloat16
        self.computes_in = getattr(layer, "compute_dtype", None)
        self.parts = ()  # fakes

    @property
    def elements(self):
        return self.rows * self.columns

    def announce(self, recorder):
        """Makes the parts inputs of the graph."""
        made = []
        for suffix, kind, sizes, dtype in self.format.parts(self.rows, self.columns):
            with recorder.fake_mode:
                part = torch.empty(sizes, dtype=dtype, device="cpu")
            recorder.add_input(f"{kind}:{self.path}{suffix}", kind, part)
            made.append(part)
        self.parts = tuple(made)

    def bytes(self):
        return sum(part.numel() * part.element_size() for part in self.parts)

    def dense(self, dtype):
        """The weight, as an op of the step."""
        if self.format.name != "int8":
            return _operator()(list(self.parts), [self.rows, self.columns], dtype)
        elements, scales = self.parts
        return elements.to(dtype).mul_((scales * (1 / 127)).unsqueeze(1))


class _Product(torch.autograd.Function):
    """y = x W^T + b, of which W is made again in the backward pass."""

    @staticmethod
    def forward(ctx, x, bias, weight):
        ctx.weight, ctx.dtype = weight, x.dtype
        return functional.linear(x, weight.dense(_type_of_products(x)), bias)

    @staticmethod
    def backward(ctx, gradient):
        of_input = of_bias = None
        if ctx.needs_input_grad[0]:
            of_input = gradient.matmul(ctx.weight.dense(gradient.dtype)).to(ctx.dtype)
        if ctx.needs_input_grad[1]:
            of_bias = gradient.reshape(-1, gradient.shape[-1]).sum(0)
        return of_input, of_bias, None


def _type_of_products(x):
    """Recordings run on the host, where autocast of a GPU is the host's."""
    if compat.version() >= (2, 4):
        return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else x.dtype


def _forward(layer, weight):
    def forward(x):
        bias, given = layer.bias, x.dtype
        if weight.computes_in is not None:  # as Linear4bit does
            x = x.to(weight.computes_in)
            bias = None if bias is None else bias.to(weight.computes_in)
        y = _Product.apply(x, bias, weight)
        return y if weight.computes_in is None else y.to(given)
    return forward


def _of_bitsandbytes(layer):
    """The format of a module of bitsandbytes, or None for any other."""
    kinds = {kind.__name__ for kind in type(layer).__mro__}
    kind = type(layer.weight).__name__
    if "Linear8bitLt" in kinds or kind == "Int8Params":
        trains = getattr(getattr(layer, "state", None), "has_fp16_weights", False)
        return None if trains else Format("int8")
    if "Linear4bit" not in kinds and kind != "Params4bit":
        return None
    weight = layer.weight
    name = getattr(weight, "quant_type", "nf4")
    double = "-double" if getattr(weight, "compress_statistics", False) else ""
    return Format(name + double, getattr(weight, "blocksize", None) or BLOCK)


class StoredWeights:
    """The stored weights of modules: `chosen` is one of FORMATS, for frozen weights of linear layers
    that a model's library has not stored itself, or None."""

    def __init__(self, roots, chosen):
        if chosen is not None and chosen not in FORMATS:
            raise ExportError(f"frozen_weights is {chosen!r}: choose one of {', '.join(FORMATS)}")
        self._weights = {}  # id of the parameter -> Weight
        self._layers = []  # (layer, Weight)
        layers = [(prefix + path, module) for root, prefix in roots
                  for path, module in root.named_modules() if isinstance(module, torch.nn.Linear)]
        kept = _kept(roots)
        for path, layer in layers:
            kind = _of_bitsandbytes(layer)
            if kind is None and chosen is not None and id(layer.weight) not in kept:
                kind = Format(chosen) if not layer.weight.requires_grad else None
            if kind is not None:
                weight = Weight(kind, layer, f"{path}.weight" if path else "weight")
                self._weights[id(layer.weight)] = weight
                self._layers.append((layer, weight))
        if chosen is not None and not self._weights:
            raise ExportError(
                f"frozen_weights=\"{chosen}\" (--frozen-weights): no weight of a linear layer is "
                "frozen; freeze the base model, weight.requires_grad_(False), as get_peft_model of "
                "peft does, or leave the option out")

    def of(self, parameter):
        return self._weights.get(id(parameter))

    @contextlib.contextmanager
    def in_place(self):
        """While inside, the layers compute with stored weights; fakes.in_place() ends it, too."""
        for layer, weight in self._layers:
            vars(layer)["forward"] = _forward(layer, weight)
        yield

    def head(self):
        """{format: {"weights", "elements", "bytes"}}, or None."""
        found = {}
        for _, weight in self._layers:
            of = found.setdefault(weight.format.name, {"weights": 0, "elements": 0, "bytes": 0})
            of["weights"] += 1
            of["elements"] += weight.elements
            of["bytes"] += weight.bytes()
        return found or None

    def elements_beside(self):
        """How many elements more the weights have than their packed parts."""
        return sum(weight.elements - weight.parts[0].numel() for _, weight in self._layers)


def _kept(roots):
    """Ids of weights that are stored as they are: of tied weights, and of the layer that makes a
    language model's outputs, which bitsandbytes leaves as it is."""
    users, kept = {}, set()
    for root, _ in roots:
        for module in root.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    users.setdefault(id(parameter), set()).add(id(module))
            find = getattr(module, "get_output_embeddings", None)
            try:
                outputs = find() if callable(find) else None
            except (NotImplementedError, AttributeError):  # transformers raises where a model has no such layer
                outputs = None
            for layer in (outputs, getattr(outputs, "base_layer", None)):
                if isinstance(getattr(layer, "weight", None), torch.Tensor):
                    kept.add(id(layer.weight))
    return kept | {key for key, modules in users.items() if len(modules) > 1}
