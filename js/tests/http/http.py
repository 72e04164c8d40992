#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""http.py PROGRAM [write NODE]: asks app.js, run by PROGRAM, everything in cases.py and compares the answers with cases.out,
which Node 20 has written ("write" makes it anew)."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import SAME, STRICT
from client import Server, ask

HERE = os.path.dirname(os.path.abspath(__file__))


def transcript(program):
    text = []
    with Server(program, os.path.join(HERE, "app.js")) as server:
        for name, sent in SAME.items():
            try:
                answer = re.sub(rb"Date: [^\r]*", b"Date: then", ask(server.port, sent))
            except OSError as error:
                raise SystemExit(f"{name}: {error}; {server.errors()}") from error
            shown = answer.decode("latin1").replace("\r\n", "~\n")
            shown = re.sub(r"[^\n\x20-\x7e]", lambda found: f"\\x{ord(found[0]):02x}", shown)
            text.append(f"== {name}\n{shown}\n")
    return text


def main():
    if len(sys.argv) > 2 and sys.argv[2] == "write":
        with open(os.path.join(HERE, "cases.out"), "w", encoding="utf-8") as out:
            out.write("".join(transcript(sys.argv[3])))
        return 0
    program = sys.argv[1]
    with open(os.path.join(HERE, "cases.out"), encoding="utf-8", newline="\n") as file:
        expected = {part.split("\n", 1)[0]: part for part in re.split(r"(?m)^(?=== )", file.read()) if part}
    failed = 0
    for part in transcript(program):
        name = part.split("\n", 1)[0]
        if expected.get(name) != part:
            failed += 1
            print(f"not as Node: {name[3:]}\n--- Node\n{expected.get(name)}\n--- here\n{part}")
    with Server(program, os.path.join(HERE, "app.js")) as server:
        for name, sent in STRICT.items():
            answer = ask(server.port, sent)
            if not answer.startswith(b"HTTP/1.1 400 ") or answer.count(b"HTTP/1.1") != 1:
                failed += 1
                print(f"not refused: {name}: {answer!r}")
        if server.stop() != 0:
            failed += 1
            print(f"the server ended with {server.status}: {server.errors()}")
    print(f"{len(SAME)} as Node, {len(STRICT)} refused, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
