# SPDX-License-Identifier: MIT
"""contract.py <repository>: docs/contract.md and the tests agree. Every promise names tests that exist and cite it; no test cites a
promise that does not exist. A test cites P7 by a name like p07_sleep_wake.c, or in the comment at its head."""
import glob
import os
import re
import sys

ROOT = sys.argv[1]
wrong = []
with open(os.path.join(ROOT, "docs", "contract.md"), encoding="utf-8") as page:
    rows = re.findall(r"(?m)^\| ([PLW]\d+) \| (.*?) \| ([^|]*) \|$", page.read())
promises = {number: re.findall(r"`([^`]+)`", shown) for number, _, shown in rows}
if len(promises) != len(rows):
    wrong.append("docs/contract.md: a number stands there twice")
for letter in "PLW":
    numbers = [int(number[1:]) for number in promises if number[0] == letter]
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append(f"docs/contract.md: the numbers of {letter} are not 1, 2, 3, …: {numbers}")

cited = {}
for path in sorted(glob.glob(os.path.join(ROOT, "tests", "**", "*.*"), recursive=True)):
    if not path.endswith((".c", ".cpp", ".py")) or path.startswith(os.path.join(ROOT, "tests", "docs")):
        continue
    with open(path, encoding="utf-8") as file:
        head = re.split(r"(?m)^(?:#include|import|from) ", file.read())[0]
    name = os.path.relpath(path, ROOT)
    by_name = re.match(r"([pl])(\d\d)_", os.path.basename(path))
    numbers = set(re.findall(r"\b([PLW]\d{1,2})\b", head))
    if by_name:
        numbers.add(by_name.group(1).upper() + str(int(by_name.group(2))))
    for number in numbers:
        cited.setdefault(number, []).append(name)

for number, names in cited.items():
    if number not in promises:
        wrong.append(f"{', '.join(names)}: cites {number}, which docs/contract.md does not have")
for number, tests in promises.items():
    if not cited.get(number):
        wrong.append(f"docs/contract.md: no test cites {number}")
    for test in tests:
        if not os.path.exists(os.path.join(ROOT, test)):
            wrong.append(f"docs/contract.md: {number} is shown by {test}, which does not exist")
        elif test not in cited.get(number, []):
            wrong.append(f"docs/contract.md: {number} is shown by {test}, which does not cite it")
print("\n".join(wrong))
print(f"{len(promises)} promises, {sum(len(names) for names in cited.values())} citations: {len(wrong)} mistakes")
sys.exit(1 if wrong else 0)
