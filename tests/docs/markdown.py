"""What a page of Markdown holds besides prose: blocks, and commands printed within lines.

A block is indented by four spaces or fenced by ```. A paragraph that ends with `NAME`: before a
block names the file that the block shows. `<!-- not run: WHY -->` on the line before a block, or above
an empty line, keeps its commands from being run; `<!-- long -->` leaves them to ./test --long.
"""

import re
import typing

PROGRAMS = ("./run", "./test", "placewright", "python/placewright_export.py",
            "placewright_export.py", "python3", "cmake", "tools/lint", "bench/capture/run")
_COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*(?:eval \"\$\()?(?:%s)(?= |$)" %
                      "|".join(re.escape(program) for program in PROGRAMS))
_NAMES_FILE = re.compile(r"`([^`\s]+\.[a-z.]+)`:$")
_MARK = re.compile(r"<!-- (not run: .+|long) -->$")
_SPAN = re.compile(r"`([^`]+)`")
_STANDS_FOR_SOMETHING = re.compile(r"(?:^|[\s=@])[A-Z][A-Z0-9]*(?=$|[\s=@.])|\.\.\.|[a-z]\|[a-z]")


class Block(typing.NamedTuple):
    line: int  # of its first line of content, from 1
    lines: list
    file: str  # that it shows, or ""
    mark: str = ""  # "long", "not run: WHY", or ""

    def text(self):
        return "\n".join(self.lines) + "\n"

    def is_python(self):
        return bool(re.match(r"import |from \S+ import ", self.lines[0]))

    def is_json(self):
        return self.lines[0].lstrip().startswith(("{", "["))

    def commands(self):
        """(line, command): every line that begins with the name of a program."""
        if self.file or self.is_python():
            return []
        return [(self.line + i, without_remark(text)) for i, text in enumerate(self.lines)
                if _COMMAND.match(text.lstrip())]


class Span(typing.NamedTuple):
    line: int
    text: str

    def is_usage(self):
        """Whether words in it stand for what the reader has to fill in: GRAPH, N, a|b."""
        return bool(_STANDS_FOR_SOMETHING.search(self.text))


def without_remark(text):
    """A command without what is said about it: after " #", or after two spaces."""
    return re.split(r"\s+#\s|\s{2,}", text.strip())[0]


def is_command(text):
    return bool(_COMMAND.match(text))


def blocks(text):
    found, lines, paragraph, fence, start, mark = [], [], "", False, 0, ""
    paragraph_open = False

    def close():
        nonlocal lines, mark
        while lines and not lines[-1].strip():
            lines.pop()
        if lines:
            name = _NAMES_FILE.search(paragraph)
            found.append(Block(start, lines, name.group(1) if name else "", mark))
            mark = ""
        lines = []

    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            if fence:
                close()
                paragraph, paragraph_open = "", False
            else:
                if lines:
                    close()
                start = number + 1
            fence = not fence
        elif fence:
            lines.append(line)
        elif line.startswith("    ") and (lines or not paragraph_open):
            if not lines:
                start = number
            lines.append(line[4:])
        elif not line.strip():
            paragraph_open = False
            if lines:
                lines.append("")
        elif _MARK.match(line):
            if lines:
                close()
            mark, paragraph_open = _MARK.match(line).group(1), False
        else:
            if lines:
                close()
                paragraph = ""
            paragraph, paragraph_open, mark = line.rstrip(), True, ""
    close()
    return found


def spans(text):
    """Code within lines; what blocks hold is left out, `` \\| `` of tables is a bar."""
    inside = {block.line + i for block in blocks(text) for i in range(len(block.lines))}
    prose = "\n".join("" if number in inside or line.lstrip().startswith("```") else line
                      for number, line in enumerate(text.split("\n"), 1))
    return [Span(prose.count("\n", 0, match.start()) + 1,
                 " ".join(match.group(1).replace("\\|", "|").split()))
            for match in _SPAN.finditer(prose)]
