"""Tables as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns next to each other; those of numbers, which begin with a digit, flush right."""
    lines = [list(head), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(head))]

    def padded(line: list[str]) -> str:
        cells = (cell.rjust(width) if numbers else cell.ljust(width)
                 for cell, width, numbers in zip(line, widths, right, strict=True))
        return "  ".join(cells).rstrip()
    return "\n".join(padded(line) for line in lines)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    heads = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    lines = []
    for row in rows:
        cells = "".join(
            f'<td style="text-align:{"right" if numbers else "left"}">{html.escape(cell)}</td>'
            for cell, numbers in zip(row, right, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell in ("", "-")
