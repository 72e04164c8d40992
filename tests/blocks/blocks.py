#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""blocks.py <file.md> -- <what to link...>: every C and C++ block of a page compiles, and the programs among them run.

What follows ```c or ```cpp says what the block is:

    (nothing)   a program: it is compiled, run, and must end with status 0. It must have a main.
    part        pieces of a file: declarations and functions. They are compiled.
    body        statements. They are put into a function, behind the usual declarations, and compiled.
    needs=NAME  besides: the pkg-config module NAME; where it is missing the block is left out, with a line.

Anything else is an error, so that no block is left out by a slip of the pen. A block ```output right behind a program is what it
prints, word for word; a line `...` in it stands for any number of lines.

CC, CXX and FLAGS come from the environment. Blocks of other languages are not looked at.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

USUAL = """
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
"""
C_USUAL = USUAL + "#include <vigil/vigil.h>\n"
CXX_USUAL = USUAL + "#include <string>\n#include <vector>\n#include <vigil/vigil.hpp>\nusing namespace std::chrono_literals;\n"

# What a fragment may take for granted.
C_BODY = C_USUAL + """
int documented(vigil_pool *pool, vigil_loop *loop, void *arg);
int documented(vigil_pool *pool, vigil_loop *loop, void *arg)
{
    (void)pool;
    (void)loop;
    (void)arg;
"""
CXX_BODY = CXX_USUAL + """
vigil::task<> documented(vigil::pool &pool, vigil::loop &loop);
vigil::task<> documented(vigil::pool &pool, vigil::loop &loop)
{
    (void)pool;
    (void)loop;
"""


class Block:
    def __init__(self, line, words):
        self.line = line
        self.language = words[0]
        self.words = words[1:]
        self.text = ""
        self.output = None


def blocks_of(path):
    found = []
    inside = None
    with open(path, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            if inside is None:
                fence = re.match(r"^```([^\n]*)$", line)
                if fence:
                    inside = Block(number + 1, (fence.group(1).strip() or "text").split())
            elif line.rstrip() == "```":
                if inside.language == "output":
                    if not found or found[-1].language not in ("c", "cpp"):
                        sys.exit(f"{path}:{inside.line}: an output block must stand behind a program")
                    found[-1].output = inside.text
                else:
                    found.append(inside)
                inside = None
            else:
                inside.text += line
    if inside is not None:
        sys.exit(f"{path}:{inside.line}: a block does not end")
    return [block for block in found if block.language in ("c", "cpp")]


def source_of(path, block, kind):
    here = f'#line {block.line} "{path}"\n'
    cxx = block.language == "cpp"
    if kind == "program":
        return here + block.text
    if kind == "part":
        return (CXX_USUAL if cxx else C_USUAL) + here + block.text
    end = "\n    co_return;\n}\n" if cxx else "\n    return 0;\n}\n"
    return (CXX_BODY if cxx else C_BODY) + here + block.text + end


def matches(printed, expected):
    pattern = "".join(r"(?:.*\n)*" if line.strip() == "..." else re.escape(line) for line in expected.splitlines(True))
    return re.fullmatch(pattern, printed) is not None


def try_block(path, block, link, room):
    where = f"{path}:{block.line}"
    kind = "program"
    packages = []
    for word in block.words:
        if word in ("part", "body"):
            kind = word
        elif word.startswith("needs="):
            packages.append(word[len("needs="):])
        else:
            sys.exit(f"{where}: ```{block.language} {word}: there is part, body and needs=NAME")
    if kind == "program" and not re.search(r"\bmain\s*\(", block.text):
        sys.exit(f"{where}: a block without main is no program; say ```{block.language} part or body")
    for package in packages:
        if subprocess.run(["pkg-config", "--exists", package], check=False).returncode != 0:
            print(f"left out: {where}, because {package} is missing")
            return
    extra = []
    if packages:
        extra = subprocess.run(["pkg-config", "--cflags", "--libs", *packages], check=True, capture_output=True,
                               text=True).stdout.split()
    cxx = block.language == "cpp"
    source = os.path.join(room, "block.cpp" if cxx else "block.c")
    program = os.path.join(room, "block")
    with open(source, "w", encoding="utf-8") as file:
        file.write(source_of(path, block, kind))
    compiler = shlex.split(os.environ.get("CXX" if cxx else "CC", "c++" if cxx else "cc"))
    command = compiler + ["-std=c++20" if cxx else "-std=gnu17", "-g", "-Wall", "-Wextra", "-Werror",
                          "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-function",
                          "-Wno-unused-but-set-variable"]
    if cxx:
        # gcc takes what is behind #line for another file, and warns of lambdas in coroutines there.
        command += ["-Wno-unknown-warning-option", "-Wno-subobject-linkage"]
    command += shlex.split(os.environ.get("FLAGS", "")) + [source]
    command += ["-o", program] if kind == "program" else ["-c", "-o", program + ".o"]
    command += [word for word in link if kind == "program" or word.startswith("-I")] + extra
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{where}: does not compile\n{made.stderr}")
    if kind != "program":
        print(f"ok: {where} compiles")
        return
    if packages and "thread" in os.environ.get("FLAGS", ""):
        print(f"ok: {where} compiles (not run: the thread sanitizer does not see into {' '.join(packages)})")
        return
    launcher = shlex.split(os.environ.get("LAUNCHER", ""))
    ran = subprocess.run(launcher + [program], check=False, capture_output=True, text=True, timeout=60, cwd=room,
                         stdin=subprocess.DEVNULL)
    if ran.returncode != 0:
        sys.exit(f"{where}: ended with status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    if block.output is not None and not matches(ran.stdout, block.output):
        sys.exit(f"{where}: printed\n{ran.stdout}instead of\n{block.output}")
    print(f"ok: {where} runs" + ("" if block.output is None else " and prints what the page says"))


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    for path in sys.argv[1:cut]:
        found = blocks_of(path)
        for block in found:
            with tempfile.TemporaryDirectory() as room:
                try_block(path, block, sys.argv[cut + 1:], room)
        print(f"{path}: {len(found)} blocks")


main()
