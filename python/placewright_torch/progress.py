"""Says how a long recording gets on."""

import time

EVERY = 5.0  # seconds between two sentences
LONG = 10.0  # seconds of a recording from which on its proof is announced
PROOFS = 3  # recordings for a proof, and perhaps one more


class Progress:
    """`say` takes a sentence."""

    def __init__(self, say, clock=time.monotonic):
        self._say, self._clock = say, clock
        self._what = "recording"
        self._began = self._said = clock()

    def begin(self, what):
        """A recording begins: "recording at batch 8"."""
        self._what = what
        self._began = self._said = self._clock()

    def op(self, count, phase):
        """One more op is recorded."""
        now = self._clock()
        if now - self._said >= EVERY:
            self._said = now
            self._say(f"{self._what}: {count:,} ops, {phase}, {now - self._began:.0f} s")

    def proof_begins(self):
        """The first recording is done, and those for the proof follow."""
        took = self._clock() - self._began
        if took >= LONG:
            self._say(f"recorded in {took:.0f} s; to prove how the step follows its batch it is "
                      f"recorded {PROOFS} or {PROOFS + 1} times more, about {PROOFS * took:.0f} s: "
                      "--one-batch (rebatch=False) leaves that out")
