"""Commands of the program, with results and errors as objects."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from ._find import program
from .errors import InternalError, error_of


def run(arguments: Sequence[str], wanted: str = "") -> dict[str, Any]:
    """Runs a command with ``--json`` and returns the object that it prints (docs/json.md).

    `wanted`: the field that is asked for; where the object has it, an error beside it is none.

    Raises
    ------
    PlacewrightError
        As the command says it.
    """
    done = subprocess.run([str(program()), *arguments, "--json", "--quiet"], capture_output=True,
                          text=True, errors="replace", check=False)
    printed: dict[str, Any]
    try:
        printed = json.loads(done.stdout)
    except ValueError:
        printed = {}
    error = printed.get("error")
    if wanted and printed.get(wanted) is not None:
        return printed
    if error:
        raise error_of(done.returncode, error["code"], error["message"], error["file"],
                       error["place"], error["remedy"])
    if done.returncode != 0:
        raise InternalError("internal", f"`placewright {arguments[0]}` ended with "
                            f"{done.returncode}: {done.stderr.strip()[-500:]}",
                            remedy="Report it with the call and its inputs.")
    return printed


def text_of(arguments: Sequence[str]) -> str:
    """What a command prints. Raises as `run` does."""
    done = subprocess.run([str(program()), *arguments, "--quiet"], capture_output=True, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        run(arguments)  # says why, as an object
        raise InternalError("internal", done.stderr.strip()[-500:],
                            remedy="Report it with the call.")
    return done.stdout
