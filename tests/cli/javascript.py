# SPDX-License-Identifier: MIT
"""A JavaScript process seen from outside: callbacks by the names of their functions, pool work by the names of the calls."""
import os
import re
import subprocess
import tempfile

import support
from support import VIGIL, CommandTest, until, vigil
from trace import check

PROGRAM = """
const fs = require('fs');
const pool = require('vigil:pool');
function spin(ms) { const end = performance.now() + ms; while (performance.now() < end); }
const interval = setInterval(function everyNow() { spin(2); }, 3);
setImmediate(function soonAfter() { spin(2); });
setTimeout(() => spin(2), 1);
fs.readFile(__filename, function afterRead() {
  spin(2);
  (async () => {
    await fs.promises.stat('/', { priority: 'high' });
    await pool.hash('x', 'sha256', { priority: 'low' });
    setTimeout(function stepAside() { console.log('ready'); setTimeout(endless, 1); }, 50);
  })();
});
function endless() { for (;;) inner(); }
function inner() { spin(10); }
"""


class Process(CommandTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        file = os.path.join(self.folder.name, "app.js")
        with open(file, "w", encoding="utf-8") as program:
            program.write(PROGRAM)
        self.process = subprocess.Popen([VIGIL, "run", "--stall", "0", file], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.process.stdout.readline(), "ready\n")

    def tearDown(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
        super().tearDown()

    def test_trace_and_top_and_report_call_functions_by_their_names(self):
        # A callback that does not return is shown by where it was found, some tens of milliseconds after its beginning.
        stuck = until("the endless callback is shown", lambda: re.search(
            r"(?m)^loop js: .*in timers: (endless|inner|spin) app\.js:\d+ for",
            vigil("top", "--plain", "--looks", "1", self.process.pid).stdout))
        self.assertTrue(stuck)
        self.assertRegex(vigil("report", self.process.pid).stdout, r"(?m)^Loop js .*in timers: (endless|inner|spin) app\.js:\d+")
        trace = os.path.join(self.folder.name, "trace.json")
        self.assertEqual(vigil("trace", self.process.pid, "-o", trace).returncode, 0)
        with open(trace, encoding="utf-8") as text:
            slices, _ = check(text.read())
        names = {slice["name"] for slice in slices}
        for name in ("everyNow app.js:5", "soonAfter app.js:6", "(anonymous) app.js:7", "afterRead app.js:8", "stepAside app.js:13",
                     "fs.readFile", "fs.stat", "pool.hash"):
            self.assertIn(name, names)
        long = [slice for slice in slices if slice["name"] == "everyNow app.js:5"]
        self.assertTrue(all(slice["dur"] >= 2000 for slice in long), long)
        # The work of each class is counted by itself.
        report = support.strict_json(vigil("report", self.process.pid, "--json").stdout)
        classes = {c["class"] if "class" in c else c["name"]: c["completed"] for c in report["pools"][0]["classes"]}
        self.assertEqual([count for count in classes.values()], [0, 1, 1, 1, 0])


if __name__ == "__main__":
    support.main()
