"""The records of a step as a file: the ATen graph format of docs/formats/aten-graph.md."""

import gzip
import json
import os
import tempfile

from .errors import ExportError

PHASES = ("fwd", "bwd", "opt")


def edge_count(ops):
    """Distinct pairs (producer, consumer), together with those of `after`."""
    producers = {op["name"] for op in ops}
    pairs = set()
    for op in ops:
        for reference in op["inputs"]:
            name = reference if reference in producers else reference.rpartition(":")[0]
            if name in producers:
                pairs.add((name, op["name"]))
        pairs.update((name, op["name"]) for name in op.get("after", ()))
    return len(pairs)


def phase_counts(ops):
    return {phase: sum(op["phase"] == phase for op in ops) for phase in PHASES}


def text_of(head, inputs, ops, outputs):
    """One JSON object, one input or op a line; the same records give the same text."""
    head = {**head, "n_ops": len(ops), "n_edges": edge_count(ops), "phases": phase_counts(ops),
            "parameters": [i["name"] for i in inputs if i["kind"] == "param"]}
    fields = [f"{_json(key)}:{_json(value)}" for key, value in head.items()]
    fields += [f'"inputs":{_lines(inputs)}', f'"ops":{_lines(ops)}', f'"outputs":{_json(outputs)}']
    return "{" + ",\n".join(fields) + "}\n"


def _json(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _lines(items):
    return "[\n" + ",\n".join(_json(item) for item in items) + "]"


def write(path, text):
    """Writes the whole file or nothing; gzip if the name ends with .gz, with no time in it."""
    path = os.fspath(path)
    data = text.encode()
    if path.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    folder, name = os.path.split(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder or ".")
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror}; name a file in a folder that "
                          "exists and may be written") from error
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise ExportError(f"cannot write {path}: {error.strerror}") from error
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
