"""Commands run as processes of their own, each with a limit of time and memory."""

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time

WAITS = 20  # a command that waits for other work takes up to so many times its limit


class Refused(Exception):
    """A stage failed; its text is what the program said."""

    def __init__(self, stage, text, **what):
        super().__init__(text)
        self.found = {"stage": stage, "text": text, **what}


class Commands:
    """Runs commands in one folder, each with limits, and notes how long they took."""

    def __init__(self, program, folder, seconds, gibibytes, say):
        self.program, self.folder, self.seconds = program, folder, seconds
        self.bytes, self.say = int(gibibytes * 2**30), say

    def run(self, stage, *words):
        """(the JSON object it printed, processor seconds, peak bytes), or Refused."""
        self.say(f"  {stage} ...")
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen([str(word) for word in words], cwd=self.folder, stdout=out,
                                     stderr=err, start_new_session=True, preexec_fn=self._limit)
            ended = self._ended(child, began)
            out.seek(0), err.seek(0)
            text, errors = out.read().decode(), err.read().decode(errors="replace")
        if not ended or child.returncode == -signal.SIGXCPU:
            raise Refused(stage, f"takes more than {self.seconds} s")
        try:
            said = json.loads(text)
        except ValueError:
            said = None
        if said is None or "error" in said and said.get("feasible") is None:
            raise Refused(stage, self._error(said, errors, child.returncode))
        return said, round(self.usage.ru_utime + self.usage.ru_stime, 2), self.usage.ru_maxrss * 1024

    def _ended(self, child, began):
        """Waits for a child, what it used noted; False where it had to be killed."""
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                child.returncode = os.waitstatus_to_exitcode(status)
                self.usage = usage
                return True
            if time.monotonic() - began > WAITS * self.seconds:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                return False
            time.sleep(0.05)

    def _limit(self):
        resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (self.bytes, self.bytes))

    def _error(self, said, errors, status):
        if said is not None:
            return said["error"]["message"]
        lines = [line for line in errors.splitlines() if line.startswith("placewright")]
        text = lines[-1].split(": ", 1)[1] if lines else " ".join(errors.split())[-500:]
        text = text or f"ended with status {status}, without a word"
        return re.sub(r"/\S*/(site-packages|dist-packages|bench)/", "", text)
