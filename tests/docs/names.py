# SPDX-License-Identifier: MIT
"""names.py <repository>: what the pages name exists. Files in docs/architecture.md and docs/glossary.md are there, and each public name in
the README and in docs/ is in a header. Tables of old names are left out."""
import glob
import os
import re
import sys

ROOT = sys.argv[1]
wrong = []
FOLDERS = "include|src|jobs|http|tls|dns|js|cli|check|tests|docs|scripts|examples|bench|web|gdb|cmake|abi"


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


known = set()
for path in glob.glob(os.path.join(ROOT, "include", "vigil", "**", "*.h*"), recursive=True):
    known |= set(re.findall(r"\b(?:vigil|VIGIL)_\w+", text_of(path)))
for path in glob.glob(os.path.join(ROOT, "src", "**", "*.[ch]"), recursive=True):
    known |= set(re.findall(r'"(VIGIL_[A-Z_]+)"', text_of(path)))   # variables of the environment
known |= {"vigil_pools", "VIGIL_TEST_SCALE", "VIGIL_SCREENSHOTS", "VIGIL_REPL_HISTORY"}

files = names = 0
for page in ("docs/architecture.md", "docs/glossary.md"):
    for name in re.findall(rf"`((?:{FOLDERS})/[\w./-]+?)/?`", text_of(page)):
        files += 1
        if not os.path.exists(os.path.join(ROOT, name)):
            wrong.append(f"{page}: names {name}, which does not exist")

for page in ["README.md", *sorted(glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))]:
    text = re.split(r"(?m)^## Old names", text_of(page))[0]
    if page == "docs/porting.md":
        continue
    for name in sorted(set(re.findall(r"\b(?:vigil|VIGIL)_\w+", text))):
        names += 1
        if name not in known and not name.endswith("_") and not any(one.startswith(name + "_") for one in known if name.count("_") < 2):
            wrong.append(f"{page}: {name} is in no public header")
print("\n".join(wrong))
print(f"{files} files and {names} names: {len(wrong)} mistakes")
sys.exit(1 if wrong else 0)
