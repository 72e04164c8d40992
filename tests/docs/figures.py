# SPDX-License-Identifier: MIT
"""figures.py <repository>: scripts/figures writes what was measured between its markers, and nothing else."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
BEGIN, END = "<!-- figures: written by scripts/figures -->", "<!-- /figures -->"


def figures(text, results):
    with tempfile.TemporaryDirectory() as room:
        page, measured = os.path.join(room, "page.md"), os.path.join(room, "results.json")
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
        with open(measured, "w", encoding="utf-8") as file:
            json.dump(results, file)
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "figures"), "--into", page, measured], capture_output=True,
                              text=True, check=False)
        with open(page, encoding="utf-8") as file:
            return done, file.read()


def result(bench, peer, ranked, **rest):
    return {"bench": bench, "peer": peer, "producers": 1, "reps": 5, "ranked": ranked, **rest}


measured = [
    result("pool-submit", "vigil", False, workers=2, ns_per_op=41.4),
    result("pool-submit", "tbb", True, workers=2, ns_per_op=96.6),
    result("pool-submit", "mutex", True, workers=2, ns_per_op=300.2),
    result("pool-submit", "openmp", False, workers=2, ns_per_op=1.0),  # handed nothing over: shown by the bench, not ranked
    result("pool-submit", "vigil", False, workers=33, ns_per_op=500.0),
    result("pool-submit", "libuv", True, workers=33, ns_per_op=250.0),
    result("loop-fds", "vigil", False, workers=0, connections=100, trips_per_cpu_s=300000.0),
    result("loop-fds", "libev", True, workers=0, connections=100, trips_per_cpu_s=200000.0),
    result("loop-timers", "vigil", False, workers=0, timers=100000, add_ns=50.0),  # nobody to compare with
]
with open(os.path.join(ROOT, "docs", "figures.md"), encoding="utf-8") as figures_page:
    text = figures_page.read()
done, page = figures(text, measured)
assert done.returncode == 0, done.stderr
assert page.split(BEGIN)[0] == text.split(BEGIN)[0] and page.split(END)[1] == text.split(END)[1], "it changed more than the table"
inside = page.split(BEGIN)[1].split(END)[0]
for line in ("| a task from outside, 1 producer, 2 workers | **41 ns** | oneTBB 97 ns | a mutex pool 300 ns |",
             "| a task from outside, 1 producer, 33 workers | 500 ns | **libuv 250 ns** | – |",
             "| echo over 100 sockets, round trips in a second of CPU | **300 000** | libev 200 000 | – |",
             "Medians of 5 runs in turns, on "):
    assert line in inside, f"not there: {line}\n{inside}"
assert "timer" not in inside and "a timer added" in done.stderr
done, again = figures(page, measured)
assert again == page, "a second time changes something"
done, page = figures("no markers", measured)
assert done.returncode != 0 and page == "no markers", "a page without markers is refused and left alone"
done, _ = figures(text, [])
assert done.returncode != 0, "nothing measured is refused"
