"""How a step is rewritten before it is laid out (docs/transforms.md), as options of its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _arguments as arguments

DEFAULTS: dict[str, Any] = {"micro_batches": 0, "recompute": [], "offload": [], "schedule": "",
                            "stages": 0, "chunks": 0, "layers": [], "precision": []}


def asked(*, micro_batches: Any = None, recompute: Any = None, offload: Any = None,
          pipeline: Any = None, stages: Any = None, chunks: Any = None, stage_layers: Any = None,
          mixed_precision: Any = None) -> dict[str, Any]:
    """What of the options the arguments state, checked."""
    given: dict[str, Any] = {}
    for name, value in (("micro_batches", micro_batches), ("stages", stages), ("chunks", chunks)):
        if value is not None:
            given[name] = arguments.integer(name, value, 1, arguments.MAX_COUNT)
    for option, name, value in (("recompute", "recompute", recompute),
                                ("offload", "offload", offload),
                                ("precision", "mixed_precision", mixed_precision)):
        if value is not None:
            given[option] = arguments.texts(name, value)
    if pipeline is not None:
        given["schedule"] = arguments.text("pipeline", pipeline)
    if stage_layers is not None:
        given["layers"] = arguments.counts("stage_layers", stage_layers)
    return given


def complete(given: Mapping[str, Any]) -> dict[str, Any]:
    """All options; what is not stated is what it is without machines."""
    options = {**DEFAULTS, **given}
    if not options["schedule"]:
        for name in ("stages", "chunks", "layers"):
            if options[name]:
                raise arguments.refuse("stage_layers" if name == "layers" else name, options[name],
                                       "None without `pipeline`")
        return options
    options["chunks"] = options["chunks"] or 1
    options["stages"] = options["stages"] or len(options["layers"]) // options["chunks"]
    if not options["stages"]:
        raise arguments.refuse("stages", None, "an integer with `pipeline`")
    return options


def as_recorded(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without a rewriting."""
    return {**options, **DEFAULTS}


def rewrites(options: Mapping[str, Any]) -> bool:
    return options["micro_batches"] > 1 or any(
        options[how] for how in ("recompute", "offload", "schedule", "precision"))


def words(options: Mapping[str, Any]) -> list[str]:
    """The options of a step as the program takes them."""
    said = []
    if options["batch"] is not None:
        said += ["--batch", str(options["batch"])]
    for name, size in options["dimensions"].items():
        said += ["--dim", f"{name}={size}"]
    if options["micro_batches"]:
        said += ["--micro-batches", str(options["micro_batches"])]
    for option, name in (("--recompute", "recompute"), ("--offload", "offload"),
                         ("--mixed-precision", "precision")):
        for word in options[name]:
            said += [option, word]
    if options["schedule"]:
        said += ["--pipeline", options["schedule"], "--stages", str(options["stages"]),
                 "--chunks", str(options["chunks"])]
    if options["layers"]:
        said += ["--stage-layers", ",".join(map(str, options["layers"]))]
    return said
