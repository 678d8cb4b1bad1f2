"""Whether the other ranks are still there.

Each rank says every second in the process group's store that it runs, how many times it has waited
for others, and what failed. A rank that waits for one that is gone ends with an error that names
it: what waits in C++ cannot be called back, so its process is ended if it does not return by
itself.
"""

import contextlib
import datetime
import json
import os
import sys
import threading
import time
import weakref

import torch.distributed as dist

from .errors import ApplyError

PERIOD = 1.0   # seconds between signs of life
SILENT = 15.0  # after which a rank counts as gone
GRACE = 2.0    # that a step has to return by itself
STORE_SECONDS = 5


class Watch:
    """Of the ranks of a process group, from a thread."""

    def __init__(self, group, timeout):
        """`timeout`: seconds to wait for a rank that does not come, or None."""
        self._rank, self._ranks = dist.get_rank(group), dist.get_world_size(group)
        self._timeout = timeout
        store = dist.distributed_c10d._get_default_store()
        name = f"placewright/{group.group_name}"
        number = store.add(f"{name}/{self._rank}", 1)  # as many as the other ranks have
        if hasattr(store, "clone"):  # a connection of its own
            store = store.clone()
            store.set_timeout(datetime.timedelta(seconds=STORE_SECONDS))
        self._store = dist.PrefixStore(f"{name}/{number}", store)
        self._beat, self._turn, self._error = 0, 0, ""
        self._since = None     # when this rank began to wait for others
        self._raising = False  # it has come back, with an error
        self._lost, self._lost_at = "", None
        self._looked = time.monotonic()
        self._heard = dict.fromkeys(range(self._ranks), (None, self._looked))
        self._say()
        end = threading.Event()
        thread = threading.Thread(target=_look_again, args=(weakref.ref(self), end), daemon=True)
        thread.start()
        # At exit, too: a thread that is in C++ when Python ends takes the process down with it.
        weakref.finalize(self, _end, end, thread)

    @contextlib.contextmanager
    def inside(self):
        """While inside, this rank waits for the others, which do the same."""
        self._turn, self._error = self._turn + 1, ""
        self._lost, self._lost_at, self._raising = "", None, False
        self._since = time.monotonic()
        try:
            yield
        except Exception as error:
            self._raising = True
            found = self._cause_of(error)
            self._error = str(found) or type(found).__name__
            with contextlib.suppress(Exception):
                self._say()
                self._wait_until_heard()
            if found is error:
                raise
            raise found from error
        finally:
            self._since = None

    def _cause_of(self, error):
        """Of an error of the transport, the rank that is gone."""
        if not isinstance(error, dist.DistBackendError) and "gloo" not in str(error).lower():
            return error
        end = time.monotonic() + SILENT + GRACE
        while not self._lost and time.monotonic() < end:
            time.sleep(PERIOD / 10)
        return ApplyError("rank-lost", self._lost or str(error))

    def _say(self):
        self._beat += 1
        self._store.set(str(self._rank), json.dumps(
            {"beat": self._beat, "turn": self._turn, "error": self._error}))

    def look(self):
        """Once a period."""
        now = time.monotonic()
        if now - self._looked > SILENT:  # this process itself was stopped
            self._heard = {rank: (beat, now) for rank, (beat, _) in self._heard.items()}
        self._looked = now
        said = {}
        try:
            if self._store is not None:
                self._say()
                said = self._all_said()
        except dist.DistNetworkError:  # its process has ended
            self._store = None
        except Exception:  # it does not answer in time
            pass
        for rank, row in said.items():
            if row["beat"] != self._heard[rank][0]:
                self._heard[rank] = row["beat"], now
        if self._since is None:
            return
        self._lost = self._lost or self._found(said, now)
        if not self._lost or self._raising:
            return
        self._lost_at = self._lost_at or now
        if now - self._lost_at > GRACE:
            error = ApplyError("rank-lost", self._lost)
            self._error = self._lost
            with contextlib.suppress(Exception):
                self._say()
                self._wait_until_heard()
            if self._since is None or self._raising:  # it has come back after all
                return
            print(f"placewright.ApplyError: rank {self._rank} ends: {error}", file=sys.stderr,
                  flush=True)
            os._exit(1)

    def _wait_until_heard(self):
        """By the others, before the store ends with the first rank."""
        if dist.get_rank() == 0:
            time.sleep(2 * PERIOD)

    def _all_said(self):
        keys = [str(rank) for rank in range(self._ranks)]
        if not self._store.check(keys):  # one has not begun
            keys = [key for key in keys if self._store.check([key])]
        return {int(key): json.loads(row)
                for key, row in zip(keys, self._store.multi_get(keys), strict=True)}

    def _found(self, said, now):
        """What is wrong with another rank, or ""."""
        for rank, row in said.items():
            if rank != self._rank and row["error"] and row["turn"] >= self._turn:
                known = row["error"].startswith("rank ")  # what that one says of a third
                return row["error"] if known else f"rank {rank} failed: {row['error']}"
        silent = [rank for rank, (_, at) in self._heard.items()
                  if rank != self._rank and now - at > SILENT]
        if silent and not said:
            return "the process group's store does not answer: rank 0, or what started the " \
                   "ranks, died or hangs"
        if silent:
            return f"rank {silent[0]} died or hangs: no sign of life for {SILENT:.0f} s"
        since = self._since
        if self._timeout is not None and since is not None and now - since > self._timeout:
            for rank in range(self._ranks):
                if said.get(rank, {"turn": 0})["turn"] < self._turn:
                    return f"rank {rank} does not come: the others have waited for it for " \
                           f"{self._timeout:.0f} s"
        return ""


def _end(end, thread):
    end.set()
    if thread is not threading.current_thread():
        thread.join(STORE_SECONDS)


def _look_again(reference, end):
    while not end.wait(PERIOD):
        watch = reference()
        if watch is None:
            return
        watch.look()
        del watch

