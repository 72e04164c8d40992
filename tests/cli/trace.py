# SPDX-License-Identifier: MIT
"""W10: `vigil trace`, read by a parser that is as strict as the trace viewers' rules: see check()."""
import json
import os
import signal
import struct
from bisect import bisect_right
from decimal import Decimal
from itertools import accumulate

import support
from support import CommandTest, until, vigil


def check(text):
    """Parse, and demand: only known phases; each lane of a stream ends what it begins, in order; slices of one thread are nested or apart, never crossing; every thread that has
    events has a name; every arrow has exactly one begin and one end, of one name, forward in time, each inside a slice of
    its thread. Gives (slices, arrows)."""
    trace = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    assert set(trace) == {"displayTimeUnit", "traceEvents"} and trace["displayTimeUnit"] in ("ms", "ns")
    named, threads, arrows, slices, lanes = set(), {}, {}, [], {}
    for event in trace["traceEvents"]:
        phase = event["ph"]
        assert phase in ("X", "i", "s", "f", "M", "b", "e"), event
        for key in ("name", "pid", "tid"):
            assert key in event, event
        if phase == "M":
            if event["name"] == "thread_name":
                named.add(event["tid"])
            continue
        assert isinstance(event["ts"], Decimal), event
        if phase in ("b", "e"):
            assert event["cat"] == "stream", event
            open_ = lanes.setdefault(event["id"], [])
            if phase == "b":
                open_.append(event["name"])
            else:
                assert open_ and event["name"] == open_.pop(), event
            continue
        track = threads.setdefault(event["tid"], [])
        if phase == "X":
            assert event["dur"] >= 0, event
            track.append((event["ts"], event["ts"] + event["dur"], event["name"]))
            slices.append(event)
        elif phase == "i":
            assert event["s"] in ("t", "p", "g"), event
        else:
            pair = arrows.setdefault(event["id"], {})
            assert phase not in pair, f"twice: {event}"
            assert phase == "s" or event["bp"] == "e", event
            pair[phase] = event
    assert set(threads) <= named
    assert not any(lanes.values()), lanes
    begins, reaches = {}, {}
    for tid, track in threads.items():
        track.sort(key=lambda s: (s[0], -s[1]))
        begins[tid] = [begin for begin, _, _ in track]
        reaches[tid] = list(accumulate((end for _, end, _ in track), max))
        around = []
        for begin, end, name in track:
            while around and around[-1][1] <= begin:
                around.pop()
            assert not around or end <= around[-1][1], f"{name} {begin}-{end} crosses {around[-1]}"
            if end > begin:
                around.append((begin, end, name))
    for pair in arrows.values():
        assert set(pair) == {"s", "f"}, pair
        begin, end = pair["s"], pair["f"]
        assert begin["name"] == end["name"] and begin["ts"] <= end["ts"], pair
        for event in (begin, end):
            before = bisect_right(begins[event["tid"]], event["ts"])
            assert before and reaches[event["tid"]][before - 1] >= event["ts"], f"outside of any slice: {event}"
    return slices, list(arrows.values())


class Trace(CommandTest):
    def trace(self, operand):
        path = os.path.join(self.directory, "trace.json")
        result = vigil("trace", operand, "-o", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("ui.perfetto.dev", result.stdout)
        with open(path, encoding="utf-8") as file:
            return check(file.read())

    def shows_the_game(self, slices, arrows):
        """The rings remember a fraction of a second. On a busy machine some of the game may lie outside: ask for another then."""
        names = {s["name"] for s in slices}
        short = [s for s in slices if s["name"].startswith("short tasks: ")]
        self.assertTrue(all(s["args"]["tasks"] >= 1 for s in short))
        classes = {s["args"]["class"] for s in slices if s["cat"] == "task" and "class" in s["args"]}
        submits = [a for a in arrows if a["s"]["name"] == "submit"]
        return ({"bot_thinks", "turn_begins", "parked"} <= names and any(n.startswith("submit ") for n in names)
                and {"HIGH", "NORMAL"} <= classes and len(submits) > 50
                # The loop's thread submits, workers run.
                and any(a["s"]["tid"] != a["f"]["tid"] for a in submits))

    def test_a_process_that_runs(self):
        game = self.game().busy()
        until("a trace shows the game", lambda: self.shows_the_game(*self.trace(game.pid)))

    def test_a_process_that_was_killed(self):
        def shown():
            game = self.game().busy()
            game.kill(signal.SIGKILL)
            until("it is dead", lambda: game.report()["process"]["state"] == "dead")
            return self.shows_the_game(*self.trace(self.record(game)))
        until("a trace of the dead shows the game", shown)

    def test_what_never_ends_is_in_it(self):
        game = self.game("--inject", "hog")

        until("the endless task runs", lambda: "task_that_never_ends" in {
            w.get("function") for w in game.report()["pools"][0]["workers"]})
        slice_, = [s for s in self.trace(game.pid)[0] if s["name"] == "task_that_never_ends" and s["args"].get("unfinished")]
        self.assertEqual(slice_["cat"], "task")

    def test_labels_tell_tasks_of_one_function_apart(self):
        process = self.patient("labelled")

        def both():
            found = {s["args"]["label"]: s for s in self.trace(process.pid)[0] if "label" in s["args"]}
            return len(found) == 2 and "bot 17 is over, and it" in found and found
        found = until("both tasks are in the trace", both)
        over = found["bot 17 is over, and it"]  # as much as an event holds
        self.assertEqual(over["name"], 'labels_and_ends "bot 17 is over, and it"')
        self.assertNotIn("unfinished", over["args"])
        runs = found["bot 18, whose label is longer than even"]  # as much as the record holds
        self.assertEqual(runs["name"], 'labels_and_sleeps "bot 18, whose label is longer than even"')
        self.assertTrue(runs["args"]["unfinished"])

    def test_times_beyond_all_numbers_are_numbers(self):
        game = self.game().busy()
        game.kill(signal.SIGKILL)
        until("it is dead", lambda: game.report()["process"]["state"] == "dead")
        path = self.record(game)
        with open(path, "r+b") as record:  # born_ticks in the header: every event is as far before it as can be
            record.seek(88)
            born, = struct.unpack("<Q", record.read(8))
            record.seek(88)
            record.write(struct.pack("<Q", (born + 2**63 - 2**40) % 2**64))
        text = vigil("trace", path).stdout
        self.assertIn("-9223372036854775.808", text)
        json.loads(text)

    def test_it_goes_to_the_standard_output_when_that_is_no_terminal(self):
        game = self.game().busy()
        check(vigil("trace", game.pid).stdout)
        check(vigil("trace", game.pid, "-o", "-").stdout)
        result = vigil("trace", game.pid, "-o", "/nonexistent/x")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/x could not be made", result.stderr)


if __name__ == "__main__":
    support.main()
