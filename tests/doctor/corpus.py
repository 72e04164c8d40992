#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The corpus: sick programs must be named rightly, and healthy ones get no verdict.

Each patient says "ready" when it is under way; sick ones then get the time that they need to fall asleep: an examination that comes too
early is repeated, because a program that still moves is not sick yet. With --rounds and --load this is the long measurement
(scripts/doctor-rounds)."""
import argparse
import concurrent.futures
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

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
    "address-space": (("memory",), True, ["address space"]),
    "stopped": (("stopped",), True, ["kill -CONT"]),
    "vfork": (("deadlock",), True, ["vfork_child"]),
}
# Waits of different kinds that meet, and waits that only their functions name.
MORE = {
    "mixed": (("deadlock",), None, ["read_then_first", "held by 1 reader"]),
    "join-before-post": (("lost wakeup",), True, ["semaphore", "waits for the end of thread"]),
    "twice": (("lost wakeup",), True, ["condition variable", "(recursive), which thread", "wait_twice_locked"]),
    "once": (("self-deadlock",), None, ["pthread_once", "once_again"]),
    "once-join": (("deadlock",), None, ["pthread_once", "the end of thread"]),
    "loader": (("deadlock",), True, ["the dynamic loader's lock"]),
    "both-full": (("deadlock",), True, ["between processes", "which is full"]),
    "flock": (("lock held over a wait",), True, ["a lock of the file"]),
    "stopped-peer": (("stopped",), True, ["waits for it: for data", "kill -CONT"]),
    "handler": (("self-deadlock",), True, ["lock_in_handler", "\"interrupted\""]),
    "remains": (("self-deadlock",), True, ["lock_above_remains", "call_above_remains"]),
    "poll-zero": (("spin",), True, ["poll_for_ever", "the same system call again and again"]),
    "read-again": (("spin",), True, ["read_for_ever", "the same system call again and again"]),
    "lost-edge": (("deadlock",), True, ["4 bytes in it were not read"]),
}
CPP = {
    "doors": (("deadlock",), True, ["cross"]),
    "promise": (("lost wakeup",), True, ["forgotten_promise"]),
    "shared": (("deadlock",), True, ["shared_lock", "read-write lock"]),
    "condition": (("lost wakeup",), True, ["condition variable"]),
    "future-lock": (("lost wakeup",), True, ["std::future", "which thread"]),
    "latch": (("lost wakeup",), True, ["std::latch"]),
    "semaphore": (("lost wakeup",), True, ["C++ semaphore"]),
    "guard": (("deadlock",), None, ["a static variable's initialization"]),
}
PYTHON = {
    "abba": (("deadlock",), None, ["the Python lock (semaphore"]),
    "queue": (("lost wakeup", "self-deadlock"), None, ["the Python lock (semaphore"]),
    "again": (("lost wakeup", "self-deadlock"), None, ["the Python lock (semaphore"]),
    "interpreter": (("lock held over a wait",), True, [" for Python's global interpreter lock"]),
}
RUST = {"abba": (("deadlock",), None, ["Rust mutex", "sick::main"]), "channel": (("lost wakeup",), None, ["unpark"]),
        "condvar": (("lost wakeup",), None, ["the Rust Condvar"]), "barrier": (("lost wakeup",), None, ["the Rust Barrier"]),
        "park": (("lost wakeup",), None, ["an unpark"])}
# Programs without names: the verdict must still come. Of musl's normal mutexes nobody can say who holds them.
BARE = {"abba": (("deadlock",), True, ["the mutex"]), "self": (("self-deadlock",), True, ["holds itself"]),
        "orphan": (("orphaned lock",), True, ["has ended"]), "lost-signal": (("lost wakeup",), None, ["no thread is left"])}
MUSL = {"abba": (("deadlock",), None, ["mutex"]), "abba-recursive": (("deadlock",), True, ["mutex"]),
        "self": (("self-deadlock",), None, ["mutex"]), "lost-signal": (("lost wakeup",), None, ["no thread is left"]),
        "pipes": (("deadlock",), True, ["between processes"])}


class Place:
    """A place with a limit, for root alone: a control group, a frozen file system. Patients are put there before they begin."""

    def __init__(self, kind):
        self.kind, self.undo, self.environment, self.group = kind, [], {}, None
        self.thaw = lambda: None  # what is frozen cannot be killed
        self.folder = tempfile.mkdtemp()

    def __enter__(self):
        try:
            getattr(self, self.kind.replace("-", "_"))()
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise unittest.SkipTest(f"{self.kind}: {error}")
        return self

    def __exit__(self, *_):
        thaw, self.thaw = self.thaw, lambda: None
        thaw()
        for step in reversed(self.undo):
            for _ in range(100):  # a group is empty only when its processes are gone; version 1 has no event for it
                try:
                    step()
                    break
                except OSError:
                    time.sleep(0.05)
        self.undo = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def in_group(self, controller, **settings):
        """Version 1 has a tree for each controller, version 2 one for all."""
        root = "/sys/fs/cgroup"
        unified = os.path.exists(f"{root}/cgroup.controllers")
        if unified:
            with open(f"{root}/cgroup.subtree_control", "w") as control:
                control.write(f"+{controller}")
        self.group = f"{root}{'' if unified else '/' + controller}/vigil-corpus-{os.getpid()}-{id(self):x}"
        os.mkdir(self.group)
        self.undo.append(lambda: os.rmdir(self.group))
        for name, (old, new) in settings.items():
            self.set(*(new if unified else old))

    def set(self, name, value):
        with open(f"{self.group}/{name}", "w") as file:
            file.write(value)

    def enter(self):
        """In the patient, before it begins."""
        if self.group:
            with open(f"{self.group}/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))

    def throttled(self):
        self.in_group("cpu", quota=(("cpu.cfs_quota_us", "10000"), ("cpu.max", "10000 100000")))

    def no_threads(self):
        self.in_group("pids", most=(("pids.max", "6"), ("pids.max", "6")))

    def full_memory(self):
        self.in_group("memory", most=(("memory.limit_in_bytes", str(24 << 20)), ("memory.max", str(24 << 20))))
        self.file = f"{self.folder}/large"
        with open(self.file, "wb") as file:
            file.write(bytes(32 << 20))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # so that the patient's group pays for the cache
        self.environment = {"SICK_FILE": self.file, "SICK_BYTES": str(21 << 20)}

    def cached(self):
        self.full_memory()
        self.environment["SICK_BYTES"] = str(1 << 20)

    def frozen(self):
        self.in_group("freezer" if not os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "cpu")
        self.thaw = lambda: self.freeze(False)

    def freeze(self, on=True):
        if os.path.exists(f"{self.group}/freezer.state"):
            self.set("freezer.state", "FROZEN" if on else "THAWED")
        else:
            self.set("cgroup.freeze", str(int(on)))

    def frozen_disk(self):
        image, mount = f"{self.folder}/image", f"{self.folder}/mount"
        os.mkdir(mount)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 30}
        with open(image, "wb") as file:
            file.truncate(8 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], **quiet)
        subprocess.run(["mount", "-o", "loop", image, mount], **quiet)
        self.undo.append(lambda: subprocess.run(["umount", "-l", mount], **quiet))
        subprocess.run(["fsfreeze", "-f", mount], **quiet)
        self.thaw = lambda: subprocess.run(["fsfreeze", "-u", mount], **quiet)
        self.environment = {"SICK_FILE": f"{mount}/file"}


    def fuse(self):
        """A file system whose process never answers."""
        mount = f"{self.folder}/mount"
        os.mkdir(mount)
        server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self.undo.append(lambda: os.close(server))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"silent", mount.encode(), b"fuse", 0, f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()) != 0:
            raise OSError(ctypes.get_errno(), "a FUSE file system cannot be mounted")
        self.undo.append(lambda: libc.umount2(mount.encode(), 2))
        self.environment = {"SICK_FILE": f"{mount}/file"}


class Patient:
    def __init__(self, words, place=None):
        self.place = place
        # Its own session, so that the end reaches its children and threads too.
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        start_new_session=True, text=True, preexec_fn=place.enter if place else None,
                                        env={**os.environ, **place.environment} if place else None)
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
        if self.place:
            thaw, self.place.thaw = self.place.thaw, lambda: None
            thaw()
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


def placed(words, expected):
    """In a place with a limit."""
    kind, program, rest = words
    with Place(kind) as place:
        return sick(program, rest, place) if rest else healthy(program, place)


def sick(words, expected, place=None):
    """"": it was named rightly; else what was said instead."""
    kinds, certain, parts = expected
    with Patient(words, place) as patient:
        if place and place.kind == "frozen":
            place.freeze()
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


def healthy(words, place=None):
    with Patient(words, place) as patient:
        status, found, text = examine(patient.pid)
        if status == 0 and not found["findings"]:
            return ""
        return f"status {status}: " + ("; ".join(f["title"] for f in found["findings"]) if found else text)


def cases(args):
    program = lambda name: os.path.join(BIN, name)
    out = []
    if "sick" in args.kinds:
        out += [(f"sick {n}", sick, [program("sick"), n], e) for n, e in C.items()]
        out += [(f"sick-more {n}", sick, [program("sick-more"), n], e) for n, e in MORE.items()]
    if "bare" in args.kinds:
        for build in ("sick-stripped", "sick-static"):
            if os.path.exists(program(build)):
                out += [(f"{build} {n}", sick, [program(build), n], e) for n, e in BARE.items()]
        if os.path.exists(program("sick-musl")):
            out += [(f"sick-musl {n}", sick, [program("sick-musl"), n], e) for n, e in MUSL.items()]
    if "limits" in args.kinds and os.geteuid() == 0:
        one = program("sick")
        for kind, words, expected in (
                ("throttled", [program("healthy"), "computing"], (("throttled",), True, ["used its share"])),
                ("no-threads", [one, "no-threads"], (("threads",), True, ["6 of 6"])),
                ("full-memory", [one, "full-memory"], (("memory",), True, ["limit of memory"])),
                ("cached", [one, "full-memory"], None),  # healthy: the cache of files fills its group
                ("frozen", [program("healthy"), "queue"], (("stopped",), True, ["frozen by its cgroup"])),
                ("fuse", [one, "frozen-disk"], (("disk",), True, ["process of a FUSE file system does not answer", "frozen_disk"])),
                ("frozen-disk", [one, "frozen-disk"], (("disk",), True, ["state D", "frozen_disk"]))):
            out.append((f"limits {kind}", placed, (kind, words, expected), True))
    if "starved" in args.kinds and os.geteuid() == 0:  # not among other tests: it takes a processor away
        if os.cpu_count() > 1:
            out.append(("limits starved", sick, [program("sick"), "starved"], (("starved",), True, ["SCHED_FIFO", "run_at"])))
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
        plain = subprocess.run([VIGIL, "doctor", str(patient.pid)], capture_output=True, text=True, timeout=120).stdout
        good = status == 0 and "kill -QUIT" in text and "without symbols" not in plain
        return "" if good else f"status {status}: {plain[:300]}"


def run(case):
    name, how, words, expected = case
    began = time.monotonic()
    try:
        wrong = how(words, expected) if expected else how(words)
    except unittest.SkipTest as reason:
        return name, None, str(reason)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        wrong = str(error)
    return name, wrong, time.monotonic() - began


ALONE = ("limits starved",)  # it keeps a processor from everybody else


def table(results):
    """One line for each patient: how often it was named rightly, and how long an examination took."""
    print(f"{'patient':32} {'rounds':>6} {'right':>6} {'mean s':>7} {'most s':>7}")
    for name in sorted(results):
        took = [t for wrong, t in results[name]]
        print(f"{name:32} {len(took):6} {sum(not wrong for wrong, _ in results[name]):6} {sum(took) / len(took):7.1f} {max(took):7.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=["sick", "bare", "limits", "starved", "languages", "healthy"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=6, help="patients at once: they mostly sleep")
    parser.add_argument("--load", type=int, default=0, help="busy processes per processor beside")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    args.folders = []
    began = time.monotonic()
    results, left_out = {}, set()

    def note(name, wrong, took):
        if wrong is None:
            left_out.add(f"{name} ({took})")
            return
        results.setdefault(name, []).append((wrong, took))
        if wrong:
            print(f"WRONG {name} ({took:.1f} s): {wrong}", flush=True)

    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.load * os.cpu_count())]
    try:
        todo = cases(args)
        together = [case for case in todo if case[0] not in ALONE]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for result in pool.map(run, together * args.rounds):
                note(*result)
        for case in [case for case in todo if case[0] in ALONE] * args.rounds:
            note(*run(case))
    finally:
        for process in load:
            process.kill()
            process.wait()
        for folder in args.folders:
            shutil.rmtree(folder, ignore_errors=True)
    if args.table:
        table(results)
    for reason in sorted(left_out):
        print(f"left out: {reason}")
    count = sum(len(r) for r in results.values())
    wrongs = sum(bool(wrong) for r in results.values() for wrong, _ in r)
    print(f"{count - wrongs} of {count} right, {len(results)} patients, {time.monotonic() - began:.0f} s")
    sys.exit(1 if wrongs or not count else 0)


main()
