# SPDX-License-Identifier: MIT
"""`vigil jobs` on a queue in a file: what it lists, changes, refuses, and its JSON."""
import os

import support
from support import CommandTest, strict_json, vigil


class Jobs(CommandTest):
    def setUp(self):
        super().setUp()
        self.queue = os.path.join(self.directory, "work.db")

    def jobs(self, *words):
        return vigil("jobs", *words, "--queue", self.queue)

    def json(self, *words):
        result = self.jobs(*words, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return strict_json(result.stdout)

    def test_a_job_from_add_to_retry(self):
        first = self.json("add", "resize", "cat.png")["id"]
        second = int(self.jobs("add", "crop").stdout)
        self.assertGreater(second, first)
        self.assertEqual([job["kind"] for job in self.json("ls")], ["resize", "crop"])
        self.assertEqual([job["id"] for job in self.json("ls", "--kind", "crop")], [second])
        shown = self.json("show", first)
        self.assertEqual((shown["state"], shown["payload"], shown["class"]), ("waiting", "cat.png", "normal"))
        self.assertIn("cat.png", self.jobs("show", first).stdout)
        self.assertEqual(self.jobs("kill", first).stdout, "cancelled\n")
        self.assertEqual([job["id"] for job in self.json("ls", "--state", "cancelled")], [first])
        again = self.jobs("kill", first)
        self.assertEqual(again.returncode, 1)
        self.assertIn("has ended", again.stderr)
        self.assertEqual(self.jobs("edit", first, "dog.png").returncode, 0)
        self.assertEqual(self.jobs("retry", first).returncode, 0)
        self.assertEqual(self.json("show", first)["payload"], "dog.png")
        self.assertIn("has not ended", self.jobs("drop", first).stderr)
        self.assertEqual(self.json("show", first)["state"], "waiting")
        account = self.json("audit")
        self.assertTrue(account["balanced"])
        self.assertIsInstance(account["doubts"], list)
        self.assertEqual((account["enqueued"], account["waiting"], account["cancelled"]), (2, 2, 0))
        self.assertRegex(self.jobs("audit").stdout, r"^2 enqueued = 2 waiting \+ 0 running")
        self.assertIn("2 waiting", self.jobs("top").stdout)
        for job in (first, second):
            self.jobs("kill", job)
        self.assertEqual(self.jobs("drain").returncode, 0)
        self.assertEqual(self.jobs("drop", first).returncode, 0)
        self.assertIn("there is no job", self.jobs("show", first).stderr)
        self.assertTrue(self.json("audit")["balanced"])
        for verb in ("pause", "resume"):
            self.assertEqual(self.jobs(verb, "crop").returncode, 0)

    def test_verbs_that_change_something_answer_in_json(self):
        job = self.json("add", "resize")["id"]
        self.assertEqual(self.json("pause", "resize"), {"kind": "resize", "paused": True})
        self.assertEqual(self.json("resume", "resize"), {"kind": "resize", "paused": False})
        self.assertEqual(self.json("pause"), {"kind": None, "paused": True})
        self.assertEqual(self.json("edit", job, "dog.png"), {"id": job})
        self.assertEqual(self.json("kill", job), {"id": job, "runs": False})
        self.assertEqual(self.json("retry", job), {"id": job})
        self.json("kill", job)
        self.assertEqual(self.json("drop", job), {"id": job})
        self.assertEqual(self.json("schedule", 'a"b', "@daily", "report"), {"name": 'a"b'})
        self.assertEqual(self.json("unschedule", 'a"b'), {"name": 'a"b'})
        refused = self.jobs("drop", job, "--json")
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))

    def test_metrics_and_top_count_by_kind_and_class(self):
        for kind in ("resize", "resize", 'a"b'):
            self.jobs("add", kind)
        self.jobs("kill", 1)
        self.jobs("pause", "resize")
        self.jobs("schedule", "nightly", "@daily", "report")
        text = self.jobs("metrics").stdout
        self.assertIn('vigil_jobs{kind="resize",class="normal",state="waiting"} 1\n', text)
        self.assertIn('vigil_jobs{kind="resize",class="normal",state="cancelled"} 1\n', text)
        self.assertIn('vigil_jobs{kind="a\\"b",class="normal",state="waiting"} 1\n', text)
        self.assertRegex(text, r'vigil_jobs_oldest_seconds\{kind="resize",class="normal",state="waiting"\} [0-9.]+\n')
        self.assertEqual(sorted((each["kind"], each["state"], each["count"], each["paused"]) for each in self.json("metrics")),
                         [('a"b', "waiting", 1, False), ("resize", "cancelled", 1, False), ("resize", "waiting", 1, True)])
        top = self.jobs("top").stdout
        self.assertRegex(top, r"resize +normal +waiting +1 .*\(paused\)")
        self.assertIn("nightly", top)
        self.assertIn("host:process", top)

    def test_a_schedule_is_made_listed_and_removed(self):
        made = self.jobs("schedule", "nightly", "30 2 * * *", "report", "all", "--zone", "Europe/Berlin", "--catch-up", "skip")
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        (schedule,) = self.json("schedules")
        self.assertEqual((schedule["name"], schedule["cron"], schedule["zone"], schedule["kind"], schedule["payload"],
                          schedule["catch_up"], schedule["last_ms"]),
                         ("nightly", "30 2 * * *", "Europe/Berlin", "report", "all", "skip", 0))
        self.assertGreater(schedule["next_ms"], 0)
        self.assertIn("nightly", self.jobs("schedules").stdout)
        for words, status, text in ((["schedule", "x"], 2, "needs a name"), (["schedule", "x", "61 * * * *", "y"], 1, "minute"),
                                    (["schedule", "x", "@daily", "y", "--zone", "Mars"], 1, "time zone"),
                                    (["schedule", "x", "@daily", "y", "--catch-up", "some"], 2, "one, skip or all"),
                                    (["unschedule", "none"], 1, "no schedule 'none'")):
            result = self.jobs(*words)
            self.assertEqual(result.returncode, status, words)
            self.assertIn(text, result.stderr)
        self.assertEqual(self.jobs("unschedule", "nightly").returncode, 0)
        self.assertEqual(self.json("schedules"), [])

    def test_words_that_are_refused_make_no_queue(self):
        for words, status, text in ((["schedule", "x", "* *", "y"], 1, "'* *' has 2 of five fields; missing: day of the month, month, day of the week"),
                                    (["schedule", "x", "@daily", "y", "--zone", "Mars"], 1, "time zone"), (["schedule", "x"], 2, "needs a name"),
                                    (["schedule", "x", "@daily", "y", "--catch-up", "some"], 2, "one, skip or all"),
                                    (["add"], 2, "needs a kind"), (["add", ""], 1, "kind is empty")):
            result = self.jobs(*words)
            self.assertEqual((result.returncode, result.stdout), (status, ""), words)
            self.assertIn(text, result.stderr)
            self.assertEqual(os.listdir(self.directory), [], words)
        self.assertEqual(self.jobs("schedule", "x", "@daily", "y").returncode, 0)
        self.assertEqual([each["name"] for each in self.json("schedules")], ["x"])
        self.assertEqual(self.json("ls"), [])

    def test_bytes_that_are_no_text_do_not_reach_the_terminal(self):
        job = self.json("add", "evil\x1b[31m", "a\x1b[2Jb")["id"]
        for words in (["ls"], ["show", job]):
            self.assertNotIn("\x1b[", self.jobs(*words).stdout)
        # Each of them is longer in JSON, and the text is still whole.
        self.assertEqual(self.json("show", job)["payload"], "a\\x1b[2Jb")

    def test_wrong_words(self):
        self.assertIn("work.db", self.jobs("ls").stderr)  # to look at a file does not make one
        self.jobs("add", "x")
        for words, status, text in ((["lss"], 2, "did you mean ls"), (["show"], 2, "needs the number"), (["add"], 2, "needs a kind"), (["edit", "1"], 2, "and a payload"),
                                    (["pause", "x", "y", "z"], 2, "too many")):
            result = self.jobs(*words)
            self.assertEqual(result.returncode, status, words)
            self.assertIn(text, result.stderr)
        self.assertIn("there is no job 99", self.jobs("show", "99").stderr)
        self.assertIn("there is no state", self.jobs("ls", "--state", "gone").stderr)
        self.assertEqual(vigil("jobs", "ls", env={**os.environ, "VIGIL_JOBS": self.queue}).returncode, 0)
        nowhere = {name: value for name, value in os.environ.items() if name != "VIGIL_JOBS"}
        self.assertIn("which queue", vigil("jobs", "ls", env=nowhere).stderr)


if __name__ == "__main__":
    support.main()
