# SPDX-License-Identifier: MIT
"""Queues of jobs in report, top, metrics and serve: found in the process that has them open, or named."""
import os
import re
import subprocess

import support
from page import ServeTest
from support import strict_json, until, vigil


class Queues(ServeTest):
    def setUp(self):
        super().setUp()
        self.queue = os.path.join(self.directory, "work.db")
        os.environ.pop("VIGIL_JOBS", None)

    def told(self, answer):
        """The queue, once a beat has brought the verdict about the job that runs."""
        def whole():
            queue, = answer()
            return queue if queue["runs"] and queue["runs"][0]["verdict"] else None
        return until("the run has a verdict", whole)

    def must_be_whole(self, queue):
        self.assertEqual(queue["queue"], self.queue)
        self.assertTrue(queue["balanced"])
        self.assertEqual((queue["waiting"], queue["running"], queue["dead"]), (1, 1, 1))
        self.assertEqual(sorted((kind["kind"], kind["state"], kind["count"]) for kind in queue["kinds"]),
                         [("fetch", "dead", 1), ("render", "running", 1), ("unknown", "waiting", 1)])
        host, = queue["hosts"]
        self.assertEqual(host["runs"], 1)
        run, = queue["runs"]
        self.assertEqual((run["kind"], run["progress"], run["text"], run["worker"]), ("render", 0.25, "page 1 of 4", host["name"]))
        self.assertIn("it has run for", run["verdict"])
        dead, = queue["dead_letters"]
        self.assertEqual((dead["kind"], dead["error"]), ("fetch", "no such picture"))
        schedule, = queue["schedules"]
        self.assertEqual((schedule["name"], schedule["kind"]), ("nightly", "sweep"))

    def test_the_queue_that_a_process_has_open_is_found(self):
        process = self.queue_owner(self.queue)
        report = lambda: strict_json(vigil("report", process.pid, "--json").stdout)["queues"]
        self.must_be_whole(self.told(report))
        for words in (("report", process.pid), ("top", process.pid, "--plain", "--looks", 1, "--interval", 50),
                      ("top", process.pid, "--plain", "--queues", "--looks", 1, "--interval", 50)):
            def told():
                text = vigil(*words).stdout
                return all(re.search(pattern, text) for pattern in (
                    rf"queue {re.escape(self.queue)}: 1 waiting, 1 running, 0 completed, 1 dead\n",
                    r"unknown +normal +waiting +1 ", r"hosts: \S+ runs 1\n",
                    r"\d+ render, class normal, for .* on \S+, 25 %, page 1 of 4\n +verdict: it has run for",
                    r"\d+ fetch, class normal, ended .* ago, 1 errors, 0 crashes: no such picture\n",
                    r"nightly: @daily UTC, sweep, next in "))
            until(f"{words} tells it", told)  # top does not wait long for a slow engine
        text = vigil("metrics", process.pid).stdout
        label = f'queue="{self.queue}"'
        self.assertIn(f"vigil_jobs_up{{{label}}} 1\n", text)
        self.assertIn(f'vigil_jobs{{{label},kind="fetch",class="normal",state="dead"}} 1\n', text)
        self.assertRegex(text, rf'vigil_jobs_oldest_seconds{{{re.escape(label)},kind="render",class="normal",state="running"}} [0-9.]+\n')
        self.assertRegex(text, rf'vigil_jobs_host_runs{{{re.escape(label)},host="[^"]+"}} 1\n')

    def test_the_page_has_it_as_json_and_metrics(self):
        server = self.serve(self.queue_owner(self.queue).pid)
        def report():
            return until("the queue has answered", lambda: strict_json(server.get("report.json")[2])["queues"])
        self.must_be_whole(self.told(report))
        until("metrics", lambda: f'vigil_jobs_up{{queue="{self.queue}"}} 1\n' in server.get("metrics")[2])
        self.assertIn("showQueues", server.get("queues.js")[2])
        self.assertEqual(server.end(), (0, ""))

    def test_a_queue_can_be_named_and_one_that_is_not_there_is_told(self):
        game = self.game()
        vigil("jobs", "add", "resize", "--queue", self.queue)
        report = vigil("report", game.pid, "--json", "--jobs", self.queue)
        queue, = strict_json(report.stdout)["queues"]
        self.assertEqual((queue["queue"], queue["waiting"]), (self.queue, 1))
        self.assertNotIn("queues", strict_json(vigil("report", game.pid, "--json").stdout))
        nowhere = os.path.join(self.directory, "none.db")
        for words in (("report", game.pid), ("metrics", game.pid)):
            result = vigil(*words, "--jobs", nowhere)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("none.db", result.stderr)
        self.assertIn(f'vigil_jobs_up{{queue="{nowhere}"}} 0\n', vigil("metrics", game.pid, "--jobs", nowhere).stdout)
        self.assertFalse(os.path.exists(nowhere))

    def test_passwords_are_not_shown(self):
        # Nobody listens there; the name is told all the same, from the environment of the process.
        where = "postgresql://app:secret@127.0.0.1:1/app?password=secret"
        process = self.queue_owner(self.queue, VIGIL_JOBS=where)
        queues = strict_json(vigil("report", process.pid, "--json").stdout)["queues"]
        self.assertEqual([queue["queue"] for queue in queues], [self.queue, "postgresql://app@127.0.0.1:1/app"])
        self.assertIn("error", queues[1])
        text = vigil("metrics", process.pid).stdout
        self.assertIn('vigil_jobs_up{queue="postgresql://app@127.0.0.1:1/app"} 0\n', text)
        self.assertNotIn("secret", text + str(queues))

    def test_watch_answers_each_line(self):
        vigil("jobs", "add", "resize", "--queue", self.queue)
        result = subprocess.run([support.VIGIL, "jobs", "watch", "--queue", self.queue], input="\n\n", stdout=subprocess.PIPE,
                                text=True, timeout=support.PATIENCE)
        self.assertEqual([strict_json(line)["waiting"] for line in result.stdout.splitlines()], [1, 1])


if __name__ == "__main__":
    support.main()
