# SPDX-License-Identifier: MIT
"""`vigil demo` without a terminal: it ends by itself, with a summary; and each fault is found by its name."""
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import support
from support import CommandTest, vigil


class Demo(CommandTest):
    def test_it_ends_by_itself_with_a_summary(self):
        result = vigil("demo", "--seconds", 3)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\x1b", result.stdout)
        for name in ("CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"):
            accepted, ran = re.search(rf"(?m)^{name} .* (\d+) +(\d+)$", result.stdout).groups()
            self.assertGreater(int(ran), 0)
            self.assertEqual(accepted, ran)
        self.assertIn("every accepted task ran, none is left", result.stdout)
        # Lines of numbers; one a second, where the machine has time for us.
        self.assertRegex(result.stdout, r"(?m)^ +\d+\.\d +\d+ ")
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_summary_also_after_an_interrupt(self):
        game = self.game().busy()
        os.kill(game.pid, 2)
        out, _ = game.demo.communicate(timeout=support.PATIENCE)
        self.assertIn("every accepted task ran, none is left", out)
        self.assertEqual(game.demo.returncode, 0)


# Each takes some seconds, of which it mostly waits: two at a time, begun with the first test that asks.
runner = ThreadPoolExecutor(max_workers=2)
running = {}


def run_fault(name, recover):
    with tempfile.TemporaryDirectory(prefix="vigil-cli-") as directory:
        return vigil("demo", "--no-page", "--inject", name, *(["--recover"] if recover else []),
                     env={**os.environ, "VIGIL_DIR": directory})


PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "verdicts")
PAGE_OF = {"blocked-loop": "loop-blocked", "stop": "no-cpu"}


def without_numbers(text):
    """One line, times as T and other numbers as N."""
    text = re.sub(r"\b\d+(\.\d+)? (ns|us|ms|s|min|h)\b", "T", " ".join(text.split()))
    return re.sub(r"\d+", "N", text)


def fault_test(name, recover):
    def test(self):
        for other in CASES if not running else []:
            running[other] = runner.submit(run_fault, *other)
        result = running[name, recover].result()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("Found:", result.stdout)
        said = re.findall(r"(?m)^ +(?:INFO|WARNING|ERROR|CRITICAL) [A-Za-z -]+: (.+)$", result.stdout)
        self.assertTrue(said, result.stdout)
        # The page of this verdict shows what is really said, but for numbers and times.
        with open(os.path.join(PAGES, PAGE_OF.get(name, name) + ".md"), encoding="utf-8") as page:
            shown = without_numbers(page.read())
        self.assertTrue([words for words in said if without_numbers(words) in shown], f"none of {said} is on the page")
        if recover:
            self.assertIn("Healed by the watchdog.", result.stdout)
            self.assertIn("done about it:", result.stdout)
    return test


listed = subprocess.run([support.VIGIL, "demo", "--inject", "list"], capture_output=True, text=True).stdout
FAULTS = re.findall(r"(?m)^  (\S+) ", listed)
assert len(FAULTS) >= 6, listed
CASES = [(fault, False) for fault in sorted(FAULTS)] + [(fault, True) for fault in ("lost-wakeup", "wait-cycle")
                                                       if fault in FAULTS]


class Faults(CommandTest):
    pass


for fault, recover in CASES:
    setattr(Faults, f"test_{fault.replace('-', '_')}_is_{'healed' if recover else 'found'}", fault_test(fault, recover))


if __name__ == "__main__":
    support.main()
