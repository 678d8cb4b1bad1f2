"""What can go wrong: a class for each exit status of the program, a code for each error.

The codes are those that the program prints; `placewright.explain(code)` says what one means.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._plan import Plan

__all__ = [
    "InfeasibleError", "InputError", "InternalError", "MissingRuntimeError", "NothingFoundError",
    "PlacewrightError", "SearchStoppedError", "UsageError", "error_of",
]


class PlacewrightError(Exception):
    """Anything that Placewright refuses or cannot do.

    Attributes
    ----------
    code : str
        What kind of error it is, as ``"graph-cycle"``.
    message : str
        What is wrong, with the offending value.
    file : str
        The file that it was found in, or an empty text.
    place : str
        The argument, or the place in the file, as ``"ops[12].inputs[0]"``; where neither is known
        the file, or ``"arguments"``.
    remedy : str
        What to do about it.
    exit_status : int
        That of the program for the same error; the class says the same.
    """

    exit_status = 1

    def __init__(self, code: str, message: str, *, file: str = "", place: str = "",
                 remedy: str = "") -> None:
        super().__init__(code, message, file, place, remedy)
        self.code = code
        self.message = message
        self.file = file
        self.place = place or file or "arguments"
        self.remedy = remedy

    def __str__(self) -> str:
        stated = self.args[3]
        before = "".join(f"{part}: " for part in (self.file, stated) if part)
        return f"{before}{self.message} [{self.code}]" + (f"\n{self.remedy}" if self.remedy else "")

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.args)


class InternalError(PlacewrightError):
    """A defect of Placewright itself."""


class UsageError(PlacewrightError, ValueError):
    """An argument that cannot be used."""

    exit_status = 2


class InputError(PlacewrightError):
    """A file, a model or a description of machines that cannot be used."""

    exit_status = 3


class InfeasibleError(PlacewrightError):
    """No plan exists; the message carries the proof."""

    exit_status = 4


class NothingFoundError(PlacewrightError):
    """No plan that fits into memory was found.

    Attributes
    ----------
    plan : Plan or None
        The best that was found, which does not fit.
    """

    exit_status = 5
    plan: Plan | None = None


class MissingRuntimeError(PlacewrightError):
    """Hardware or a library that is needed is missing."""

    exit_status = 6


class SearchStoppedError(PlacewrightError):
    """The search was stopped before there was a plan that fits."""

    exit_status = 130


_BY_STATUS: dict[int, type[PlacewrightError]] = {
    kind.exit_status: kind
    for kind in (InternalError, UsageError, InputError, InfeasibleError, NothingFoundError,
                 MissingRuntimeError, SearchStoppedError)
}


def error_of(status: int, code: str, message: str, file: str, place: str,
             remedy: str) -> PlacewrightError:
    """The exception for an error of the library or the program.

    Parameters
    ----------
    status : int
        The program's exit status for it; an unknown one is an `InternalError`.
    code, message, file, place, remedy : str
        As `PlacewrightError` has them; without a place, what the message names is one.
    """
    kind = _BY_STATUS.get(status, InternalError)
    return kind(code, _in_python(message), file=file, place=_place(message, place),
                remedy=_in_python(remedy))


# What the library names by the program's options or by its own enumerators: arguments here.
_OPTIONS = {
    "--algo": "algorithm", "--init": "initial", "--dim": "dimensions", "--pin": "pin",
    "--forbid": "forbid", "--colocate": "colocate", "--colocate-each": "colocate_each",
    "--space": "space", "--precision": "precision", "--layouts": "layouts", "--time": "time",
    "--iterations": "iterations", "--batch": "batch", "--sfb": "sfb", "--order": "order",
    "--gpu": "gpu", "--for": "for_engine", "--cluster": "cluster", "--seed": "seed",
    "--threads": "threads", "--micro-batches": "micro_batches", "--recompute": "recompute",
    "--cost-store": "cost_store", "--set": "settings", "kPlaced": '"placed"', "kReplicated": '"replicated"',
}
# The program's arguments without a name.
_POSITIONAL = {"GRAPH": "step", "FILE": "step", "PLAN": "plan", "CLUSTER": "cluster"}
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|kPlaced|kReplicated)(?![\w-])")


def _place(message: str, place: str) -> str:
    """Where the error is, as far as it is known: the argument that the program or the message
    names."""
    named = _OPTION.fullmatch(place) or (None if place else _OPTION.search(message))
    if named and named[0] in _OPTIONS:
        return f"argument {_OPTIONS[named[0]]}"
    if place in _POSITIONAL:
        return f"argument {_POSITIONAL[place]}"
    return place


def _in_python(text: str) -> str:
    """The same, with arguments of the package in the place of options that it has."""
    return _OPTION.sub(lambda option: _OPTIONS.get(option[0], option[0]), text)


def _again(kind: type[PlacewrightError], args: tuple[str, str, str, str, str]) -> PlacewrightError:
    """An error that was pickled."""
    code, message, file, place, remedy = args
    return kind(code, message, file=file, place=place, remedy=remedy)
