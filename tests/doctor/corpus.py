#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The corpus: sick programs must be named rightly, and healthy ones get no verdict.

Each patient says "ready" when it is under way; sick ones then get the time that they need to fall asleep: an examination that comes too
early is repeated, because a program that still moves is not sick yet. With --rounds and --load this is the long measurement
(scripts/doctor-rounds)."""
import argparse
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

VIGIL = os.environ["VIGIL"]
BIN = os.environ["DOCTOR_CORPUS"]  # where the programs were built
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")

# name: verdicts of which one must come, certain (None: either), words that must be in it
C = {
    "abba": (("deadlock",), True, ["lock_forwards", "lock_backwards", "the mutex"]),
    "abba-recursive": (("deadlock",), True, ["lock_forwards", "recursive"]),
    "abba-robust": (("deadlock",), True, ["robust"]),
    "abba-inherit": (("deadlock",), None, ["priority inheritance"]),
    "philosophers": (("deadlock",), True, ["philosopher", "3 threads"]),
    "self": (("self-deadlock",), True, ["self_lock"]),
    "join-with-lock": (("deadlock",), True, ["needs_lock", "join"]),
    "join-circle": (("deadlock",), True, ["the end of thread"]),
    "c11": (("deadlock",), True, ["c11_forwards"]),
    "stdio": (("deadlock",), True, ["stdio stream"]),
    "rwlock": (("deadlock",), True, ["read-write lock"]),
    "reader": (("deadlock",), None, ["held by 1 reader"]),
    "upgrade": (("self-deadlock",), None, ["read-write lock", "upgrade"]),
    "semaphores": (("deadlock",), None, ["semaphore"]),
    "lost-signal": (("lost wakeup",), True, ["condition variable", "wait_for_change"]),
    "barrier": (("lost wakeup",), True, ["2 of 3 threads"]),
    "orphan": (("orphaned lock",), True, ["has ended"]),
    "fork": (("orphaned lock",), True, ["fork_with_lock"]),
    "epoll": (("lost wakeup",), True, ["nothing is registered"]),
    "own-pipe": (("lost wakeup",), True, ["only this process itself"]),
    "pipes": (("deadlock",), True, ["between processes", "pipe_circle"]),
    "full-pipe": (("deadlock",), True, ["which is full", "child_pipe_full"]),
    "sockets": (("deadlock",), True, ["socket"]),
    "file-lock": (("lock held over a wait",), True, ["a lock of the file"]),
    "shared": (("deadlock",), True, ["between processes"]),
    "held": (("lock held over a wait",), True, ["lock_and_read"]),
    "convoy": (("convoy",), True, ["compute_under_lock", "5 threads"]),
    "spin": (("spin",), True, ["spin_on_flag"]),
    "spin-lock": (("spin",), True, ["pthread_spin_lock"]),
    "yield": (("spin",), True, ["yield_for_ever"]),
    "descriptors": (("descriptors",), True, ["64 may be"]),
    "stopped": (("stopped",), True, ["kill -CONT"]),
    "vfork": (("deadlock",), True, ["vfork_child"]),
}
CPP = {
    "doors": (("deadlock",), True, ["cross"]),
    "promise": (("lost wakeup",), True, ["forgotten_promise"]),
    "shared": (("deadlock",), True, ["shared_lock", "read-write lock"]),
    "condition": (("lost wakeup",), True, ["condition variable"]),
}
PYTHON = {
    "abba": (("deadlock",), None, ["semaphore"]),
    "queue": (("lost wakeup", "self-deadlock"), None, ["semaphore"]),
    "again": (("lost wakeup", "self-deadlock"), None, ["semaphore"]),
}
RUST = {"abba": (("deadlock",), None, ["Rust mutex"]), "channel": (("lost wakeup",), None, ["unpark"])}
# Programs without names: the verdict must still come. Of musl's normal mutexes nobody can say who holds them.
BARE = {"abba": (("deadlock",), True, ["the mutex"]), "self": (("self-deadlock",), True, ["holds itself"]),
        "orphan": (("orphaned lock",), True, ["has ended"]), "lost-signal": (("lost wakeup",), None, ["no thread is left"])}
MUSL = {"abba": (("deadlock",), None, ["mutex"]), "abba-recursive": (("deadlock",), True, ["mutex"]),
        "self": (("self-deadlock",), None, ["mutex"]), "lost-signal": (("lost wakeup",), None, ["no thread is left"]),
        "pipes": (("deadlock",), True, ["between processes"])}


class Patient:
    def __init__(self, words):
        # Its own session, so that the end reaches its children and threads too.
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        start_new_session=True, text=True)
        self.pid = self.process.pid
        for line in self.process.stdout:
            if line.startswith("patient "):
                self.pid = int(line.split()[1])
            if line.startswith("ready"):
                return
        raise AssertionError(f"{words} ended before it was ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def examine(pid, *options):
    done = subprocess.run([VIGIL, "doctor", "--json", *options, str(pid)], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 3):
        return done.returncode, None, done.stderr
    return done.returncode, json.loads(done.stdout), done.stdout


def sick(words, expected):
    """"": it was named rightly; else what was said instead."""
    kinds, certain, parts = expected
    with Patient(words) as patient:
        said = ""
        for _ in range(10):  # until it has fallen asleep: it is certain that it does
            status, found, text = examine(patient.pid)
            said = f"status {status}: " + ("; ".join(f"{f['kind']} ({f['certain']}): {f['title']}" for f in found["findings"])
                                           if found else text)
            if found and found["findings"]:
                break
        if not found or not found["findings"]:
            return said or "nothing"
        first = found["findings"][0]
        if first["kind"] not in kinds or (certain is not None and first["certain"] != certain):
            return said
        missing = [part for part in parts if part not in text]
        return f"{said}: without {missing}" if missing else ""


def healthy(words):
    with Patient(words) as patient:
        status, found, text = examine(patient.pid)
        if status == 0 and not found["findings"]:
            return ""
        return f"status {status}: " + ("; ".join(f["title"] for f in found["findings"]) if found else text)


def cases(args):
    program = lambda name: os.path.join(BIN, name)
    out = []
    if "sick" in args.kinds:
        out += [(f"sick {n}", sick, [program("sick"), n], e) for n, e in C.items()]
    if "bare" in args.kinds:
        for build in ("sick-stripped", "sick-static"):
            if os.path.exists(program(build)):
                out += [(f"{build} {n}", sick, [program(build), n], e) for n, e in BARE.items()]
        if os.path.exists(program("sick-musl")):
            out += [(f"sick-musl {n}", sick, [program("sick-musl"), n], e) for n, e in MUSL.items()]
    if "languages" in args.kinds:
        if os.path.exists(program("sick-cpp")):
            out += [(f"sick-cpp {n}", sick, [program("sick-cpp"), n], e) for n, e in CPP.items()]
        python = "/usr/bin/python3"
        if os.path.exists(python):
            out += [(f"sick.py {n}", sick, [python, f"{SOURCE}/sick.py", n], e) for n, e in PYTHON.items()]
        folder = tempfile.mkdtemp()
        args.folders.append(folder)
        if shutil.which("rustc") and subprocess.run(["rustc", "-g", "-o", f"{folder}/rust", f"{SOURCE}/sick.rs"],
                                                    stderr=subprocess.DEVNULL).returncode == 0:
            out += [(f"sick.rs {n}", sick, [f"{folder}/rust", n], e) for n, e in RUST.items()]
        if shutil.which("go") and subprocess.run(["go", "build", "-o", f"{folder}/go", f"{SOURCE}/sick.go"],
                                                 env={**os.environ, "GOCACHE": f"{folder}/cache", "GOFLAGS": "-mod=mod"},
                                                 stderr=subprocess.DEVNULL).returncode == 0:
            out.append(("sick.go", go, [f"{folder}/go"], None))
    if "healthy" in args.kinds:
        names = subprocess.run([program("healthy")], capture_output=True, text=True).stdout.split()
        assert len(names) >= 15
        out += [(f"healthy {n}", healthy, [program("healthy"), n], None) for n in names]
    return [case for case in out if not args.only or args.only in case[0]]


def go(words):
    """Goroutines cannot be seen: no verdict, and a word about it."""
    with Patient(words) as patient:
        status, found, text = examine(patient.pid)
        return "" if status == 0 and "kill -QUIT" in text else f"status {status}: {text[:300]}"


def run(case):
    name, how, words, expected = case
    began = time.monotonic()
    try:
        wrong = how(words, expected) if expected else how(words)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        wrong = str(error)
    return name, wrong, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=["sick", "bare", "languages", "healthy"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--load", type=int, default=0, help="busy processes per processor beside")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.folders = []
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.load * os.cpu_count())]
    wrongs = count = 0
    try:
        todo = cases(args)
        for round in range(args.rounds):
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                for name, wrong, took in pool.map(run, todo):
                    count += 1
                    if wrong:
                        wrongs += 1
                        print(f"WRONG {name} ({took:.1f} s, round {round + 1}): {wrong}", flush=True)
    finally:
        for process in load:
            process.kill()
            process.wait()
        for folder in args.folders:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{count - wrongs} of {count} right")
    sys.exit(1 if wrongs or not count else 0)


main()
