"""Commands are found where pages print them, and one that fails is seen."""

import io
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

os.environ.setdefault("PLACEWRIGHT_PROGRAM", "/bin/false")

import commands_test  # noqa: E402
import markdown  # noqa: E402

PAGE = """\
# Page

Text with `placewright zoo mlp` and `placewright plan GRAPH`
    that is no block `placewright doctor`.

    ./run plan x -c 4xP100      # a remark
    prints this

Shown, `a.yaml`:

    gpus: T4

    cpus: T4

* `placewright cluster check a.yaml`

      placewright in a list

```sh
python/placewright_export.py a.py:b -o c    and a remark
```

| `placewright explain a\\|b` |

    from x import y
"""


class Extraction(unittest.TestCase):
    def test_blocks(self):
        blocks = markdown.blocks(PAGE)
        self.assertEqual([(b.line, b.file) for b in blocks],
                         [(6, ""), (11, "a.yaml"), (17, ""), (20, ""), (25, "")])
        self.assertEqual(blocks[1].text(), "gpus: T4\n\ncpus: T4\n")
        self.assertEqual(blocks[0].commands(), [(6, "./run plan x -c 4xP100")])
        self.assertEqual(blocks[2].commands(), [(17, "placewright in a list")])
        self.assertEqual(blocks[3].commands(),
                         [(20, "python/placewright_export.py a.py:b -o c")])
        self.assertEqual([b.is_python() for b in blocks], [False, False, False, False, True])

    def test_spans(self):
        spans = markdown.spans(PAGE)
        self.assertEqual([(s.line, s.text) for s in spans], [
            (3, "placewright zoo mlp"), (3, "placewright plan GRAPH"), (4, "placewright doctor"),
            (9, "a.yaml"), (15, "placewright cluster check a.yaml"), (23, "placewright explain a|b")])
        self.assertEqual([s.is_usage() for s in spans], [False, True, False, False, False, True])

    def test_marks(self):
        page = ("<!-- not run: needs eight GPUs -->\n    ./run a b\n\nText\n\n<!-- long -->\n\n"
                "    ./run c d\n\nText\n\n    ./run e f\n")
        self.assertEqual([(b.commands()[0][1], b.mark) for b in markdown.blocks(page)],
                         [("./run a b", "not run: needs eight GPUs"), ("./run c d", "long"),
                          ("./run e f", "")])

    def test_usages(self):
        for text, usage in (("placewright plan a.json -c 4xP100", False),
                            ("placewright capture x.pt --input 'x=f32[B,3]'", False),
                            ("placewright plan G -c C", True), ("plan --batch N", True),
                            ("plan ... --sim x", True), ("bench --placement a|b", True),
                            ("cluster random --kinds A100-40GB,T4", False)):
            self.assertEqual(markdown.Span(1, text).is_usage(), usage, text)

    def test_budgets(self):
        budget = commands_test.BUDGET
        for given, run in (
                ("placewright plan x -c y", f"placewright plan x -c y --time {budget}"),
                ("./run plan x --time 60s -o z", f"./run plan x --time {budget} -o z"),
                ("placewright plan x --iterations 9", "placewright plan x --iterations 9"),
                ("placewright compare x --iterations 10000 --json",
                 f"placewright compare x --iterations {commands_test.MOVES} --json"),
                ("placewright compare a.plan.json b.plan.json",
                 "placewright compare a.plan.json b.plan.json"),
                ("placewright inspect x", "placewright inspect x")):
            self.assertEqual(commands_test.shortened(given), run)


class Reading(unittest.TestCase):
    def read(self, command):
        reader = commands_test.Reader({})
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
            reader.begin("page.md", folder)
            reader.type(1, command)
        return reader

    def test_what_fails_is_seen(self):
        for command in ("./run --no-such-option", "placewright | cat", "false"):
            self.assertEqual(self.read(command).failed, [f"page.md:1: {command}"])
        self.assertEqual(self.read("true").failed, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
