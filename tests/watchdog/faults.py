#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py <build folder> [--rounds N] [--load P] [--at-once K] [--only TEXT]: every fault that the watchdog has to recognise, N times
(20), with the default settings, beside P processes on each core that only compute (0). K faults (6) are made at once, each in processes
of its own. A row for each: rounds; right class; right subject, with the words that the verdict must have; wrong; late; the worst time
from fault to verdict, and the limit: five seconds, which is more than twice each configured time. The exit status is 1 if anything is wrong or late."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

CHUNK = 4  # rounds in one process: the variants of a fault go by the number of the round
LIMIT_MS = 5000
# (fault, program, the test in it)
INJECTED = [
    ("all workers blocked, declared", "all_blocked", "workers_that_are_all_blocked*"),
    ("all workers asleep, not declared", "all_blocked", "workers_that_all_sleep*"),
    ("callback keeps its loop", "block_loop", "a_callback_*"),
    ("loop not woken for a post", "block_loop", "a_loop_*"),
    ("worker not woken", "drop_wake", "a_publisher_*"),
    ("chosen worker not called", "drop_wake", "a_worker_*"),
    ("frozen worker", "freeze_worker", "a_worker_*"),
    ("growing queue", "growing_queue", "*"),
    ("task hogs its worker", "hog", "a_task_that_keeps*"),
    ("lost task", "lose_task", "*"),
    ("starved class", "starve_class", "*"),
    ("stopped process", "stop_process", "*"),
    ("jobs wait in a circle", "wait_cycle", "jobs_*"),
    ("a stall that returns", "returns", "a_stall_*"),
]
OWN = ["two mutexes", "a mutex held", "a mutex taken", "loop, job", "a hang-up", "a timer", "a microtask", "a promise", "a task that waits",
       "a callback that reads", "a stop", "a loop whose", "a worker whose"]


class Row:
    def __init__(self, fault):
        self.fault, self.rounds, self.class_, self.subject, self.late, self.worst, self.said = fault, 0, 0, 0, 0, 0, []

    def add(self, rounds, good, times, said, class_is_right):
        self.rounds += rounds
        self.subject += good
        self.class_ += good + (rounds - good if class_is_right else 0)
        self.late += sum(ms > LIMIT_MS for ms in times)
        self.worst = max([self.worst, *times])
        if good < rounds:
            self.said.append(said)

    @property
    def wrong(self):
        return self.rounds - self.subject

    def __str__(self):
        return f"{self.fault:42} {self.rounds:6} {self.class_:6} {self.subject:8} {self.wrong:6} {self.late:5} {self.worst:9} {LIMIT_MS:9}"


def run(folder, program, rounds, only, *words):
    environment = {**os.environ, "WATCHDOG_ROUNDS": str(rounds), "VIGIL_LOG": "off", "VIGIL_TEST_SCALE": "100"}
    if only is not None:
        environment["WATCHDOG_ONLY"] = only
    return subprocess.run([os.path.join(folder, "tests", "watchdog", "watchdog_" + program), *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)


def injected(folder, rounds, fault, program, only):
    row = Row(fault)
    left = rounds
    while left > 0:
        chunk = min(CHUNK, left)
        result = run(folder, program, chunk, only)
        times = [int(ms) for ms in re.findall(r"verdict after (\d+) ms", result.stdout)]
        good = chunk if result.returncode == 0 else min(len(times), chunk - 1)
        assert result.returncode != 0 or len(times) >= chunk, result.stdout
        # What stopped it was a word that is not in the verdict, or the verdict itself. The rest of the chunk is made in the next one.
        made = good + (result.returncode != 0)
        row.add(made, good, times, result.stdout, "is not in" in result.stdout)
        left -= made
    return row


def own(folder, rounds, name):
    row = Row(name)
    for _ in range(rounds):
        result = run(folder, "twelve", 1, None, name)
        line = re.search(r"(?m)^  (.{40}) 1 rounds, worst (\d+) ms", result.stdout)
        assert line, result.stdout
        row.fault = line.group(1).strip()
        good = " 0 wrong" in result.stdout
        row.add(1, int(good), [int(line.group(2))] if good else [], result.stdout, "subject is wrong" in result.stdout)
    return row


def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder")
    words.add_argument("--rounds", type=int, default=20)
    words.add_argument("--load", type=int, default=0)
    words.add_argument("--at-once", type=int, default=6)
    words.add_argument("--only", default="")
    words = words.parse_args()
    begin = time.monotonic()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(words.load * len(os.sched_getaffinity(0)))]
    try:
        with concurrent.futures.ThreadPoolExecutor(words.at_once) as crew:
            rows = [crew.submit(injected, words.folder, words.rounds, *fault) for fault in INJECTED if words.only in fault[0]]
            rows += [crew.submit(own, words.folder, words.rounds, name) for name in OWN if words.only in name]
            print(f"{'fault':42} rounds  class  subject  wrong  late  worst ms  limit ms")
            for row in rows:
                print(row.result(), flush=True)
            rows = [row.result() for row in rows]
    finally:
        for one in busy:
            one.kill()
            one.wait()
    for row in rows:
        for said in row.said:
            print(f"\n--- {row.fault}\n{said}")
    print(f"{sum(r.rounds for r in rows)} rounds, {sum(r.wrong for r in rows)} wrong, {sum(r.late for r in rows)} late, "
          f"{time.monotonic() - begin:.0f} s, {words.load} busy processes per core")
    return int(any(row.wrong or row.late for row in rows))


if __name__ == "__main__":
    sys.exit(main())
