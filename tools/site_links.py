"""A hook of mkdocs: links out of docs/ (sources, examples) become the names of what they lead to,
which readers of the site have beside them and readers of the repository follow."""

import posixpath
import re

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(?:#[^)]*)?\)")


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname(page.file.src_uri)

    def inside_or_name(match):
        target = posixpath.normpath(posixpath.join(folder, match.group(2)))
        if not target.startswith("../"):
            return match.group(0)
        return f"{match.group(1)} (`{target.removeprefix('../')}`)"
    return _LINK.sub(inside_or_name, markdown)
