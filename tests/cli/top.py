# SPDX-License-Identifier: MIT
"""W9: `vigil top` and `vigil demo` in a real terminal: tmux holds it, capture-pane sees what a person would see."""
import os
import re
import signal
import subprocess
import time
import unittest

import support
from support import CommandTest, until, vigil


LANE = r"(?m)^ {0,2}(\d+) (?!turns)(.*)$"


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, command, columns=110, lines=45):
        self.server = ["tmux", "-L", f"vigil-{os.getpid()}-{time.monotonic_ns()}", "-f", "/dev/null"]
        # The shell stays, so that what the command leaves on the screen can be seen, and its status.
        shell = f"{command}; echo \"the status is $?\"; exec cat"
        subprocess.run([*self.server, "new-session", "-d", "-x", str(columns), "-y", str(lines), shell], check=True,
                       env={**os.environ, "TERM": "screen-256color"})

    def screen(self, colours=False):
        words = [*self.server, "capture-pane", "-p"] + (["-e"] if colours else [])
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def press(self, *keys):
        subprocess.run([*self.server, "send-keys", *keys], check=True)

    def resize(self, columns, lines):
        subprocess.run([*self.server, "resize-window", "-x", str(columns), "-y", str(lines)], check=True)

    def wait_for(self, pattern):
        return until(f"the screen shows {pattern!r}; it shows:\n{self.screen()}",
                     lambda: re.search(pattern, self.screen()))

    def end(self):
        subprocess.run([*self.server, "kill-server"], stderr=subprocess.DEVNULL)


class TopTest(CommandTest):
    def terminal(self, command, **options):
        terminal = Terminal(command, **options)
        self.addCleanup(terminal.end)
        return terminal

    def lanes(self, terminal):
        return dict(re.findall(LANE, terminal.screen()))


class Top(TopTest):
    def test_it_shows_lanes_queues_latencies_and_the_loop(self):
        game = self.game().busy()
        terminal = self.terminal(f"{support.VIGIL} top {game.pid}", lines=90)
        terminal.wait_for(rf"(?m)^\S+ {game.pid}  running  up \d")
        terminal.wait_for(r"pool game .* 3[3-9] threads|pool game .* [4-9]\d threads")
        for name in ("CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"):
            # queued, running, done/s, four latencies, oldest
            terminal.wait_for(rf"(?m)^{name} +\S+ +\S+ +[\d.k]+ +[\d.]+[num]?s +[\d.]+[num]?s ")
        terminal.wait_for(r"loop server")
        terminal.wait_for(r"turns/s  busy [\d.]+ %")
        terminal.wait_for(r"no warnings|WARNING no CPU")
        terminal.wait_for(r"[▁▂▃▄▅▆▇█]")
        self.assertEqual(sorted(map(int, self.lanes(terminal)))[-1], 32)
        first = terminal.screen()
        until("the lanes move", lambda: self.lanes(terminal) != dict(re.findall(LANE, first)))
        terminal.press("q")
        terminal.wait_for("the status is 0")

    def test_keys_pause_help_and_resizing(self):
        game = self.game().busy()
        terminal = self.terminal(f"{support.VIGIL} top {game.pid}")
        terminal.wait_for("loop server")
        terminal.press("p")
        terminal.wait_for("PAUSED")
        terminal.press("?")
        terminal.wait_for("one in a hundred exceeds")
        terminal.press("?")
        terminal.wait_for("loop server")
        terminal.press("p")
        until("it goes on", lambda: "PAUSED" not in terminal.screen())
        terminal.resize(60, 20)
        terminal.wait_for(r"rows \d+-\d+ of \d+|workers")
        terminal.press("Down", "NPage", "PPage", "Up", "Tab")
        terminal.resize(20, 5)
        terminal.wait_for(str(game.pid))
        terminal.resize(200, 60)
        terminal.wait_for("loop server")
        terminal.press("C-c")
        terminal.wait_for("the status is 0")

    def test_80_by_24_shows_all_of_a_view(self):
        game = self.game().busy()
        terminal = self.terminal(f"{support.VIGIL} top {game.pid}", columns=80, lines=24)
        terminal.wait_for(r"(?m)^pool game .*threads: \d+ run \d+ search \d+ park \d+ block *$")
        terminal.wait_for(r"(?m)^workers .*b blocked")
        terminal.wait_for(r"(?m)^IDLE ")
        terminal.press("t")
        terminal.wait_for(r"(?m)^ +THREAD NAME +CPU %  STATE +DOES OR WAITS FOR")
        terminal.wait_for(r"(?m)^ +\d+ game/\d+ +\d+\.\d  (on CPU|ready|asleep) ")
        terminal.wait_for(r"(?m)^ +\d+ game/\d+ .*waits: work")
        terminal.press("f")
        terminal.wait_for(r"TASK OR CALLBACK, the last [\d.]+ s of the record")
        terminal.wait_for(r"(?m)^ *\d+\.\d %  +\S+  bot_\w+")
        terminal.wait_for(r"FUNCTION, by [1-9]\d* samples; longest stop \d+ us|no sampling")
        terminal.press("f")
        terminal.wait_for(r"(?m)^workers ")
        terminal.press("q")
        terminal.wait_for("the status is 0")

    @unittest.skipUnless(os.environ.get("VIGIL_QUEUE_OWNER"), "this build has no queues")
    def test_queues_of_jobs_have_a_view(self):
        queue = os.path.join(self.directory, "work.db")
        process = self.queue_owner(queue)
        terminal = self.terminal(f"{support.VIGIL} top {process.pid}", columns=160, lines=40)
        terminal.wait_for(r"(?m)^queue \S+work\.db: 1 waiting, 1 running, 0 completed, 1 dead \(key j\)")
        terminal.press("j")
        terminal.wait_for(r"(?m)^ +\d+ render, class normal, for .* 25 %, page 1 of 4 *\n +verdict: it has run for")
        terminal.wait_for(r"(?m)^ +\d+ fetch, .* 1 errors, 0 crashes: no such picture")
        terminal.wait_for(r"(?m)^ +nightly: @daily UTC, sweep, next in ")
        terminal.press("j")
        terminal.wait_for(r"(?m)^workers ")
        terminal.press("q")
        terminal.wait_for("the status is 0")

    def test_threads_and_functions_as_plain_text(self):
        game = self.game().busy()
        result = vigil("top", game.pid, "--threads", "--looks", 2, "--interval", 200)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^ +\d+ game/\d+ +\d+\.\d  ")
        self.assertIn("waits: events", result.stdout)
        self.assertRegex(result.stdout, r"vigil/watchdog .*waits: a lock or a signal \(futex\)|vigil/watchdog .*(runs|on CPU)")
        result = vigil("top", game.pid, "--functions", "--looks", 3, "--interval", 200)
        self.assertRegex(result.stdout, r"(?m)^ +\d+\.\d %  +\d+ times  bot_")
        hog = self.game("--inject", "hog")
        until("sampling meets the task that never ends", lambda: re.search(
            r"functions by sampling(?s:.*)task_that_never_ends", vigil("top", hog.pid, "--functions", "--looks", 5, "--interval", 100).stdout))

    def test_a_warning_appears_with_its_advice(self):
        game = self.game("--inject", "hog")
        terminal = self.terminal(f"{support.VIGIL} top {game.pid}", columns=150)
        terminal.wait_for(r"(?m)^(INFO|WARNING|ERROR|CRITICAL) .*hog")
        terminal.wait_for("task_that_never_ends")

    def test_a_process_that_is_stopped_or_dies_is_shown_so(self):
        game = self.game().busy()
        terminal = self.terminal(f"{support.VIGIL} top {game.pid}")
        terminal.wait_for("running")
        game.kill(signal.SIGSTOP)
        terminal.wait_for(rf"{game.pid}  stopped")
        game.kill(signal.SIGKILL)
        terminal.wait_for(rf"{game.pid}  (dead|ended)")
        terminal.press("q")
        terminal.wait_for("the status is 0")

    def test_colours_are_used_unless_NO_COLOR_is_set(self):
        game = self.game().busy()
        terminal = self.terminal(f"{support.VIGIL} top {game.pid}")
        terminal.wait_for("CRITICAL")
        self.assertRegex(terminal.screen(colours=True), "\x1b\\[[0-9;]*31m")
        plain = self.terminal(f"NO_COLOR=1 {support.VIGIL} top {game.pid}")
        plain.wait_for("CRITICAL")
        self.assertNotRegex(plain.screen(colours=True), "\x1b\\[[0-9;]*3[0-7]m")

    def test_piped_it_is_plain_text(self):
        game = self.game().busy()
        result = vigil("top", game.pid, "--looks", 2, "--interval", 200)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(re.findall(r"(?m)^pool game: ", result.stdout)), 2)
        self.assertEqual(len(re.findall(r"(?m)^loop server: ", result.stdout)), 2)
        self.assertNotIn("\x1b", result.stdout)

    def test_piped_it_ends_with_the_process(self):
        game = self.game().busy()
        top = subprocess.Popen([support.VIGIL, "top", str(game.pid), "--interval", "100"], stdout=subprocess.PIPE, text=True)
        self.assertIn(str(game.pid), top.stdout.readline())
        game.kill(signal.SIGKILL)
        out, _ = top.communicate(timeout=support.PATIENCE)
        self.assertIn("The process has ended.", out)
        self.assertEqual(top.returncode, 0)

    def test_it_costs_little(self):
        game = self.game().busy()
        looks = 20
        before = os.times()
        result = vigil("top", game.pid, "--looks", looks, "--interval", 250)
        after = os.times()
        self.assertEqual(result.returncode, 0)
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"top used {used / (looks * 0.25) * 100:.2f} % of a core at 4 looks a second")
        # The promise is 1 %, measured on an idle machine; here others may be at work, and the build may be instrumented.
        self.assertLess(used / (looks * 0.25), 0.10)


class Demo(TopTest):
    def test_the_demo_on_a_terminal_shows_top_and_ends_with_q_and_a_summary(self):
        terminal = self.terminal(f"{support.VIGIL} demo --no-page")
        terminal.wait_for("a game server to look at")
        terminal.wait_for(r"(?m)^CRITICAL +\S+ +\S+ +[1-9]")
        terminal.press("q")
        terminal.wait_for("every accepted task ran, none is left")
        terminal.wait_for("the status is 0")

    def test_the_demo_shows_a_fault_being_found(self):
        terminal = self.terminal(f"{support.VIGIL} demo --no-page --inject wait-cycle --seconds 8", columns=150)
        terminal.wait_for(r"(?m)^(ERROR|CRITICAL) .*cycle")
        terminal.wait_for(r"Found:")
        terminal.wait_for("the status is 0")


if __name__ == "__main__":
    if subprocess.run(["tmux", "-V"], stdout=subprocess.DEVNULL).returncode != 0:
        raise unittest.SkipTest("there is no tmux")
    support.main()
