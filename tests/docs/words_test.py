"""Words that were replaced do not come back, in pages, in the program, or in its sources."""

import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve()  # has the words themselves
ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()

# What they stood for: docs/architecture.md and the messages themselves.
REPLACED = {
    r"no plan takes more than": "at most X% below this is possible",
    r"\btorn\b|\btears? (a|the) module": "split across devices",
    r"stands for (its )?batch": "valid for batch N only",
    r"by no law": "neither linear in the batch nor proportional to a product of such terms",
    r"scale: own peak": "one scale of memory",
    r"\b([Nn]obody|[Ww]hoever)\b": "the thing's name, or the passive",
    r"\b([Tt]old|tells?|telling|Tells)\b": "reported, said, recognised, distinguished, notified",
    r"[a-z](Told|Nobody|Whoever)(?![a-z])": "Reported, Recognised, ...",
    r"\b([Tt]ruths?|[Tt]ruth_\w*)\b": "bool",
    r"\b[Ww]hole[ -](decimal )?numbers?\b|WholeNumber": "integer",
    r"\b[Mm]end(s|ed|ing)?\b": "fix",
    r"\b[Hh]ungry\b": "memory-intensive, or what it runs out of",
    r"\b[Hh]eat\b": "temperature",
    # Minimum and maximum. "At least", "at most", "most of" and comparisons ("most layers") stay.
    r"(?<!\b[Aa]t )(?<!lacks )\b[Ll]east[ )-]|\b([Tt]he|[Oo]f) least\b": "minimum, smallest, earliest",
    r"\b(Least|Most)(Time|Transfer|Last|Outputs|First|Free)|(?<![Aa]t)_(least|most)_\b|"
    r"\[(least|0|1), most\]|`(least|most)`|MostIsFree": "min, max",
}
PLACES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "docs/**/*.json", "docs/**/*.svg",
          "python/**/*.py", "examples/**/*", "include/**/*.h", "include/**/*.def",
          "src/**/*.cc", "src/**/*.h", "src/**/*.def",
          "tests/**/*.cc", "tests/**/*.h", "tests/**/*.py", "bench/**/*", "tools/**/*",
          "fuzz/**/*.cc", "cmake/*.cmake")


class Words(unittest.TestCase):
    def test_replaced_words_do_not_come_back(self):
        files = sorted({path for place in PLACES for path in ROOT.glob(place)
                        if path.is_file() and path != HERE and path.suffix != ".jsonl"})
        self.assertGreater(len(files), 300)
        for path in files:
            try:
                text = path.read_text()
            except UnicodeDecodeError:
                continue  # a compressed example
            text = re.sub(r"[ \t]*\n[ \t]*(//|#)?[ \t]*", " ", text)  # words of one sentence
            for words, instead in REPLACED.items():
                found = re.search(words, text)
                where = f"{path.relative_to(ROOT)}: \"{found.group()}\"" if found else ""
                with self.subTest(words=words, file=str(path)):
                    self.assertIsNone(found, f"{where}: say \"{instead}\"")


if __name__ == "__main__":
    unittest.main()
