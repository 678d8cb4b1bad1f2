"""Every link of the Markdown pages leads somewhere: files, and headings as GitHub names them; every
page of docs/ is in the navigation of mkdocs.yml, and no entry there is without its page."""

import pathlib
import re
import sys
import unittest

import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md"),
         *(ROOT / "policies").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?\s*\)")
_CODE = re.compile(r"`[^`]*`")


def prose(path):
    """The page without its blocks of code and code within lines."""
    text = path.read_text()
    code = {block.line + i for block in markdown.blocks(text) for i in range(len(block.lines))}
    return _CODE.sub("`code`", "\n".join(
        "" if at in code else line for at, line in enumerate(text.split("\n"), 1)))


def anchors(path):
    found = set()
    inside = False
    for line in path.read_text().split("\n"):
        inside ^= line.startswith("```")
        if line.startswith("#") and not inside:
            name = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            found.add(name if name not in found else f"{name}-1")
    return found


def broken(path):
    """[link, why] of the links of a page that lead nowhere."""
    found = []
    for link in _LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            found.append((link, "there is no such file"))
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append((link, "there is no such heading"))
    return found


def navigation():
    """Names of the pages in mkdocs.yml, which needs no reader of YAML for that."""
    text = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    return re.findall(r"([\w./-]+\.md)\s*$", text, re.MULTILINE)


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        self.assertGreater(len(PAGES), 60)
        for path in PAGES:
            for link, why in broken(path):
                with self.subTest(page=str(path.relative_to(ROOT)), link=link):
                    self.fail(why)

    def test_a_broken_link_is_seen(self):
        page = ROOT / "docs/architecture.md"
        self.assertNotIn("no-such-heading", anchors(page))
        self.assertIn("code", prose(page))
        self.assertEqual(_LINK.findall("[a](b.md#c) and [d\n e](../f.md)"), ["b.md#c", "../f.md"])

    def test_the_index_answers_twelve_questions(self):
        text = (ROOT / "docs/README.md").read_text().partition("## Where do I find")[2]
        rows = [line for line in text.split("\n") if re.match(r"\| [A-Z].*[?.] \|", line)]
        self.assertGreaterEqual(len(rows), 12)
        for row in rows:
            with self.subTest(row=row):
                self.assertRegex(row.split("|")[2], _LINK)

    def test_the_index_leads_to_every_page_by_two_links(self):
        near = {ROOT / "docs/README.md"}
        for _ in range(2):
            near |= {(page.parent / link.partition("#")[0]).resolve()
                     for page in near if page.suffix == ".md" and page.is_file()
                     for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:|#", link)}
        far = {str(page) for page in (ROOT / "docs").rglob("*.md") if page not in near}
        self.assertEqual(far, set())

    def test_navigation_has_every_page_once(self):
        names = navigation()
        self.assertEqual(sorted(names), sorted(set(names)))
        pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
        self.assertEqual(set(names), pages)


if __name__ == "__main__":
    sys.exit(unittest.main())
