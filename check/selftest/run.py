#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check/run itself: its table, its JSON, and an exit status that never calls a failed or an unfinished search a success.

    run.py CHECK BUILD      the folder check/ of the sources, and the one in which it was built

The unit is the example, as it is and with options that spoil it; a copy of check/run sees a script in place of the mutants.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

check, build = (os.path.abspath(path) for path in sys.argv[1:3])
place = tempfile.mkdtemp()
folder = os.path.join(place, "built")


def script(path, text):
    path = os.path.join(place, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def run(only, expected):
    """Runs the units whose name contains `only`; their results, and what was printed."""
    path = os.path.join(folder, "check.json")
    if os.path.exists(path):
        os.remove(path)
    done = subprocess.run([os.path.join(place, "check/run"), "--build", folder, "--only", only, "--jobs", "2"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == expected, f"exit {done.returncode} instead of {expected}:\n{done.stdout}"
    if expected == 2:
        return None, done.stdout
    with open(path) as file:
        return json.load(file), done.stdout


def example(options):
    script("built/example/check_example", f"exec '{build}/example/check_example' \"$@\" {options}\n")


def one_unit(results, verdict):
    assert [unit["verdict"] for unit in results["units"]] == [verdict], results
    return results["units"][0]


os.makedirs(os.path.join(place, "check"))
shutil.copy(os.path.join(check, "run"), os.path.join(place, "check"))
script("built/scenarios/check_pool", "exit 1\n")  # it must be there, and is not run

example("")
results, printed = run("example", 0)
unit = one_unit(results, "ok")
assert not results["deep"] and unit["unit"] == "example" and unit["scenarios"], unit
for scenario in unit["scenarios"]:
    for key in "scenario", "property", "bound", "mode", "memory", "verdict", "expected":
        assert isinstance(scenario[key], str) and scenario[key], (key, scenario)
    assert scenario["ok"] and scenario["executions"] >= 0 and scenario["seconds"] >= 0, scenario
    lines = printed.splitlines()
    rows = [i for i, line in enumerate(lines) if line.split()[:2] == [scenario["scenario"], scenario["mode"]]]
    assert len(rows) == 1, f"{scenario['scenario']} is not once in the table:\n{printed}"
    assert lines[rows[0] + 1].strip() == f"{scenario['property']} [{scenario['bound']}]", lines[rows[0] + 1]

# With a memory that has no stale values the broken exhibit is not found broken.
example("--sc")
results, printed = run("example", 1)
unit = one_unit(results, "FAILED")
assert not all(scenario["ok"] for scenario in unit["scenarios"]), unit
assert "<-- NOT AS EXPECTED" in printed, printed

# Executions that run into their bound, and only these: nothing was found, but not everything seen.
example("--max-steps 5")
results, printed = run("example", 3)
unit = one_unit(results, "incomplete")
assert {scenario["verdict"] for scenario in unit["scenarios"]} == {"truncated"}, unit

# A program that dies is no unfinished search, whatever it had said before; its half of a file is not taken over.
script("built/example/check_example", """
while [ "$1" != --json ]; do shift; done
echo '[ {"scenario": "a \\\\"' > "$2"
echo 'a  dpor  c11  0  0  1  0.00  5  truncated  <-- NOT AS EXPECTED'
printf 'and\\ta tab, a "quotation", a \\\\\\n'
exit 139
""")
results, printed = run("example", 1)
unit = one_unit(results, "FAILED")
assert "scenarios" not in unit and unit["result"] == 'and a tab, a "quotation", a \\', unit

# The mutants' table, with all that may stand in a line of C.
os.makedirs(os.path.join(folder, "scenarios"), exist_ok=True)
open(os.path.join(folder, "scenarios/mutants.env"), "w").close()
script("check/mutants/run", """
while [ "$1" != --table ]; do shift; done
printf 'a.c:1\\tfence\\tprintf("\\\\n");\\tkilled\\tone_name\\tdata race\\t12\\t0\\n' > "$2"
printf 'b.c:2\\trelaxed\\tx\\tequivalent\\tit says "so"\\t\\t0\\t0\\n' >> "$2"
echo '2 mutants: 1 killed, 1 equivalent, 0 not as they should be'
""")
results, printed = run("mutants", 0)
unit = one_unit(results, "ok")
assert [mutant["verdict"] for mutant in unit["mutants"]] == ["killed", "equivalent"], unit
assert unit["mutants"][0]["what"] == 'printf("\\n");' and unit["mutants"][0]["executions"] == 12, unit
assert unit["mutants"][1]["because"] == 'it says "so"', unit

# Every scenario is in a unit: those that are marked deep in one of check-deep, the others also in one of make check.
programs = [os.path.join(room, name) for room in ("scenarios", "gallery", "algorithms", "example") for name in sorted(os.listdir(os.path.join(build, room)))
            if name.startswith("check_") and os.access(os.path.join(build, room, name), os.X_OK) and os.path.isfile(os.path.join(build, room, name))]
assert len(programs) > 8, programs


def listed(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.splitlines()


def in_units(*options):
    return [tuple(line.split("\t")) for line in listed(os.path.join(check, "run"), "--build", build, "--list", *options)]


def names(*options):
    return [line.split()[0] for line in listed(os.path.join(build, "example/check_example"), "--list", *options)]


assert names("--only", "thie,=eventcount") == ["deque_two_thieves_twice", "deque_two_thieves", "deque_one_thief", "eventcount"]
assert names("--only", "^deque_two,^count,=event") == ["deque_two_thieves_twice", "deque_two_thieves"]
assert names("--but", "^deque,=eventcount") == ["eventcount_without_fences"]
shallow, deep = in_units(), in_units("--deep")
for program in programs:
    lines = listed(os.path.join(build, program), "--list")
    assert lines, program
    for wanted, units in (([line for line in lines if not line.endswith(" (deep)")], shallow), (lines, deep)):
        there = {scenario for _, path, scenario in units if path == program}
        for name in (line.split()[0] for line in wanted):
            assert name in there, f"{program}: no unit of check/run has the scenario {name}"

_, printed = run("nothing of that name", 2)
assert "no unit matches" in printed and "example" in printed, printed
shutil.rmtree(place)
