"""What the code of a step remembers for the next one: functools.lru_cache, and dicts, lists and sets that modules
have as attributes, or the files of their classes as globals."""

import contextlib
import functools
import gc
import sys

import torch

OWN = frozenset(vars(torch.nn.Module()))  # attributes that are no places for memos
# Theirs hold no tensor of a model.
LIBRARIES = ("torch", "sympy", "numpy", "placewright_torch")


def _is_of_a_library(name):
    return (name or "").partition(".")[0] in LIBRARIES


def _caches():
    for value in gc.get_objects():
        if type(value) is functools._lru_cache_wrapper:  # pylint: disable=unidiomatic-typecheck
            if not _is_of_a_library(value.__module__):
                yield value


def _containers(roots):
    """Those that hold a memo directly."""
    scopes = {id(vars(module)): vars(module) for root, _ in roots for module in root.modules()}
    files = {cls.__module__ for root, _ in roots for module in root.modules()
             for cls in type(module).__mro__ if not _is_of_a_library(cls.__module__)}
    found = [vars(sys.modules[name]) for name in files if name in sys.modules]
    for scope in (*scopes.values(), *found):
        for name, value in list(scope.items()):
            if type(value) in (dict, list, set) and name not in OWN and not name.startswith("__"):
                yield value


def _values(container):
    return list(container.values() if isinstance(container, dict) else container)


def _holds_tensors(value):
    if isinstance(value, (tuple, list)):
        return any(_holds_tensors(item) for item in value)
    return isinstance(value, torch.Tensor)


def _restore(container, content):
    """Where tensors have come to it; what else the code has noted stays."""
    before = {id(value) for value in _values(content)}
    if not any(id(value) not in before and _holds_tensors(value) for value in _values(container)):
        return
    container.clear()
    (container.extend if isinstance(container, list) else container.update)(content)


@contextlib.contextmanager
def forgotten(roots):
    """Behind the block no tensor is remembered in these places that was not before it: such tensors
    are of this recording, and the next one, as for the proof of the batch, would read them as what
    is left of an earlier step. A cache that took anything is emptied, since what it holds cannot be
    seen. `roots`: (module, prefix)."""
    before = {id(cache): (cache, cache.cache_info().misses) for cache in _caches()}
    containers = [(container, type(container)(container)) for container in _containers(roots)]
    try:
        yield
    finally:
        for container, content in containers:
            _restore(container, content)
        for cache in _caches():
            if cache.cache_info().misses != before.get(id(cache), (cache, 0))[1]:
                cache.cache_clear()
