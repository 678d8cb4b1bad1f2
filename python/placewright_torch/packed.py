"""Sequences that lie behind one another in a sample, as transformers looks for them.

A model that is given no positions counts them itself, from 0 on; then transformers finds by their
values that a sample is one sequence, and attention needs no mask. Of tensors without values it
would make one, of all pairs of words.
"""

import contextlib
import sys

from . import compat


@contextlib.contextmanager
def in_place(recorder):
    """While inside, only positions that the program gives may be those of several sequences."""
    masks = sys.modules.get("transformers.masking_utils")
    find = getattr(masks, "find_packed_sequence_indices", None)
    if find is None:
        yield
        return

    def found(position_ids):
        return find(position_ids) if recorder.value_of(position_ids).memory.is_given else None

    with compat.replaced(masks, "find_packed_sequence_indices", found):
        yield
