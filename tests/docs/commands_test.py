"""Every command that the README, a page of docs/ or a command's --help prints runs as printed.

    commands_test.py readme | pages | help

A page is read from its top in an empty folder in which `placewright`, `./run`, `python/` and
`examples/` are those of the repository; so a command sees what the commands before it wrote, the
files that a page shows (see markdown.py), and the reader's own of fixtures.py. Only time is
changed: a search ends after BUDGET, or MOVES, a training after a quarter of its placements or, of
thousands, a tenth, a profile is of one batch and of small transfers, and what is scored anew is so
RESCORED times; where a search has found no plan that fits by then (a busy machine), it gets LONGER.
What stands for something in a usage (GRAPH) is not run, but its command and options must exist.
Commands that cannot be run are in NOT_RUN, or their block is marked (markdown.py).
"""

import fnmatch
import functools
import importlib.util
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

import fixtures
import markdown

ROOT = fixtures.ROOT
PROGRAM = pathlib.Path(os.environ["PLACEWRIGHT_PROGRAM"])
BUDGET, LONGER = "300ms", "10s"
MOVES = 100
RESCORED = 5
NOTHING_FITS = 5  # exit status
LIMIT = 300  # seconds for a command
LONG = "PLACEWRIGHT_LONG" in os.environ

# (page, commands, why they are not run); an entry without such a command fails the test.
NOT_RUN = [
    ("docs/results/recording.md", "bench/capture/run *", "needs valgrind, and takes minutes"),
    ("docs/results/executed.md", "placewright validate --suite *", "takes minutes"),
    ("docs/results/recording.md", "./test --long", "this is one of its tests"),
    ("docs/results/transformers.md", "./test --long", "this is one of its tests"),
    ("docs/capture.md", "./test --long", "this is one of its tests"),
    ("docs/results/apply.md", "./test --long", "this is one of its tests"),
    ("docs/memory.md", "python3 bench/memory/checkpointed_models.py", "needs transformers"),
    ("docs/formats/pytorch.md", "*hf:*", "needs transformers; tests/python/hf_test.py runs such ones"),
    ("placewright capture --help", "*hf:*", "needs transformers; tests/python/hf_test.py runs such ones"),
    ("placewright_export.py --help", "*hf:*", "needs transformers; tests/python/hf_test.py runs such ones"),
    ("docs/size.md", "placewright size *", "takes a minute; tests/cli/size_test.cc runs smaller ones"),
    ("docs/what-if.md", "placewright what-if *", "takes a minute; tests/cli/size_test.cc runs smaller ones"),
    ("docs/from-configuration.md", "placewright plan *", "of the reader's own; tests/cli/size_test.cc runs others"),
    ("docs/guides/extend.md", "./test -R *", "builds and runs tests"),
    ("docs/python.md", "python3 -m venv *", "builds the library; tests/wheel does"),
    ("README.md", "python3 -m venv *", "builds the library; tests/wheel does"),
    ("placewright profile --help", "mpirun *", "needs an MPI that may start as this user"),
    ("placewright man --help", "*/usr/local/share/man/*", "writes into the system's folders"),
]

# (places, commands) of ./test --long: those that plan a dozen clusters each, half a minute to a minute, and those that
# take five seconds or more and differ little from others that are run.
LONG_COMMANDS = [
    ("placewright *--help", "placewright size *"),
    ("placewright *--help", "placewright what-if *"),
    ("placewright *--help", "placewright compare *--iterations *"),
    ("placewright *--help", "placewright zoo --json"),
    ("placewright *--help", "placewright profile *--json"),
    ("placewright *--help", "placewright train mars vgg-16 vgg-19 *"),
    ("docs/algorithms/data-parallel.md", "placewright compare *"),
    ("docs/formats/layouts.md", "placewright compare *"),
    ("docs/results/learned.md", "placewright capture gnmt-8"),
    ("docs/results/recording.md", "placewright capture gnmt-8*"),
]

# Pages that hold commands, and at least how many: so that none is lost unseen.
AT_LEAST = {
    "README.md": 8, "docs/start/pytorch.md": 4, "docs/start/onnx.md": 4, "docs/start/machines.md": 2,
    "docs/guides/does-not-fit.md": 4, "docs/guides/unequal-gpus.md": 2, "docs/guides/several-hosts.md": 3,
    "docs/guides/measure.md": 4, "docs/errors.md": 1, "docs/capture.md": 1, "docs/results/recording.md": 4,
    "docs/results/reproduction/README.md": 1, "docs/results/reproduction/tag.md": 1,
    "docs/memory.md": 1, "docs/plan.md": 1, "docs/page.md": 1, "docs/simulator-placeto.md": 2,
    "docs/algorithms/partitioning.md": 1,
    "docs/formats/accelerate.md": 2, "docs/formats/cluster.md": 7, "docs/formats/cost-overrides.md": 1,
    "docs/formats/costgraph.md": 1, "docs/formats/cost-store.md": 4, "docs/formats/dnn-partitioning.md": 4,
    "docs/formats/graphdef.md": 4, "docs/formats/onnx.md": 1, "docs/formats/pipedream.md": 3,
    "docs/formats/placeto.md": 1, "docs/formats/pytorch.md": 2, "docs/python.md": 3,
    "docs/formats/aten-graph.md": 2, "docs/engines.md": 2,
}

# Commands whose examples make files that those of the others name.
HELP_FIRST = ["capture", "plan"]


def output_of(*words):
    return subprocess.run([str(PROGRAM), *words], capture_output=True, text=True,
                          check=True).stdout


def lacking(need):
    """Why what a fixture or command needs is not here, or ""."""
    if need == "torch" and importlib.util.find_spec("torch") is None:
        return f"{sys.executable} has no PyTorch (Debian: python3-torch)"
    if need not in ("torch", "core", "data", "man", ""):
        return "" if importlib.util.find_spec(need) else f"{sys.executable} has no {need}"
    if need == "core" and subprocess.run(
            [sys.executable, "-c", "from placewright._find import core; core()"], check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True).returncode:
        return "the core of the Python package is not built (-DPLACEWRIGHT_PYTHON=ON)"
    if need == "data" and not os.path.isdir(os.environ.get("PLACEWRIGHT_SHARED_DATA", "")):
        return "the shared data is not here"
    if need == "man" and shutil.which("man") is None:
        return "man is not installed"
    return ""


class Helps:
    """The commands of the program with their help texts, found by asking the program."""

    def __init__(self):
        self.texts = {}
        self._add(())
        self.exporter = subprocess.run(
            [str(ROOT / "python/placewright_export.py"), "--help"], capture_output=True,
            text=True, check=False).stdout
        self.bench = subprocess.run(
            [sys.executable, "-m", "placewright.bench", "--help"], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=True).stdout
        self.tests = (ROOT / "test").read_text()

    def _add(self, path):
        self.texts[path] = output_of(*path, "--help")
        section = self.texts[path].partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        for line in section.splitlines():
            self._add(path + (line.split()[0],))

    def split(self, words):
        """(command path, the other words) of the words after `placewright`."""
        path = ()
        while words and path + (words[0],) in self.texts:
            path, words = path + (words[0],), words[1:]
        return path, words

    def examples(self, path):
        text = self.texts[path] if path != ("placewright_export.py",) else self.exporter
        lines = text.partition("Examples:\n")[2].splitlines()
        return [markdown.without_remark(line) for line in lines if line.startswith("  ")]


def options_in(text):
    return re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text)


def has_option(option, text):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def ends_with_option(words, text):
    """Whether the last word is an option that the help gives a value."""
    return bool(words) and re.search(rf"{re.escape(words[-1])} [A-Z]", text) is not None


def shortened(command, budget=BUDGET):
    """The command with a small budget where it searches, trains or scores anew."""
    if re.search(r"(placewright|\./run) train ", command):
        # An update takes ten.
        return re.sub(r" --iterations (\d+)",
                      lambda m: f" --iterations {int(m.group(1)) // (4 if len(m.group(1)) < 4 else 10)}", command)
    if re.search(r"(placewright|\./run) profile \w", command):
        for option, value in (("--batch", 32), ("--largest-transfer", 4)):
            command += f" {option} {value}" if option not in command else ""
        return command
    command = re.sub(r" --rescore \d+", f" --rescore {RESCORED}", command)
    for path in ("plan", "compare", "bench seeds", "bench traversal"):
        if not re.search(rf"(placewright|\./run) {path} ", command):
            continue
        if " --time " in command:
            return re.sub(r" --time \S+", f" --time {budget}", command)
        if path.startswith("bench"):
            return command
        if " --iterations " in command:
            return re.sub(r" --iterations (\d+)",
                          lambda m: f" --iterations {min(MOVES, int(m.group(1)))}", command)
        if path == "plan" or ".plan.json" not in command:  # plans side by side: no search
            return f"{command} --time {budget}"
    return command


class Reader:
    """Types commands in a folder of their own, and counts what became of them."""

    def __init__(self, shown):
        self.shown = shown  # name -> text of the files that any page shows
        self.failed, self.ran, self.skipped = [], 0, 0
        self.used, self.matched, self.left = set(), set(), set()
        self.place = self._folder = None

    def begin(self, place, folder):
        self.place, self._folder = place, pathlib.Path(folder)
        commands = self._folder / "bin"
        commands.mkdir()
        (commands / "placewright").symlink_to(PROGRAM)
        (commands / "placewright_export.py").symlink_to(ROOT / "python/placewright_export.py")
        (self._folder / "run").symlink_to(PROGRAM)
        for name in ("python", "examples"):
            (self._folder / name).symlink_to(ROOT / name)
        (self._folder / "home/.config/fish/completions").mkdir(parents=True)
        self.environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}",
                            "HOME": str(self._folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment.pop("PYTHONPATH", None)

    def say(self, word, line, text):
        print(f"{word} {self.place}{f':{line}' if line else ''}: {text}", flush=True)

    def fail(self, line, text, why):
        self.failed.append(f"{self.place}:{line}: {text}")
        self.say("FAILED", line, f"{text}\n{why}")

    def show(self, block):
        path = self._folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text())

    def _provide(self, command):
        """Makes the files that the command names; why one cannot be had, or ""."""
        for name in sorted(self.shown.keys() | fixtures.FILES.keys()):
            if not re.search(rf"(?<![\w./-]){re.escape(_as_named(name))}(?![\w/-]|\.\w)", command):
                continue
            self.used.add(name)
            path = self._folder / name
            if path.exists():
                continue
            if name in self.shown:
                path.write_text(self.shown[name])
                continue
            make, need = fixtures.FILES[name]
            if lacking(need):
                return lacking(need)
            self._show_source_of(name)
            make(path)
        return ""

    def _show_source_of(self, name):
        """What a plan of a shown graph, or a shown file packed by gzip, is made from."""
        source = name.replace(".plan.", ".").removesuffix(".gz")
        if source in self.shown:
            self.used.add(source)
            (self._folder / source).write_text(self.shown[source])

    def listed(self, line, command):
        """Whether the command is one of NOT_RUN."""
        for entry in NOT_RUN:
            if entry[0] == self.place and fnmatch.fnmatchcase(command, entry[1]):
                self.matched.add(entry)
                self.say("not run", line, f"{command} ({entry[2]})")
                return True
        return False

    def left_out(self, line, command):
        """Whether the command is one of LONG_COMMANDS, and these are not run."""
        for entry in LONG_COMMANDS:
            if fnmatch.fnmatchcase(self.place, entry[0]) and fnmatch.fnmatchcase(command, entry[1]):
                self.left.add(entry)
                if not LONG:
                    self.say("left to ./test --long", line, command)
                return not LONG
        return False

    def type(self, line, command):
        if self.listed(line, command) or self.left_out(line, command):
            return
        need = ("torch" if "placewright_export.py" in command else
                "man" if re.search(r"\bman -l", command) else "")
        why = lacking(need) or self._provide(command)
        if why:
            self.skipped += 1
            self.say("skipped", line, f"{command} ({why})")
            return
        def words(budget):
            return ["bash", "-e", "-o", "pipefail", "-c", shortened(command, budget)]
        again = shortened(command, LONGER) != shortened(command)
        self._run(line, command, words(BUDGET), again=words(LONGER) if again else None)

    def type_python(self, block):
        of_package = block.lines[0].startswith("import placewright ")
        why = (lacking("torch") or (lacking("core") if of_package else "") or
               (lacking("transformers") if "transformers" in block.lines[0] else ""))
        if why:
            self.skipped += 1
            self.say("skipped", block.line, f"{block.lines[0]} ({why})")
            return
        self._run(block.line, block.lines[-1], [
            sys.executable, "-c", fixtures.PYTHON_NAMES + block.text()],
            {"PYTHONPATH": "python"})

    def _run(self, line, text, words, more=None, again=None):
        before = _seconds_of_children()
        try:
            done = subprocess.run(words, cwd=self._folder, env={**self.environment, **(more or {})},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            self.fail(line, text, f"takes more than {LIMIT} s")
            return
        if again is not None and done.returncode == NOTHING_FITS:
            self._run(line, text, again, more)
            return
        self.ran += 1
        if done.returncode:
            self.fail(line, text, f"exit status {done.returncode}: {done.stdout[-2000:]}")
        else:
            self.say(f"ok ({_seconds_of_children() - before:.1f} s)", line, text)


def _seconds_of_children():
    """Processor time of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _as_named(name):
    """A Python file in a package is named by its import path."""
    return name[:-3].replace("/", ".") if "/" in name and name.endswith(".py") else name


def check_usage(reader, helps, span):
    """A usage, or the name of a command or option: it and its options must exist."""
    words = span.text.split()
    if words[0] in ("placewright", "./run"):
        path, rest = helps.split(words[1:])
        if not path and rest and rest[0][0].islower():
            reader.fail(span.line, span.text, "no such command")
    elif (words[0],) in helps.texts and len(words) > 1:
        path, rest = helps.split(words)
    elif words[0].startswith("--"):
        everything = "\n".join([*helps.texts.values(), helps.exporter, helps.bench, helps.tests])
        for option in options_in(span.text)[:1]:
            if not has_option(option, everything):
                reader.fail(span.line, span.text, "no help text has this option")
        return
    else:
        return
    for option in options_in(" ".join(rest)):
        if not has_option(option, helps.texts[path]):
            reader.fail(span.line, span.text, f"`{' '.join(path)}` has no option {option}")


def is_to_be_run(helps, span):
    """Whether words within a line are a whole command, not only the name of one."""
    if not markdown.is_command(span.text) or span.is_usage():
        return False
    words = shlex.split(span.text)
    if words[0] not in ("placewright", "./run"):
        return len(words) > 1
    path, rest = helps.split(words[1:])
    return bool(rest) and not ends_with_option(rest, helps.texts[path])


def read_page(reader, helps, page, text):
    """Does what the page says; how many commands it held."""
    items = [(block.line, block) for block in markdown.blocks(text)]
    items += [(span.line, span) for span in markdown.spans(text)]
    count = 0
    for _, item in sorted(items, key=lambda pair: pair[0]):
        if isinstance(item, markdown.Span):
            if is_to_be_run(helps, item):
                count += 1
                reader.type(item.line, item.text)
            else:
                check_usage(reader, helps, item)
        elif item.mark.startswith("not run") or (item.mark == "long" and not LONG):
            count += len(item.commands()) + item.is_python()
            reader.say(item.mark, item.line, item.lines[0])
        elif item.is_python() and not item.file:
            count += 1
            reader.type_python(item)
        else:
            count += len(item.commands())
            read_block(reader, item)
    if count < AT_LEAST.get(page, 0):
        reader.fail(0, page, f"holds {count} commands, not {AT_LEAST[page]}")


def read_block(reader, block):
    if block.is_json():
        try:
            json.loads(block.text())
        except ValueError as error:
            reader.fail(block.line, block.lines[0], f"is no JSON: {error}")
    if block.file:
        reader.show(block)
    for line, command in block.commands():
        reader.type(line, command)


def pages():
    """Without those of the laboratory, whose commands are of their day."""
    found = ["README.md"]
    found += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")
                    if path.parent.name != "lab")
    return {page: (ROOT / page).read_text() for page in found}


def in_a_folder(reader, place, action):
    with tempfile.TemporaryDirectory() as folder:
        reader.begin(place, folder)
        action()


def read_pages(reader, helps, texts):
    for page in sorted(AT_LEAST.keys() - pages().keys()):
        reader.fail(0, page, "there is no such page")
    for page, text in texts.items():
        in_a_folder(reader, page, functools.partial(read_page, reader, helps, page, text))


def read_helps(reader, helps):
    """The examples of all commands in one folder: they name each other's files."""
    paths = sorted(helps.texts, key=lambda path: (path[:1] not in [(n,) for n in HELP_FIRST],
                                                  HELP_FIRST.index(path[0]) if path and
                                                  path[0] in HELP_FIRST else 0))

    def type_all():
        for path in [*paths, ("placewright_export.py",)]:
            reader.place = " ".join(("placewright",) * (path[:1] != ("placewright_export.py",)) +
                                    path + ("--help",))
            examples = helps.examples(path)
            if not examples:
                reader.fail(0, reader.place, "has no examples")
            for command in examples:
                reader.type(0, command)
    in_a_folder(reader, "placewright --help", type_all)


def check_tables(reader, helps, group, texts):
    """Every entry of NOT_RUN and LONG_COMMANDS, file shown and fixture is used by something."""
    places = set(texts) if group != "help" else None
    for entry in NOT_RUN:
        here = entry[0] in places if places is not None else entry[0].endswith("--help")
        if here and entry not in reader.matched:
            reader.fail(0, entry[1], f"of NOT_RUN is no command of {entry[0]}")
    for entry in LONG_COMMANDS:
        here = entry[0] in places if places is not None else entry[0].endswith("--help")
        if here and entry not in reader.left:
            reader.fail(0, entry[1], f"of LONG_COMMANDS is no command of {entry[0]}")
    everything = "\n".join([*pages().values(), *helps.texts.values(), helps.exporter])
    for name in fixtures.FILES:
        if _as_named(name) not in everything:
            reader.fail(0, name, "of fixtures.py is named nowhere")
    if group == "pages":
        for name in sorted(reader.shown.keys() - reader.used):
            reader.fail(0, name, "is shown by a page, and no command uses it")


def main(group):
    texts = pages()
    shown = {block.file: block.text() for text in texts.values()
             for block in markdown.blocks(text) if block.file}
    helps, reader = Helps(), Reader(shown)
    chosen = {page: text for page, text in texts.items() if (page == "README.md") ==
              (group == "readme")}
    if group == "help":
        read_helps(reader, helps)
    else:
        read_pages(reader, helps, chosen)
    check_tables(reader, helps, group, chosen)
    print(f"{reader.ran} commands ran, {len(reader.failed)} failed, {reader.skipped} skipped")
    for text in reader.failed:
        print(f"failed: {text}")
    return 1 if reader.failed or not reader.ran else 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["readme"], ["pages"], ["help"]):
        sys.exit(f"usage: {sys.argv[0]} readme|pages|help")
    sys.exit(main(sys.argv[1]))
