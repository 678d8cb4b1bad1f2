"""Which files of the repository an sdist has, by the patterns of pyproject.toml."""

import fnmatch
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def setting(name):
    """The list of texts `name` of pyproject.toml. Python 3.10 has no reader of it."""
    text = (SOURCE / "pyproject.toml").read_text()
    found = re.search(rf"^{re.escape(name)} = \[([^\]]*)\]", text, re.M)
    return re.findall(r'"([^"]*)"', found.group(1))


def tracked():
    """The files of the repository, or none outside of one."""
    done = subprocess.run(["git", "ls-files"], cwd=SOURCE, check=False, capture_output=True,
                          text=True)
    return done.stdout.split() if done.returncode == 0 else []


def matches(name, pattern):
    if pattern.startswith("/"):
        return fnmatch.fnmatch(name.split("/")[0], pattern[1:])
    return fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name.split("/")[-1], pattern)


def packed():
    """Paths, sorted."""
    excluded, included = setting("sdist.exclude"), setting("sdist.include")
    return [name for name in tracked()
            if any(matches(name, pattern) for pattern in included)
            or not any(matches(name, pattern) for pattern in excluded)]
