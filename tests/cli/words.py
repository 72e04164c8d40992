# SPDX-License-Identifier: MIT
"""What the command says: help, wrong words, nothing to look at, too much to look at, no right to look, rubbish to look at."""
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import support
from support import CommandTest, vigil

VERBS = ["ps", "top", "report", "trace", "metrics", "serve", "explain", "demo", "repl", "jobs"]
# The verb `run` hands its words to a program of its own, which a build without the JavaScript engine has not.
HAS_RUN = os.path.exists(os.path.join(os.path.dirname(support.VIGIL), "vigil-js"))
if HAS_RUN:
    VERBS.append("run")
# The engine and a sanitizer need settings that the tests of the host make.
RUNS = HAS_RUN and "VIGIL_NO_ENGINE" not in os.environ


class Help(CommandTest):
    def test_help_lists_every_verb_and_teaches_where_to_begin(self):
        for words in (["--help"], ["help"], ["-h"]):
            result = vigil(*words)
            self.assertEqual(result.returncode, 0)
            for verb in [*VERBS, "run"]:
                self.assertRegex(result.stdout, rf"(?m)^  {verb}\b")
            self.assertIn("vigil demo", result.stdout)
        self.assertEqual(vigil().returncode, 2)

    def test_every_verb_has_a_help_with_usage_and_examples(self):
        for verb in VERBS:
            for words in (["help", verb], [verb, "--help"]):
                result = vigil(*words)
                self.assertEqual(result.returncode, 0, verb)
                self.assertIn(f"Usage: vigil {verb}", result.stdout)
                self.assertIn("Examples", result.stdout)
                self.assertEqual(result.stderr, "")

    def test_the_version_is_told(self):
        self.assertRegex(vigil("--version").stdout, r"^vigil \d+\.\d+\.\d+")

    def test_no_line_of_help_is_too_long_for_a_terminal(self):
        for verb in VERBS:
            for line in vigil("help", verb).stdout.splitlines():
                self.assertLessEqual(len(line), 120, line)


class Programs(CommandTest):
    def test_a_verb_whose_program_is_missing_says_so(self):
        alone = shutil.copy(support.VIGIL, self.directory)
        game = self.game()
        wanted = {"serve": "vigil-serve is missing; it belongs beside vigil or in ../libexec/vigil",
                  "run": "this build has no JavaScript host", "repl": "this build has no JavaScript host"}
        if "This build has no" in vigil("help", "serve").stdout:
            wanted.pop("serve")
        for verb, words in wanted.items():
            operands = [] if verb == "repl" else [str(game.pid)]
            result = subprocess.run([alone, verb, *operands], capture_output=True, text=True, timeout=support.PATIENCE)
            self.assertEqual((result.returncode, result.stdout), (1, ""), verb)
            self.assertIn(words, result.stderr)

    def test_the_command_does_not_wait_for_the_libraries_of_a_web_server(self):
        with open(support.VIGIL, "rb") as program:
            self.assertNotIn(b"libmicrohttpd.so", program.read())

    def test_words_are_read_before_the_program_is_looked_for(self):
        alone = shutil.copy(support.VIGIL, self.directory)
        result = subprocess.run([alone, "serve", "--prot", "1"], capture_output=True, text=True, timeout=support.PATIENCE)
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean --port?", result.stderr)


class Explain(CommandTest):
    def test_every_class_of_verdict_has_a_page_with_the_same_parts(self):
        names = re.findall(r"(?m)^  ([a-z-]+) +\S", vigil("explain").stdout)
        self.assertEqual(len(names), 14, names)
        for name in names:
            result = vigil("explain", name)
            self.assertEqual(result.returncode, 0, name)
            for part in ("What it looks like", "Why it happens", "What to do"):
                self.assertRegex(result.stdout, rf"(?m)^{part}$", name)
            self.assertRegex(result.stdout, r"\bVIGIL_STALL_[A-Z_]+")
            self.assertNotIn("](", result.stdout)
            self.assertNotIn("\x1b", result.stdout)

    def test_a_page_that_is_near_is_suggested(self):
        result = vigil("explain", "hgo")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean hog?", result.stderr)
class JavaScript(CommandTest):
    @unittest.skipUnless(RUNS, "no JavaScript host in this build, or a sanitizer")
    def test_run_takes_a_text_a_file_or_standard_input(self):
        result = vigil("run", "-e", "console.log(process.argv.slice(1)); process.exitCode = 4", "a", "b")
        self.assertEqual((result.returncode, result.stdout), (4, "[ 'a', 'b' ]\n"))
        self.assertEqual(vigil("run", "-p", "6 * 7").stdout, "42\n")
        result = subprocess.run([support.VIGIL, "run", "-"], input="console.log('in')", stdout=subprocess.PIPE, text=True,
                                timeout=support.PATIENCE)
        self.assertEqual((result.returncode, result.stdout), (0, "in\n"))
        result = vigil("run", "/nosuch.js")
        self.assertEqual(result.returncode, 1)
        self.assertIn("Cannot find module '/nosuch.js'", result.stderr)

    @unittest.skipUnless(RUNS, "no JavaScript host in this build, or a sanitizer")
    def test_run_says_which_word_it_does_not_understand(self):
        for words, says in ((["--frobnicate", "x.js"], "there is no option --frobnicate"), (["--memory", "some", "x.js"], "megabytes"),
                            (["--memory"], "megabytes"), (["--workers", "0", "x.js"], "number of threads"),
                            (["--stall", "-1", "x.js"], "milliseconds"), (["-e"], "a text must follow"), ([], "is missing")):
            result = vigil("run", *words)
            self.assertEqual((result.returncode, result.stdout), (9, ""), words)
            self.assertRegex(result.stderr, says)

    @unittest.skipUnless(RUNS, "no JavaScript host in this build, or a sanitizer")
    def test_the_memory_limit_ends_a_program_that_grows(self):
        grows = "const all = []; setInterval(() => { for (let i = 0; i < 50000; i++) all.push({ i }); }, 1)"
        result = vigil("run", "--memory", "40", "-e", grows)
        self.assertEqual(result.returncode, 134)
        self.assertRegex(result.stderr, r"the JavaScript heap has \d+ MB, the limit is 40 MB: ended")
        small = "let n = 0; const t = setInterval(() => { if (++n === 20) clearInterval(t); }, 10)"
        self.assertEqual(vigil("run", "--memory", "200", "-e", small).returncode, 0)

    def test_a_build_without_the_host_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(support.VIGIL, folder)
            for verb in ("run", "repl"):
                result = subprocess.run([alone, verb], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, timeout=support.PATIENCE)
                self.assertEqual(result.returncode, 1)
                self.assertIn("this build has no JavaScript host; run scripts/setup js", result.stderr)


class WrongWords(CommandTest):
    def wrong(self, words, says, status=2):
        result = vigil(*words)
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, says)
        self.assertTrue(result.stderr.startswith("vigil: "))

    def test_a_verb_that_is_near_is_suggested(self):
        self.wrong(["reprot"], "did you mean `vigil report`")
        self.wrong(["tpo"], "did you mean `vigil top`")
        self.wrong(["frobnicate"], "`vigil help` lists them")

    def test_an_option_that_is_near_is_suggested(self):
        self.wrong(["report", "--jsno"], "did you mean --json")
        self.wrong(["report", "--frobnicate"], "vigil help report")
        self.wrong(["report", "-x"], "vigil help report")

    def test_values_are_checked(self):
        self.wrong(["top", "--interval", "never"], "from 50 to 60000, not 'never'")
        self.wrong(["top", "--interval=1"], "from 50 to 60000")
        self.wrong(["top", "--interval"], "needs a value: --interval MS")
        self.wrong(["report", "--json=yes"], "takes no value")
        self.wrong(["serve", "--port", "65536"], "from 0 to 65535")
        self.wrong(["report", "1", "2"], "one word too many; usage: vigil report")
        self.wrong(["demo", "--inject", "nonsense"], "there is no fault 'nonsense'")
        self.wrong(["demo", "--recover"], "--inject")

    def test_a_name_after_two_dashes_is_a_file(self):
        self.wrong(["report", "--", "--json"], "there is no file --json", 1)


class NothingToLookAt(CommandTest):
    def test_ps_says_that_there_is_nothing_and_how_to_get_something(self):
        result = vigil("ps")
        self.assertEqual(result.returncode, 0)
        self.assertIn("vigil demo", result.stdout)
        self.assertIn(self.directory, result.stdout)

    def test_the_others_fail_and_say_so(self):
        for verb in ("top", "report", "trace", "metrics", "serve"):
            result = vigil(verb)
            self.assertEqual(result.returncode, 1, verb)
            self.assertRegex(result.stderr, "no process with Vigil inside")

    def test_a_process_that_does_not_exist(self):
        self.assertRegex(vigil("report", "4194303").stderr, "there is no process 4194303")
        self.assertRegex(vigil("report", "99999999999999").stderr, "no process number")

    def test_a_process_without_vigil(self):
        self.assertRegex(vigil("report", os.getpid()).stderr, "does not use Vigil")


class Choosing(CommandTest):
    def test_the_only_process_is_taken_and_several_are_listed(self):
        one = self.game()
        self.assertIn(f"process {one.pid}", vigil("report").stdout)
        other = self.game()
        result = vigil("report")
        self.assertEqual(result.returncode, 1)
        self.assertIn("say which: `vigil report PID`", result.stderr)
        for game in (one, other):
            self.assertRegex(result.stderr, rf"(?m)^ +{game.pid} +running")
            self.assertRegex(vigil("ps").stdout, rf"(?m)^ +{game.pid} +running")
            self.assertIn(f"process {game.pid}", vigil("report", game.pid).stdout)
            self.assertIn(f"process {game.pid}", vigil("report", self.record(game)).stdout)

    def test_somebody_elses_process_is_refused_with_a_reason(self):
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("only root can become somebody else")
        game = self.game()
        command = shutil.copy(support.VIGIL, f"/tmp/vigil-as-nobody-{os.getpid()}")
        self.addCleanup(os.unlink, command)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", command, "report"]
        environment = {"VIGIL_DIR": self.directory, "PATH": os.environ["PATH"]}
        for operand in (str(game.pid), self.record(game)):
            result = subprocess.run([*nobody, operand], capture_output=True, text=True, env=environment)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, "Look as that user, or as root")
        # And root finds a process whose record lies elsewhere, through what it has mapped.
        os.environ["VIGIL_DIR"] = "/nonexistent"
        self.assertIn(f"process {game.pid}", vigil("report", game.pid).stdout)


class Rubbish(CommandTest):
    def look_at(self, path):
        """Every verb that takes a file: an answer or a clear refusal, never a crash."""
        for words in (["report", path], ["report", path, "--json"], ["trace", path, "-o", "-"], ["metrics", path],
                      ["top", path, "--plain", "--looks", "1", "--interval", "50"]):
            result = vigil(*words)
            self.assertIn(result.returncode, (0, 1, 3), (words, result.stderr))
            if result.returncode == 1:
                self.assertRegex(result.stderr, "^vigil: .*(no recorder file|could not be read|another version)")

    def test_files_that_are_none(self):
        path = os.path.join(self.directory, "rubbish")
        for content in (b"", b"hello", bytes(1 << 20), random.Random(7).randbytes(1 << 20)):
            with open(path, "wb") as file:
                file.write(content)
            result = vigil("report", path)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, "no recorder file of Vigil, or it is damaged")
        self.assertEqual(vigil("report", self.directory).returncode, 1)
        self.assertEqual(vigil("report", "/dev/null").returncode, 1)

    def test_a_damaged_record_is_read_as_far_as_it_makes_sense(self):
        game = self.game().busy()
        game.kill(9)
        with open(self.record(game), "rb") as file:
            whole = file.read()
        path = os.path.join(self.directory, "damaged")
        chance = random.Random(11)
        for round_ in range(12):
            content = bytearray(whole)
            if round_ % 3 == 0:
                del content[chance.randrange(len(content)):]
            for _ in range(chance.choice((1, 100, 10000))):
                if content:
                    # Mostly near the beginning, where the layout is told.
                    at = chance.randrange(min(len(content), chance.choice((512, 65536, len(content)))))
                    content[at] = chance.choice((0, 255, chance.randrange(256)))
            with open(path, "wb") as file:
                file.write(content)
            self.look_at(path)

    def test_names_cannot_send_escape_sequences_to_the_terminal(self):
        game = self.game().busy()
        game.kill(9)
        with open(self.record(game), "rb") as file:
            whole = file.read()
        path = os.path.join(self.directory, "evil")
        evil = whole.replace(b"game\0", b"\x1b[2J\0").replace(b"demo ", b"\x1b]0;x")
        self.assertNotEqual(evil, whole)
        with open(path, "wb") as file:
            file.write(evil)
        for words in (["report", path], ["metrics", path], ["trace", path, "-o", "-"], ["report", path, "--json"]):
            result = vigil(*words)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotRegex(result.stdout, "[\x00-\x08\x0b-\x1f\x7f]")


class Colours(CommandTest):
    def test_piped_output_has_none(self):
        game = self.game().busy()
        for words in (["ps"], ["report", game.pid], ["top", game.pid, "--looks", "1", "--interval", "50"], ["--help"]):
            self.assertNotIn("\x1b", vigil(*words).stdout)

    def test_a_terminal_gets_them_unless_NO_COLOR_is_set(self):
        game = self.game()
        if not shutil.which("script"):
            self.skipTest("there is no script(1) to make a terminal")
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            result = subprocess.run(["script", "-qec", f"{support.VIGIL} report {game.pid}", "/dev/null"],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    env={**os.environ, "TERM": "xterm", **environment})
            self.assertEqual(bool(re.search("\x1b\\[[0-9]", result.stdout)), coloured, environment)


class Output(CommandTest):
    def test_a_full_disk_is_no_success(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        game = self.game()
        for words in (["report", game.pid], ["metrics", game.pid], ["trace", game.pid, "-o", "/dev/full"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([support.VIGIL, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1, words)
            self.assertRegex(result.stderr, "could not be written")


if __name__ == "__main__":
    support.main()
