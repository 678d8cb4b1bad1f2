"""Pages of plans (--html): what they hold, how large they are, that they load nothing, that their data are the schedule.

With node the scripts are parsed and the data unpacked as a browser does it; with chromium the timeline is drawn, zoomed
and hovered over. Where one of them is missing, its test is skipped."""

import base64
import gzip
import hashlib
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["PLACEWRIGHT_PROGRAM"]
MEGABYTE = 1000 * 1000
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
NODE = shutil.which("node")


class Page(html.parser.HTMLParser):
    """Elements with their text; checks that tags are closed in order."""

    EMPTY = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.headings, self.attributes, self.problems = [], [], [], [], []
        self.text, self.scripts, self.data = "", [], ""
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]}")
            return
        self.open.pop()

    def handle_data(self, data):
        tag, attrs = self.open[-1] if self.open else ("", {})
        if tag == "script":
            if attrs.get("id") == "timeline-data":
                self.data += data
            else:
                self.scripts.append(data)
            return
        if tag == "style":
            return
        self.text += data
        if tag == "h2":
            self.headings.append(data)
        if tag in ("td", "th"):
            self.tables[-1][-1][-1] += data

    def timeline(self):
        return json.loads(zlib.decompress(base64.b64decode(self.data)))


def spans_of(timeline, name):
    """(name of the op, start, end) of a device, as the page's script reads them."""
    for lane in timeline["lanes"]:
        if name not in lane["devices"]:
            continue
        data = timeline["data"][lane["shown"][lane["devices"].index(name)]]
        spans, end, op = [], 0, 0
        for gap, time, more in zip(data["gap"], data["time"], data["op"]):
            start, op = end + gap, op + more
            end = start + time
            spans.append((timeline["names"][timeline["ops"]["name"][op]], start, end))
        return spans
    raise KeyError(name)


class PlanPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.split = cls.plan("split", "bert-small", "-c", "5x8xH100", "--batch", "80", "--algo", "horovod")
        cls.wide = cls.plan("wide", "bert-small", "-c", "16x8xH100", "--batch", "128", "--algo", "horovod")
        (cls.path("unequal.yaml")).write_text(
            "gpus: [2 x RTX-4090, 1 x RTX-3090]\ncpus: 1 x Ryzen-9-7950X\ninterconnect: pcie4\nmemory: 64 GiB\n")
        cls.unequal = cls.plan("unequal", "bert-small", "-c", "unequal.yaml", "--batch", "25", "--algo",
                               "data-parallel-p")
        cls.path("two.yaml").write_text(
            "gpus: [1 x RTX-3090, 1 x RTX-3060]\ncpus: 1 x Ryzen-9-7950X\ninterconnect: pcie4\nmemory: 64 GiB\n")
        cls.norms = cls.plan("norms", "resnet-50", "-c", "two.yaml", "--batch", "32", "--algo", "data-parallel-p")
        cls.placed = cls.plan("placed", "bert-small", "-c", "4xP100", "--space", "placed", "--iterations", "200")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return pathlib.Path(cls.folder.name) / name

    @classmethod
    def plan(cls, name, *arguments):
        """The page, and what `plan --json` says."""
        run = subprocess.run([PROGRAM, "plan", *arguments, "--json", "-o", f"{name}.plan.json", "--html", f"{name}.html"],
                             cwd=cls.folder.name, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(run.stdout + run.stderr)
        text = cls.path(f"{name}.html").read_text(encoding="utf-8")
        return Page(text), json.loads(run.stdout), text

    @classmethod
    def beside(cls, name, part):
        """The file beside the plan that it names."""
        plan = json.loads(cls.path(f"{name}.plan.json").read_text())
        path = cls.path(plan[part]["path"])
        return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_text())

    def test_large_files_beside_a_split_plan_are_compressed(self):
        for part in ("costs", "schedule"):
            plain = {name: self.path(f"{name}.plan.{part}.json").exists() for name in ("split", "placed", "wide")}
            self.assertEqual(plain, {"split": True, "placed": True, "wide": False}, part)
            self.assertLess(self.path(f"wide.plan.{part}.json.gz").stat().st_size, MEGABYTE)
            self.assertGreater(len(json.dumps(self.beside("wide", part))), 8 << 20)
        run = subprocess.run([PROGRAM, "check", "wide.plan.json"], cwd=self.folder.name, check=False)
        self.assertEqual(run.returncode, 0)

    def pages(self):
        return {"split": self.split, "wide": self.wide, "unequal": self.unequal, "placed": self.placed}.items()

    def test_is_whole_and_loads_nothing(self):
        for name, (page, _, text) in self.pages():
            with self.subTest(name):
                self.assertEqual(page.problems, [])
                self.assertEqual([pair for pair in page.attributes if pair[0] in ("src", "href")], [])
                self.assertNotRegex(text, r"https?://|@import|url\(")
                self.assertIn("Permission is hereby granted", text)  # of uPlot
                self.assertLess(len(text.encode()), MEGABYTE)

    def test_says_what_the_plan_says(self):
        for name, (page, plan, _) in self.pages():
            with self.subTest(name):
                self.assertIn(f"{plan['samples_per_second']:.4g}", page.text)
                self.assertIn("plans that may split or copy ops" if name != "placed" else "placements of whole ops",
                              page.text)
                self.assertIn("% modelled", page.text)
                self.assertLessEqual({"Timeline", "Modules", "Communication", "Devices"}, set(page.headings))
                cells = {cell for table in page.tables for row in table for cell in row}
                for row in plan["strategy"] if name != "placed" else plan["layers"]:
                    self.assertIn(row["name"], cells)
                for use in plan.get("communication", []):
                    self.assertIn(use["kind"], cells)
                for baseline in plan["baselines"]:
                    self.assertTrue(any(baseline["algorithm"] in cell.split(", ") for cell in cells))
                for note in plan["notes"]:
                    self.assertIn(" ".join(note.split()), " ".join(page.text.split()))
                for link in plan["links"]:
                    self.assertIn("link", cells)

    def test_names_the_permitted_change_that_would_gain(self):
        """Batch norms of each card's samples alone, on a 3090 beside a 3060."""
        page, plan, _ = self.norms
        change = plan["permitted_changes"][0]
        self.assertEqual((change["option"], change["plan"]), ("--batch-norm local", "the same plan"))
        self.assertGreaterEqual(change["gain"], 0.05)
        self.assertIn("would gain: --batch-norm local: ", page.text)
        local = self.plan("local", "resnet-50", "-c", "two.yaml", "--batch", "32", "--algo", "data-parallel-p",
                          "--batch-norm", "local")
        self.assertEqual(change["step_time_ns"], local[1]["step_time_ns"])  # what the switch gives
        self.assertEqual(local[1]["permitted_changes"], [])
        self.assertIn("batch norms take the statistics of each part alone", local[0].text)
        self.assertNotIn("would gain", local[0].text)
        shown = subprocess.run([PROGRAM, "plan", "resnet-50", "-c", "two.yaml", "--batch", "32", "--algo",
                                "data-parallel-p", "-o", "shown.plan.json"], cwd=self.folder.name, capture_output=True,
                               text=True, check=True).stdout
        self.assertIn("  would gain --batch-norm local: ", shown)

    def test_modules_are_rows_of_the_strategy(self):
        page, plan, _ = self.split
        table = next(table for table in page.tables if table[0][0] == "module")
        self.assertEqual(table[0][:4], ["module", "computed", "devices", "synchronised"])
        self.assertEqual([row[0] for row in table[1:]], [row["name"] for row in plan["strategy"]])
        for row in table[1:]:
            self.assertIn("host0-4/gpu0-7", row[2])
        placed = next(table for table in self.placed[0].tables if table[0][0] == "module")
        self.assertEqual(placed[0][3], "op time, of all devices")
        self.assertEqual([row[0] for row in placed[1:]], [row["name"] for row in self.placed[1]["layers"]])

    def test_devices_that_do_the_same_are_one_row_and_one_lane(self):
        page, _, _ = self.split
        lanes = page.timeline()["lanes"]
        self.assertEqual([lane["name"] for lane in lanes], ["host0-4/gpu0-7"])
        self.assertEqual(len(lanes[0]["devices"]), 40)
        devices = next(table for table in page.tables if table[0][0] == "devices")
        self.assertEqual(devices[1][:3], ["host0-4/gpu0-7", "40", "H100"])
        self.assertEqual(len(devices), 3)  # and the processors
        names = [lane["name"] for lane in self.unequal[0].timeline()["lanes"]]
        self.assertGreater(len(names), 1)  # a 3090 is no 4090

    def test_the_timeline_is_the_schedule(self):
        for name, (page, _, _) in self.pages():
            schedule = self.beside(name, "schedule")
            step = {}
            if self.path(f"{name}.plan.compiled.json.gz").exists():
                step = json.loads(gzip.decompress(self.path(f"{name}.plan.compiled.json.gz").read_bytes()))
            views = {member for one in step.get("collectives", []) for member in one.get("members", [])}
            expected = {}
            for op in schedule["ops"]:
                if op["end_ns"] > op["start_ns"] and op["name"] not in views:
                    expected.setdefault(op["device"], []).append((op["start_ns"], op["end_ns"]))
            timeline = page.timeline()
            drawn = 0
            for lane in timeline["lanes"]:
                for device, shown in zip(lane["devices"], lane["shown"]):
                    if shown < 0:
                        continue
                    drawn += 1
                    spans = sorted((start, end) for _, start, end in spans_of(timeline, device))
                    self.assertEqual(spans, sorted(expected[device]), f"{name} {device}")
            self.assertEqual(drawn, len(expected), name)  # of steps as small as these, all

    def test_the_chart_is_as_published(self):
        """third_party/uplot/README.md names the hashes."""
        folder = ROOT / "third_party" / "uplot"
        stated = dict(re.findall(r"\| `(\S+)` \| `\S+` \| `([0-9a-f]{64})` \|", (folder / "README.md").read_text()))
        self.assertEqual(len(stated), 3)
        for name, sha256 in stated.items():
            self.assertEqual(hashlib.sha256((folder / name).read_bytes()).hexdigest(), sha256, name)

    @unittest.skipUnless(NODE, "no node")
    def test_scripts_parse_and_data_unpack_as_in_a_browser(self):
        page, plan, _ = self.split
        for number, script in enumerate(page.scripts):
            path = self.path(f"script{number}.js")
            path.write_text(script, encoding="utf-8")
            subprocess.run([NODE, "--check", str(path)], check=True)
        self.path("data.txt").write_text(page.data, encoding="utf-8")
        unpack = """
            const text = require('fs').readFileSync('data.txt', 'utf8');
            const bytes = Uint8Array.from(atob(text.trim()), c => c.charCodeAt(0));
            const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
            new Response(stream).text().then(t => console.log(JSON.parse(t).step));"""
        run = subprocess.run([NODE, "-e", unpack], cwd=self.folder.name, capture_output=True, text=True, check=True)
        self.assertEqual(int(run.stdout), plan["step_time_ns"])

    @unittest.skipUnless(BROWSER, "no chromium")
    def test_a_browser_draws_zooms_and_tells(self):
        probe = """<script>
            const wait = ms => new Promise(done => setTimeout(done, ms));
            (async () => {
              const root = document.getElementById('timeline');
              for (let i = 0; i < 200 && root.dataset.ready !== '1'; ++i) await wait(20);
              const { u } = planTimeline, box = u.over.getBoundingClientRect(), said = [];
              const at = { clientX: box.left + 30, clientY: box.top + 12, bubbles: true, cancelable: true };
              u.over.dispatchEvent(new MouseEvent('mousemove', at));
              await wait(100);
              said.push(root.querySelector('.tip').textContent);
              const width = () => u.scales.x.max - u.scales.x.min, whole = width();
              for (let i = 0; i < 5; ++i) u.over.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: -100 }));
              await wait(100);
              said.push(String(width() / whole));
              u.over.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
              await wait(100);
              said.push(String(width() / whole));
              document.body.innerHTML = '<pre id="said"></pre>';
              document.getElementById('said').textContent = JSON.stringify(said);
            })();</script></body>"""
        self.path("probe.html").write_text(self.split[2].replace("</body>", probe), encoding="utf-8")
        run = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.path('profile')}",
             "--dump-dom", "--window-size=1200,900", "--virtual-time-budget=20000",
             self.path("probe.html").as_uri()], capture_output=True, text=True, check=False, timeout=120)
        found = re.search(r'<pre id="said">(.*?)</pre>', run.stdout, re.S)
        self.assertIsNotNone(found, run.stdout[-2000:] + run.stderr[-2000:])
        tip, zoomed, whole = json.loads(found.group(1))
        self.assertRegex(tip, r"(?s)^.+\naten\.\S+\n.*forward, [\d.]+ [mu]s from [\d.]+ .*\nhost0/gpu0$")
        self.assertAlmostEqual(float(zoomed), 1 / 1.25 ** 5, places=4)
        self.assertEqual(float(whole), 1)


if __name__ == "__main__":
    unittest.main()
