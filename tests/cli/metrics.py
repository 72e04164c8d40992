# SPDX-License-Identifier: MIT
"""W10: `vigil metrics`, read by a parser that is as strict as the format: see check() for the rules."""
import math
import re
import signal

import support
from support import CommandTest, until, vigil

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}


def check(text):
    """Parse, and demand: every family has one HELP and one TYPE, before its samples, and its samples stand together; names and
    labels are legal; no series twice; counters end in _total and are not negative; histograms have ascending bounds,
    counts that do not fall, an infinite bucket that equals the count, and a sum. Gives {name: {labels: value}}."""
    assert text.endswith("\n")
    helps, types, samples, closed = {}, {}, {}, set()
    current = None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP ") or line.startswith("# TYPE "):
            _, kind, name, rest = line.split(" ", 3)
            assert NAME.fullmatch(name), line
            if name != current:
                assert name not in closed, f"{name} is not in one piece"
                closed.add(name)
                current = name
            table = helps if kind == "HELP" else types
            assert name not in table, line
            table[name] = rest
            assert kind == "HELP" or rest in TYPES, line
            assert kind == "TYPE" or not re.search(r"\\[^\\n]", rest), line
            continue
        assert not line.startswith("#") and line, f"what is {line!r}?"
        match = re.match(r"([^{ ]+)(\{.*\})? (\S+)$", line)
        assert match, line
        name, labels, value = match.groups()
        assert NAME.fullmatch(name), line
        family = name
        for end in ("_bucket", "_sum", "_count"):
            if name.endswith(end) and types.get(name[:-len(end)]) == "histogram":
                family = name[:-len(end)]
        assert family == current and family in types and family in helps, line
        pairs = []
        if labels:
            inner = labels[1:-1]
            at = 0
            while at < len(inner):
                pair = LABEL.match(inner, at)
                assert pair, line
                pairs.append(pair.groups())
                at = pair.end()
                assert at == len(inner) or inner[at] == ",", line
                at += 1
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), line
        series = samples.setdefault(name, {})
        key = tuple(sorted(pairs))
        assert key not in series, f"twice: {line}"
        series[key] = float(value)
        assert not math.isnan(series[key]), line
        if types[family] == "counter":
            assert name.endswith("_total") and series[key] >= 0, line
    for family, kind in types.items():
        if kind == "histogram":
            check_histogram(family, samples)
    return samples


def check_histogram(family, samples):
    groups = {}
    for key, value in samples.get(family + "_bucket", {}).items():
        bound = dict(key)["le"]
        rest = tuple(pair for pair in key if pair[0] != "le")
        groups.setdefault(rest, []).append((float(bound.replace("+Inf", "inf")), value))
    assert groups.keys() == samples.get(family + "_count", {}).keys() == samples.get(family + "_sum", {}).keys(), family
    for key, buckets in groups.items():
        bounds = [bound for bound, _ in buckets]
        counts = [count for _, count in buckets]
        assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf, (family, bounds)
        assert counts == sorted(counts), (family, key, counts)
        assert counts[-1] == samples[family + "_count"][key], (family, key)


class Metrics(CommandTest):
    def test_they_follow_the_format_and_agree_with_the_report(self):
        game = self.game().busy()
        game.kill(signal.SIGSTOP)
        until("it stands", lambda: game.report()["process"]["state"] == "stopped")
        result = vigil("metrics", game.pid)
        self.assertEqual(result.returncode, 0, result.stderr)
        samples = check(result.stdout)
        pool, = game.report()["pools"]
        for c in pool["classes"]:
            key = tuple(sorted((("pool", "game"), ("id", str(pool["id"])), ("class", c["class"]))))
            self.assertEqual(samples["vigil_pool_tasks_completed_total"][key], c["completed"])
            self.assertEqual(samples["vigil_pool_tasks_queued"][key], c["queued"])
            self.assertEqual(samples["vigil_pool_task_wait_seconds_count"][key], c["wait"]["count"])
        self.assertEqual(samples["vigil_stopped"][()], 1)
        self.assertEqual(sum(samples["vigil_pool_threads"].values()), pool["threads"])
        self.assertEqual(len(samples["vigil_worker_tasks_started_total"]), pool["threads"])
        self.assertIn((("id", str(game.report()["loops"][0]["id"])), ("loop", "server")), samples["vigil_loop_turns_total"])

    def test_counters_never_fall(self):
        game = self.game().busy()
        before = check(vigil("metrics", game.pid).stdout)
        after = check(vigil("metrics", game.pid).stdout)
        for name, series in before.items():
            if name.endswith("_total"):
                for key, value in series.items():
                    if key in after[name]:
                        self.assertGreaterEqual(after[name][key], value, name)

    def test_names_are_escaped(self):
        game = self.game().busy()
        game.kill(signal.SIGKILL)
        with open(self.record(game), "rb") as file:
            whole = file.read()
        path = self.record(game) + ".odd"
        with open(path, "wb") as file:
            file.write(whole.replace(b"game\0", b'a"\\\n\0').replace(b"server\0", b"\xff\xc3\xa9{}=\0"))
        samples = check(vigil("metrics", path).stdout)
        self.assertIn('a\\"\\\\\\\\x0a', {dict(key)["pool"] for key in samples["vigil_pool_workers_wanted"]})
        self.assertIn("\\\\xffé{}=", {dict(key)["loop"] for key in samples["vigil_loop_turns_total"]})


if __name__ == "__main__":
    support.main()
