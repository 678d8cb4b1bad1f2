"""A device_map taken by Accelerate's dispatch_model, and run on pretended GPUs."""

import torch
from accelerate import dispatch_model
from torch.utils._pytree import tree_leaves

import cases
from planned import Failed
from pretend_devices import Pretended, to_cpu

TOLERANCE = 1e-5  # of the largest output: fused and plain attention differ in their last bits


def tensors_of(output):
    if hasattr(output, "to_tuple"):
        output = output.to_tuple()
    return [t for t in tree_leaves(output) if isinstance(t, torch.Tensor)]


def compare(name, mapping):
    """Runs the small model divided as the map says beside the undivided one; the largest relative
    difference of an output, and how many devices computed."""
    torch.manual_seed(1)
    step = cases.CASES[name].build("small")
    model = step.model.eval()
    with torch.no_grad():
        expected = tensors_of(model(**step.inputs))
    with Pretended() as gpus:
        divided = dispatch_model(model, mapping)
        del gpus.ran[:]
        outputs = [to_cpu(t) for t in tensors_of(divided(**step.inputs))]
    if len(outputs) != len(expected):
        raise Failed(f"{len(outputs)} outputs, not {len(expected)}")
    worst = 0.0
    for ours, theirs in zip(outputs, expected):
        scale = max(1.0, theirs.abs().max().item())
        worst = max(worst, (ours.float() - theirs.float()).abs().max().item() / scale)
    if not worst <= TOLERANCE:
        raise Failed(f"outputs differ by {worst:.3g} of the largest")
    return worst, sorted({str(device) for _, _, device in gpus.ran if device.type == "cuda"})
