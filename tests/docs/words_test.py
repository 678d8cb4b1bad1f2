"""Words that users do not meet: what was replaced does not come back, in pages or in the program."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()

# What they stood for: docs/architecture.md and the messages themselves.
REPLACED = {
    r"no plan takes more than": "at most X% below this is possible",
    r"\btorn\b|\btears? (a|the) module": "split across devices",
    r"stands for (its )?batch": "valid for batch N only",
    r"by no law": "neither linear in the batch nor proportional to it",
    r"told by its content": "recognised by its content",
    r"scale: own peak": "one scale of memory",
    r"\bnobody (states|stated|trains)\b": "is not stated, is not updated",
    r"\bMend it\b": "Fix it",
}
PLACES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/**/*.json", "docs/**/*.svg",
          "python/**/*.py", "examples/**/*", "src/**/*.cc", "src/**/*.h", "src/**/*.def")


class Words(unittest.TestCase):
    def test_replaced_words_do_not_come_back(self):
        files = sorted({path for place in PLACES for path in ROOT.glob(place) if path.is_file()})
        self.assertGreater(len(files), 300)
        for path in files:
            try:
                text = path.read_text()
            except UnicodeDecodeError:
                continue  # a compressed example
            for words, instead in REPLACED.items():
                found = re.search(words, text)
                where = f"{path.relative_to(ROOT)}: \"{found.group()}\"" if found else ""
                with self.subTest(words=words, file=str(path)):
                    self.assertIsNone(found, f"{where}: say \"{instead}\"")


if __name__ == "__main__":
    unittest.main()
