"""Recording a step, and how it follows its batch size.

The step is recorded at three sizes and, where it follows them, at a smaller one; batch_laws.py
compares the records. The arguments at another size come from a function of the user's, or are the
example inputs and targets with other shapes.
"""

import functools

from . import batch_laws, resized, step
from .errors import ExportError

FUNCTION = (", or give a function that builds the step of a batch size: rebatch=build, in a shell "
            "--batch-argument NAME")


def record(arguments, batch, rebatch, choices):
    """The step of `arguments`, a dict of those of step.record(), and its proof as the field
    `batch_proof` of the file, or None. `rebatch` is export()'s."""
    ways = _ways(arguments, batch, rebatch)
    record_step = functools.partial(step.record, choices=choices)
    if choices.progress is not None:
        choices.progress.begin("recording")
    recorded = record_step(**arguments)
    if not ways:
        return recorded, None
    if choices.progress is not None:
        choices.progress.proof_begins()
        choices.progress.begin("recording again, for the proof")
    proof = _prove(record_step, recorded, batch, ways)
    if "obstacle" in proof and rebatch is not None:
        raise ExportError(f"the step does not follow its batch size: {proof['obstacle']}; record it "
                          f"at each size that is wanted{'' if callable(rebatch) else FUNCTION}")
    return recorded, proof


def _ways(arguments, batch, rebatch):
    """Functions of a batch size that return arguments, those to be tried first in front."""
    if batch is None:
        if rebatch:
            raise ExportError("say which batch size the example inputs have: batch=N, in a shell "
                              "--batch N")
        return []
    if callable(rebatch):
        return [rebatch]
    if rebatch is False:
        return []
    given = (arguments["example_inputs"], arguments["targets"])
    exact, tensors = resized.follow(given, batch, False)
    flattened, _ = resized.follow(given, batch, True)
    if tensors and not flattened:
        raise ExportError(f"batch is {batch}, but no example input or target has a dimension of "
                          f"{batch}, or a first one that is a multiple of it; state the batch size "
                          "of the example inputs; or, where the batch is no such dimension, give "
                          "a function (rebatch=build, in a shell --batch-argument NAME) or record "
                          "this batch size alone (rebatch=False, --one-batch)")
    ways = [_resizing(arguments, batch, False)] if exact else []
    return ways + [_resizing(arguments, batch, True)] if flattened > exact else ways


def _resizing(arguments, batch, flattened):
    def at(to):
        inputs, targets = resized.resized((arguments["example_inputs"], arguments["targets"]),
                                          batch, to, flattened)
        return {**arguments, "example_inputs": inputs, "targets": targets}
    return at


def _prove(record_step, recorded, batch, ways):
    """The proof of the first way that has one, else the obstacle of the first that could be
    recorded at other sizes, else that of the first."""
    failed = None
    for way in ways:
        sizes, others, obstacle = _record_others(record_step, way, batch)
        if others:
            try:
                batch_laws.prove(sizes, [recorded, *others])
                smaller = _prove_below(record_step, way, sizes, [recorded, others[0]])
                return {"sizes": sizes, **smaller}
            except batch_laws.Obstacle as error:
                obstacle = str(error)
                if batch == 1:
                    obstacle += ("; PyTorch leaves copies out at batch 1: record the step at 2 or "
                                 "more")
        if failed is None or (others and not failed[1]):
            failed = ({"sizes": sizes, "obstacle": obstacle}, bool(others))
    return failed[0] if failed else {"sizes": [batch, batch + 1, 2 * batch + 3],
                                     "obstacle": "no input is a tensor"}


def _prove_below(record_step, way, sizes, steps):
    """The field `smaller` of a proof: the smallest size at which the step is the one that it says;
    PyTorch leaves out copies and sums at batch 1."""
    for size in batch_laws.smaller_sizes(sizes):
        try:
            smaller = record_step(**way(size))
        except ExportError:
            continue
        if batch_laws.holds([*sizes[:2], size], [*steps, smaller]):
            return {"smaller": size}
    return {}


def _record_others(record_step, way, batch):
    """(the three sizes, the steps at the last two or [], why there are none)."""
    obstacle, first = "", None
    for pair in batch_laws.size_pairs(batch):
        sizes, steps = [batch, *pair], []
        first = first or sizes
        for size in pair:
            try:
                steps.append(record_step(**way(size)))
            except ExportError as error:
                obstacle = obstacle or f"it cannot be recorded at batch {size}: {error}"
                break
        if len(steps) == 2:
            return sizes, steps, ""
    return first, [], obstacle
