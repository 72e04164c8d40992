# SPDX-License-Identifier: MIT
"""report.py <repository>: scripts/bench-report makes the page of a run that was kept: who won, every number, a plot of each metric."""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from html.parser import HTMLParser

ROOT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = [sys.executable, os.path.join(ROOT, "scripts", "bench-report")]
RESULTS, MACHINE = os.path.join(HERE, "report_results.json"), os.path.join(HERE, "report_machine.json")


class Page(HTMLParser):
    """Rows of all tables as lists of cells, the pictures, and the text."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.pictures, self.words, self.open = [], [], "", []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])
        elif tag not in ("meta",):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        self.words += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def report(out, *words, env=None):
    return subprocess.run([*COMMAND, "--out", out, *words], capture_output=True, text=True, check=False, env=env)


with open(RESULTS, encoding="utf-8") as file:
    results = json.load(file)
with tempfile.TemporaryDirectory() as out:
    done = report(out, "--from", RESULTS, "--machine", MACHINE)
    assert done.returncode == 0, done.stderr
    with open(os.path.join(out, "index.html"), encoding="utf-8") as file:
        page = Page(file.read())
    assert "Vigil is first in 3 of 5 rows, within 5 % of the first in 1, behind in 1." in page.words, page.words
    assert "A <processor> & its cache" in page.words, "text from outside is escaped"
    for row in (["pool-submit", "workers 2, producers 1", "ns_per_op", "41.4", "tbb", "96.6", "2.33"],  # not openmp, which is not ranked
                ["pool-submit", "workers 33, producers 1", "ns_per_op", "52", "tbb", "50", "0.96"],
                ["pool-wake", "workers 2, producers 1, apart 1", "p99_us", "20", "asio", "10", "0.50"],  # not the floor
                ["loop-fds", "producers 1, connections 100", "trips_per_cpu_s", "300 000", "libev", "200 000", "1.50"],
                ["workers 2, producers 1", "openmp", "1", "0.9", "1.2", "5", "not ranked"],
                ["workers 2, producers 1, apart 1", "futex", "1.5", "1.4", "1.6", "3", "floor"],
                ["libev", "4.33"]):
        assert row in page.rows, f"not there: {row}"
    assert not [row for row in page.rows if row[0] == "pool-cost"], "a bench without a peer has no winner"
    assert len(page.pictures) == len({(r["bench"], metric) for r in results for metric in r["spread"]})
    for picture in page.pictures:
        drawn = xml.parse(os.path.join(out, picture)).getroot()
        assert drawn.tag.endswith("svg")
        texts = "".join(drawn.itertext())
        for result in results:
            if any(f"{result['bench']}-{metric}.svg" == picture for metric in result["spread"]):
                assert result["peer"] in texts, f"{result['peer']} is not in {picture}"
    with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
        assert json.load(file) == results, "what the page was made from is kept"

    # A page of what was kept is the same page.
    before = {name: open(os.path.join(out, name), encoding="utf-8").read() for name in os.listdir(out)}
    done = report(out, "--from", os.path.join(out, "results.json"), "--machine", os.path.join(out, "machine.json"))
    assert done.returncode == 0, done.stderr
    for name, text in before.items():
        with open(os.path.join(out, name), encoding="utf-8") as file:
            assert file.read() == text, f"{name} is another"

with tempfile.TemporaryDirectory() as out:
    old = os.path.join(out, "old.json")
    with open(old, "w", encoding="utf-8") as file:
        json.dump([{"bench": "pool-submit", "peer": "vigil", "ns_per_op": 1.0}], file)
    done = report(out, "--from", old)
    assert done.returncode != 0 and "measure again" in done.stderr, done.stderr
    done = report(out, "--from", os.path.join(out, "nowhere.json"))
    assert done.returncode != 0 and "cannot read" in done.stderr, done.stderr
    done = report(out, "--from", RESULTS, env={**os.environ, "PATH": out})
    assert done.returncode != 0 and "gnuplot is missing" in done.stderr, done.stderr
    assert "index.html" not in os.listdir(out)
