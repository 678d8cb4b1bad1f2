"""Where the built parts lie: in the installed package, or in the build folder of a source tree."""

from __future__ import annotations

import functools
import importlib
import os
import pathlib
import sys
import types

from .errors import MissingRuntimeError

_PACKAGE = pathlib.Path(__file__).resolve().parent


def build_folder() -> pathlib.Path | None:
    """Of a source tree, the folder that it is built in; None where the package is installed.

    ``PLACEWRIGHT_BUILD`` names another one than ``build``.
    """
    root = _PACKAGE.parent.parent
    if not (root / "python" / "core" / "module.cc").exists():
        return None
    return pathlib.Path(os.environ.get("PLACEWRIGHT_BUILD", root / "build"))


@functools.lru_cache(maxsize=None)
def core() -> types.ModuleType:
    """The library's binding, `_core`.

    Raises
    ------
    MissingRuntimeError
        Where it is not built, or not for this Python.
    """
    build = build_folder()
    if build is not None:
        package = sys.modules[__package__]
        folder = str(build / "python" / "placewright")
        if folder not in package.__path__:
            package.__path__.append(folder)
    try:
        return importlib.import_module("placewright._core")
    except ImportError as error:
        raise MissingRuntimeError(
            "missing-runtime", f"placewright._core cannot be loaded: {error}",
            remedy="Install the package (pip install .), or build it in the source tree with "
                   f"-DPLACEWRIGHT_PYTHON=ON for {sys.executable}.") from error


def program() -> pathlib.Path:
    """The program `placewright`.

    Raises
    ------
    MissingRuntimeError
        Where there is none.
    """
    build = build_folder()
    given = os.environ.get("PLACEWRIGHT_PROGRAM")
    if given:
        path = pathlib.Path(given)
    else:
        path = (_PACKAGE if build is None else build) / "bin" / "placewright"
    if not os.access(path, os.X_OK):
        raise MissingRuntimeError(
            "missing-runtime", f"there is no program {path}",
            remedy="Install the package again, or build the program in the source tree.")
    return path
