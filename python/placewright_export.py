#!/usr/bin/python3
"""Records a step of a PyTorch model as a graph file that Placewright reads.

    from placewright_export import export
    export(model, (x,), torch.nn.CrossEntropyLoss(), optimizer, "model.json.gz", targets=(y,))

and from a shell, with a function that returns what export() takes:

    placewright_export.py mymodel.py:build -o model.json.gz
    placewright plan model.json.gz -c 8xV100

Nothing is computed and no weights are held: tensors are fakes that have a shape. PyTorch 1.13 or
newer; the format is described in docs/formats/aten-graph.md, how a step is recorded in
docs/formats/pytorch.md.
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from placewright_torch import aten_file  # noqa: E402
from placewright_torch.errors import ExportError, MissingTorchError, UsageError, at  # noqa: E402

__all__ = ["export", "ExportError", "MissingTorchError"]

EXIT_USAGE, EXIT_INPUT, EXIT_MISSING = 2, 3, 6


def export(model, example_inputs, loss=None, optimizer=None, path=None, *, targets=None,
           name=None, batch=None):
    """Writes the ATen graph of one step to `path`, as gzip if that ends with ".gz".

    model           a torch.nn.Module, in training or evaluation mode as it is to be recorded; its
                    weights may lie on any device, on "meta", or be fake
    example_inputs  a tensor, a tuple or list of positional arguments, or a dict of keyword
                    arguments; only shapes and types matter
    loss            called as loss(output, *targets), or with keywords if `targets` is a dict; a
                    module's parameters belong to the step. None: the model returns its loss, as
                    a number or as a field "loss"; without an optimizer either: inference
    optimizer       a torch.optim.Optimizer over the model's parameters. None: the step ends with
                    the gradients
    targets         a tensor, a tuple or list, or a dict: what the loss is given besides the output
    name            of the graph; else from the file's name
    batch           the batch size, if the file shall state it

    Model and optimizer are left as they were. The same PyTorch writes the same bytes every time.
    Raises ExportError, with the reason and a remedy; the file is then not touched.
    Returns a dict: path, name, ops, edges, phases (ops of each), parameters (their elements).
    """
    if path is None:
        raise ExportError("say where to write: export(..., path=\"model.json.gz\")")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise ExportError(f"batch is {batch!r}, not a whole number from 1")
    _require_torch()
    from placewright_torch import step
    recorded = step.record(model, example_inputs, targets, loss, optimizer)
    head = {"name": name or _name_of(path)}
    if optimizer is not None:
        head["optimizer"] = type(optimizer).__name__.lower()
    head["torch"] = step.torch.__version__
    head["wrapped"] = False  # paths are the model's own, even if its only child is called "m"
    if batch is not None:
        head["batch"] = batch
    aten_file.write(path, aten_file.text_of(head, recorded.inputs, recorded.ops, recorded.outputs))
    return {"path": os.fspath(path), "name": head["name"], "ops": len(recorded.ops),
            "edges": aten_file.edge_count(recorded.ops),
            "phases": aten_file.phase_counts(recorded.ops),
            "parameters": _elements(recorded.inputs)}


def _require_torch():
    """Raises MissingTorchError, which says what to install, before anything else imports torch."""
    importlib.import_module("placewright_torch.compat")


def _name_of(path):
    """"dir/model.json.gz" -> "model"."""
    base = os.path.basename(os.fspath(path))
    for ending in (".gz", ".json"):
        base = base[:-len(ending)] if base.endswith(ending) else base
    return base or "step"


def _elements(inputs):
    total = 0
    for record in inputs:
        if record["kind"] == "param":
            count = 1
            for size in record["shape"]:
                count *= size
            total += count
    return total


# The command line


def _arguments(argv):
    parser = argparse.ArgumentParser(
        prog="placewright_export.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Record a step of a PyTorch model as a graph file for Placewright.",
        epilog="FUNCTION returns a tuple (model, example_inputs, loss, optimizer), shorter if the "
               "rest is\nmissing, or a dict with the names of export()'s arguments, `targets` "
               "among them.\n\nExamples:\n"
               "  placewright_export.py train.py:build -o model.json.gz\n"
               "  placewright_export.py mypackage.models:build --set layers=24 -o big.json.gz\n"
               "  placewright_export.py train.py:build --inference -o forward.json.gz")
    parser.add_argument("function", metavar="MODULE:FUNCTION",
                        help="a function in a Python file or an importable module")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="file to write; gzip if it ends with .gz")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[],
                        help="argument for FUNCTION: JSON, else text; may be repeated")
    parser.add_argument("--inference", action="store_true",
                        help="leave out loss and optimizer")
    parser.add_argument("--batch", type=int, metavar="N", help="batch size to state in the file")
    parser.add_argument("--name", help="name of the graph (default: from FILE)")
    parser.add_argument("--real-weights", action="store_true",
                        help="let FUNCTION make real tensors; default: tensors without content")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(argv)


def _load(text):
    module_name, colon, function = text.rpartition(":")
    if not colon or not module_name or not function:
        raise UsageError(f"\"{text}\" is not of the form MODULE:FUNCTION, as in train.py:build")
    try:
        load = _load_file if module_name.endswith(".py") else _load_module
        module = load(module_name)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(f"\"{module_name}\" cannot be imported: {type(error).__name__}: "
                          f"{error}{at(error)}") from error
    if not callable(getattr(module, function, None)):
        raise ExportError(f"\"{module_name}\" has no function \"{function}\"")
    return getattr(module, function)


def _load_file(path):
    if not os.path.isfile(path):
        raise ExportError(f"there is no file \"{path}\"")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _load_module(name):
    sys.path.insert(0, os.getcwd())
    return importlib.import_module(name)


def _settings(pairs):
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {pair}: not of the form NAME=VALUE")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings


def _build(function, settings, real_weights):
    """What FUNCTION returns, as arguments of export()."""
    from placewright_torch import recorder
    try:
        if real_weights:
            result = function(**settings)
        else:
            with recorder.Recorder():
                result = function(**settings)
    except Exception as error:
        remedy = "" if real_weights else "; if it needs values of tensors, add --real-weights"
        raise ExportError(f"{function.__name__} failed: {type(error).__name__}: "
                          f"{error}{at(error)}{remedy}") from error
    if isinstance(result, (tuple, list)):
        result = dict(zip(("model", "example_inputs", "loss", "optimizer"), result))
    known = set(inspect.signature(export).parameters) - {"path"}
    if not isinstance(result, dict) or not {"model", "example_inputs"} <= set(result) <= known:
        raise ExportError(f"{function.__name__} must return a tuple (model, example_inputs, loss, "
                          f"optimizer) or a dict of {', '.join(sorted(known))}")
    return result


def _main(argv):
    options = _arguments(argv)
    settings = _settings(options.set)
    if options.batch is not None and options.batch < 1:
        raise UsageError(f"--batch {options.batch} is not a whole number from 1")
    _require_torch()
    arguments = _build(_load(options.function), settings, options.real_weights)
    if options.inference:
        for key in ("loss", "optimizer", "targets"):
            arguments.pop(key, None)
    for key in ("name", "batch"):
        if getattr(options, key) is not None:
            arguments[key] = getattr(options, key)
    written = export(path=options.output, **arguments)
    if options.json:
        print(json.dumps(written))
    else:
        phases = ", ".join(f"{count} {phase}" for phase, count in written["phases"].items())
        print(f"{written['path']}: {written['ops']} ops ({phases}), {written['edges']} edges, "
              f"{written['parameters']} parameters")
    return 0


def main(argv=None):
    try:
        return _main(argv)
    except MissingTorchError as error:
        print(f"placewright_export.py: {error}", file=sys.stderr)
        return EXIT_MISSING
    except UsageError as error:
        print(f"placewright_export.py: {error}", file=sys.stderr)
        return EXIT_USAGE
    except ExportError as error:
        print(f"placewright_export.py: {error}", file=sys.stderr)
        return EXIT_INPUT


if __name__ == "__main__":
    sys.exit(main())
