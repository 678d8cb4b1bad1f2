"""Files that plans name: compared, copied and put in place."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import tempfile
import weakref
from typing import Any

from .errors import InputError


def sha256_of(path: pathlib.Path) -> str:
    """Hexadecimal digits of a file's hash. Raises InputError where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise InputError("file-unreadable", f"cannot be read: {error.strerror}", file=str(path),
                         remedy="Check the path and the permissions.") from error
    return digest.hexdigest()


def json_of(path: pathlib.Path) -> Any:
    """What a JSON file holds, plain or gzip. Raises InputError where it cannot be read."""
    try:
        data = path.read_bytes()
        return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, ValueError, EOFError) as error:
        raise InputError("file-unreadable", f"cannot be read: {error}", file=str(path),
                         remedy="Check the path; a plan's files are JSON.") from error


def check_unchanged(path: pathlib.Path, sha256: str, what: str) -> None:
    """Raises InputError where a file is not what was read of it."""
    if sha256_of(path) != sha256:
        raise InputError("plan-mismatch", f"the {what} has changed since it was read",
                         file=str(path), remedy=f"Read the {what} again and plan anew.")


def copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies a file, whole or not at all. Raises InputError where it cannot be written."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as out, open(source, "rb") as content:
            shutil.copyfileobj(content, out)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(
            "file-unwritable", f"cannot be written: {error.strerror}", file=str(target),
            remedy="Check that the folder exists, is writable and has space left.") from error


class Folder:
    """A folder of its own, which goes with the object."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="placewright-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(folder: pathlib.Path, owner: int) -> None:
    """Not by a fork of the process that made it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def beside(plan: pathlib.Path, ending: str) -> pathlib.Path:
    """"a/foo.plan.json" -> "a/foo" + ending."""
    name = plan.name
    for known in (".gz", ".json", ".plan"):
        name = name[:-len(known)] if name.endswith(known) and name != known else name
    return plan.with_name(name + ending)

