#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A search in many pieces sees what a search in one piece sees.

    checkpoint.py PROGRAM      a check program with the scenario deque_two_thieves
"""
import json
import os
import subprocess
import sys
import tempfile

program = os.path.abspath(sys.argv[1])
place = tempfile.mkdtemp()
report = os.path.join(place, "result.json")


def run(*options):
    subprocess.run([program, "--only", "=deque_two_thieves", "--json", report, *options],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(report) as file:
        return json.load(file)[0]


for mode in (["dpor"], ["preempt", "--preemptions", "3"], ["stateful"]):
    whole = run("--mode", *mode)
    assert whole["verdict"] == "pass", whole
    pieces, verdict = 0, "incomplete"
    while verdict == "incomplete":
        part = run("--mode", *mode, "--checkpoint", place, "--time-limit", "0.05" if mode == ["stateful"] else "0.000001")
        verdict = part["verdict"]
        pieces += 1
        assert pieces < 300
    if mode != ["stateful"]:
        assert pieces > 1, f"{mode}: it ended before the limit"
    for field in ("verdict", "executions", "redundant", "truncated", "longest"):
        assert part[field] == whole[field], f"{mode}: {field} is {part[field]} in {pieces} pieces, and {whole[field]} in one"
    assert not [name for name in os.listdir(place) if name.endswith(".checkpoint")], "the file stays behind"
    print(f"{mode[0]}: {part['executions']} executions in {pieces} pieces")

# One that belongs to other options is not taken up.
assert run("--mode", "preempt", "--preemptions", "3", "--checkpoint", place, "--time-limit", "0.000001")["verdict"] == "incomplete"
whole, other = run("--mode", "preempt", "--preemptions", "2"), run("--mode", "preempt", "--preemptions", "2", "--checkpoint", place)
assert whole["executions"] == other["executions"], (whole, other)
print("checkpoints: all as expected")
