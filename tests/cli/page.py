# SPDX-License-Identifier: MIT
"""W9: `vigil serve` in a real browser: Chromium without a window, driven by selenium. VIGIL_SCREENSHOTS names a folder for
pictures of what was seen."""
import os
import re
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import support
from support import CommandTest, until, vigil
import metrics
import trace

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

PICTURES = os.environ.get("VIGIL_SCREENSHOTS")
AXE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_modules", "axe-core", "axe.min.js")


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([support.VIGIL, "serve", "--port", "0", *map(str, words)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), self.process.stderr.read()
        self.token = self.url.partition("?token=")[2]

    def get(self, path, anonymous=False, **headers):
        """(status, content type, text)"""
        if self.token and not anonymous:
            headers.setdefault("Authorization", "Bearer " + self.token)
        request = urllib.request.Request(self.url.split("?")[0] + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=support.PATIENCE) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Content-Type"], error.read().decode()

    def end(self):
        self.process.terminate()
        _, errors = self.process.communicate(timeout=support.PATIENCE)
        return self.process.returncode, errors


class ServeTest(CommandTest):
    def serve(self, *words):
        server = Server(*words)
        self.addCleanup(server.process.stdout.close)
        self.addCleanup(server.process.stderr.close)
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        return server


class Http(ServeTest):
    def test_the_same_as_report_trace_and_metrics(self):
        game = self.game().busy()
        server = self.serve(game.pid)
        self.assertRegex(server.url, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}$")
        status, kind, text = server.get("metrics")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        metrics.check(text)
        status, kind, text = server.get("report.json")
        self.assertEqual((status, kind), (200, "application/json"))
        self.assertEqual(support.strict_json(text)["process"]["pid"], game.pid)
        status, kind, text = server.get("trace.json")
        self.assertEqual(status, 200)
        trace.check(text)
        status, kind, text = server.get("verdicts/hog")
        self.assertEqual((status, kind), (200, "text/plain; charset=utf-8"))
        self.assertIn("What to do", text)
        self.assertEqual(server.get("nonsense")[0], 404)
        self.assertEqual(server.get("verdicts/nonsense")[0], 404)
        self.assertEqual(server.end(), (0, ""))

    def test_other_names_and_methods_are_refused(self):
        server = self.serve(self.game().pid)
        self.assertEqual(server.get("", Host="evil.example")[0], 403)
        self.assertEqual(server.get("", Host="localhost:1")[0], 200)
        request = urllib.request.Request(server.url, method="POST", data=b"x" * 100000)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        self.assertEqual(caught.exception.code, 405)

    def test_a_token_is_asked_for(self):
        game = self.game()
        for words in ([], ["--token-is", "open-sesame"], ["--listen", "0.0.0.0"]):
            server = self.serve(game.pid, *words)
            token = re.search(r"\?token=(.+)", server.url).group(1)
            for path in ("", "events", "metrics", "report.json", "trace.json", "?token=wrong", "metrics?token=" + token[:-1],
                         "metrics?token="):
                self.assertEqual(server.get(path, anonymous=True)[0], 401, path)
            self.assertEqual(server.get("?token=" + token, anonymous=True)[0], 200)
            self.assertEqual(server.get("metrics?token=" + token, anonymous=True)[0], 200)
            self.assertEqual(server.get("metrics", Authorization="Bearer " + token)[0], 200)
            server.end()

    def test_a_port_that_is_taken_is_told(self):
        game = self.game()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = vigil("serve", game.pid, "--port", port)
            server = self.serve(game.pid, "--port", port, "--any-port")
        self.assertNotIn(f":{port}/", server.url)
        self.assertEqual(server.get("metrics")[0], 200)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"port {port} of 127.0.0.1 is taken; choose another with --port", result.stderr)
        self.assertIn("is no address", vigil("serve", game.pid, "--listen", "nonsense").stderr)

    def test_readers_that_go_away_or_do_not_read_harm_nobody(self):
        game = self.game().busy()
        server = self.serve(game.pid)
        host, port = re.search(r"//(.+):(\d+)/", server.url).groups()
        sockets = []
        for i in range(20):
            one = socket.create_connection((host, int(port)))
            one.sendall(f"GET /events?token={server.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            sockets.append(one)
        for i, one in enumerate(sockets):
            if i % 2:
                one.recv(10)
                one.close()  # the others stay and never read
        # A reader that reads gets samples meanwhile.
        reader = socket.create_connection((host, int(port)))
        reader.settimeout(support.PATIENCE)
        reader.sendall(f"GET /events?token={server.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        got = b""
        while got.count(b"event: sample") < 5:
            more = reader.recv(65536)
            self.assertTrue(more)
            got += more
        self.assertEqual(server.get("metrics")[0], 200)
        # Ending with all of them connected is clean.
        self.assertEqual(server.end(), (0, ""))
        reader.close()
        for one in sockets:
            one.close()


class Page(ServeTest):
    @classmethod
    def setUpClass(cls):
        if webdriver is None:
            raise unittest.SkipTest("selenium is missing (Debian: python3-selenium)")
        options = Options()
        options.binary_location = os.environ["CHROMIUM"]
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(os.environ["CHROMEDRIVER"]), options=options)
        cls.browser.set_script_timeout(support.PATIENCE)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def setUp(self):
        super().setUp()
        self.browser.get("about:blank")
        self.browser.get_log("browser")

    def open(self, url, width=1280, height=900, dark=False):
        self.emulate(width, height, dark)
        self.browser.get(url)
        self.samples(3)

    def emulate(self, width, height, dark):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def script(self, text):
        return self.browser.execute_script("return " + text)

    def samples(self, more):
        """Wait until so many more samples were drawn."""
        count = "Number(document.documentElement.dataset.samples || 0)"
        goal = self.script(count) + more
        until("samples arrive", lambda: self.script(count) >= goal)

    def text(self):
        return self.script("document.body.innerText")

    def picture(self, name):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            self.browser.save_screenshot(os.path.join(PICTURES, name))

    def no_complaints(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def lanes(self):
        """The colours of the lanes' pixels, as one string that changes when they move."""
        return self.script("document.querySelector('canvas.lanes').toDataURL()")

    def coloured_pixels(self):
        """How many pixels of the lanes are in none of the greys."""
        return self.script("""(() => {
            const c = document.querySelector('canvas.lanes');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let n = 0;
            for (let i = 0; i < d.length; i += 4)
                if (d[i + 3] && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 60) n++;
            return n; })()""")

    def test_it_is_live(self):
        game = self.game().busy()
        server = self.serve(game.pid)
        self.open(server.url)
        text = self.text()
        for words in (str(game.pid), "running", "Pool game", "Loop server", "CRITICAL", "IDLE", "timers"):
            self.assertIn(words, text)
        self.assertIn(str(game.pid), self.browser.title)
        before = self.lanes()
        self.samples(10)
        self.assertNotEqual(before, self.lanes())
        self.assertGreater(self.coloured_pixels(), 100)
        # One lane for each worker; those that do nothing are folded.
        self.script("[...pools.values()].forEach((p) => { p.unfolded = true; })")
        self.samples(2)
        self.assertGreaterEqual(self.script("document.querySelector('canvas.lanes').clientHeight"), 33 * 13)
        # The plots have lines: their data and their canvases are not empty.
        self.assertEqual(self.script("document.querySelectorAll('.plot canvas').length") % 3, 0)
        done = self.script("[...document.querySelectorAll('.classes tbody tr')].map(r => r.children[3].textContent)")
        self.assertEqual(len(done), 5)
        self.assertNotEqual(done[2], "0")
        self.no_complaints()

    def test_a_warning_appears_when_something_breaks(self):
        game = self.game("--inject", "hog")
        server = self.serve(game.pid)
        self.open(server.url)
        until("the warning is on the page", lambda: "task_that_never_ends" in self.script(
            "document.querySelector('#warnings').innerText"))
        # A machine that has no CPU for us gives a warning of its own.
        warning = self.script("[...document.querySelectorAll('.verdict')].map(v => v.innerText)"
                              ".find(t => t.includes('task_that_never_ends'))")
        self.assertRegex(warning, "INFO|WARNING|ERROR|CRITICAL")
        self.assertIn("Evidence", warning)
        self.assertIn("Advice", warning)
        self.assertIn("stacks", warning)
        # Each verdict leads to its page.
        links = self.script("[...document.querySelectorAll('.verdict a')].map(a => a.pathname)")
        self.assertIn("/verdicts/hog", links)
        self.picture("warning.png")
        self.no_complaints()

    def test_it_is_readable_on_wide_and_narrow_in_light_and_dark(self):
        game = self.game().busy()
        server = self.serve(game.pid)
        self.open(server.url)
        self.samples(10 if not PICTURES else 150)
        seen = {}
        for width, height in ((1280, 1000), (400, 900)):
            for dark in (False, True):
                self.emulate(width, height, dark)
                self.samples(4)
                # Nothing sticks out to the side.
                self.assertLessEqual(self.script("document.documentElement.scrollWidth"), width)
                back, ink = self.script("""['backgroundColor', 'color'].map(k => getComputedStyle(document.body)[k])""")
                seen[width, dark] = back
                self.assertGreaterEqual(contrast(back, ink), 7)
                for selector in (".faint", "th", "#state"):
                    own, colour = self.script(f"""(() => {{ const e = document.querySelector('{selector}');
                        let b = e; while (getComputedStyle(b).backgroundColor === 'rgba(0, 0, 0, 0)') b = b.parentElement;
                        return [getComputedStyle(b).backgroundColor, getComputedStyle(e).color]; }})()""")
                    self.assertGreaterEqual(contrast(own, colour), 4.5, (selector, dark))
                small = self.script("""[...document.querySelectorAll('body *')].filter(e => e.childNodes.length &&
                    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && e.offsetParent &&
                    parseFloat(getComputedStyle(e).fontSize) < 12).map(e => e.outerHTML.slice(0, 80))""")
                self.assertEqual(small, [])
                self.picture(f"page-{width}-{'dark' if dark else 'light'}.png")
        self.assertEqual(seen[1280, True], seen[400, True])
        self.assertNotEqual(seen[1280, True], seen[1280, False])
        self.no_complaints()

    @unittest.skipUnless(os.path.exists(AXE), "axe-core is missing (npm ci in tests/cli)")
    def axe(self):
        with open(AXE) as file:
            self.browser.execute_script(file.read())
        found = self.browser.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run(document).then(done, (e) => done({error: String(e)}));")
        wrong = [f"{v['id']} ({v['impact']}): {n['html'][:100]} {n['failureSummary'][:200]}"
                 for v in found["violations"] for n in v["nodes"]]
        self.assertFalse(wrong, "\n".join(wrong))

    def test_axe_finds_nothing(self):
        game = self.game("--inject", "hog")
        server = self.serve(game.pid)
        self.open(server.url)
        until("the warning is on the page", lambda: self.script("document.querySelectorAll('.verdict').length") > 0)
        self.script("document.querySelector('#examine').click()")
        until("the doctor has looked", lambda: self.script("document.documentElement.dataset.examined"))
        for dark in (False, True):
            self.emulate(1280, 1000, dark)
            self.samples(2)
            self.axe()

    def past(self):
        """Seconds of the lanes and of the plots before the first live sample."""
        return self.script("""(() => { const pool = [...pools.values()][0];
            const live = pool.cells[pool.cells.length - 1].t - Number(document.documentElement.dataset.samples) * 0.5;
            return [pool.cells.filter((c) => c.t < live && c.w.size).length, pool.plots.rate.data.filter((d) => d[0] < live).length]; })()""")

    def test_the_past_comes_from_the_record_and_idle_lanes_are_folded(self):
        game = self.game().busy()
        until("it has a past", lambda: self.age(game) > 5)
        self.open(self.serve(game.pid).url)
        self.assertGreater(self.past()[0], 2)  # a busy ring remembers less than the others
        every, shown = self.script("(() => { const p = [...pools.values()][0]; return [p.all.length, p.workers.length]; })()")
        button = "document.querySelector('.fold')"
        if not self.script(button + ".hidden"):
            self.assertLess(shown, every)
            self.assertIn(f"show {every - shown} idle lanes", self.script(button + ".textContent"))
            self.script(button + ".click()")
            self.assertEqual(self.script("[...pools.values()][0].workers.length"), every)
        calm = self.patient("healthy")
        until("it has a past", lambda: self.age(calm) > 5)
        self.open(self.serve(calm.pid).url)
        lanes, plots = self.past()
        self.assertGreater(min(lanes, plots), 2)
        self.no_complaints()

    def age(self, game):
        return support.strict_json(vigil("report", "--json", game.pid).stdout)["process"]["uptime_s"]

    def test_a_process_without_vigil_is_examined(self):
        patient = subprocess.Popen([sys.executable, "-c", "import threading; l = threading.Lock(); l.acquire(); print('held', flush=True); l.acquire()"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(patient.stdout.close)
        self.addCleanup(patient.wait)
        self.addCleanup(patient.kill)
        patient.stdout.readline()
        game = self.game()
        for server, click in ((self.serve(patient.pid), False), (self.serve(game.pid), True)):
            self.emulate(1280, 900, False)
            self.browser.get(server.url)
            until("the processes are listed", lambda: self.script("document.querySelector('#patient').length") > 1)
            if click:
                self.script(f"document.querySelector('#patient').value = '{patient.pid}'")
                self.script("document.querySelector('#examine').click()")
            until("the doctor has looked", lambda: self.script("document.documentElement.dataset.examined") == str(patient.pid))
            self.assertRegex(self.script("document.querySelector('#examination').innerText"), "deadlock|lost wakeup")
            self.no_complaints()

    def test_a_process_that_dies_is_shown_so_and_the_page_stays(self):
        game = self.game().busy()
        server = self.serve(game.pid)
        self.open(server.url)
        game.kill(9)
        until("it is shown as dead", lambda: self.script("document.querySelector('#state').textContent") in ("dead", "ended"))
        self.assertIn("Pool game", self.text())
        self.no_complaints()

    @unittest.skipUnless(os.environ.get("VIGIL_QUEUE_OWNER"), "this build has no queues")
    def test_queues_of_jobs_are_shown(self):
        process = self.queue_owner(os.path.join(self.directory, "work.db"))
        server = self.serve(process.pid)
        self.open(server.url)
        until("the whole queue is there", lambda: all(
            re.search(words, self.text()) for words in (r"Queue \S+work\.db", "1 waiting \\+ 1 running", r"unknown\s+normal\s+waiting\s+1", "Hosts",
                                                        "25 % page 1 of 4", "it has run for", "no such picture", r"nightly\s+@daily")))
        self.picture("queues.png")
        self.script("(showQueues = () => {}) && 1")  # the tables stay as they are while axe looks at them
        self.axe()
        self.no_complaints()

    def test_the_page_works_with_a_token(self):
        game = self.game().busy()
        server = self.serve(game.pid)
        self.open(server.url)
        self.assertIn("Pool game", self.text())
        self.assertIn("token=", self.script("document.querySelector('#link-report').href"))
        self.no_complaints()


def contrast(one, other):
    """As WCAG has it."""
    def light(colour):
        parts = [int(p) / 255 for p in re.findall(r"\d+", colour)[:3]]
        parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    bright, dim = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


if __name__ == "__main__":
    support.main()
