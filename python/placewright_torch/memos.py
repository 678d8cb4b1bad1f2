"""What the code of a step remembers for the next one: functools.lru_cache, dicts and lists that modules have as
attributes, or the files of their classes as globals."""

import contextlib
import functools
import gc
import sys

from .kept import Kept

LIBRARIES = ("torch", "sympy", "numpy")  # theirs hold no tensor of a model


def _is_of_a_library(name):
    return (name or "").partition(".")[0] in LIBRARIES


def _caches():
    for value in gc.get_objects():
        if type(value) is functools._lru_cache_wrapper:  # pylint: disable=unidiomatic-typecheck
            if not _is_of_a_library(value.__module__):
                yield value


def _containers(roots):
    """Plain dicts, lists and sets; nn.Module's own are no places for memos."""
    scopes = {id(vars(module)): vars(module) for root, _ in roots for module in root.modules()}
    files = {cls.__module__ for root, _ in roots for module in root.modules()
             for cls in type(module).__mro__ if not _is_of_a_library(cls.__module__)}
    found = [vars(sys.modules[name]) for name in files if name in sys.modules]
    for scope in (*scopes.values(), *found):
        for name, value in list(scope.items()):
            if type(value) in (dict, list, set) and not name.startswith("__"):
                yield value


@contextlib.contextmanager
def forgotten(roots):
    """Behind the block nothing is remembered that was not before it: such tensors are of this
    recording, and the next one, as for the proof of the batch, would read them as what is left of an
    earlier step. `roots`: (module, prefix)."""
    before = {id(cache): cache.cache_info().misses for cache in _caches()}
    containers = Kept(_containers(roots), shallow=True)
    try:
        yield
    finally:
        containers.restore()
        for cache in _caches():
            if cache.cache_info().misses > before.get(id(cache), 0):
                cache.cache_clear()
