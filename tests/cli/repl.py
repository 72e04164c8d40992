# SPDX-License-Identifier: MIT
"""`vigil repl` as a person uses it: on a terminal, with keys; and at the end of a pipe."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import support
from support import PATIENCE, VIGIL, CommandTest

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x07\x0f]|.\x08")


class Terminal:
    """The REPL on a terminal of its own. Everything is waited for by what it shows."""

    def __init__(self, state):
        environment = {**os.environ, "XDG_STATE_HOME": state, "TERM": "xterm", "NO_COLOR": "1"}
        environment.pop("VIGIL_REPL_HISTORY", None)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(VIGIL, [VIGIL, "repl"], environment)
        self.seen = ""

    def keys(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern):
        """Wait until the pattern is there, and forget what came before its end."""
        end = time.monotonic() + PATIENCE
        while True:
            shown = ESCAPES.sub("", self.seen).replace("\r", "")
            match = re.search(pattern, shown)
            if match:
                self.seen = shown[match.end():]
                return match
            if time.monotonic() > end:
                raise AssertionError(f"not seen: {pattern!r} in {self.seen!r}")
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    more = os.read(self.fd, 65536)
                except OSError:
                    more = b""
                if not more:
                    raise AssertionError(f"it has ended; not seen: {pattern!r} in {self.seen!r}")
                self.seen += more.decode(errors="replace")

    def say(self, line, answer):
        self.keys(line + "\r")
        return self.expect(answer + r"\n(?s:.*)> $")

    def end(self):
        limit = time.monotonic() + PATIENCE
        try:
            while select.select([self.fd], [], [], max(0, limit - time.monotonic()))[0] and os.read(self.fd, 65536):
                pass
        except OSError:
            pass  # what a terminal says when nobody is left on the other side
        if time.monotonic() >= limit:
            raise AssertionError("it does not end")
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class OnATerminal(CommandTest):
    def setUp(self):
        super().setUp()
        self.state = tempfile.mkdtemp()
        self.terminal = Terminal(self.state)
        self.terminal.expect(r"Welcome to Vigil v.*\n.*\n> $")

    def tearDown(self):
        shutil.rmtree(self.state)
        super().tearDown()

    def test_values_errors_await_and_several_lines(self):
        it = self.terminal
        it.say("6 * 7", "42")
        it.say("_ + 1", "43")
        it.say("await new Promise((r) => setTimeout(r, 5, 'late'))", "'late'")
        it.say("nosuch", "Uncaught ReferenceError: .*nosuch.*")
        it.keys("function two() {\r")
        it.expect(r"\.\.\. $")
        it.keys("return 2 }\r")
        it.expect(r"undefined\n> $")
        it.say("two()", "2")
        it.keys("\x04")
        self.assertEqual(it.end(), 0)

    def test_tab_completes_globals_properties_and_modules(self):
        it = self.terminal
        it.keys("const someLongName = { innerPart: 11 }\r")
        it.expect(r"undefined\n> $")
        it.keys("someL\t")
        it.expect("someLongName")
        it.keys(".inn\t")
        it.expect("innerPart")
        it.keys("\r")
        it.expect(r"11\n> $")
        it.keys("queueMicro\t.name\r")
        it.expect(r"'queueMicrotask'\n> $")
        it.keys("require('node:timers/pro\t').setTimeout.name\r")
        it.expect(r"'setTimeout'\n> $")
        it.keys("console.ti\t\t")
        it.expect(r"console\.time\b(?s:.*)console\.timeEnd")
        it.keys("\x03")
        it.expect(r"> $")
        it.keys(".exit\r")
        self.assertEqual(it.end(), 0)

    def test_control_c_ends_what_runs_and_then_the_repl(self):
        it = self.terminal
        it.keys("for (;;);\r")
        it.expect(r"for \(;;\);\n")
        it.keys("\x03")
        it.expect(r"Uncaught Error \[ERR_SCRIPT_EXECUTION_INTERRUPTED\].*\n> $")
        it.keys("await new Promise(() => {})\r")
        it.expect(r"\{\}\)\n")
        it.keys("\x03")
        it.expect(r"ERR_SCRIPT_EXECUTION_INTERRUPTED(?s:.*)> $")
        it.keys("half a lin")
        it.expect("half a lin")
        it.keys("\x03")
        it.expect(r"\n> $")
        it.say("1 + 1", "2")
        it.keys("\x03")
        it.expect(r"To exit, press Ctrl\+C again(?s:.*)> $")
        it.keys("\x03")
        self.assertEqual(it.end(), 0)

    def test_the_history_is_kept(self):
        it = self.terminal
        it.say("'the first session'", "'the first session'")
        it.keys("\x1b[A\r")
        it.expect(r"'the first session'\n'the first session'\n> $")
        it.keys(".exit\r")
        self.assertEqual(it.end(), 0)
        file = os.path.join(self.state, "vigil", "repl_history")
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        again = Terminal(self.state)
        again.expect(r"> $")
        again.keys("\x1b[A\x1b[A\r")
        again.expect(r"'the first session'\n'the first session'\n> $")
        again.keys("process.exit(3)\r")
        self.assertEqual(again.end(), 3)

    def test_a_terminal_that_goes_away_is_the_end(self):
        it = self.terminal
        it.keys(".exit\r")
        self.assertEqual(it.end(), 0)
        # As under nohup: nobody tells, the terminal is simply gone.
        was = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            it = Terminal(self.state)
        finally:
            signal.signal(signal.SIGHUP, was)
        it.expect(r"> $")
        os.close(it.fd)
        ended = os.pidfd_open(it.pid)
        self.assertTrue(select.select([ended], [], [], PATIENCE)[0], "it does not end")
        os.close(ended)
        os.waitpid(it.pid, 0)

    def test_editor_save_and_load(self):
        it = self.terminal
        file = os.path.join(self.state, "session.js")
        it.keys(".editor\r")
        it.expect(r"Entering editor mode.*\n")
        it.keys("const a = 1;\rconst b = 2;\ra + b\r")
        it.expect(r"a \+ b\n")
        it.keys("\x04")
        it.expect(r"3\n> $")
        it.say(f".save {file}", "Session saved to: .*")
        with open(file, encoding="utf-8") as saved:
            self.assertEqual(saved.read(), "const a = 1;\nconst b = 2;\na + b\n")
        with open(file, "w", encoding="utf-8") as saved:
            saved.write("var loaded = 5;\nloaded * 2\n")
        it.say(f".load {file}", "10")
        it.say(".load /nosuch", "Failed to load: /nosuch")
        it.say(".break", "")
        it.keys("\x04")
        self.assertEqual(it.end(), 0)

    def test_timers_go_on_while_somebody_types(self):
        it = self.terminal
        it.keys("setTimeout(() => console.log('from a timer'), 1), 0\r")
        it.expect("from a timer")
        it.keys("setTimeout(() => { throw new RangeError('from a timer') }, 1), 0\r")
        it.expect(r"Uncaught RangeError: from a timer(?s:.*)> $")
        it.keys(".exit\r")
        self.assertEqual(it.end(), 0)


def piped(text, status=0):
    result = subprocess.run([VIGIL, "repl"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert result.returncode == status and result.stderr == "", result
    return result.stdout


class Piped(CommandTest):
    def test_values_without_prompts(self):
        self.assertEqual(piped("1 + 1\n"), "2\n")
        self.assertEqual(piped("1 + 1"), "2\n")
        self.assertEqual(piped(""), "")
        self.assertEqual(piped("{ a: 1 }\n[1,\n2]\n"), "{ a: 1 }\n[ 1, 2 ]\n")
        self.assertEqual(piped("throw 1\nprocess.exit(4)\n2\n", 4), "Uncaught 1\n")

    def test_a_line_waits_for_the_one_before_it(self):
        self.assertEqual(piped("let n = await new Promise((r) => setTimeout(r, 20, 7))\nn\nvar { q = 2 } = await {}; q\n_\n"),
                         "undefined\n7\n2\n2\n")
        self.assertEqual(piped("class A { v = await 1 }\nfor (var i of [await 1, 2]) ;\ni\n").splitlines()[-1], "2")

    def test_what_is_not_finished_says_what_it_lacks(self):
        self.assertRegex(piped("function f() {\n"), "Uncaught SyntaxError")
        self.assertRegex(piped("let let = ;\n5\n"), r"let let = ;\n    \^\n\nUncaught SyntaxError: .*\n5\n")

    def test_errors_show_functions_and_not_the_line_itself(self):
        shown = piped("function f() { throw new TypeError('no') }\nf()\n_error.message\n")
        self.assertRegex(shown, r"^undefined\nUncaught TypeError: no\n    at f \(REPL1:1:\d+\)\n'no'\n$")

    def test_the_last_value_can_be_taken_over(self):
        self.assertEqual(piped("_ = 5\n6\n_\n"), "Expression assignment to _ now disabled.\n5\n6\n5\n")

    def test_nothing_else_is_taken(self):
        result = subprocess.run([VIGIL, "repl", "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=PATIENCE)
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    support.main()
