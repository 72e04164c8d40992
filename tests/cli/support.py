# SPDX-License-Identifier: MIT
"""What the tests of the command share: a game to look at, and waiting for something to become true."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

VIGIL = os.environ["VIGIL"]
PATIENCE = 600  # seconds; a loaded machine takes its time

os.environ["LC_ALL"] = "C.UTF-8"
os.environ.pop("NO_COLOR", None)
os.environ.pop("VIGIL_RECORD", None)
os.environ["VIGIL_LOG"] = "off"  # what is looked at here fails on purpose


def vigil(*words, **options):
    """Run the command to its end."""
    return subprocess.run([VIGIL, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="strict", timeout=PATIENCE, **options)


def until(what, condition):
    """Ask again until the condition gives something true, and give that. What is asked about (a screen, a file, another process)
    has no event that could be waited for."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


def strict_json(text):
    """JSON in which no key comes twice and no number is not one."""
    def pairs(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"a key twice: {keys}"
        return dict(items)

    def constant(name):
        raise AssertionError(f"{name} is not JSON")
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


class Game:
    """`vigil demo` as something to look at; .pid is the game's process."""

    def __init__(self, *words, seconds=600):
        self.demo = subprocess.Popen([VIGIL, "demo", "--plain", "--no-page", "--seconds", str(seconds), *words],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self.demo.stdout.readline()
        match = re.search(r"process (\d+)", first)
        assert match, f"the demo says: {first!r}"
        self.pid = int(match.group(1))

    def report(self):
        result = vigil("report", self.pid, "--json")
        assert result.returncode in (0, 3), result.stderr
        return strict_json(result.stdout)

    def busy(self):
        """Wait until some work was done in every class."""
        def worked():
            pools = self.report()["pools"]
            return pools and all(c["completed"] > 20 for c in pools[0]["classes"])
        until("the game works", worked)
        return self

    def kill(self, number):
        os.kill(self.pid, number)

    def end(self):
        for pid in (self.pid, self.demo.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.demo.communicate()


class CommandTest(unittest.TestCase):
    """Each test has a directory of its own for the records."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="vigil-cli-")
        os.chmod(self.directory, 0o700)
        os.environ["VIGIL_DIR"] = self.directory
        self.games = []

    def tearDown(self):
        for game in self.games:
            game.end()
        shutil.rmtree(self.directory, ignore_errors=True)

    def game(self, *words, **options):
        game = Game(*words, **options)
        self.games.append(game)
        return game

    def patient(self, how, **environment):
        """A process that has become sick as `how` says (patient/patient.c) and has no watchdog of its own."""
        process = subprocess.Popen([os.environ["VIGIL_PATIENT"], how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **environment})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def queue_owner(self, queue, **environment):
        """A process that has this queue open (patient/queue.c)."""
        process = subprocess.Popen([os.environ["VIGIL_QUEUE_OWNER"], queue], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **environment})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def record(self, game):
        """Its file: the pid, and a part that makes the name unique."""
        name, = [name for name in os.listdir(self.directory) if name.partition("-")[0] == str(game.pid)]
        return os.path.join(self.directory, name)


def main():
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
