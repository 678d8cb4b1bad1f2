"""Times and sizes as people read them."""

from __future__ import annotations


def time_text(seconds: float) -> str:
    """"26.5 ms": three digits, in the unit that fits."""
    for scale, unit in ((1e-6, "us"), (1e-3, "ms")):
        if seconds < 999.5 * scale:
            return f"{_three_digits(seconds / scale)} {unit}"
    return f"{_three_digits(seconds)} s"


def bytes_text(size: int) -> str:
    """"11.4 GiB"."""
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{size} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def share_text(share: float) -> str:
    """"23.7%"."""
    return f"{100 * share:.1f}%"


def count_text(count: int, noun: str) -> str:
    """"2,000 moves"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _three_digits(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}"
