"""One step from end to end: forward, loss, backward, update; or forward alone."""

import collections.abc
import contextlib
import traceback

import torch

from . import compat, loss_scaling, memos, packed, sparse, switches, wrappers
from .assumptions import Assumptions
from .attention import Attention
from .checks import Assumed, Checks
from .choices import Choices
from .devices import on_host
from .errors import ExportError, at
from .fakes import Arguments, Fakes, tensors_of
from .lifetimes import no_collection
from .originals import Originals
from .recorder import Recorder
from .samples import Samples
from .stored import StoredWeights
from .update import Update


UNBIND = "aten.unbind.int"
SCALING = ("mul_", "div_", "clamp_", "clamp_min_", "clamp_max_")  # in place
# What users can do about errors of PyTorch whose texts do not say it.
HINTS = (
    (".numpy()", ": the step leaves PyTorch; a graph is recorded without data, so it must be "
                 "written with operators of PyTorch"),
    (".tolist()", ": the step depends on its data; a graph is recorded without data, so it must "
                  "take one way for all"),
    ("not allocated", ": an operator reads values of its arguments before it runs; give them as "
                      "Python numbers, or write the step with operators that read none"),
    ("CUDA", ": make tensors where others are, with device=x.device, so that the step can be "
             "recorded on a machine without a GPU"),
)


class Step:
    """What was recorded; see docs/formats/aten-graph.md for the records. `head` are fields of the
    file that say how it was recorded, `notes` what a user should know, a sentence each."""

    def __init__(self, inputs, ops, outputs, notes):
        self.inputs, self.ops, self.outputs = inputs, ops, outputs
        self.head, self.notes = {}, list(notes)
        self.elements_beside = 0  # of parameters, more than the inputs have


def record(model, example_inputs, targets, loss, optimizer, choices=Choices()):  # noqa: B008  it is never written on
    """Records the step on fakes of everything; model and optimizer are left as they were."""
    model = wrappers.original(model)
    optimizer = wrappers.original_optimizer(optimizer)
    attention = Attention(choices.attention)
    assumed = Assumed(choices.assume)
    _check(model, loss, optimizer)
    if targets is not None and loss is None:
        raise ExportError("targets are given, but no loss that takes them: give a loss, or put them "
                          "among the example inputs if the model computes its loss itself")
    recorder = Recorder()
    recorder.checks = Checks(assumed)
    recorder.progress = choices.progress
    roots = [(model, "")]
    if isinstance(loss, torch.nn.Module):
        roots.append((loss, "loss." if not hasattr(model, "loss") else "loss_."))
    stored = StoredWeights(roots, choices.frozen_weights)
    fakes = Fakes(recorder, stored)
    for root, prefix in roots:
        fakes.add_module(root, prefix)
    given = Arguments(recorder, example_inputs, model)
    wanted = Arguments(recorder, targets, loss, skip=1) if targets is not None else None
    originals = Originals(fakes, recorder)
    update = None
    if optimizer is not None:
        update = Update(optimizer, fakes, recorder, originals)
    with contextlib.ExitStack() as stack:
        stack.callback(recorder.restore_counters)
        stack.enter_context(no_collection())
        stack.enter_context(memos.forgotten(roots))
        stack.enter_context(compat.plain_operators())
        stack.enter_context(torch.enable_grad())
        stack.enter_context(on_host())
        stack.enter_context(Assumptions(recorder))
        stack.enter_context(Samples())
        stack.enter_context(attention.in_place())
        stack.enter_context(loss_scaling.in_place(recorder))
        stack.enter_context(sparse.in_place())
        stack.enter_context(packed.in_place(recorder))
        stack.enter_context(compat.replaced(torch.nn.Module, "_apply", _converted))
        for root, prefix in roots:
            stack.enter_context(fakes.in_place(root, prefix))
        stack.enter_context(stored.in_place())
        stack.enter_context(recorder.scopes.watching(roots))
        stack.enter_context(originals)
        if update:
            stack.enter_context(update.in_place())
        outputs = _run(recorder, fakes, model, given, loss, wanted, update)
    references = [recorder.value_of(tensor).reference for tensor in outputs]
    if update is not None:  # what hooks of the optimizer write, as averages of weights
        names = {record["name"] for record in recorder.inputs}
        references += [value.reference for value in recorder.met if value.reference not in names]
    recorded = _without_idle(recorder, list(dict.fromkeys(references)), update.notes if update else [])
    made = recorder.checks.notes()
    recorded.notes += [f"assumed: {text}" for text in made] + assumed.unused() + attention.notes()
    if made:
        recorded.head["assumed"] = made
    if attention.head() is not None:
        recorded.head["attention"] = attention.head()
    if stored.head() is not None:
        recorded.head["frozen_weights"] = stored.head()
        recorded.elements_beside = stored.elements_beside()
    return recorded


def _converted(self, fn, recurse=True):
    """nn.Module's, behind .to() of a module within the step, where it already is what it shall be:
    PyTorch's own (2.x) swaps its tensors, which is not possible with fakes."""
    if recurse:
        for module in self.children():
            module._apply(fn)
    for name, tensor in (*self._parameters.items(), *self._buffers.items()):
        if tensor is not None and fn(tensor) is not tensor:
            raise ExportError(
                f"the step converts the weights of {type(self).__name__} (its \"{name}\" is "
                f"{str(tensor.dtype).rpartition('.')[2]}) with .to(), .half() or the like; convert "
                "the module before the step, where the model is built")
    return self


def _without_idle(recorder, outputs, notes):
    """The step without ops that read nothing and have no readers, as the profiler's marks of 1.13
    make them, without the samples of what is joined again (samples.py), and without such
    constants, as modules that are imported on the way may make them."""
    _keep_written_constants(recorder)
    read = {reference for op in recorder.ops for reference in op["inputs"]}.union(outputs)
    read = read.union(reference.rpartition(":")[0] for reference in list(read))
    inputs = [i for i in recorder.inputs if i["kind"] != "constant" or i["name"] in read]
    ops = [op for op in recorder.ops if op["name"] in read or
           op["inputs"] and op["target"] != UNBIND]
    _scale_gradients_apart(inputs, ops)
    held = recorder.lifetimes.holds(ops)
    for op in ops:
        if op["name"] in held:
            op["holds"] = held[op["name"]]
    return Step(inputs, ops, outputs, notes)


def _scale_gradients_apart(inputs, ops):
    """What scales a gradient in place before the update, as clipping and unscaling do, makes a tensor of its own: in
    place, the ops that made the gradient would have to lie where its parameter does, since they share its memory."""
    read_again = {name for op in ops for name in op.get("after", ())}
    made = {record["name"]: record for record in inputs}
    gradients = set()
    for op in ops:
        made.update({op["name"] if k == 0 else f"{op['name']}:{k}": output
                     for k, output in enumerate(op["outputs"])})
        if op["phase"] == "bwd":
            gradients.update((op["name"], *(f"{op['name']}:{k}" for k in range(len(op["outputs"])))))
        operator, _, overload = op["target"].removeprefix("aten.").partition(".")
        if op["phase"] != "opt" or op.get("alias") != "inplace" or operator not in SCALING:
            continue
        gradient, *others = op["inputs"]
        alike = all(made[other]["shape"] == [] or made[other]["dtype"] == made[gradient]["dtype"]
                    for other in others)
        if op["args"][0] == "%0" and gradient in gradients and alike and op["name"] not in read_again:
            op["target"] = f"aten.{operator.rstrip('_')}.{overload}"
            del op["alias"]
            gradients.add(op["name"])


def _keep_written_constants(recorder):
    """What is written in place goes into the next step: an input, whatever number it was."""
    written = {name for name, memory in recorder.from_before if memory.writes}
    for op in recorder.ops:
        if op["name"] in written and op["target"] == "aten.full.default":
            recorder.inputs.append({"name": op["name"], "kind": "constant", **op["outputs"][0]})
    names = {i["name"] for i in recorder.inputs}
    recorder.ops = [op for op in recorder.ops if op["name"] not in names]


def _check(model, loss, optimizer):
    if not isinstance(model, torch.nn.Module):
        raise ExportError(f"the model is a {type(model).__name__}, not a torch.nn.Module")
    if loss is not None and not callable(loss):
        raise ExportError(f"the loss is a {type(loss).__name__}, not a function of the model's "
                          "output")
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        raise ExportError(f"the optimizer is a {type(optimizer).__name__}, not a "
                          "torch.optim.Optimizer object")
    for path, module in model.named_modules():
        if compat.is_scripted(module):
            name = f"module \"{path}\"" if path else "the model"
            raise ExportError(f"{name} was compiled by torch.jit; export the model as it was "
                              "before torch.jit.script or torch.jit.trace")


def _run(recorder, fakes, model, given, loss, wanted, update):
    """The tensors that the step leaves behind."""
    training = loss is not None or update is not None
    if not training:
        # nn.TransformerEncoder of 1.13 takes its fused path only where no gradient is wanted.
        for parameter in fakes.parameters.values():
            parameter.requires_grad_(parameter.is_floating_point() or parameter.is_complex())
    output = _forward(recorder, model, given)
    if not training:
        tensors = tensors_of(output)
        if not tensors:
            raise ExportError(f"the model returns no tensor but a {type(output).__name__}")
        return tensors
    value = _loss(recorder, loss, wanted, output)
    del output  # as programs do that keep the loss alone
    gradients = _backward(recorder, fakes, value)
    if update is None:
        changed = [part for gradient in gradients.values() for part in sparse.parts_of(gradient)]
    else:
        _update(recorder, fakes, update, gradients)
        changed = update.state_tensors()
    written = {kind: [t for path, t in tensors.items()
                      if recorder.value_of(t).reference != f"{kind}:{path}"]
               for kind, tensors in (("param", fakes.parameters), ("buffer", fakes.buffers))}
    return [value, *written["param"], *changed, *written["buffer"]]


def _end_frames(error):
    """Ends what the calls that failed hold, as long as somebody holds the error: checkpoint() of 2.x
    leaves a generator there that has the hooks for saved tensors until it is gone, and the next
    recording would compute this one's ops again."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


@contextlib.contextmanager
def _phase(recorder, name, what):
    """Sets the phase; what fails inside is said with the place in the user's code."""
    recorder.phase = name
    try:
        yield
    except ExportError as error:
        text = f"{error}{at(error) or f' (in {what})'}{_switch(error, recorder)}"
        _end_frames(error)
        raise type(error)(text) from error.__cause__
    except Exception as error:
        hint = next((text for key, text in HINTS if key in str(error)), "")
        if isinstance(error, KeyError) and isinstance(error.args[0], torch.Tensor):
            hint = ": a table has tensors of the model as keys, as where hooks of parameters " \
                   "update them in the backward pass; give one optimizer whose step() updates all"
        module = recorder.where()
        text = (f"{what} failed on the example inputs{module}: {type(error).__name__}: {error}"
                f"{at(error)}{_switch(error, recorder) or hint}")
        _end_frames(error)
        raise ExportError(text) from error
    finally:
        recorder.phase = None
        recorder.scopes.clear()


def _switch(error, recorder):
    return switches.remedy(error, recorder.scopes.class_of(recorder.scopes.innermost()))


def _forward(recorder, model, given):
    with _phase(recorder, "fwd", "the model"), recorder:
        return model(*given.args, **given.kwargs)


def _loss(recorder, loss, wanted, output):
    if loss is None:
        value = _own_loss(output)
    else:
        args, kwargs = (wanted.args, wanted.kwargs) if wanted else ((), {})
        with _phase(recorder, "fwd", "the loss"), recorder:
            value = loss(output, *args, **kwargs)
    if not isinstance(value, torch.Tensor):
        raise ExportError(f"the loss is a {type(value).__name__}, not a tensor")
    if value.numel() != 1:
        raise ExportError(f"the loss has the shape {list(value.shape)}: return one number, for "
                          "instance its mean()")
    if not value.requires_grad:
        raise ExportError("the loss depends on no parameter that wants a gradient: is everything "
                          "frozen, detached, or under torch.no_grad()?")
    return value


def _own_loss(output):
    """The loss that a model computes itself."""
    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, collections.abc.Mapping) and "loss" in output:
        return output["loss"]
    if hasattr(output, "loss"):
        return output.loss
    raise ExportError(f"no loss was given, and the model returns a {type(output).__name__} "
                      "without a field \"loss\"")


def _backward(recorder, fakes, value):
    """path -> gradient, for the parameters that have one."""
    with _phase(recorder, "bwd", "the backward pass"), recorder:
        value.backward()
    recorder.lifetimes.over = True
    return {path: p.grad for path, p in fakes.parameters.items() if p.grad is not None}


def _update(recorder, fakes, update, gradients):
    """Runs the optimizer with these gradients; its state is made before, where there is none."""
    for parameter in update.parameters:
        if parameter.grad is not None and not isinstance(parameter.grad, sparse.SparseRows):
            parameter.grad = recorder.fake_like(parameter.grad)
    with _phase(recorder, None, update.name):
        update.prepare()
    for parameter in update.parameters:
        parameter.grad = gradients.get(fakes.path_of(parameter))
    with _phase(recorder, None, update.name):
        update.try_others()
    with _phase(recorder, "opt", update.name):
        update.run()
