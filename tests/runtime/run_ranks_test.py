"""`placewright run` over several processes: the bits of one process, and clear ends where a rank fails.

PLACEWRIGHT_PROGRAM names the program; ranks are started with the variables of torchrun, or by mpirun.
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["PLACEWRIGHT_PROGRAM"]
# A program that joins as a rank and states another version.
OTHER_VERSION = os.environ["PLACEWRIGHT_OTHER_VERSION"]
# A transformer of one layer, which draws random numbers, and a dense network, which splits on the batch.
MODELS = {
    "gpt": ["gpt-2", "--batch", "2", "--one-batch", "--param", "layers=1", "--param", "sequence=8",
            "--param", "hidden=16", "--param", "heads=2", "--param", "vocabulary=50"],
    "mlp": ["mlp", "--batch", "32"],
}
PLANS = {
    "spread": ["gpt", "--algo", "random", "--seed", "3"],
    "other": ["gpt", "--algo", "random", "--seed", "4"],
    "parallel": ["mlp", "--algo", "data-parallel"],
}
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
            out, err = process.communicate(timeout=within)
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
        cls.plans = {}
        for name, words in MODELS.items():
            cls.call("capture", *words, "-o", cls.folder / f"{name}.json.gz")
        for name, (model, *words) in PLANS.items():
            cls.plans[name] = cls.folder / f"{name}.plan.json"
            cls.call("plan", cls.folder / f"{model}.json.gz", "-c", "4xP100", *words, "-o",
                     cls.plans[name])

    @staticmethod
    def call(*words):
        subprocess.run([PROGRAM, *map(str, words), "--quiet"], env=clean_environment(), check=True,
                       capture_output=True)

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

    def test_ranks_have_the_bits_of_one_process(self):
        for plan in ("spread", "parallel"):
            expected = self.folder / f"{plan}-alone.safetensors"
            one = json.loads(self.alone(plan, "--steps", 3, "--batches", 2, "--save", expected,
                                        "--json").stdout)
            for count in (2, 4):
                saved = self.folder / f"{plan}-{count}.safetensors"
                out = json.loads(self.run_ranks(count, plan, "--steps", 3, "--batches", 2, "--save",
                                                saved, "--json"))
                self.assertEqual(out["loss"], one["loss"])
                self.assertEqual(saved.read_bytes(), expected.read_bytes())
                self.assertEqual(len(out["devices"]), len(one["devices"]))
                for device, of_one in zip(out["devices"], one["devices"]):
                    self.assertEqual(device["peak_memory_bytes"] > 0,
                                     of_one["peak_memory_bytes"] > 0)

    def test_mpirun_starts_them(self):
        if shutil.which("mpirun") is None:
            self.skipTest("no mpirun")
        expected, saved = self.folder / "mpi-alone", self.folder / "mpi"
        self.alone("spread", "--steps", 2, "--save", expected)
        words = self.words("spread", "--steps", 2, "--save", saved)
        subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", PROGRAM,
                        *map(str, words)], check=True, timeout=120, capture_output=True,
                       env={**clean_environment(), "MASTER_PORT": str(free_port()),
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertEqual(saved.read_bytes(), expected.read_bytes())

    def test_resume_goes_on_bit_for_bit(self):
        whole, half, resumed = (self.folder / name for name in ("whole", "half", "resumed"))
        self.alone("spread", "--steps", 4, "--batches", 3, "--save", whole)
        self.run_ranks(2, "spread", "--steps", 2, "--batches", 3, "--save", half)
        self.run_ranks(4, "spread", "--steps", 4, "--batches", 3, "--resume", half, "--save",
                       resumed)
        self.assertEqual(resumed.read_bytes(), whole.read_bytes())
        ended = Ranks(2, lambda rank: self.words("spread", "--steps", 2, "--resume", half)).ends()
        for status, _, err in ended:
            self.assertEqual(status, 2)
            self.assertIn("has 2 steps behind it", err)

    def test_a_killed_rank_ends_the_others_and_what_was_saved_stays(self):
        for number in (signal.SIGKILL, signal.SIGSTOP):
            saved = self.folder / f"killed-{number}"
            ranks = Ranks(3, lambda rank: self.words("spread", "--steps", 100000, "--save", saved,
                                                     "--save-every", 1))
            deadline = time.monotonic() + 60
            while not saved.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertTrue(saved.exists())
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

    def expect_all(self, ended, *parts):
        for status, out, err in ended:
            self.assertNotEqual(status, 0)
            for part in parts:
                self.assertIn(part, out + err)

    def test_another_plan_or_other_options_do_not_begin(self):
        plans = ("spread", "other", "spread")
        self.expect_all(Ranks(3, lambda rank: self.words(plans[rank])).ends(within=ENDS_WITHIN),
                        "plan-mismatch", "the ranks differ in the plan", "rank 1")
        seeds = (0, 0, 1)
        self.expect_all(Ranks(3, lambda rank: self.words("spread", "--seed", seeds[rank])).ends(
            within=ENDS_WITHIN), "the ranks differ in the options", "--seed 1", "rank 2")

    def test_another_version_does_not_begin(self):
        for other in (0, 1):
            ranks = Ranks(2, lambda rank: [] if rank == other else self.words("spread"),
                          program_of=lambda rank: OTHER_VERSION if rank == other else PROGRAM)
            began = time.monotonic()
            self.expect_all(ranks.ends(within=ENDS_WITHIN), "plan-mismatch",
                            "the ranks differ in the version of Placewright", "0.0.0-other")
            self.assertLess(time.monotonic() - began, ENDS_WITHIN)

    def test_a_rank_that_cannot_begin_says_why_on_all(self):
        missing = self.folder / "missing.plan.json"
        words = ["run", missing, "--simulate-devices", "--rank-timeout", "60"]
        for other in (0, 2):
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
        for sizes in ((2, 3), (3, 2)):
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
        deadline = time.monotonic() + 60
        while not saved.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
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
            deadline = time.monotonic() + 60
            while not saved.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
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
        self.assertEqual(sorted(found), ["all-gather", "all-reduce", "broadcast", "reduce-scatter",
                                         "transfer"])
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
