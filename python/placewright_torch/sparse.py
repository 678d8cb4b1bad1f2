"""Gradients of embeddings built with sparse=True: rows of a table, and which they are.

A file knows dense tensors alone, and fakes of sparse ones do not exist. So a sparse gradient is a
pair here, the indices [1, n] and the rows [n, width], that looks like a tensor of the table's shape
to autograd and to optimizers. What PyTorch's optimizers do with it is recorded as the dense operators
that compute the same: an update of some rows is index_add_, the state of some rows index_select,
coalescing a sort. Rows are taken to be all distinct, which is the most that there can be.
"""

import contextlib

import torch

from .compat import replaced
from .errors import ExportError

MADE = ("aten::_sparse_coo_tensor_with_dims_and_tensors", "aten::_sparse_coo_tensor_unsafe",
        "aten::sparse_coo_tensor")
COMPOSED = ("aten::_embedding_bag_sparse_backward", "aten::embedding_sparse_backward",
            "aten::embedding_backward")
BAGS = "aten::_embedding_bag_backward"
COPIED = ("aten::detach", "aten::clone", "aten::alias")
REMEDY = "build nn.Embedding and nn.EmbeddingBag with sparse=False"


class SparseRows(torch.Tensor):
    """`rows` of a tensor of `size`, at `places` [1, n] of its first dimension."""

    @staticmethod
    def __new__(cls, places, rows, size):
        made = torch.Tensor._make_wrapper_subclass(cls, tuple(size), dtype=rows.dtype,
                                                   device=rows.device)
        made.places, made.rows = places, rows
        return made

    is_sparse = True
    __torch_function__ = torch._C._disabled_torch_function_impl

    def __repr__(self):
        return f"SparseRows({list(self.rows.shape)} of {list(self.size())})"

    def _indices(self):
        return self.places

    def _values(self):
        return self.rows

    indices, values = _indices, _values

    def coalesce(self):
        ordered, order = torch.sort(self.places[0])
        return SparseRows(ordered.unsqueeze(0), self.rows.index_select(0, order), self.size())

    def is_coalesced(self):
        return False

    def new(self, places, rows, size):
        return SparseRows(places, rows, size)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise ExportError(f"{func} of a sparse gradient cannot be exported: {REMEDY}")


def takes_apart(name, args):
    """Whether a call makes such a gradient by calls of its own, as it arrives below autograd."""
    return name in COMPOSED or name == BAGS and args[9]


def _bags_of(offsets, count, record):
    """Of each of `count` indices its bag; `record`: the op that made the offsets, or None."""
    length, rest = divmod(count, offsets.size(0))
    if rest == 0 and record and record["target"] == "aten.arange.start_step" and \
            record["args"][:3] == [0, count, length]:  # bags of one length: no values count
        return torch.arange(count, dtype=offsets.dtype, device=offsets.device) // length
    marks = offsets.new_zeros(count + 1)
    marks = marks.index_add_(0, offsets, torch.ones_like(offsets))
    return (marks.cumsum(0) - 1).narrow(0, 0, count)


def apart(func, args, kwargs, made_by):
    """The result of a call that takes_apart(); made_by(tensor): the record of the op that made it, or None."""
    if func._schema.name == BAGS:
        func = torch.ops.aten._embedding_bag_sparse_backward.default
        grad, indices, offsets, bags = args[:4]
        if bags.numel() == 0 and indices.numel():  # which the CPU's forward pass leaves out
            bags = _bags_of(offsets, indices.size(0), made_by(offsets))
        args = (grad, indices, offsets, bags, args[4], *args[6:9], *args[10:])
    return func.decompose(*args, **kwargs)


def made_by(name, args, kwargs):
    """The gradient that an operator of MADE makes, or None if it makes another sparse tensor."""
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    sizes = [value for value in args if isinstance(value, (list, tuple))]
    if name not in MADE or len(given) != 2 or len(sizes) != 1 or given[0].size(0) != 1:
        return None
    return SparseRows(*given, sizes[0])


def call(func, args, kwargs, where):
    """What a call with sparse gradients among its arguments gives; its parts are calls of their
    own."""
    name, first = func._schema.name, args[0]
    second = args[1] if len(args) > 1 else None
    if name in COPIED:
        return SparseRows(first.places, first.rows, first.size())
    if name in ("aten::add", "aten::add_") and isinstance(second, SparseRows):
        if isinstance(first, SparseRows):
            return SparseRows(torch.cat([first.places, second.places], 1),
                              torch.cat([first.rows, second.rows]), first.size())
        change = first.index_add_ if name == "aten::add_" else first.index_add
        return change(0, second.places[0], second.rows, alpha=kwargs.get("alpha", 1))
    if name == "aten::sparse_mask" and not isinstance(first, SparseRows):
        return SparseRows(second.places, first.index_select(0, second.places[0]), second.size())
    raise ExportError(f"{name.replace('::', '.')} of a sparse gradient cannot be exported{where}: "
                      f"{REMEDY}")


@contextlib.contextmanager
def in_place():
    """While inside, optimizers that put rows together do so here."""
    original = torch.sparse_coo_tensor

    def put_together(indices, values=None, size=None, **named):
        plain = values is None or size is None or len(indices) != 1
        return original(indices, values, size, **named) if plain else SparseRows(indices, values, size)
    with replaced(torch, "sparse_coo_tensor", put_together):
        yield


def parts_of(tensor):
    """The dense tensors that a gradient is made of."""
    return [tensor.places, tensor.rows] if isinstance(tensor, SparseRows) else [tensor]
