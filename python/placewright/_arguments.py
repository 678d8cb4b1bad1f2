"""Arguments of the public functions, checked: each error names the argument and what it takes."""

from __future__ import annotations

import datetime
import math
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import UsageError

MAX_SECONDS = 10 ** 9
MAX_COUNT = 2 ** 60
MAX_SEED = 2 ** 64 - 1
MAX_THREADS = 1024


def refuse(name: str, value: Any, wanted: str) -> UsageError:
    """The error of an argument with a value that it does not take."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return UsageError("usage", f"{shown} ({type(value).__name__}) is not {wanted}",
                      place=f"argument {name}", remedy=f"Give {wanted}.")


def text(name: str, value: Any, wanted: str = "a text") -> str:
    """A text that can be handed to the library, which has UTF-8 and no NUL."""
    if not isinstance(value, str) or "\0" in value:
        raise refuse(name, value, wanted)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refuse(name, value, f"{wanted} of Unicode characters") from None
    return value


def optional_text(name: str, value: Any, wanted: str = "a text or None") -> str | None:
    return None if value is None else text(name, value, wanted)


def path(name: str, value: Any, wanted: str = "a path") -> str:
    """A path as a text."""
    if not isinstance(value, (str, os.PathLike)):
        raise refuse(name, value, wanted)
    found = text(name, os.fspath(value), wanted)
    if not found:
        raise refuse(name, value, wanted)
    return found


def integer(name: str, value: Any, low: int, high: int) -> int:
    """An integer, of NumPy too, within bounds."""
    wanted = f"an integer from {low} to {high}"
    if isinstance(value, bool):
        raise refuse(name, value, wanted)
    try:
        number = operator.index(value)
    except TypeError:
        raise refuse(name, value, wanted) from None
    if not low <= number <= high:
        raise refuse(name, value, wanted)
    return number


def optional_integer(name: str, value: Any, low: int, high: int) -> int | None:
    return None if value is None else integer(name, value, low, high)


def nanoseconds(name: str, value: Any) -> int | None:
    """Seconds or a timedelta, in nanoseconds; None stays None."""
    if value is None:
        return None
    wanted = "a number of seconds from 0 to 1e9, or a timedelta"
    if isinstance(value, datetime.timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, (bool, str, bytes)):
        raise refuse(name, value, wanted)
    else:
        try:
            seconds = float(value)
        except (TypeError, ValueError, OverflowError):
            raise refuse(name, value, wanted) from None
    if not math.isfinite(seconds) or not 0 <= seconds <= MAX_SECONDS:
        raise refuse(name, value, wanted)
    return round(seconds * 1e9)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise refuse(name, value, "True or False")
    return value


def texts(name: str, value: Any) -> list[str]:
    """A text or several."""
    wanted = "a text or a list of texts"
    if value is None:
        return []
    if isinstance(value, str):
        return [text(name, value, wanted)]
    if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, value, wanted)
    return [text(name, one, wanted) for one in value]


def pairs(name: str, value: Any, wanted: str) -> list[tuple[str, str]]:
    """A mapping from texts to texts, as pairs."""
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise refuse(name, value, wanted)
    return [(text(name, key, wanted), text(name, item, wanted)) for key, item in value.items()]


def counts(name: str, value: Any) -> list[int]:
    """Integers from 1, one after the other."""
    wanted = "a list of integers from 1"
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, value, wanted)
    found = [integer(f"{name}[{i}]", one, 1, 2 ** 31 - 1) for i, one in enumerate(value)]
    if not found:
        raise refuse(name, value, wanted)
    return found


def settings(name: str, value: Any) -> list[str]:
    """A mapping from names to words and numbers, as "name=value"."""
    wanted = "a dict of names and their values"
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise refuse(name, value, wanted)
    for one in value.values():
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            raise refuse(name, value, wanted)
    return [text(name, f"{text(name, key, wanted)}={one}", wanted) for key, one in value.items()]


def integers(name: str, value: Any) -> dict[str, int]:
    """A mapping from names to integers from 1."""
    wanted = "a dict of names and integers from 1"
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse(name, value, wanted)
    return {text(name, key, wanted): integer(f"{name}[{key!r}]", item, 1, 2 ** 31 - 1)
            for key, item in value.items()}
