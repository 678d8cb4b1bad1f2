"""Example inputs of another batch size, without content."""

import torch

from .fakes import with_tensors_changed


def batch_dimension(shape, batch, flattened):
    """(dimension, elements per sample) of a tensor that follows the batch, or None: the first
    dimension if its size is the batch, else the only one of that size; where `flattened`, also a
    first dimension that is a multiple of it, as of the labels of all words of all samples."""
    sizes = list(shape)
    if sizes and sizes[0] == batch:
        return 0, 1
    if sizes.count(batch) == 1:
        return sizes.index(batch), 1
    if flattened and sizes and batch > 1 and sizes[0] > batch and sizes[0] % batch == 0:
        return 0, sizes[0] // batch
    return None


def resized(value, batch, to, flattened):
    """Nested arguments of a batch size with their tensors as they would be at batch `to`."""
    made = {}

    def change(tensor, name):
        if id(tensor) not in made:
            made[id(tensor)] = (tensor, _at(tensor, batch, to, flattened))
        return made[id(tensor)][1]

    return with_tensors_changed(value, "", change)


def follow(value, batch, flattened):
    """How many tensors among nested arguments follow the batch, and how many there are."""
    found = []
    with_tensors_changed(value, "", lambda tensor, name: found.append(
        batch_dimension(tensor.shape, batch, flattened) is not None) or tensor)
    return sum(found), len(found)


def _at(tensor, batch, to, flattened):
    place = batch_dimension(tensor.shape, batch, flattened)
    if place is None:
        return tensor
    dimension, each = place
    sizes, strides = list(tensor.size()), list(tensor.stride())
    reach = strides[dimension] * sizes[dimension]
    sizes[dimension] = each * to
    # Dimensions that lie around this one, by their strides, grow with it.
    strides = [stride // batch * to if i != dimension and reach and stride >= reach else stride
               for i, stride in enumerate(strides)]
    made = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device="meta")
    return made.requires_grad_(tensor.requires_grad)
