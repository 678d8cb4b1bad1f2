"""The schema of cluster files takes what the program takes, and refuses what it can refuse."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-jsonschema, python3-yaml)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["PLACEWRIGHT_PROGRAM"]
VALID_LINK = "{between: [a, b], bandwidth: 1 GB/s, latency: 1 us}"
TWO = "devices: [{name: a, kind: T4}, {name: b, kind: T4}]\n"

# Files that both must refuse.
BAD = [
    "[]",
    "name: nothing-else",
    "devices: []\nlinkz: []",
    "gpus: 2 x T4\nhosts: [{gpus: T4}]",
    "hosts: [{count: 2}]",
    "hosts: [{gpus: T4, count: 0}]",
    "hosts: [{gpus: T4, count: two}]",
    "gpus: {kind: T4, reserve: 5 percent}",
    "gpus: {kind: T4, reserve: 5%, reserve_bytes: 5}",
    "hosts: [{gpus: T4, nics: 0}]\nnetwork: 1 Gbps",
    "hosts: [{gpus: T4, nics: []}]\nnetwork: 1 Gbps",
    "gpus: 2 x T4\ninterconnect: pcie9",
    "gpus: 2 x T4\ninterconnect_bandwidth: 12",
    "gpus: 2 x T4\nnetwork: {latency: 3 us}",
    "interconnect: pcie3\ndevices: [{name: a, kind: T4}]",
    "network: 10 Gbps\ndevices: [{name: a, kind: T4}]",
    "gpus: {count: 2}",
    "gpus: {kind: T4, memory: 4 GiB, memory_bytes: 4}",
    "cpus: 1 x EPYC-7742\nmemory: 64",
    "cpus: 1 x EPYC-7742\nmemory: 64 Gigs",
    "devices: [{kind: T4}]",
    "devices: [{name: a, kind: T4, memory_bytes: -1}]",
    "devices: [{name: a, kind: T4, memory_bytes: 1.5}]",
    "devices: [{name: a, kind: T4, host: 1000001}]",
    TWO + "links: [{between: [a], bandwidth: 1 GB/s, latency: 1 us}]",
    TWO + "links: [{between: [a, b], latency: 1 us}]",
    TWO + "links: [{between: [a, b], bandwidth: 1 GB/s}]",
    TWO + "links: [{between: [a, b], bandwidth: 1 GB/s, latency: 1 us, duplex: both}]",
    TWO + "links: [{bandwidth: 1 GB/s, latency: 1 us}]",
    TWO + "links: [{name: x, duplex: full, bandwidth: 1 GB/s, latency: 1 us}]",
    TWO + f"links: [{VALID_LINK}]\nroutes: [{{from: a, to: b}}]",
    TWO + f"links: [{VALID_LINK}]\npartial: perhaps",
    "kinds: {X: {class: gpu}}\ndevices: [{name: a, kind: X}]",
    "kinds: {X: {like: T4, class: toaster}}\ndevices: [{name: a, kind: X}]",
    "kinds: {X: {like: T4, peak: {f32: 9.3}}}\ndevices: [{name: a, kind: X}]",
    "kinds: {X: {like: T4, peak: {f12: 9.3 TFLOP/s}}}\ndevices: [{name: a, kind: X}]",
    "gpus: 2 x T4\ncollectives: {one_communicator: perhaps}",
    "gpus: 2 x T4\ncollectives: {serial: true}",
    "gpus: 2 x T4\ncollectives: {one_communicator: true, measured_at: 1 GB/s}",
    "gpus: 2 x T4\ncollectives: {one_communicator: true, source: mine}",
    "gpus: 2 x T4\ncollectives: {one_communicator: true, lines: []}",
    "gpus: 2 x T4\ncollectives: {one_communicator: true, lines: [{latency: 1 us, bandwidth: 1 GB/s}]}",
    "gpus: 2 x T4\ncollectives: {measured_at: 1 GB/s, lines: [{latency: 1 us, bandwidth: 1 GB/s}]}",
    "gpus: 2 x T4\ncollectives: {one_communicator: true, measured_at: 1 GB/s, lines: [{latency: 1 us}]}",
    "schema: placewright.cluster/2\ngpus: T4",
    "schema: placewright.cluster-show/1\ngpus: T4",
]
# Files that both must take.
GOOD = [
    TWO + f"links: [{VALID_LINK}]",
    TWO + "partial: true",
    "gpus: [T4, 2 x T4, {kind: V100 16, count: 2, reserve: 0}]",
    "gpus: {kind: T4, reserve: 2.5%}",
    "reserve: 1,024 MiB\nhosts: [{gpus: T4, reserve: 0}, {gpus: T4, reserve_bytes: 5}]\nnetwork: 400 Gb/s",
    "hosts: [{gpus: T4, nics: 2}, {gpus: T4, nics: 2 x 100 Gbps}, {gpus: T4, nics: [1, 9 Gb/s]}]\n"
    "network: 25 Gbps",
    "kinds: {X: {like: T4, reserve: 0}}\ndevices: [{name: a, kind: X}]",
    "gpus: 8 x H200\ninterconnect: nvswitch\ncpus: 2 x Xeon-Platinum-8480+\nmemory: 2 TiB",
    "kinds: {X: {like: T4, peak: {f32: 9.3 TFLOPS, i8: 0}}}\ndevices: [{name: a, kind: X}]",
    "kinds: {X: {class: gpu, architecture: volta, peak_flops: {f32: 1.0e+12}, launch_overhead: 0,"
    " memory_bandwidth: 900 Gbit/s, runtime_context: 0, memory: 4 GiB}}\n"
    "devices: [{name: a, kind: X}]",
    "devices: [{name: a, kind: TPU-v3, count: 1}]",
    "gpus: 2 x T4\ncollectives: {one_communicator: true}",
    "gpus: 2 x T4\ncollectives: {one_communicator: true, measured_at: 1 GB/s, source: mine,"
    " lines: [{latency: 0, bandwidth: 1 GB/s}, {latency_ns: 5, bandwidth_bytes_per_s: 9}]}",
]


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


class ClusterSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(run("cluster", "schema").stdout)
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def accepted_by_program(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            outcome = run("cluster", "check", file.name)
        self.assertIn(outcome.returncode, (0, 3), text)
        return outcome.returncode == 0

    def test_the_program_prints_the_published_schema(self):
        published = (ROOT / "docs/formats/cluster.schema.json").read_text(encoding="utf-8")
        self.assertEqual(run("cluster", "schema").stdout, published)

    def test_examples_are_valid(self):
        examples = sorted((ROOT / "examples/clusters").glob("*.yaml"))
        self.assertTrue(examples)
        for path in examples:
            self.validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))

    def test_presets_are_valid_resolved_and_as_shown(self):
        presets = json.loads(run("cluster", "show", "--json").stdout)["presets"]
        self.assertTrue(presets)
        for preset in presets:
            shown = json.loads(run("cluster", "show", preset["name"], "--json").stdout)
            self.validator.validate(shown)
            self.validator.validate(shown["cluster"])

    def test_drawn_clusters_are_valid_and_repeat(self):
        for seed in ("0", "1", "18446744073709551615"):
            drawn = run("cluster", "random", "--seed", seed)
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            self.assertEqual(drawn.stdout, run("cluster", "random", "--seed", seed).stdout)
            self.validator.validate(yaml.safe_load(drawn.stdout))
            self.assertTrue(self.accepted_by_program(drawn.stdout))

    def test_both_refuse_bad_files(self):
        for text in BAD:
            with self.subTest(text=text):
                self.assertFalse(self.validator.is_valid(yaml.safe_load(text)))
                self.assertFalse(self.accepted_by_program(text))

    def test_both_take_good_files(self):
        for text in GOOD:
            with self.subTest(text=text):
                self.validator.validate(yaml.safe_load(text))
                self.assertTrue(self.accepted_by_program(text))


if __name__ == "__main__":
    unittest.main()
