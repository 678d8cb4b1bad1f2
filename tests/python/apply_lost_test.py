"""A rank that is killed, stopped, late or given a wrong batch: the others end, each with an error
that names it."""

import newer_torch  # noqa: F401  first

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import apply_cases
import apply_support
from apply_support import PlannedTest

HERE = pathlib.Path(__file__).resolve()
RANKS, LOST = 3, 1
STARTED = 240  # seconds that the ranks may take to begin
LIMIT = 240    # and to end, once one is lost; on an idle machine they need 20


def rank_main(kind, plan, rank, port, folder):
    """Two steps; then rank LOST is lost, and the others make a third."""
    import torch
    from placewright import apply
    from placewright.applied import watch
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    if kind == "ended":  # what looks after the others is nearly always in the store's C++
        watch.PERIOD = 0.001
    model, optimizer, _ = apply_support.made("perceptron", "adam")
    before = {key: value.clone() for key, value in model.state_dict().items()}
    train = apply(plan, model, optimizer, timeout=3 if kind == "late" else None)
    for number in range(2):
        train(*apply_support.batch("perceptron", number))
    assert apply_cases.apart(dict(model.state_dict()), before) == 0
    (folder / f"begun{rank}").touch()
    if kind == "ended":
        return
    if rank == LOST and kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == LOST and kind == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if rank == LOST and kind == "late":
        time.sleep(STARTED)
    given = apply_support.batch("perceptron", 2)
    if rank == LOST and kind == "wrong":
        given = [column[:-1] for column in given]
    train(*given)


class LostTest(PlannedTest):
    def lost(self, kind):
        """What each rank but the lost one printed, and its exit status; a rank that is given a
        wrong batch is among them."""
        plan = self.case(RANKS, "perceptron", "adam", "--algo", "data-parallel")["plan"]
        folder = self.folder / kind
        folder.mkdir()
        port = str(apply_cases.free_port())
        ranks = [subprocess.Popen([sys.executable, HERE, kind, plan, str(rank), port, folder],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for rank in range(RANKS)]
        try:
            end = time.monotonic() + STARTED
            while len(list(folder.glob("begun*"))) < RANKS and time.monotonic() < end:
                self.assertFalse([one.communicate()[0] for one in ranks
                                  if one.poll() not in (None, 0, -signal.SIGKILL)])
                time.sleep(0.2)
            end = time.monotonic() + LIMIT
            left = [one for rank, one in enumerate(ranks)
                    if rank != LOST or kind in ("wrong", "ended")]
            return [(one.communicate(timeout=max(1, end - time.monotonic()))[0], one.returncode)
                    for one in left]
        finally:
            for one in ranks:
                one.kill()
                one.communicate()

    def check(self, kind, words):
        for said, status in self.lost(kind):
            self.assertRegex(said, "ApplyError: (rank [0-9] ends: )?" + words)
            self.assertNotEqual(status, 0)

    def test_killed(self):
        self.check("killed", "rank 1 died or hangs")

    def test_stopped(self):
        """It keeps its connections: nothing but its silence says that it is gone."""
        self.check("stopped", "rank 1 died or hangs")

    def test_late(self):
        """It is alive, but comes later than `timeout` says."""
        self.check("late", "rank 1 does not come: the others have waited for it for 3 s")

    def test_ranks_end_well(self):
        """Also those that leave the process group as it is."""
        for said, status in self.lost("ended"):
            self.assertEqual(status, 0, said)

    def test_wrong_batch_on_one_rank(self):
        self.check("wrong", r"(rank 1 failed: )?.*it is \[7, 12\]")


if __name__ == "__main__":
    if len(sys.argv) == 6:
        kind, plan, rank, port, folder = sys.argv[1:]
        sys.exit(rank_main(kind, plan, int(rank), port, pathlib.Path(folder)))
    unittest.main()
