# SPDX-License-Identifier: MIT
"""man.py <folder of scripts/docs> <repository>: each public function has a man page with all its sections, each page fits into 80
columns, and each page that leads to another leads somewhere."""
import glob
import os
import re
import subprocess
import sys

FOLDER, ROOT = sys.argv[1:]
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "THREADS", "EXAMPLE", "SEE ALSO"]
wrong = []


def functions():
    """What the library's headers export, found without the generator."""
    for path in glob.glob(os.path.join(ROOT, "include", "vigil", "*.h")):
        with open(path, encoding="utf-8") as file:
            for name in re.findall(r"(?m)^VIGIL_API [^(;]*?\b(vigil_\w+)\(", file.read()):
                yield name


def shown(page):
    text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=80", page], check=True, capture_output=True, text=True).stdout
    return re.sub(".\b", "", text)


pages = 0
for page in sorted(glob.glob(os.path.join(FOLDER, "man", "man?", "*"))):
    with open(page, encoding="utf-8") as file:
        source = file.read()
    leads = re.match(r"\.so (.*)\n", source)
    if leads:
        if not os.path.exists(os.path.join(FOLDER, "man", leads.group(1))):
            wrong.append(f"{page}: leads to {leads.group(1)}, which does not exist")
        continue
    pages += 1
    text = shown(page)
    wide = [line for line in text.split("\n") if len(line) > 80]
    if wide:
        wrong.append(f"{page}: wider than 80 columns: {wide[0].strip()}")
    if os.path.basename(page).startswith("vigil_"):
        found = re.findall(r"(?m)^[A-Z][A-Z ]+$", text)
        if found != SECTIONS:
            wrong.append(f"{page}: has the sections {found}")
        if not re.search(r"(?m)^ +\w+ [-–] \S", text):
            wrong.append(f"{page}: says nothing under NAME")

count = 0
for name in functions():
    count += 1
    page = os.path.join(FOLDER, "man", "man3", name + ".3")
    if not os.path.exists(page) or open(page, encoding="utf-8").read().startswith(".so"):
        wrong.append(f"{name} has no page of its own")
assert count > 150, f"only {count} functions found"
print("\n".join(wrong))
print(f"{pages} man pages for {count} exported functions: {len(wrong)} mistakes")
sys.exit(1 if wrong else 0)
