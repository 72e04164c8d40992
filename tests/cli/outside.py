# SPDX-License-Identifier: MIT
"""`vigil report` judges by itself: without a watchdog, with one that is late, and when the process is stopped."""
import os
import signal

import support
from support import CommandTest, strict_json, until, vigil


class Outside(CommandTest):
    def verdicts(self, process):
        result = vigil("report", process.pid, "--json")
        self.assertIn(result.returncode, (0, 3), result.stderr)
        return result.returncode, [v for v in strict_json(result.stdout)["verdicts"] if v["active"]]

    def sick(self, how, kind, severity, **environment):
        process = self.patient(how, **environment)

        def found():
            status, all_ = self.verdicts(process)
            right = [v for v in all_ if kind in v["kind"] and v["severity"] == severity]
            return right and (status, right[0])
        status, verdict = until(f"{how} is seen", found)
        self.assertEqual(status, 3 if severity in ("ERROR", "CRITICAL") else 0)
        return process, verdict

    def test_all_workers_blocked_without_a_watchdog(self):
        process, verdict = self.sick("all-blocked", "all workers blocked", "CRITICAL")
        self.assertIn("sleeps_for_ever", verdict["evidence"])
        self.assertIn("judged from outside", vigil("report", process.pid).stdout)

    def test_a_loop_that_is_blocked_without_a_watchdog(self):
        self.sick("loop-blocked", "loop blocked", "ERROR")

    def test_a_job_cycle_without_a_watchdog(self):
        self.sick("cycle", "cycle", "ERROR")

    def test_a_stop_that_waits_without_a_watchdog(self):
        self.sick("stop", "hogs", "ERROR")

    def test_a_healthy_process_without_a_watchdog(self):
        process = self.patient("healthy")
        for _ in range(3):
            status, all_ = self.verdicts(process)
            self.assertEqual((status, all_), (0, []))
        self.assertIn("Verdict: nothing is wrong now", vigil("report", process.pid).stdout)

    def test_a_stopped_process_is_not_green(self):
        process = self.patient("healthy")
        os.kill(process.pid, signal.SIGSTOP)

        def stopped():
            status, all_ = self.verdicts(process)
            return status == 3 and [v for v in all_ if "stopped" in v["reason"]]
        until("the stop is a verdict", stopped)
        os.kill(process.pid, signal.SIGCONT)
        until("it is gone with the stop", lambda: self.verdicts(process) == (0, []))

    def test_the_environment_starts_a_watchdog(self):
        process, verdict = self.sick("all-blocked", "all workers blocked", "CRITICAL", VIGIL_WATCHDOG="on")

        def inside():
            _, all_ = self.verdicts(process)
            return [v for v in all_ if "blocked" in v["kind"] and v["id"] > 0]
        verdict, = until("it is the watchdog's own", inside)
        self.assertIn("clock_nanosleep", verdict["evidence"])  # it has stacks

    def test_a_watchdog_that_is_late_is_noticed(self):
        process = self.patient("late")

        def late():
            _, all_ = self.verdicts(process)
            return [v for v in all_ if "has not looked for" in v["reason"]]
        until("the watchdog's absence is a verdict", late)


if __name__ == "__main__":
    support.main()
