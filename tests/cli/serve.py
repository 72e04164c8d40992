# SPDX-License-Identifier: MIT
"""What `vigil serve` shows, and to whom; and names that try to be more than names."""
import os
import select
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

import support
from page import ServeTest
from support import until, vigil


class Serve(ServeTest):
    def test_without_the_token_nothing_is_shown(self):
        server = self.serve(self.game().pid)
        self.assertRegex(server.url, r"\?token=[0-9a-f]{32}$")
        for path in ("", "metrics", "report.json", "trace.json", "events", "metrics?token=" + "0" * 32):
            self.assertEqual(server.get(path, anonymous=True)[0], 401, path)
        self.assertEqual(server.get("metrics")[0], 200)

    def test_the_page_sets_a_cookie_that_is_as_good_as_the_token(self):
        server = self.serve(self.game().pid)
        with urllib.request.urlopen(server.url, timeout=support.PATIENCE) as page:
            cookie = page.headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", server.token):
            self.assertIn(part, cookie)
        own = cookie.partition(";")[0]
        self.assertEqual(server.get("metrics", anonymous=True, Cookie=own)[0], 200)
        self.assertEqual(server.get("metrics", anonymous=True, Cookie=own[:-1] + "x")[0], 401)

    def test_no_token_is_for_this_machine_and_has_to_be_said(self):
        game = self.game()
        server = self.serve(game.pid, "--no-token")
        self.assertNotIn("token", server.url)
        self.assertEqual(server.get("metrics")[0], 200)
        result = vigil("serve", game.pid, "--no-token", "--listen", "0.0.0.0")
        self.assertEqual(result.returncode, 2)
        self.assertIn("this machine alone", result.stderr)

    def test_idle_connections_do_not_shut_others_out(self):
        server = self.serve(self.game().pid)
        port = int(server.url.split(":")[2].partition("/")[0])
        for _ in range(20):
            idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(80)]  # there was a limit of 64
            for one in idle:
                self.addCleanup(one.close)
            self.assertEqual(server.get("metrics")[0], 200)
            # Idle ones are closed after 5 s: we came before that, not thanks to it. A busy machine may need another try.
            closed, _, _ = select.select(idle, [], [], 0)
            if len(idle) - len(closed) > 64:
                break
        else:
            self.fail("idle connections were closed before another was answered, each time")
        # And they are closed before long.
        idle[0].settimeout(support.PATIENCE)
        self.assertEqual(idle[0].recv(1), b"")


class Lanes(ServeTest):
    def test_a_task_that_is_longer_than_a_cell_has_the_colour_of_its_class(self):
        server = self.serve(self.patient("labelled").pid)
        request = urllib.request.Request(server.url.split("?")[0] + "events", headers={"Authorization": "Bearer " + server.token})
        with urllib.request.urlopen(request, timeout=support.PATIENCE) as events:
            samples = []
            while len(samples) < 10:  # two seconds: it began before the first of them
                line = events.readline().decode()
                if line.startswith("data:"):
                    samples.append(support.strict_json(line[5:]))
        worker, = [w for w in samples[-1]["pools"][0]["workers"] if w.get("function") == "labels_and_sleeps"]
        self.assertEqual(worker["class"], 3)  # LOW


class Past(ServeTest):
    def test_a_busy_process_has_a_past(self):
        """Its rings remember a fraction of a second; the steps of its workers' past the rest."""
        server = self.serve(self.patient("busy").pid)
        def seen():
            pool, = support.strict_json(server.get("history.json")[2])["pools"]
            ran = [sum(rate or 0 for rate in bin or []) for bin in pool["rate"]]
            lanes = [[cell[1] for cell in lane if cell] for lane in pool["workers"].values()]
            return sum(rate > 10 for rate in ran) >= 5 and len(lanes) == 2 and all(sum(part > 0.3 for part in lane) >= 5 for lane in lanes)
        until("two seconds are known", seen)


class Doctor(ServeTest):
    def test_processes_without_vigil_are_offered_and_others_are_not(self):
        patient = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(patient.wait)
        self.addCleanup(patient.kill)
        server = self.serve(patient.pid)
        status, kind, text = server.get("processes.json")
        self.assertEqual((status, kind), (200, "application/json"))
        machine = support.strict_json(text)
        self.assertEqual((machine["chosen"], machine["vigil"]), (patient.pid, False))
        mine = next(p for p in machine["processes"] if p["pid"] == patient.pid)
        self.assertEqual((mine["name"], mine["threads"], mine["vigil"]), ("sleep", 1, False))
        for path in ("processes.json", "doctor.json", f"doctor.json?pid={patient.pid}"):
            self.assertEqual(server.get(path, anonymous=True)[0], 401, path)
        self.assertEqual(server.get("report.json")[0], 404)
        for which, answer in (("x", 400), ("0", 400), ("-1", 400), ("99999999999", 400), ("1 1", 400), (str(server.process.pid), 403)):
            self.assertEqual(server.get("doctor.json?pid=" + which.replace(" ", "%20"))[0], answer, which)
        until("it has looked", lambda: server.get(f"doctor.json?pid={patient.pid}")[0] != 202)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_another_users_process_is_not_examined(self):
        patient = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(patient.wait)
        self.addCleanup(patient.kill)
        own = subprocess.Popen(["sleep", "1000"], user=65534)
        self.addCleanup(own.wait)
        self.addCleanup(own.kill)
        process = subprocess.Popen([support.VIGIL, "serve", "--port", "0", str(own.pid)], stdout=subprocess.PIPE, text=True, user=65534,
                                   env={**os.environ, "VIGIL_DIR": "/nonexistent"})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        url, _, token = process.stdout.readline().strip().partition("?token=")
        if not url:
            self.skipTest("that user cannot reach the command")
        def ask(path):
            request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + token})
            try:
                with urllib.request.urlopen(request, timeout=support.PATIENCE) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, ""
        self.assertEqual(ask(f"doctor.json?pid={patient.pid}")[0], 403)
        listed = [p["pid"] for p in support.strict_json(ask("processes.json")[1])["processes"]]
        self.assertIn(own.pid, listed)
        self.assertNotIn(patient.pid, listed)

    def test_what_the_doctor_says_comes_when_it_has_looked(self):
        game = self.game()
        server = self.serve(game.pid)
        self.assertEqual(server.get("doctor.json", anonymous=True)[0], 401)
        answers = []

        def has_come():
            answers.append(server.get("doctor.json"))
            self.assertIn(answers[-1][0], (200, 202, 501))
            return answers[-1][0] != 202
        until("the doctor has looked", has_come)
        status, kind, text = answers[-1]
        if status == 501:
            self.skipTest("built without libdw")
        self.assertEqual(answers[0][0], 202)  # and the server answered while it looked
        self.assertEqual(kind, "application/json")
        self.assertEqual(support.strict_json(text)["pid"], game.pid)


class Names(ServeTest):
    EVIL = "a\x1b[31m\u202e\nFORGED b"

    def test_controls_directions_and_lines_in_names_are_escapes(self):
        process = self.patient("named", VIGIL_PATIENT_NAME=self.EVIL[:15])
        seen = set()
        for words in (["report", process.pid], ["report", process.pid, "--json"], ["metrics", process.pid],
                      ["top", process.pid, "--plain", "--once"], ["ps"], ["trace", process.pid, "-"]):
            result = vigil(*words)
            text = result.stdout + result.stderr
            for bad in ("\x1b[31m", "\u202e", "\nFORGED"):
                self.assertNotIn(bad, text, words)
            seen.update(part for part in ("\\x1b[31m", "\\u202e") if part in text or part.replace("\\", "\\\\") in text)
        self.assertEqual(seen, {"\\x1b[31m", "\\u202e"})

    def test_the_page_gets_escapes_too(self):
        server = self.serve(self.patient("named", VIGIL_PATIENT_NAME=self.EVIL[:15]).pid)
        shown = [support.strict_json(server.get(path)[2]) for path in ("report.json", "trace.json")]
        request = urllib.request.Request(server.url.split("?")[0] + "events", headers={"Authorization": "Bearer " + server.token})
        with urllib.request.urlopen(request, timeout=support.PATIENCE) as events:
            line = next(line for line in map(bytes.decode, events) if line.startswith("data:"))
        for view in (*shown, support.strict_json(line[5:]), server.get("metrics")[2]):
            text = repr(view)  # which doubles backslashes, and shows characters that are none as \x1b and \u202e
            self.assertIn("\\\\x1b[31m", text)
            for bad in ("\\x1b", "\\u202e"):
                self.assertNotIn(bad, text.replace("\\\\", ""))


if __name__ == "__main__":
    support.main()
