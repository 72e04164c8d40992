# SPDX-License-Identifier: MIT
"""W8: `vigil report` of a process that runs, is stopped, is wedged, is dead."""
import json
import os
import signal
import time

import support
from support import CommandTest, until, vigil


def conserved(counts):
    return counts["submitted"] == sum(counts[k] for k in ("queued", "running", "completed", "failed", "cancelled"))


class Report(CommandTest):
    def test_a_circle_of_locks_is_told_with_its_lines(self):
        """The watchdog names functions; the lines come from the doctor, where it was built."""
        patient = self.patient("locks", VIGIL_WATCHDOG="on")
        view = until("the watchdog has found the circle", lambda: next(
            (v for v in [json.loads(vigil("report", "--json", patient.pid).stdout)]
             if any(one["explain"] == "wait-cycle" for one in v["verdicts"])), None))
        verdict = next(v for v in view["verdicts"] if v["explain"] == "wait-cycle")
        self.assertIn("2 threads wait for each other in a circle", verdict["reason"])
        if "locks" not in view:
            self.skipTest("this build has no doctor")
        self.assertEqual({line["function"] for line in verdict["lines"]}, {"locks_in_order"})
        self.assertEqual({line["file"] for line in verdict["lines"]}, {"patient.c"})
        self.assertEqual(len({line["thread"] for line in verdict["lines"]}), 2)

    def check_game(self, view):
        """What must be there whatever state the process is in."""
        pool, = view["pools"]
        loop, = view["loops"]
        self.assertEqual(pool["name"], "game")
        self.assertEqual(pool["workers_wanted"], 33)
        self.assertGreaterEqual(pool["threads"], 33)
        self.assertGreaterEqual(len(pool["workers"]), 33)
        self.assertTrue(conserved(pool["total"]), pool["total"])
        self.assertEqual([c["class"] for c in pool["classes"]], ["CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"])
        for c in pool["classes"]:
            self.assertTrue(conserved(c), c)
            self.assertGreater(c["completed"], 0)
            wait = c["wait"]
            self.assertGreater(wait["count"], 0)
            self.assertLessEqual(wait["p50_ns"], wait["p99_ns"])
            self.assertLessEqual(wait["p99_ns"], wait["longest_ns"] * 1.04 + 1)
        if view["process"]["state"] != "stopped":
            self.assertGreater(sum(c["rate"] for c in pool["classes"]), 0)
        self.assertEqual(loop["name"], "server")
        self.assertGreater(loop["timers_fired"], 0)
        self.assertGreater(loop["turns"], 0)
        return pool, loop

    def test_a_process_that_runs(self):
        game = self.game().busy()
        view = game.report()
        self.assertEqual(view["process"]["state"], "running")
        self.assertEqual(view["process"]["pid"], game.pid)
        self.check_game(view)
        text = vigil("report", game.pid)
        self.assertEqual(text.returncode, 0)
        for words in (f"process {game.pid}: running", "Pool game: 33 workers wanted", "CRITICAL", "Loop server",
                      "Verdict: ", "accepted = ", "throughput: "):
            self.assertIn(words, text.stdout)

    def test_functions_have_names(self):
        game = self.game().busy()

        def names():
            return {w.get("function") for w in game.report()["pools"][0]["workers"]} & {
                "bot_saves", "bot_thinks", "bot_plans_a_path", "bot_moves", "raid_is_fought", "battle_rages"}
        until("a worker is seen inside a task with a name", names)

    def test_a_stopped_process_is_reported_at_once(self):
        game = self.game().busy()
        game.kill(signal.SIGSTOP)
        until("the process stands", lambda: game.report()["process"]["state"] == "stopped")
        begin = time.monotonic()
        result = vigil("report", game.pid)  # waits for nothing that the process would have to do, or this never returned
        print(f"report of a stopped process with 33 workers: {(time.monotonic() - begin) * 1000:.1f} ms")
        self.assertIn(result.returncode, (0, 3), result.stderr)
        self.assertIn(f"process {game.pid}: stopped", result.stdout)
        pool, _ = self.check_game(game.report())
        again = game.report()["pools"][0]
        self.assertEqual(pool["total"]["completed"], again["total"]["completed"])
        game.kill(signal.SIGCONT)
        done = pool["total"]["completed"]
        until("it goes on", lambda: game.report()["pools"][0]["total"]["completed"] > done)

    def test_a_killed_process_is_reported_from_what_it_left(self):
        game = self.game().busy()
        before = game.report()
        game.kill(signal.SIGKILL)
        until("it is dead", lambda: game.report()["process"]["state"] == "dead")
        view = game.report()
        pool, _ = self.check_game(view)
        self.assertGreaterEqual(pool["total"]["completed"], before["pools"][0]["total"]["completed"])
        self.assertTrue(view["last_wakes"])
        for operand in (game.pid, self.record(game)):
            result = vigil("report", operand)
            self.assertIn(f"process {game.pid}: dead", result.stdout)
            self.assertIn("last sign of life", result.stdout)
        listed = vigil("ps").stdout
        self.assertRegex(listed, rf"(?m)^ +{game.pid} +dead")
        self.assertIn(self.record(game), listed)
        # It is the only one there is, so it need not be named; but top is for the living.
        self.assertIn(f"process {game.pid}: dead", vigil("report").stdout)
        self.assertIn("no process with Vigil inside runs", vigil("top").stderr)

    def test_a_dead_process_has_names_too(self):
        game = self.game().busy()

        def in_a_task():
            game.kill(signal.SIGSTOP)
            until("it stands", lambda: game.report()["process"]["state"] == "stopped")
            names = [w["function"] for w in game.report()["pools"][0]["workers"] if "function" in w]
            if not any(name.startswith("bot_") for name in names):
                game.kill(signal.SIGCONT)
                until("it goes on", lambda: game.report()["process"]["state"] == "running")
                return None
            return names
        names = until("it stands inside a bot's task", in_a_task)
        game.kill(signal.SIGKILL)
        until("it is dead", lambda: game.report()["process"]["state"] == "dead")
        after = [w["function"] for w in game.report()["pools"][0]["workers"] if "function" in w]
        self.assertEqual(names, after)

    def test_a_clean_end_leaves_nothing(self):
        game = self.game(seconds=1)
        out, _ = game.demo.communicate(timeout=support.PATIENCE)
        self.assertEqual(game.demo.returncode, 0, out)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_wedged_process_says_why_and_the_exit_status_tells(self):
        game = self.game("--inject", "wait-cycle")

        def stalled():
            result = vigil("report", game.pid, "--json")
            # A machine that has no CPU for us gives verdicts of its own.
            cycles = [v for v in json.loads(result.stdout)["verdicts"] if v["active"] and "cycle" in v["kind"]]
            self.assertEqual(result.returncode, 3 if cycles else result.returncode)
            return cycles
        verdict = until("the stall is seen", stalled)[0]
        self.assertIn(verdict["severity"], ("ERROR", "CRITICAL"))
        text = vigil("report", game.pid)
        self.assertEqual(text.returncode, 3)
        self.assertIn("wrong", text.stdout)
        for part in ("evidence", "advice", "waits_for"):
            self.assertIn(part, text.stdout)


if __name__ == "__main__":
    support.main()
