#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile.py PROGRAM [NODE]: raw requests by which others are smuggled past a proxy, or servers brought down.

Each is followed by a canary, a good request. hostile.tsv says what this host makes of them and what two versions of Node make of them:
the statuses of the answers, in order, and what was understood. Fails where the host answers differently from the table, and
(with NODE) where it accepts what NODE refuses. `hostile.py PROGRAM write NODE NODE` writes the table anew."""
import os
import re
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Server, connect, rest

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "hostile.tsv")
CANARY = b"GET /canary HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def get(*lines, target=b"/", first=None):
    return b"\r\n".join([first or b"GET " + target + b" HTTP/1.1", b"Host: x", *lines]) + b"\r\n\r\n"


def post(body, *lines):
    return b"\r\n".join([b"POST /p HTTP/1.1", b"Host: x", *lines]) + b"\r\n\r\n" + body


def chunked(body, *lines):
    return post(body, b"Transfer-Encoding: chunked", *lines)


LAST = b"0\r\n\r\n"
CASES = {
    # ---- these are good
    "good get": get(),
    "good post": post(b"abc", b"Content-Length: 3"),
    "good chunked": chunked(b"3\r\nabc\r\n" + LAST),
    "good chunk extension": chunked(b"3;a=b\r\nabc\r\n" + LAST),
    "good chunk extension quoted": chunked(b'3;a="b c"\r\nabc\r\n' + LAST),
    "good trailer": chunked(b"3\r\nabc\r\n0\r\nX: y\r\n\r\n"),
    "good leading zeros": chunked(b"0003\r\nabc\r\n" + LAST),
    "good empty lines first": b"\r\n\r\n" + get(),
    "good empty value": get(b"X:"),
    "good tab around value": get(b"X:\ta\t"),
    "good percent target": get(target=b"/%ff%00"),
    "good list of codings": post(b"3\r\nabc\r\n" + LAST, b"Transfer-Encoding: gzip, chunked"),
    "good latin1 value": get(b"X: gr\xfcn"),
    # ---- line ends
    "LF after request line": b"GET / HTTP/1.1\nHost: x\r\n\r\n",
    "LF after header": b"GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n",
    "LF everywhere": b"GET / HTTP/1.1\nHost: x\n\n",
    "LF ends the head": b"GET / HTTP/1.1\r\nHost: x\r\n\n",
    "LF LF ends the head": b"GET / HTTP/1.1\r\nHost: x\n\n",
    "CR after request line": b"GET / HTTP/1.1\rHost: x\r\n\r\n",
    "CR after header": b"GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n",
    "CR CR LF after header": b"GET / HTTP/1.1\r\nHost: x\r\r\nX: y\r\n\r\n",
    "CR ends the head": b"GET / HTTP/1.1\r\nHost: x\r\n\rX",
    "CR in value": get(b"X: a\rb"),
    "CR hides a length": post(b"abc", b"X: a\rContent-Length: 3"),
    "LF hides a length": post(b"abc", b"X: a\nContent-Length: 3"),
    "LF hides a coding": post(LAST, b"X: a\nTransfer-Encoding: chunked"),
    "CR first": b"\r" + get(),
    "LF first": b"\n" + get(),
    # ---- folding
    "folded value": get(b"X: a", b" b"),
    "folded by tab": get(b"X: a", b"\tb"),
    "folded coding": post(LAST, b"Transfer-Encoding:", b" chunked"),
    "folded coding by tab": post(LAST, b"Transfer-Encoding:", b"\tchunked"),
    "folded chunked": post(LAST, b"Transfer-Encoding: x,", b" chunked"),
    "folded length": post(b"abc", b"Content-Length:", b" 3"),
    "folded digits": post(b"abc", b"Content-Length: 0", b" 3"),
    "folded first header": b"GET / HTTP/1.1\r\n Host: x\r\n\r\n",
    "blank before length": post(b"abc", b" Content-Length: 3"),
    "blank line of blanks": get(b"X: a", b"  ", b"Y: b"),
    "folded trailer": chunked(b"0\r\nX: a\r\n b\r\n\r\n"),
    # ---- names and values
    "blank in name": get(b"X Y: a"),
    "blank before colon": get(b"X : a"),
    "tab before colon": get(b"X\t: a"),
    "blank before colon of length": post(b"abc", b"Content-Length : 3"),
    "blank before colon of coding": post(LAST, b"Transfer-Encoding : chunked"),
    "no name": get(b": a"),
    "no colon": get(b"X"),
    "zero in name": get(b"X\x00: a"),
    "byte in name": get(b"X\xff: a"),
    "zero in value": get(b"X: a\x00b"),
    "control in value": get(b"X: a\x08b"),
    "delete in value": get(b"X: a\x7fb"),
    "parenthesis in name": get(b"(X): a"),
    # ---- lengths
    "two lengths": post(b"abc", b"Content-Length: 3", b"Content-Length: 3"),
    "two other lengths": post(b"abc", b"Content-Length: 3", b"Content-Length: 0"),
    "length list": post(b"abc", b"Content-Length: 3, 3"),
    "signed length": post(b"abc", b"Content-Length: +3"),
    "negative length": post(b"abc", b"Content-Length: -3"),
    "hex length": post(b"abc", b"Content-Length: 0x3"),
    "length with a blank": post(b"abc", b"Content-Length: 3 0"),
    "length with a letter": post(b"abc", b"Content-Length: 3a"),
    "empty length": post(b"", b"Content-Length:"),
    "length of 2^64": post(b"", b"Content-Length: 18446744073709551616"),
    "length and coding": post(LAST, b"Content-Length: 3", b"Transfer-Encoding: chunked"),
    "coding and length": post(LAST, b"Transfer-Encoding: chunked", b"Content-Length: 3"),
    "zero length and coding": post(LAST, b"Content-Length: 0", b"Transfer-Encoding: chunked"),
    # ---- codings
    "chunked not last": post(LAST, b"Transfer-Encoding: chunked, gzip"),
    "chunked twice": post(LAST, b"Transfer-Encoding: chunked, chunked"),
    "two codings": post(LAST, b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
    "identity": post(LAST, b"Transfer-Encoding: identity"),
    "xchunked": post(LAST, b"Transfer-Encoding: xchunked"),
    "chunked with a tail": post(LAST, b"Transfer-Encoding: chunkedx"),
    "chunked quoted": post(LAST, b'Transfer-Encoding: "chunked"'),
    "chunked semicolon": post(LAST, b"Transfer-Encoding: chunked;q=1"),
    "chunked vertical tab": post(LAST, b"Transfer-Encoding: \x0bchunked"),
    "chunked comma": post(LAST, b"Transfer-Encoding: chunked,"),
    "empty coding": post(LAST, b"Transfer-Encoding:"),
    "coding in 1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + LAST,
    # ---- chunks
    "no size": chunked(b"\r\nabc\r\n" + LAST),
    "size is a letter": chunked(b"g\r\nabc\r\n" + LAST),
    "size signed": chunked(b"+3\r\nabc\r\n" + LAST),
    "size negative": chunked(b"-3\r\nabc\r\n" + LAST),
    "size 0x": chunked(b"0x3\r\nabc\r\n" + LAST),
    "size underscore": chunked(b"0_3\r\nabc\r\n" + LAST),
    "blank before size": chunked(b" 3\r\nabc\r\n" + LAST),
    "blank after size": chunked(b"3 \r\nabc\r\n" + LAST),
    "blanks before extension": chunked(b"3 ;a=b\r\nabc\r\n" + LAST),
    "tab after size": chunked(b"3\t\r\nabc\r\n" + LAST),
    "CR after size": chunked(b"3\rXabc\r\n" + LAST),
    "CR and a byte after size": chunked(b"3\rX\nabc\r\n" + LAST),
    "LF after size": chunked(b"3\nabc\r\n" + LAST),
    "LF after last size": chunked(b"3\r\nabc\r\n0\n\r\n"),
    "size of 2^64": chunked(b"10000000000000000\r\nabc\r\n" + LAST),
    "byte after data": chunked(b"3\r\nabcX\r\n" + LAST),
    "bytes for CRLF after data": chunked(b"3\r\nabcXX" + LAST),
    "CR and a byte after data": chunked(b"3\r\nabc\rX" + LAST),
    "LF after data": chunked(b"3\r\nabc\n" + LAST),
    "nothing after data": chunked(b"3\r\nabc" + LAST),
    "CR in extension": chunked(b"3;a\rb\r\nabc\r\n" + LAST),
    "LF in extension": chunked(b"3;a\nb\r\nabc\r\n" + LAST),
    "zero in extension": chunked(b"3;a\x00b\r\nabc\r\n" + LAST),
    "large extension": chunked(b"3;a=" + b"b" * 20000 + b"\r\nabc\r\n" + LAST),
    "byte after last chunk": chunked(b"0\r\nX\r\n\r\n"),
    "CR after last chunk": chunked(b"0\r\n\rX"),
    "LF after last chunk": chunked(b"0\r\n\n"),
    "length in trailer": chunked(b"0\r\nContent-Length: 5\r\n\r\n"),
    "coding in trailer": chunked(b"0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "large trailer": chunked(b"0\r\nX: " + b"a" * 20000 + b"\r\n\r\n"),
    # ---- request lines
    "byte in target": get(target=b"/\xff"),
    "bytes of UTF-8 in target": get(target=b"/\xc3\xa4"),
    "zero in target": get(target=b"/a\x00b"),
    "delete in target": get(target=b"/\x7f"),
    "tab in target": get(target=b"/a\tb"),
    "blank in target": get(target=b"/a b"),
    "two blanks": b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\nHost: x\r\n\r\n",
    "blank after version": b"GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
    "version 1.2": b"GET / HTTP/1.2\r\nHost: x\r\n\r\n",
    "version 2.0": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    "version 11.1": b"GET / HTTP/11.1\r\nHost: x\r\n\r\n",
    "version 1": b"GET / HTTP/1\r\nHost: x\r\n\r\n",
    "version small": b"GET / http/1.1\r\nHost: x\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "RTSP": b"OPTIONS * RTSP/1.0\r\nHost: x\r\n\r\n",
    "ICE": b"SOURCE / ICE/1.0\r\nHost: x\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "small method": b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
    "unknown method": b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
    "blank before method": b" GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    # ---- hosts and sizes
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": get(b"Host: y"),
    "large value": get(b"X: " + b"a" * 20000),
    "large name": get(b"X" * 20000 + b": a"),
    "large target": get(target=b"/" + b"a" * 20000),
    "many headers": get(*[b"X-%d: %s" % (i, b"a" * 100) for i in range(300)]),
    "many short headers": get(*[b"X: a" for _ in range(5000)]),
}


def understood(answer):
    """The statuses, and behind a 200 what the server said."""
    text, words = answer.decode("latin1"), []
    for part in re.split(r"(?=HTTP/1\.1 \d\d\d )", text):
        if found := re.match(r"HTTP/1\.1 (\d\d\d) ", part):
            body = part.partition("\r\n\r\n")[2] if found[1] == "200" else ""
            if "chunked" in part.partition("\r\n\r\n")[0]:
                body = body.partition("\r\n")[2].rpartition("\r\n0\r\n")[0]
            words.append(f"{found[1]} {body}".strip() if len(body) < 60 else f"{found[1]} {len(body)} bytes")
    shown = " | ".join(words) or "closed"
    return re.sub(r"[^\x20-\x7e]", lambda found: f"\\x{ord(found[0]):02x}", shown)


def answers(program):
    found = {}
    with Server(program, os.path.join(HERE, "hostile.js")) as server:
        for name, sent in CASES.items():
            with connect(server.port) as sock:
                try:
                    sock.sendall(sent + CANARY)
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                found[name] = understood(rest(sock))
        if server.process.poll() is not None:
            raise SystemExit(f"{program} has ended: {server.errors()}")
    return found


def accepts(words):
    return words.endswith("200 GET /canary")


def main():
    program = sys.argv[1]
    here = answers(program)
    if len(sys.argv) == 5 and sys.argv[2] == "write":
        nodes = [answers(node) for node in sys.argv[3:]]
        versions = [subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip() for node in sys.argv[3:]]
        with open(TABLE, "w", encoding="ascii") as file:
            print("request", "here", *[f"Node {version}" for version in versions], sep="\t", file=file)
            for name in CASES:
                print(name, here[name], *[node[name] for node in nodes], sep="\t", file=file)
        return 0
    with open(TABLE, encoding="ascii") as file:
        table = {row[0]: row[1:] for row in (line.rstrip("\n").split("\t") for line in file)}
    failed = 0
    node = answers(sys.argv[2]) if len(sys.argv) == 3 else {}
    for name, words in here.items():
        if name not in table or table[name][0] != words:
            failed += 1
            print(f"{name}: {words}, and the table says {table.get(name)}")
        for other in [*table.get(name, [])[1:], *([node[name]] if node else [])]:
            if accepts(words) and not accepts(other):
                failed += 1
                print(f"{name}: accepted here ({words}), refused by Node ({other})")
    print(f"{len(CASES)} requests, {sum(accepts(words) for words in here.values())} accepted, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
