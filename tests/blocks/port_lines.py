#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""port_lines.py <porting.md>: the program that the page ports from libuv changes in fewer than 20 lines, as diff counts."""
import difflib
import re
import sys

with open(sys.argv[1], encoding="utf-8") as page:
    before, after = re.findall(r"^```c[^\n]*\n(.*?)^```$", page.read(), flags=re.M | re.S)[:2]
if "uv_queue_work" not in before or "vigil_async" not in after:
    sys.exit("the first two blocks of the page are not the program before and after")
lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line.startswith("+ ")]
print(f"{len(lines)} lines are new or changed")
sys.exit(0 if len(lines) < 20 else 1)
