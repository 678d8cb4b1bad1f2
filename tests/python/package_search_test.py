"""A search of the package while it runs: Ctrl-C, progress, other threads."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

from package_support import EXAMPLE, PackageTest

import placewright as pw

LONG = 300  # seconds, in which no test ends
SOON = 60  # in which a stopped search ends, on a busy machine


class Interrupts(PackageTest):
    def test_ctrl_c_ends_the_search_with_the_best_plan(self):
        """As at a prompt: a process of its own, which goes on afterwards."""
        script = (
            "import sys, placewright as pw\n"
            "def heard(progress):\n"
            "    if progress.step_time is not None: print('fits', flush=True)\n"
            f"plan = pw.plan({str(EXAMPLE)!r}, '4xP100', time={LONG}, progress=heard)\n"
            "print('plan', plan.interrupted, plan.feasible, 'interrupted' in str(plan))\n"
            f"print('again', pw.plan({str(EXAMPLE)!r}, '4xP100', iterations=10).interrupted)\n")
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as run:
            self.assertEqual(run.stdout.readline(), "fits\n")
            run.send_signal(signal.SIGINT)
            started = time.monotonic()
            lines = [line for line in run.stdout.read().split("\n") if line not in ("fits", "")]
            self.assertEqual(run.wait(), 0)
        self.assertLess(time.monotonic() - started, SOON)
        self.assertEqual(lines, ["plan True True True", "again False"])

    def test_the_second_raises(self):
        def twice(_):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            pw.plan(EXAMPLE, "4xP100", time=LONG, progress=twice)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_search_within_another_is_ended_first(self):
        inner, sent = [], []

        def interrupt(progress):
            if progress.step_time is not None and not sent:
                sent.append(progress)
                os.kill(os.getpid(), signal.SIGINT)

        def search(progress):
            if progress.step_time is not None and not inner:
                inner.append(None)
                inner[0] = pw.plan(EXAMPLE, "4xP100", time=LONG, progress=interrupt)
        outer = pw.plan(EXAMPLE, "4xP100", iterations=200, progress=search)
        self.assertTrue(inner[0].interrupted)
        self.assertFalse(outer.interrupted)

    def test_handlers_of_ones_own_are_heard(self):
        class Asked(Exception):
            pass

        def raises(*_):
            raise Asked
        for number in (signal.SIGINT, signal.SIGUSR1):
            before = signal.signal(number, raises)
            try:
                with self.assertRaises(Asked):
                    pw.plan(EXAMPLE, "4xP100", time=LONG,
                            progress=lambda _, n=number: os.kill(os.getpid(), n))
            finally:
                signal.signal(number, before)

    def test_handlers_run_without_progress(self):
        """SIGALRM in a second: its exception ends the search."""
        class Late(Exception):
            pass

        def raises(*_):
            raise Late
        before = signal.signal(signal.SIGALRM, raises)
        signal.alarm(1)
        try:
            with self.assertRaises(Late):
                pw.plan(EXAMPLE, "4xP100", algorithm="annealing", time=LONG)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


class Progress(PackageTest):
    def test_a_function_hears_of_the_search(self):
        heard = []
        plan = pw.plan(EXAMPLE, "4xP100", iterations=2000, progress=heard.append)
        self.assertTrue(all(isinstance(one, pw.Progress) for one in heard))
        best = [one.step_time for one in heard if one.step_time is not None]
        self.assertTrue(best)
        self.assertLessEqual(plan.step_time, min(best))
        seconds = [one.seconds for one in heard]
        self.assertEqual(seconds, sorted(seconds))
        self.assertRegex(str(heard[-1]), r"s  [a-z-]+  [0-9,]+ moves?  best [0-9.]+ ms")

    def test_what_it_raises_ends_the_search(self):
        calls = []

        def heard(progress):
            calls.append(progress)
            raise KeyError("mine")
        started = time.monotonic()
        with self.assertRaisesRegex(KeyError, "mine"):
            pw.plan(EXAMPLE, "4xP100", time=LONG, progress=heard)
        self.assertEqual(len(calls), 1)
        self.assertLess(time.monotonic() - started, SOON)


class Threads(PackageTest):
    def test_other_threads_go_on_meanwhile(self):
        done = threading.Event()
        turns = 0

        def plan():
            pw.plan(EXAMPLE, "4xP100", time=1, threads=1)
            done.set()
        thread = threading.Thread(target=plan)
        thread.start()
        while not done.wait(0.01):
            turns += 1
        thread.join()
        self.assertGreater(turns, 5)

    def test_plans_of_several_threads_are_those_of_one(self):
        step, cluster = pw.read(EXAMPLE), pw.Cluster("4xP100")
        times = {}

        def plan(seed):
            times[seed] = pw.plan(step, cluster, iterations=300, seed=seed, threads=1).step_time
        threads = [threading.Thread(target=plan, args=(seed,)) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for seed in (1, 2):
            alone = pw.plan(step, cluster, iterations=300, seed=seed, threads=1).step_time
            self.assertEqual(times[seed], alone)


class Imports(PackageTest):
    def test_neither_torch_nor_the_core_is_loaded_by_importing(self):
        script = ("import sys, placewright\n"
                  "print([m for m in ('torch', 'numpy', 'placewright._core') if m in sys.modules])")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                             check=True, env=environment)
        self.assertEqual(run.stdout, "[]\n")

    def test_temporary_folders_go(self):
        script = ("import gc, os, tempfile, sys, placewright as pw\n"
                  "def left(): return [n for n in os.listdir(tempfile.gettempdir())]\n"
                  f"plan = pw.plan({str(EXAMPLE)!r}, '4xP100', algorithm='single')\n"
                  "pw.simulate(plan)\n"
                  "print(left())\n"
                  "machine = pw.detect()\n"
                  "child = os.fork()\n"
                  "if child == 0: sys.exit()\n"
                  "os.waitpid(child, 0)\n"
                  "print(len(left()))\n")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
                       "TMPDIR": str(self.folder)}
        run = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True,
                             text=True, check=True, env=environment)
        self.assertEqual((run.stdout, run.stderr), ("[]\n1\n", ""))
        self.assertEqual(list(pathlib.Path(self.folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
