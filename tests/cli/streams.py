# SPDX-License-Identifier: MIT
"""Streams, listeners and children of a loop, with names, ages and waits: in report, top, metrics and trace."""
import json
import os
import re

import metrics
import support
import trace
from support import CommandTest, strict_json, until, vigil


class Streams(CommandTest):
    def loop(self, process):
        result = vigil("report", process.pid, "--json")
        self.assertIn(result.returncode, (0, 3), result.stderr)
        loops = strict_json(result.stdout)["loops"]
        return loops[0] if loops else None

    def settled(self, process):
        """All are open, and the one with the deaf peer has come to its wait. The system may take some more bytes at any
        time, so that what follows asks again as well."""
        def there():
            loop = self.loop(process)
            kinds = sorted(s["kind"] for s in loop["streams"]) if loop else []
            if kinds != ["child", "listener", "pipe", "tcp", "tcp", "tcp"]:
                return None
            names = {s["name"]: s for s in loop["streams"]}
            if "alice" not in names or "deaf" not in names or "write" not in names["deaf"]["waits_ns"]:
                return None
            deaf = names["deaf"]
            return loop if deaf["unsent"] > 0 and deaf["unsent"] + deaf["bytes_sent"] == 1 << 24 else None
        return until("the streams are there", there)

    def test_report_and_top_tell_who_waits_for_what(self):
        process = self.patient("streams")
        loop = self.settled(process)
        names = {s["name"]: s for s in loop["streams"]}
        self.assertEqual(loop["name"], "front")
        self.assertEqual((loop["streams_open"], loop["streams_opened"], loop["streams_unseen"]), (6, 7, 0))
        deaf, alice = names["deaf"], names["alice"]
        self.assertRegex(deaf["address"], r"^127\.0\.0\.1:\d+$")
        self.assertEqual(set(deaf["waits_ns"]), {"read", "write"})
        self.assertEqual(set(alice["waits_ns"]), {"read"})
        self.assertLessEqual(alice["waits_ns"]["read"], alice["age_ns"])
        child, = [s for s in loop["streams"] if s["kind"] == "child"]
        self.assertEqual((child["name"], set(child["waits_ns"])), ("cat", {"exit"}))
        self.assertTrue(os.path.exists(f"/proc/{child['pid']}"))
        listener, = [s for s in loop["streams"] if s["kind"] == "listener"]
        self.assertEqual((listener["streams"], set(listener["waits_ns"])), (2, {"accept"}))
        for words in (("report", process.pid), ("top", process.pid, "--plain", "--looks", 1, "--interval", 50),
                      ("top", process.pid, "--plain", "--streams", "--looks", 1, "--interval", 50)):
            def told():
                text = vigil(*words).stdout
                return (re.search(r"tcp 127\.0\.0\.1:\d+ deaf.* waits for its peer to read for .* unsent", text) and
                        re.search(r"tcp 127\.0\.0\.1:\d+ alice.* waits for its peer for ", text))
            until(f"{words} tells it", told)

    def test_metrics_count_them_by_kind_and_wait(self):
        process = self.patient("streams")
        self.settled(process)

        def told():
            samples = metrics.check(vigil("metrics", process.pid).stdout)

            def of(name, **labels):
                values = [v for key, v in samples[name].items() if {"loop": "front", **labels}.items() <= dict(key).items()]
                self.assertEqual(len(values), 1, (name, labels))
                return values[0]
            self.assertEqual(of("vigil_stream_open"), 6)
            self.assertEqual(of("vigil_stream_opened_total"), 7)
            self.assertEqual(of("vigil_stream_waiting", **{"for": "read"}), 2)
            self.assertEqual(of("vigil_stream_waiting", **{"for": "connect"}), 0)
            self.assertGreater(of("vigil_stream_oldest_seconds", kind="listener"), 0)
            return (of("vigil_stream_waiting", **{"for": "write"}) == 1 and
                    of("vigil_stream_wait_seconds", **{"for": "write"}) > 0 and
                    of("vigil_stream_sent_bytes_total") + of("vigil_stream_unsent_bytes") == 1 << 24)
        until("the metrics tell it", told)

    def test_the_trace_has_a_lane_for_each(self):
        process = self.patient("streams")
        self.settled(process)
        path = os.path.join(self.directory, "trace.json")

        def told():
            self.assertEqual(vigil("trace", process.pid, "-o", path).returncode, 0)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            trace.check(text)
            names = [e["name"] for e in json.loads(text)["traceEvents"] if e["ph"] == "b"]
            return names if "waits: write" in names else None
        names = until("the wait is in the trace", told)
        self.assertEqual(len([n for n in names if re.fullmatch(r"tcp 127\.0\.0\.1:\d+ (deaf|alice)", n)]), 2)
        # The connection that was made has become a stream: its lane has ended.
        self.assertEqual(len([n for n in names if re.fullmatch(r"connect 127\.0\.0\.1:\d+", n)]), 1)


if __name__ == "__main__":
    support.main()
