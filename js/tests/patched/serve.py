#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py PROGRAM: parts/server.js breaks builtin methods one after the other; each request must still be answered."""
import http.client
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "http"))
from client import Server


def main():
    failed = 0
    with Server(sys.argv[1], os.path.join(HERE, "parts", "server.js")) as server:
        count = server.count
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        for number in range(count):
            try:
                connection.request("POST", f"/{number}", body=b"body", headers={"X-A": "b"})
                answer = connection.getresponse()
                got = (answer.status, answer.getheader("X-List"), answer.read())
            except (OSError, http.client.HTTPException) as error:
                got = repr(error)
                connection.close()
            if got != (200, "b, c", b"one body"):
                failed += 1
                print(f"case {number}: {got} {server.errors()}")
                if server.process.poll() is not None:
                    break
        if server.stop() != 0:
            failed += 1
            print(f"ended with {server.status}: {server.errors()}")
    print(f"{count} requests, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
