# SPDX-License-Identifier: MIT
"""Completion in bash, zsh and fish: every verb, every option of every verb, faults, verdicts and processes are offered."""
import os
import re
import shutil
import subprocess
import unittest

import support
from support import CommandTest, vigil

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli", "completion")
VERBS = re.findall(r"(?m)^  ([a-z]+)  ? *[a-z]", vigil("--help").stdout.split("Where to begin")[0])
assert len(VERBS) >= 9, VERBS


def options_of(verb):
    """As its help has them. `run` hands its words on, and may not be in this build."""
    text = vigil("run", "--help").stdout if verb == "run" else vigil("help", verb).stdout
    return set(re.findall(r"(?m)^  (?:-., )? *(--[a-z-]+)", text))


class Shell:
    """What each test asks of a shell: the words that it offers for the last one."""
    shell = ""

    def setUp(self):
        super().setUp()
        if not shutil.which(self.shell):
            self.skipTest(f"there is no {self.shell} here")
        self.environment = {**os.environ, "PATH": os.path.dirname(support.VIGIL) + ":" + os.environ["PATH"], "HOME": self.directory}

    def run_shell(self, script, *words):
        result = subprocess.run([self.shell, *self.flags, "-c", script, *words], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, env=self.environment, timeout=support.PATIENCE, cwd=self.directory)
        self.assertEqual(result.stderr, "", words)
        return set(result.stdout.split("\n")) - {""}

    def test_every_verb_is_offered(self):
        self.assertLessEqual({*VERBS, "help"}, self.offered(""))
        self.assertEqual({"report"}, self.offered("repo"))
        self.assertLessEqual(set(VERBS), self.offered("help", ""))

    def test_every_option_of_every_verb_is_offered(self):
        for verb in VERBS:
            self.assertEqual(options_of(verb) | {"--help"}, self.offered(verb, "--"), verb)

    def test_faults_verdicts_and_processes_are_offered(self):
        faults = set(re.findall(r"(?m)^  ([a-z-]+) ", vigil("demo", "--inject", "list").stdout))
        self.assertEqual(faults, self.offered("demo", "--inject", ""))
        self.assertLessEqual({"hog", "drift", "lost-wakeup"}, self.offered("explain", ""))
        game = self.game()
        self.assertIn(str(game.pid), self.offered("report", ""))


class Bash(Shell, CommandTest):
    shell, flags = "bash", ["--norc"]

    def offered(self, *words):
        return self.run_shell(f'. "{SCRIPTS}/vigil.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vigil; '
                              'printf "%s\\n" "${COMPREPLY[@]}"', "bash", "vigil", *words)


class Zsh(Shell, CommandTest):
    shell, flags = "zsh", ["-f"]

    def offered(self, *words):
        # The two functions of zsh that the script hands its offers to.
        found = self.run_shell('_describe() { print -rl -- ${${(P)2}%%:*} }; _files() { }; words=("$@"); CURRENT=$#; '
                               f'complete_vigil() {{ . "{SCRIPTS}/_vigil" }}; complete_vigil', "zsh", "vigil", *words)
        return {word for word in found if word.startswith(words[-1])}


class Fish(Shell, CommandTest):
    shell, flags = "fish", ["--no-config"]

    def offered(self, *words):
        found = self.run_shell(f'source "{SCRIPTS}/vigil.fish"; complete -C "$argv"', "vigil", *words)
        return {line.split("\t")[0] for line in found}


if __name__ == "__main__":
    support.main()
