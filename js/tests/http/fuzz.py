#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fuzz.py PROGRAM FUZZ_HTTP [COUNT]: damaged requests to a server. It must go on, answer, and keep its memory."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Server, ask

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
MOST_GROWTH = 48 << 20  # the engine's heap has its own ideas; what a connection leaked would be far more


def main():
    program, fuzz, count = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    with Server(program, os.path.join(HERE, "hostile.js")) as server:
        subprocess.run([fuzz, str(max(1000, count // 10)), "3", str(server.port)], check=True, stdout=subprocess.DEVNULL)
        before = server.memory()
        status = subprocess.run([fuzz, str(count), "5", str(server.port)], check=False, stdout=subprocess.DEVNULL).returncode
        grown = server.memory() - before
        answer = ask(server.port, GOOD) if status == 0 else b""
        files = len(os.listdir(f"/proc/{server.process.pid}/fd")) if status == 0 else 0
        ended = server.stop()
        print(f"{count} requests, {grown >> 10} KB more, {files} descriptors, exit status {ended}")
        if status != 0 or not answer.startswith(b"HTTP/1.1 200 ") or ended != 0 or grown > MOST_GROWTH or files > 64:
            print(f"failed: {answer!r} {server.errors()}")
            return 1
    return 0


sys.exit(main())
