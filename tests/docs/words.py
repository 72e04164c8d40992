# SPDX-License-Identifier: MIT
"""words.py <repository>: the pages are written in the words of the style sheet in CONTRIBUTING.md. Looks for those that a machine can
find; code and tables of that sheet are left out."""
import glob
import os
import re
import sys

ROOT = sys.argv[1]
WORDS = r"\b(till|meanwhile|shall|for ever|has it not|in vain)\b"
wrong = []
for path in ["README.md", "CONTRIBUTING.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT)), *sorted(glob.glob("src/*/*.md", root_dir=ROOT))]:
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    if path == "CONTRIBUTING.md":
        text = re.sub(r"(?m)^\| .*\|$", "", text)
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            code = not code
        for word in re.findall(WORDS, line, flags=re.I) if not code else []:
            wrong.append(f"{path}:{number}: '{word}': CONTRIBUTING.md, Language, has a better word")
print("\n".join(wrong))
print(f"{len(wrong)} words")
sys.exit(1 if wrong else 0)
