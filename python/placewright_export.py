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
import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from placewright_torch import aten_file  # noqa: E402
from placewright_torch.errors import (  # noqa: E402
    ConfigurationError, ExportError, MissingTorchError, UsageError, at)

__all__ = ["export", "ExportError", "MissingTorchError"]

EXIT_USAGE, EXIT_INPUT, EXIT_MISSING = 2, 3, 6


# What a function that builds a step returns, in this order or by these names.
PARTS = ("model", "example_inputs", "loss", "optimizer", "targets")


def export(model, example_inputs, loss=None, optimizer=None, path=None, *, targets=None,
           name=None, batch=None, rebatch=None, attention="fused", assume=None,
           progress=None, frozen_weights=None):
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
    batch           the batch size of the example inputs. The file states it, and how the step
                    follows it, so that `placewright ... --batch N` takes the step to another:
                    proven by recordings at two more sizes, which need no tensors of these sizes.
                    Where that fails, the file says why
    rebatch         how the step at another batch size is made. None: as `batch` says, from the
                    example inputs and targets. True: the same, and an error if it cannot be
                    proven. A function of the batch size that returns a tuple (model,
                    example_inputs, loss, optimizer, targets) of two to five elements, or a dict
                    of these names: so, and an error if it cannot be proven. False: not at all
    attention       how scaled_dot_product_attention is recorded. "fused": as the fused operator
                    that a GPU runs, where there is one for its types and sizes; "math": as
                    products and a softmax
    assume          what is answered where the step asks for values of tensors, which it does not
                    have: a dict of places, "FILE:LINE" or "FILE:FUNCTION", and answers: True or
                    False, whether the condition there holds; a number; how many elements of a mask
                    count, as a number or as a share ("12.5%"). Checks that only raise pass
    progress        a function that takes a sentence every few seconds of a long recording
    frozen_weights  how frozen weights of linear layers are stored: "nf4", "nf4-double", "fp4",
                    "fp4-double" or "int8", as bitsandbytes does; None: as they are

    Model and optimizer are left as they were. The same PyTorch writes the same bytes every time.
    Raises ExportError, with the reason and a remedy; the file is then not touched.
    Returns a dict: path, name, ops, edges, phases (ops of each), parameters (their elements), notes
    (what was assumed or could not be done, a sentence each), attention where the step has any (calls
    recorded fused and as math), and where `batch` is given batch_proof (docs/formats/aten-graph.md),
    or None if there is none.
    """
    _check_options(path, name, batch, rebatch)
    _require_torch()
    from placewright_torch import choices, compat, rebatch as rebatching, wrappers
    from placewright_torch.progress import Progress
    options = choices.Choices(attention, assume, Progress(progress) if progress else None,
                              frozen_weights)
    arguments = dict(zip(PARTS, (model, example_inputs, loss, optimizer, targets)))
    at = (lambda size: parts_of(rebatch(size), "rebatch")) if callable(rebatch) else rebatch
    recorded, proof = rebatching.record(arguments, batch, at, options)
    head = {"name": _name_of(path) if name is None else name}
    if optimizer is not None:
        head["optimizer"] = type(wrappers.original_optimizer(optimizer)).__name__.lower()
    head["torch"] = compat.torch.__version__
    head["wrapped"] = False  # paths are the model's own, even if its only child is called "m"
    if batch is not None:
        head["batch"] = batch
    if proof is not None:
        head["batch_proof"] = proof
    head.update(recorded.head)
    aten_file.write(path, aten_file.text_of(head, recorded.inputs, recorded.ops, recorded.outputs))
    said = {"path": os.fspath(path), "name": head["name"], "ops": len(recorded.ops),
            "edges": aten_file.edge_count(recorded.ops),
            "phases": aten_file.phase_counts(recorded.ops),
            "parameters": _elements(recorded.inputs) + recorded.elements_beside,
            "notes": recorded.notes, **recorded.head}
    return said if batch is None else {**said, "batch_proof": proof}


def _check_options(path, name, batch, rebatch):
    if path is None:
        raise ExportError("say where to write: export(..., path=\"model.json.gz\")")
    if name is not None and (not isinstance(name, str) or not name):
        raise ExportError(f"name is {name!r}, not a text with a letter in it; leave it out to take "
                          "the file's name")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise ExportError(f"batch is {batch!r}, not an integer from 1")
    if not (rebatch is None or isinstance(rebatch, bool) or callable(rebatch)):
        raise ExportError(f"rebatch is {rebatch!r}: give True, False, or a function of the batch "
                          "size that returns model, example inputs, loss, optimizer and targets")


def parts_of(result, what, options=()):
    """What a function that builds a step returned, as a dict with all of PARTS. `what` it was
    stands in errors; a dict may have these `options` besides."""
    accepted = (f"{what} must return a tuple ({', '.join(PARTS)}), of which loss, optimizer and "
                "targets may be left out from the end or be None, or a dict of these names")
    if isinstance(result, (tuple, list)):
        if not 2 <= len(result) <= len(PARTS):
            raise ExportError(f"{accepted}; it returned {len(result)} elements")
        result = dict(zip(PARTS, result))
    if not isinstance(result, dict):
        raise ExportError(f"{accepted}; it returned {type(result).__name__}")
    missing = [key for key in PARTS[:2] if key not in result]
    unknown = [str(key) for key in result if key not in (*PARTS, *options)]
    if missing or unknown:
        which = f"no \"{missing[0]}\"" if missing else f"a \"{unknown[0]}\""
        also = f" (and, if wanted, of {', '.join(options)})" if options else ""
        raise ExportError(f"{accepted}{also}; its dict has {which}")
    return {**dict.fromkeys(PARTS), **result}


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

HF = "hf:"
HF_OPTIONS = ("sequence", "optimizer", "dtype", "task", "lora")
FORMATS = ("nf4", "nf4-double", "fp4", "fp4-double", "int8")


def _arguments(argv):
    parser = argparse.ArgumentParser(
        prog="placewright_export.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Record a step of a PyTorch model as a graph file for Placewright.",
        epilog="FUNCTION returns a tuple (model, example_inputs, loss, optimizer, targets), of "
               "which the last three\nmay be left out from the end or be None, or a dict of these "
               "names; a dict may have `name`, `batch`\nand `rebatch` of export(), too.\n\n"
               "Examples:\n"
               "  placewright_export.py train.py:build -o model.json.gz\n"
               "  placewright_export.py mypackage.models:build --set layers=24 -o big.json.gz\n"
               "  placewright_export.py train.py:build --inference -o forward.json.gz\n"
               "  placewright_export.py hf:Llama-3-8B/config.json --batch 8 -o llama.json.gz\n"
               "  placewright_export.py train.py:build --batch 32 --rebatch -o step.json.gz\n"
               "  placewright_export.py train.py:build --batch 32 --batch-argument size "
               "-o step.json.gz")
    parser.add_argument("function", metavar="MODULE:FUNCTION",
                        help="a function in a Python file or an importable module; or hf:PATH, a "
                             "folder with the config.json of a model of transformers, or such a file")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="file to write; gzip if it ends with .gz")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[],
                        help="argument for FUNCTION: JSON, else text; may be repeated")
    parser.add_argument("--inference", action="store_true",
                        help="leave out loss and optimizer")
    parser.add_argument("--batch", type=int, metavar="N",
                        help="batch size of the example inputs: stated in the file, with how the "
                             "step follows it, so that plans can be made for others")
    parser.add_argument("--rebatch", action="store_true",
                        help="fail if it cannot be proven how the step follows its batch")
    parser.add_argument("--batch-argument", metavar="NAME",
                        help="FUNCTION's argument that is the batch size: it is called with --batch "
                             "(else with its own value), and with others for the proof")
    parser.add_argument("--one-batch", action="store_true",
                        help="record at this batch size alone, without a proof")
    parser.add_argument("--attention", choices=("fused", "math"),
                        help="record attention as the fused operator that a GPU runs, where it has "
                             "one for the types, sizes and mask (default), or as products and a "
                             "softmax")
    parser.add_argument("--assume", metavar="FILE:LINE=ANSWER", action="append", default=[],
                        help="where the step asks a tensor for values: true or false, whether the "
                             "condition there holds; a number; or how many elements of a mask are "
                             "true, as a number or a share (12.5%%). FILE:FUNCTION is a place, too. "
                             "Default: checks that only raise pass; else the step is refused")
    parser.add_argument("--frozen-weights", choices=FORMATS, metavar="FORMAT",
                        help="frozen weights of linear layers are stored as bitsandbytes does, in 4 "
                             f"or 8 bits, and made whole for each product: {', '.join(FORMATS)}")
    parser.add_argument("--name", help="name of the graph (default: from FILE)")
    parser.add_argument("--real-weights", action="store_true",
                        help="let FUNCTION make real tensors; default: tensors without content")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    models = parser.add_argument_group("models from configurations (hf:PATH)")
    models.add_argument("--sequence", type=int, metavar="N",
                        help="words of a text, or samples of a sound (default: 1024, or as many as "
                             "the model takes; 160000, 10 seconds)")
    models.add_argument("--optimizer", choices=("adamw", "sgd", "none"),
                        help="what updates the weights (default adamw); none: gradients alone")
    models.add_argument("--dtype", choices=("f32", "bf16", "f16"),
                        help="of the weights (default: the configuration's, else f32)")
    models.add_argument("--lora", type=int, metavar="RANK",
                        help="freeze the model and train LoRA adapters of this rank on all its "
                             "linear layers (peft)")
    models.add_argument("--task", metavar="TASK",
                        help="what the model is trained for, as causal-lm, masked-lm, "
                             "image-classification (default: the configuration's architecture). "
                             "--set NAME=VALUE changes a value of the configuration, as "
                             "num_hidden_layers=4 or text_config.hidden_size=512; --batch is 8")
    return parser.parse_args(argv)


def function_of(text, real=False):
    """The function that "train.py:build" names. `real`: devices and wrappers that its module
    uses are taken as they are."""
    module_name, colon, function = text.rpartition(":")
    if not colon or not module_name or not function:
        raise UsageError(f"\"{text}\" is not of the form MODULE:FUNCTION, as in train.py:build")
    from placewright_torch import building, remedies
    try:
        load = _load_file if module_name.endswith(".py") else _load_module
        with contextlib.nullcontext() if real else building.loading():
            module = load(module_name)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(f"\"{module_name}\" cannot be imported: {type(error).__name__}: "
                          f"{error}{at(error)}{remedies.remedy(error, True)}") from error
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


def settings_of(pairs):
    """The dict of ["layers=24", ...]; values are JSON, else texts."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {pair}: not of the form NAME=VALUE")
        if key in settings:
            raise UsageError(f"--set {key} is given twice; leave one of them out")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings


def _assumptions(pairs):
    given = {}
    for pair in pairs:
        place, equals, answer = pair.rpartition("=")
        if not equals or ":" not in place:
            raise UsageError(f"--assume {pair}: not of the form FILE:LINE=ANSWER, as in "
                             "train.py:12=true")
        given[place] = answer
    return given


def build(function, settings, real_weights=False):
    """What FUNCTION returns, as arguments of export(), without `path`."""
    from placewright_torch import building, loss_scaling, remedies
    try:
        built = building.loading() if real_weights else building.building()
        with built, loss_scaling.enabled():
            result = function(**settings)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ExportError(f"{function.__name__} failed: {type(error).__name__}: "
                          f"{error}{at(error)}{remedies.remedy(error, real_weights)}") from error
    return parts_of(result, function.__name__, ("name", "batch", "rebatch", "frozen_weights"))


def _batch_of(function, options, settings):
    """The batch size to call FUNCTION with: --batch, else --set, else the argument's default."""
    name = options.batch_argument
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    if name not in parameters and not takes_any:
        raise UsageError(f"--batch-argument {name}: {function.__name__} has no argument of this "
                         f"name, but {', '.join(parameters) or 'none'}")
    if options.batch is not None and name in settings:
        raise UsageError(f"--batch and --set {name} give the same number; leave one of them out")
    default = parameters[name].default if name in parameters else None
    batch = settings.get(name, default) if options.batch is None else options.batch
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise UsageError(f"--batch-argument {name}: say which batch size, by --batch N")
    return batch


def _build_at(function, options, settings, batch):
    """The arguments of export() at a batch size, which FUNCTION takes by its own argument."""
    settings = {**settings, options.batch_argument: batch}
    arguments = build(function, settings, options.real_weights)
    stated = arguments.pop("batch", None)
    if stated not in (None, batch):
        raise ExportError(f"{function.__name__} states batch {stated} when it is called with "
                          f"{options.batch_argument}={batch}; leave \"batch\" out of its dict")
    return _without_training(arguments) if options.inference else arguments


def _without_training(arguments):
    return {**arguments, "loss": None, "optimizer": None, "targets": None}


def _export_arguments(options):
    """All arguments of export() but `path`."""
    settings = settings_of(options.set)
    for key in HF_OPTIONS:
        if getattr(options, key) is not None and not options.function.startswith(HF):
            raise UsageError(f"--{key} is for models from configurations (hf:PATH); a function takes "
                             f"what it wants by --set {key}=VALUE")
    if options.batch is not None and options.batch < 1:
        raise UsageError(f"--batch {options.batch} is not an integer from 1")
    if options.one_batch and (options.rebatch or options.batch_argument):
        raise UsageError("--one-batch leaves the proof out that --rebatch and --batch-argument ask "
                         "for; leave one of them out")
    _require_torch()
    function = _configured(options) if options.function.startswith(HF) else function_of(options.function)
    if options.batch_argument:
        batch = _batch_of(function, options, settings)
        arguments = _build_at(function, options, settings, batch)
        arguments["batch"] = batch
        arguments["rebatch"] = lambda size: {
            key: value for key, value in _build_at(function, options, settings, size).items()
            if key in PARTS}
    else:
        arguments = build(function, settings, options.real_weights)
        arguments = _without_training(arguments) if options.inference else arguments
        if options.batch is not None:
            arguments["batch"] = options.batch
        if options.rebatch or options.one_batch:
            arguments["rebatch"] = options.rebatch
    if options.assume:
        arguments["assume"] = _assumptions(options.assume)
    for key in ("name", "attention", "frozen_weights"):
        if getattr(options, key) is not None:
            arguments[key] = getattr(options, key)
    return arguments


def _configured(options):
    """The function that builds the step of a model of transformers."""
    from placewright_torch import hf
    if options.batch_argument:
        raise UsageError(f"--batch-argument is for functions; {options.function} takes --batch")
    if options.sequence is not None and options.sequence < 1:
        raise UsageError(f"--sequence {options.sequence} is not an integer from 1")
    if options.lora is not None and options.lora < 1:
        raise UsageError(f"--lora {options.lora} is not an integer from 1")
    if options.task is not None and options.task not in hf.TASKS:
        raise UsageError(f"--task {options.task}: choose one of {', '.join(hf.TASKS)}")
    return hf.Builder(options.function[len(HF):], options.task, options.batch, options.sequence,
                      "none" if options.inference else options.optimizer or "adamw", options.dtype,
                      options.lora)


def _main(argv):
    options = _arguments(argv)
    written = export(path=options.output, **_export_arguments(options),
                     progress=lambda text: print(text, file=sys.stderr, flush=True))
    if options.json:
        print(json.dumps(written))
        return 0
    phases = ", ".join(f"{count} {phase}" for phase, count in written["phases"].items())
    print(f"{written['path']}: {written['ops']} ops ({phases}), {written['edges']} edges, "
          f"{written['parameters']} parameters")
    proof = written.get("batch_proof")
    if proof is not None and "obstacle" in proof:
        print(f"valid for batch {proof['sizes'][0]} only: {proof['obstacle']}")
    elif proof is not None:
        print("scales with the batch, as recordings at {}, {} and {} prove".format(*proof["sizes"]))
    _print_notes(written)
    return 0


def _print_notes(written):
    calls = written.get("attention")
    if calls is not None:
        say = "; --attention math records S x S matrices instead" if calls["fused"] else ""
        print(f"attention: {calls['fused']} calls recorded as a GPU's fused operator, "
              f"{calls['math']} as products and a softmax{say}")
    for kind, of in written.get("frozen_weights", {}).items():
        print(f"frozen weights: {of['weights']} of linear layers stored as {kind}, "
              f"{of['elements']} elements in {of['bytes']} bytes")
    for note in written["notes"]:
        print(f"note: {note}")


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
