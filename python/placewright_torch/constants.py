"""Constants whose content is one number: a label smoothing, a fill value, weights that are all 1.

A file holds no content of tensors, but the arguments of its ops. So such a constant is made by an
op of the step, with its number. Constants of other content stay inputs without content.
"""

import torch


def has_content(tensor):
    """Not a fake one, nor one without memory."""
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    return plain and tensor.layout == torch.strided and tensor.device.type != "meta"


def number_in(tensor):
    """The number that every element of a tensor is; None where there is none, or none known."""
    if not has_content(tensor) or tensor.numel() == 0 or tensor.is_complex():
        return None
    with torch.no_grad():
        first = tensor.reshape(-1)[0]
        same = bool((tensor == first).all())
    return first.item() if same else None

