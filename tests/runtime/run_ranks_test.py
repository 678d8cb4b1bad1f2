"""`placewright run` over several processes: the bits of one process, and clear ends where a rank fails.

PLACEWRIGHT_PROGRAM names the program; ranks are started with the variables of torchrun, or by mpirun.
"""

import gzip
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["PLACEWRIGHT_PROGRAM"]
# A program that joins as a rank and states another version.
OTHER_VERSION = os.environ["PLACEWRIGHT_OTHER_VERSION"]
# A transformer of one layer, which draws random numbers.
TRANSFORMER = ["--param", "layers=1", "--param", "sequence=8", "--param", "heads=2",
               "--param", "vocabulary=50"]
MODELS = {
    "gpt": ["gpt-2", "--batch", "2", "--one-batch", *TRANSFORMER, "--param", "hidden=16"],
    # Ops of the same names on other shapes.
    "wide": ["gpt-2", "--batch", "2", "--one-batch", *TRANSFORMER, "--param", "hidden=32"],
    # Proven to follow its batch, so that it can be split.
    "batched": ["gpt-2", "--batch", "4", *TRANSFORMER, "--param", "hidden=16"],
    "mlp": ["mlp", "--batch", "32"],
}
PLANS = {
    "spread": ["gpt", "--algo", "random", "--seed", "3"],
    "other": ["gpt", "--algo", "random", "--seed", "4"],
    "parallel": ["batched", "--algo", "data-parallel"],
    "mixed": ["batched", "--layouts", "layouts.json"],
}
# Split by three axes in equal and other parts, copied and placed, over devices in no order; each of four ranks has
# parts of ops.
LAYOUTS = {"layouts": [
    {"groups": "*", "axis": "batch", "devices": [{"name": "host0/gpu2", "from": 0, "to": 1},
                                                 {"name": "host0/gpu0", "from": 1, "to": 4}]},
    {"groups": "wte", "axis": "param:wte.weight[0]", "devices": ["host0/gpu*"]},
    {"groups": "wpe", "option": "place", "devices": ["host0/gpu3"]},
    {"groups": "h0.attn*", "axis": "batch", "option": "parameter-server", "devices": ["host0/gpu*"]},
    {"groups": "h0.mlp.c_fc", "axis": "param:h0.mlp.c_fc.weight[1]",
     "devices": ["host0/cpu1", "host0/gpu3", "host0/gpu1"]},
    {"groups": "h0.mlp.dropout", "option": "place", "devices": ["host0/cpu0"]},
    {"groups": "ln_f", "option": "duplicate", "devices": ["host0/gpu1", "host0/cpu1"]},
]}
# A core for each rank, on machines of their own by this description; the link's figures are no machine's.
MACHINES = """
name: machines
kinds:
  core: {class: cpu, architecture: zen3, peak_flops: {f32: 10000000000}, memory_bandwidth: 10 GB/s,
         memory: 1 GiB, launch_overhead: 1 us, runtime_context: 0 B, cores: 1}
devices:
  - {name: a, kind: core, host: 0}
  - {name: b, kind: core, host: 1}
links:
  - {between: [a, b], bandwidth: 9 TB/s, latency: 1 ns}
"""
THIRD_DEVICE = "  - {name: c, kind: core, host: 2}\n"
THIRD_LINKS = """  - {between: [a, c], bandwidth: 9 TB/s, latency: 1 ns}
  - {between: [b, c], bandwidth: 9 TB/s, latency: 1 ns}
"""
ENDS_WITHIN = 30  # seconds


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def clean_environment():
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "OMPI_", "SLURM_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return {**kept, "OMP_NUM_THREADS": "1"}


# What waits for long, or is a second form of what another test shows.
LONG = bool(os.environ.get("PLACEWRIGHT_LONG"))
only_long = unittest.skipUnless(LONG, "one of ./test --long")


def some_of(*cases):
    """All of them in ./test --long, else the first: the others are its second form."""
    return cases if LONG else cases[:1]


class Ranks:
    """Several processes of one run."""

    def __init__(self, count, words_of, preparation_of=lambda rank: None,
                 program_of=lambda rank: PROGRAM, size_of=None):
        port = str(free_port())
        self.processes = []
        for rank in range(count):
            size = size_of(rank) if size_of else count
            variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank),
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            self.processes.append(subprocess.Popen(
                [program_of(rank), *map(str, words_of(rank))],
                env={**clean_environment(), **variables},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                preexec_fn=preparation_of(rank)))

    def ends(self, but=(), within=120):
        """(exit status, standard output, standard error) of each rank that is waited for."""
        found = []
        for rank, process in enumerate(self.processes):
            if rank in but:
                process.kill()
                process.communicate()
                continue
            try:
                out, err = process.communicate(timeout=within)
            except subprocess.TimeoutExpired:
                self.stop()
                raise
            found.append((process.returncode, out, err))
        return found

    def stop(self):
        for process in self.processes:
            process.kill()
            process.communicate()


class RunRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.plans, cls.wholes = {}, {}
        (cls.folder / "layouts.json").write_text(json.dumps(LAYOUTS))
        for name, words in MODELS.items():
            cls.call("capture", *words, "-o", cls.folder / f"{name}.json.gz")
        for name, (model, *words) in PLANS.items():
            cls.plans[name] = cls.folder / f"{name}.plan.json"
            cls.call("plan", cls.folder / f"{model}.json.gz", "-c", "4xP100", *words, "-o",
                     cls.plans[name])

    @classmethod
    def call(cls, *words):
        subprocess.run([PROGRAM, *map(str, words), "--quiet"], env=clean_environment(), check=True,
                       capture_output=True, cwd=cls.folder)

    @staticmethod
    def call_json(*words):
        ended = subprocess.run([PROGRAM, *map(str, words), "--json"], env=clean_environment(),
                               check=True, capture_output=True, text=True)
        return json.loads(ended.stdout)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def words(self, plan, *others):
        return ["run", self.plans[plan], "--simulate-devices", "--rank-timeout", "5", *others]

    def alone(self, plan, *others):
        return subprocess.run([PROGRAM, *map(str, self.words(plan, *others))], check=True,
                              env=clean_environment(), capture_output=True, text=True)

    def run_ranks(self, count, plan, *others):
        ended = Ranks(count, lambda rank: self.words(plan, *others)).ends()
        for status, out, err in ended:
            self.assertEqual(status, 0, out + err)
        for _, out, _ in ended[1:]:
            self.assertEqual(out, "")
        return ended[0][1]

    STEPS = ("--steps", 4, "--batches", 3)

    def whole(self, plan):
        """STEPS by one process: its checkpoint's bytes, and what it printed."""
        if plan not in self.wholes:
            saved = self.folder / f"{plan}-whole.safetensors"
            out = self.alone(plan, *self.STEPS, "--save", saved, "--json").stdout
            self.wholes[plan] = (saved.read_bytes(), json.loads(out))
        return self.wholes[plan]

    def wait_for(self, saved):
        deadline = time.monotonic() + 60
        while not saved.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertTrue(saved.exists())

    def test_the_plans_split_ops_that_draw(self):
        devices = ["cpu0", "cpu1", "gpu0", "gpu1", "gpu2", "gpu3"]
        # Of four dropouts one is placed by LAYOUTS.
        for plan, used, split_draws in (("parallel", devices[2:], 4), ("mixed", devices, 3)):
            document = json.loads(self.plans[plan].read_text())
            split = {layout["axis"] for layout in document["layouts"] if len(layout["devices"]) > 1}
            self.assertIn("batch", split)
            if plan == "mixed":
                self.assertEqual(split, {"batch", None, "param:wte.weight[0]",
                                         "param:h0.mlp.c_fc.weight[1]"})
            with gzip.open(self.folder / f"{plan}.plan.compiled.json.gz") as file:
                ops = json.load(file)["ops"]
            self.assertEqual(sorted({op["device"] for op in ops}),
                             [f"host0/{device}" for device in used])
            drawing = {}
            for op in ops:
                if "bernoulli" in op["target"]:
                    drawing.setdefault(op["of"], set()).add(op["device"])
            self.assertEqual(sum(len(parts) > 1 for parts in drawing.values()), split_draws)
            self.assertEqual(len(drawing), 4)

    def test_ranks_have_the_bits_of_one_process(self):
        # Where a run is resumed, plans are executed by other numbers of ranks, too.
        for plan, count in (("spread", 3), ("parallel", 2), ("mixed", 4)):
            expected, one = self.whole(plan)
            saved = self.folder / f"{plan}-{count}.safetensors"
            out = json.loads(self.run_ranks(count, plan, *self.STEPS, "--save", saved, "--json"))
            self.assertEqual(out["loss"], one["loss"])
            self.assertEqual(saved.read_bytes(), expected)
            self.assertEqual(len(out["devices"]), len(one["devices"]))
            for device, of_one in zip(out["devices"], one["devices"]):
                self.assertEqual(device["peak_memory_bytes"] > 0, of_one["peak_memory_bytes"] > 0)

    def test_mpirun_starts_them(self):
        if shutil.which("mpirun") is None:
            self.skipTest("no mpirun")
        for plan, count in some_of(("parallel", 4), ("spread", 2)):
            saved = self.folder / f"mpi-{count}"
            words = self.words(plan, *self.STEPS, "--save", saved)
            subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(count), PROGRAM,
                            *map(str, words)], check=True, timeout=120, capture_output=True,
                           env={**clean_environment(), "MASTER_PORT": str(free_port()),
                                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
            self.assertEqual(saved.read_bytes(), self.whole(plan)[0])

    def test_resume_goes_on_bit_for_bit(self):
        for plan, before, after in some_of(("mixed", 4, 2), ("spread", 2, 4)):
            half, resumed = self.folder / f"{plan}-half", self.folder / f"{plan}-resumed"
            self.run_ranks(before, plan, "--steps", 2, "--batches", 3, "--save", half)
            self.run_ranks(after, plan, *self.STEPS, "--resume", half, "--save", resumed)
            self.assertEqual(resumed.read_bytes(), self.whole(plan)[0], plan)
        half = self.folder / "mixed-half"
        ended = Ranks(2, lambda rank: self.words("mixed", "--steps", 2, "--resume", half)).ends()
        for status, _, err in ended:
            self.assertEqual(status, 2)
            self.assertIn("has 2 steps behind it", err)

    def test_a_killed_rank_ends_the_others_and_what_was_saved_stays(self):
        for number in some_of(signal.SIGKILL, signal.SIGSTOP):
            saved = self.folder / f"killed-{number}"
            ranks = Ranks(3, lambda rank: self.words("spread", "--steps", 100000, "--save", saved,
                                                     "--save-every", 1))
            self.wait_for(saved)
            ranks.processes[1].send_signal(number)
            began = time.monotonic()
            try:
                ended = [ranks.processes[rank].communicate(timeout=ENDS_WITHIN) for rank in (0, 2)]
            finally:
                ranks.stop()
            self.assertLess(time.monotonic() - began, ENDS_WITHIN)
            for _, err in ended:
                self.assertIn("rank 1", err)
            self.alone("spread", "--steps", 1, "--load", saved)

    @only_long
    def test_a_stopped_rank_ends_the_others_with_the_default_timeouts(self):
        # Of one run rank 1 is stopped, and while it waits, of another rank 0, which holds what all ask.
        runs = []
        try:
            for stopped, count in ((1, 3), (0, 2)):
                saved = self.folder / f"stopped-{stopped}"
                words = ["run", self.plans["spread"], "--simulate-devices", "--steps", 100000, "--save",
                         saved, "--save-every", 1]
                ranks = Ranks(count, lambda rank: words)
                runs.append([stopped, ranks, None])
                self.wait_for(saved)
                ranks.processes[stopped].send_signal(signal.SIGSTOP)
                runs[-1][2] = time.monotonic() + ENDS_WITHIN
            for stopped, ranks, deadline in runs:
                silent = "not answered" if stopped == 0 else "not been heard of"
                for rank, process in enumerate(ranks.processes):
                    if rank == stopped:
                        continue
                    out, err = process.communicate(timeout=max(deadline - time.monotonic(), 0.1))
                    self.assertNotEqual(process.returncode, 0, out + err)
                    self.assertRegex(err, rf"rank {stopped} on \S+ has {silent} for 20 s")
                    self.assertIn("start all ranks again", err)
        finally:
            for _, ranks, _ in runs:
                ranks.stop()

    def expect_all(self, ended, *parts):
        for status, out, err in ended:
            self.assertNotEqual(status, 0)
            for part in parts:
                self.assertIn(part, out + err)

    def test_another_plan_or_other_options_do_not_begin(self):
        plans = ("spread", "other", "spread")
        self.expect_all(Ranks(3, lambda rank: self.words(plans[rank])).ends(within=ENDS_WITHIN),
                        "plan-mismatch", "the ranks differ in the plan", "rank 1")
        # Plans that split ops, whose compiled steps differ, too; standard output is rank 0's alone.
        ended = Ranks(2, lambda rank: self.words(("parallel", "mixed")[rank], "--json")).ends(
            within=ENDS_WITHIN)
        self.expect_all(ended, "plan-mismatch", "the ranks differ in the plan", "rank 1")
        self.assertEqual(json.loads(ended[0][1])["error"]["code"], "plan-mismatch")
        self.assertEqual(ended[1][1], "")
        seeds = (0, 0, 1)
        self.expect_all(Ranks(3, lambda rank: self.words("spread", "--seed", seeds[rank])).ends(
            within=ENDS_WITHIN), "the ranks differ in the options", "--seed 1", "rank 2")

    @only_long
    def test_another_graph_does_not_begin(self):
        other = (self.folder / "wide.json.gz").read_bytes()
        # A copy of the plan, beside another graph of the same name.
        for plan, model, differs in (("spread", "gpt", 1), ("parallel", "batched", 0)):
            elsewhere = self.folder / f"{plan}-elsewhere"
            elsewhere.mkdir()
            for file in self.folder.glob(f"{plan}.plan.*"):
                shutil.copy(file, elsewhere)
            graph = elsewhere / f"{model}.json.gz"
            graph.write_bytes(other)
            words = ["run", elsewhere / f"{plan}.plan.json", *self.words(plan)[2:]]
            ended = Ranks(2, lambda rank: words if rank == differs else self.words(plan)).ends(
                within=ENDS_WITHIN)
            self.expect_all(ended, "plan-mismatch", str(graph))
            self.assertIn(f"rank {differs} on ", ended[1 - differs][2])
        # Without a plan, which has its graph's hash, nothing but the others says that it is another.
        placements = []
        for plan in ("spread", "other"):
            placements.append(self.folder / f"{plan}.placement.json")
            placements[-1].write_text(json.dumps(json.loads(self.plans[plan].read_text())["placement"]))

        def placed(model, placement):
            return ["run", self.folder / f"{model}.json.gz", "-c", "4xP100", "--placement", placement,
                    "--simulate-devices", "--rank-timeout", "5"]
        models = ("gpt", "wide")
        self.expect_all(Ranks(2, lambda rank: placed(models[rank], placements[0])).ends(
            within=ENDS_WITHIN), "plan-mismatch", "the ranks differ in the graph", "rank 1")
        self.expect_all(Ranks(2, lambda rank: placed("gpt", placements[rank])).ends(
            within=ENDS_WITHIN), "plan-mismatch", "the ranks differ in the placement", "rank 1")

    @only_long
    def test_another_cluster_or_other_inputs_do_not_begin(self):
        placement = self.folder / "of-two.json"
        graph = self.folder / "gpt.json.gz"
        machines = [self.folder / "as-described.yaml", self.folder / "swapped.yaml"]
        machines[0].write_text(MACHINES)
        machines[1].write_text(MACHINES.replace("host: 0", "host: 2").replace("host: 1", "host: 0"))
        plan = self.folder / "of-two.plan.json"
        self.call("plan", graph, "-c", machines[0], "--algo", "random", "--seed", "1", "-o", plan)
        placement.write_text(json.dumps(json.loads(plan.read_text())["placement"]))

        def placed(cluster, *others):
            return ["run", graph, "-c", cluster, "--placement", placement, "--simulate-devices",
                    "--rank-timeout", "5", *others]
        self.expect_all(Ranks(2, lambda rank: placed(machines[rank])).ends(within=ENDS_WITHIN),
                        "plan-mismatch", "the ranks differ in the cluster", "rank 1")
        files = []
        for value in (1, 2):
            header = json.dumps({"ids": {"dtype": "I64", "shape": [2, 8], "data_offsets": [0, 128]}}).encode()
            files.append(self.folder / f"inputs-{value}")
            files[-1].write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<q", value) * 16)
        for given, differs in (([["--inputs", files[0]], ["--inputs", files[1]]], "what --inputs gives"),
                               ([["--inputs", files[0]], []], "the options")):
            self.expect_all(Ranks(2, lambda rank: placed(machines[0], *given[rank])).ends(
                within=ENDS_WITHIN), "plan-mismatch", f"the ranks differ in {differs}", "rank 1")

    def test_another_version_does_not_begin(self):
        for other in some_of(1, 0):
            ranks = Ranks(2, lambda rank: [] if rank == other else self.words("spread"),
                          program_of=lambda rank: OTHER_VERSION if rank == other else PROGRAM)
            began = time.monotonic()
            self.expect_all(ranks.ends(within=ENDS_WITHIN), "plan-mismatch",
                            "the ranks differ in the version of Placewright", "0.0.0-other")
            self.assertLess(time.monotonic() - began, ENDS_WITHIN)

    def test_a_rank_that_cannot_begin_says_why_on_all(self):
        missing = self.folder / "missing.plan.json"
        words = ["run", missing, "--simulate-devices", "--rank-timeout", "60"]
        for other in some_of(2, 0):
            ranks = Ranks(3, lambda rank: words if rank == other else self.words("spread"))
            ended = ranks.ends(within=ENDS_WITHIN)
            self.expect_all(ended, "file-unreadable", "missing.plan.json")
            for rank, (status, _, err) in enumerate(ended):
                self.assertEqual(status, 3)
                self.assertEqual(f"rank {other} on " in err, rank != other)
        # So of devices that are measured.
        self.expect_all(Ranks(2, lambda rank: ["profile", "--ranks", "-c", missing, "--cost-store",
                                               self.folder / "none.sqlite"]).ends(within=ENDS_WITHIN),
                        "file-unreadable")

    def test_ranks_agree_about_their_number(self):
        for sizes in some_of((2, 3), (3, 2)):
            self.expect_all(Ranks(2, lambda rank: self.words("spread"), size_of=lambda rank: sizes[rank])
                            .ends(within=ENDS_WITHIN), "plan-mismatch", "number of ranks (WORLD_SIZE)")
        # One that is none of rank 0's.
        ranks = Ranks(3, lambda rank: self.words("spread", "--steps", 1000000),
                      size_of=lambda rank: (2, 2, 3)[rank])
        try:
            out, err = ranks.processes[2].communicate(timeout=ENDS_WITHIN)
            both = [ranks.processes[rank].poll() for rank in (0, 1)]
        finally:
            ranks.stop()
        self.expect_all([(ranks.processes[2].returncode, out, err)], "number of ranks (WORLD_SIZE)",
                        "rank 2")
        self.assertEqual(both, [None, None])  # they go on

    def test_an_interrupted_rank_ends_all_after_a_step(self):
        saved = self.folder / "interrupted"
        ranks = Ranks(2, lambda rank: self.words("spread", "--steps", 1000000, "--save", saved,
                                                 "--save-every", 1))
        self.wait_for(saved)
        ranks.processes[1].send_signal(signal.SIGINT)
        ended = ranks.ends(within=ENDS_WITHIN)
        for status, out, err in ended:
            self.assertEqual(status, 130, out + err)
        self.assertIn("another rank was interrupted", ended[0][2])
        # While it waits for others, too.
        ranks = Ranks(1, lambda rank: ["run", self.plans["spread"], "--simulate-devices",
                                       "--rank-timeout", "600"], size_of=lambda rank: 2)
        time.sleep(3)
        ranks.processes[0].send_signal(signal.SIGINT)
        (status, _, err), = ranks.ends(within=ENDS_WITHIN)
        self.assertEqual(status, 130)
        self.assertIn("before all ranks had come", err)

    def test_a_message_is_waited_for_as_long_as_stated(self):
        saved = self.folder / "waiting"
        ranks = Ranks(2, lambda rank: ["run", self.plans["spread"], "--simulate-devices", "--steps", 100000,
                                       "--save", saved, "--save-every", 1, "--rank-timeout", 60,
                                       "--message-timeout", 3])
        try:
            self.wait_for(saved)
            # Long before its silence counts.
            ranks.processes[1].send_signal(signal.SIGSTOP)
            began = time.monotonic()
            out, err = ranks.processes[0].communicate(timeout=ENDS_WITHIN)
        finally:
            ranks.stop()
        self.assertGreater(time.monotonic() - began, 2.9)
        self.assertNotEqual(ranks.processes[0].returncode, 0, out + err)
        self.assertIn("rank 1 has ", err)
        self.assertIn("nothing for 3 s", err)
        self.assertIn("--message-timeout", err)

    def test_more_ranks_than_devices_are_refused(self):
        self.expect_all(Ranks(7, lambda rank: self.words("spread")).ends(within=ENDS_WITHIN),
                        "7 ranks are more than")

    def test_profile_between_ranks_is_what_plans_use(self):
        machines, store = self.folder / "machines.yaml", self.folder / "ranks.sqlite"
        machines.write_text(MACHINES)
        words = ["profile", "--ranks", "-c", machines, "--cost-store", store, "--largest-transfer", 1,
                 "--json"]
        ended = Ranks(2, lambda rank: words).ends()
        for status, out, err in ended:
            self.assertEqual(status, 0, out + err)
        self.assertEqual(ended[1][1], "")
        profile = json.loads(ended[0][1])
        self.assertEqual(profile["ranks"], 2)
        found = {one["collective"]: one for one in profile["collectives"]}
        self.assertEqual(sorted(found), ["all-gather", "all-reduce", "all-to-all", "broadcast",
                                         "reduce-scatter", "transfer"])
        for one in found.values():
            self.assertEqual(one["key"], one["collective"] + " 1xcore:1/2")
            self.assertEqual([size["bytes"] for size in one["sizes"]],
                             [1024 * 4 ** i for i in range(6)])
            for size in one["sizes"]:
                self.assertGreater(size["time_ns"], 0)
                self.assertGreaterEqual(size["runs"], 16)

        def planned(*more):
            path = self.folder / "profiled.plan.json"
            out = self.call_json("plan", self.folder / "mlp.json.gz", "-c", machines, "-o", path, *more)
            return out, json.loads(path.read_text())

        # The way between machines has the measured figures, not those of the file.
        placed, plan = planned("--algo", "layered", "--cost-store", store)
        self.assertIn("of 2 links come from", str(placed["notes"]))
        self.assertEqual(len(plan["links"]), 2)
        self.assertNotEqual(plan["links"][0]["bandwidth_bytes_per_second"], 9e12)
        _, unmeasured = planned("--algo", "layered", "--no-store")
        self.assertNotIn("links", unmeasured)
        self.assertGreater(plan["links"][0]["latency_ns"], 1)
        # So do collectives: each takes at least what the smallest one took.
        modelled, _ = planned("--algo", "data-parallel", "--no-store")
        parallel, _ = planned("--algo", "data-parallel", "--cost-store", store)
        smallest = min(size["time_ns"] for size in found["all-reduce"]["sizes"])
        self.assertGreater(parallel["step_time_ns"], smallest / 2)
        self.assertGreater(parallel["step_time_ns"], modelled["step_time_ns"])
        # What the cores send and receive while they compute makes their ops longer.
        ended = Ranks(2, lambda rank: ["run", self.folder / "profiled.plan.json", "--steps", 3,
                                       "--json"]).ends(within=ENDS_WITHIN)
        self.assertEqual(ended[0][0], 0, ended[0][2])
        predicted = json.loads(ended[0][1])["predicted"]
        self.assertEqual(predicted["step_time_ns"], parallel["step_time_ns"])
        self.assertGreater(predicted["over_ranks_ns"], predicted["step_time_ns"])

    def test_profile_between_ranks_wants_ranks_and_machines(self):
        machines = self.folder / "one-machine.yaml"
        machines.write_text(MACHINES.replace("host: 1", "host: 0"))
        words = ["profile", "--ranks", "-c", machines, "--cost-store", self.folder / "none.sqlite"]
        alone = subprocess.run([PROGRAM, *map(str, words)], env=clean_environment(),
                               capture_output=True, text=True)
        self.assertEqual(alone.returncode, 2)
        self.assertIn("needs several processes", alone.stderr)
        self.expect_all(Ranks(2, lambda rank: words).ends(within=ENDS_WITHIN), "on one machine")
        for words_of_ops in (["--loaded"], ["--steps", 5]):
            self.expect_all(Ranks(2, lambda rank: [*words, *words_of_ops]).ends(within=ENDS_WITHIN),
                            "--ranks measures no ops")
        # Nothing that crosses within a process is stored as what crosses between machines.
        machines.write_text(MACHINES.replace("links:", THIRD_DEVICE + "links:") + THIRD_LINKS)
        self.expect_all(Ranks(2, lambda rank: words).ends(within=ENDS_WITHIN),
                        "devices of two of")

    def test_a_corrupt_checkpoint_is_named_by_all(self):
        saved = self.folder / "corrupt"
        self.alone("spread", "--steps", 1, "--save", saved)
        content = bytearray(saved.read_bytes())
        content[-5] ^= 1
        saved.write_bytes(content)
        self.expect_all(Ranks(2, lambda rank: self.words("spread", "--resume", saved)).ends(
            within=ENDS_WITHIN), "file-corrupt", "SHA-256")

    @only_long
    def test_a_full_disk_ends_all_and_leaves_what_was_saved(self):
        saved = self.folder / "full"
        self.alone("spread", "--steps", 1, "--save", saved)
        before = saved.read_bytes()

        def limit():
            # Writes fail beyond it, as on a full disk.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        ranks = Ranks(2, lambda rank: self.words("spread", "--steps", 100000, "--save", saved,
                                                 "--save-every", 1),
                      lambda rank: limit if rank == 0 else None)
        self.expect_all(ranks.ends(within=ENDS_WITHIN), "file-unwritable")
        self.assertEqual(saved.read_bytes(), before)

    def test_a_file_system_without_space_ends_all_and_leaves_what_was_saved(self):
        before, _ = self.whole("spread")
        disk = self.folder / "disk"
        disk.mkdir()
        if shutil.which("mount") is None:
            self.skipTest("no mount, for a small file system")
        # For one checkpoint and a half.
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={len(before) * 3 // 2}", "tmpfs",
                                  disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            reason, _, _ = mounted.stderr.partition("\n")
            self.skipTest(f"cannot mount a small file system here: {reason}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        saved = disk / "saved"
        saved.write_bytes(before)
        # In the middle of the run, and at its end.
        for others in (("--steps", 100000, "--save-every", 1), ("--steps", 1)):
            ended = Ranks(2, lambda rank: self.words("spread", "--save", saved, *others)).ends(
                within=ENDS_WITHIN)
            self.expect_all(ended, "file-unwritable", "No space left on device", str(saved))
            self.assertIn("rank 0 on ", ended[1][2])
            self.assertEqual(saved.read_bytes(), before)
            self.assertEqual(os.listdir(disk), ["saved"])

    def test_a_port_in_use_is_named(self):
        with socket.socket() as taken:
            taken.bind(("", 0))
            taken.listen()
            port = taken.getsockname()[1]
            ended = subprocess.run(
                [PROGRAM, *map(str, self.words("spread"))], capture_output=True, text=True,
                timeout=ENDS_WITHIN, env={**clean_environment(), "RANK": "0", "WORLD_SIZE": "2",
                                          "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            self.assertEqual(ended.returncode, 6)
            self.assertIn(f"port {port} of this machine is in use", ended.stderr)

    def test_variables_that_do_not_fit_are_named(self):
        for variables, part in (({"RANK": "2", "WORLD_SIZE": "2"}, "rank 2 is not below"),
                                ({"RANK": "0"}, "WORLD_SIZE"),
                                ({"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR")):
            ended = subprocess.run([PROGRAM, *map(str, self.words("spread"))], text=True,
                                   capture_output=True, timeout=ENDS_WITHIN,
                                   env={**clean_environment(), **variables})
            self.assertEqual(ended.returncode, 2)
            self.assertIn(part, ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
