#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""behave.py PROGRAM: clients that are slow, greedy, impolite or gone, and what becomes of the server."""
import json
import os
import resource
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import chunked, post, req
from client import Answer, Server, ask, connect, rest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = sys.argv[1]
MB = 1 << 20
# What a connection may cost beyond the kernel's buffers. Without back-pressure these tests would take gigabytes.
BOUND = 64 * MB


def start(options=None, **settings):
    if options:
        settings["options"] = options
    more = {}
    if "descriptors" in settings:
        limit = settings.pop("descriptors")
        more["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    return Server(PROGRAM, os.path.join(HERE, "behave.js"), json.dumps(settings), **more)


def body(answer):
    return answer.split(b"\r\n\r\n", 1)[1]


def get(server, path):
    return body(ask(server.port, req(path)))


def stats(server):
    return json.loads(get(server, "/stats"))


def until_calm(server, key):
    """Asks until the number stands still: nothing is under way any more."""
    before = -1
    same = 0
    while same < 5:
        now = stats(server)[key]
        same = same + 1 if now == before else 0
        before = now
    return before


def until_event(server, event):
    while event not in stats(server)["events"]:
        pass


def reset(sock):
    """Ends it with a reset in place of an end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


# ---- many ---------------------------------------------------------------------------------------------------------

def many_requests():
    """Thousands, on connections that are kept, one by one and in batches; every answer is the one to its question."""
    def client(number, wrong):
        with connect(server.port) as sock:
            stream = sock.makefile("rb")
            for batch in (1, 1, 7, 50, 200):
                paths = [f"/{number}/{batch}/{i}" for i in range(batch)]
                sock.sendall(b"".join(req(path, close=False) for path in paths))
                for path in paths:
                    answer = Answer(stream)
                    if answer.body.decode() != f"you asked for {path}" or answer.headers["connection"] != "keep-alive":
                        wrong.append((path, answer.body))
    with start() as server:
        wrong = []
        threads = [threading.Thread(target=client, args=(i, wrong)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:3]
        for i in range(200):
            assert get(server, f"/short/{i}") == f"you asked for /short/{i}".encode()


def split_anywhere():
    """A request that comes byte by byte, and one cut at each place."""
    whole = chunked("/sum", b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX: y\r\n\r\n")
    with start() as server:
        with connect(server.port) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in whole:
                sock.sendall(bytes([byte]))
            assert body(rest(sock)).startswith(b"11"), "byte by byte"
        for cut in range(1, len(whole), 3):
            with connect(server.port) as sock:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.sendall(whole[:cut])
                # An answer on another connection: the server has had its turn.
                assert get(server, "/plain") == b"plain"
                sock.sendall(whole[cut:])
                assert body(rest(sock)) == b"11", cut


def long_bodies():
    """Large bodies both ways, with and without a length."""
    data = os.urandom(3 * MB)
    parts = b"".join(b"%x\r\n" % len(data[i:i + 10000]) + data[i:i + 10000] + b"\r\n" for i in range(0, len(data), 10000))
    with start() as server:
        assert body(ask(server.port, post("/sum", data))) == str(len(data)).encode()
        assert body(ask(server.port, chunked("/sum", parts + b"0\r\n\r\n"))) == str(len(data)).encode()


# ---- slow ---------------------------------------------------------------------------------------------------------

def reader_that_never_reads():
    for settings in ({}, {"serve": True}):
        with start(**settings) as server:
            before = server.memory()
            socks = [connect(server.port, receive=4096) for _ in range(4)]
            for sock in socks:
                sock.sendall(req("/endless", close=False))
            written = until_calm(server, "written")
            assert written < 64 * MB, f"{written} bytes were made for clients that read nothing"
            grown = server.memory() - before
            assert grown < BOUND, f"{grown} bytes more for clients that read nothing"
            # They are read again: it goes on where it stopped.
            while socks[0].recv(65536):
                if stats(server)["written"] > written + MB:
                    break
            for sock in socks:
                reset(sock)
            until_event(server, "source ended" if settings else "endless closed")
            assert server.stop() == 0, server.errors()


def asker_that_never_reads():
    """Requests without end on one connection, and no answer is read."""
    with start() as server:
        before = server.memory()
        with connect(server.port, receive=4096) as sock:
            sock.setblocking(False)
            sent = 0
            batch = req("/" + "p" * 1000, close=False) * 100
            refused = 0
            while refused < 5 and sent < 512 * MB:
                try:
                    sent += sock.send(batch[sent % len(batch):])
                    refused = 0
                except BlockingIOError:
                    # The server has had a turn, and still takes no more.
                    assert get(server, "/plain") == b"plain"
                    refused += 1
            assert sent < 128 * MB, f"it took {sent} bytes of requests"
            assert server.memory() - before < BOUND, server.memory() - before


def slow_upload():
    """A body that nobody takes stops the client; when somebody does, all of it comes."""
    with start() as server:
        before = server.memory()
        total = 64 * MB
        with connect(server.port) as sock:
            sock.sendall(req("/hold", f"Content-Length: {total}", method="POST"))
            sock.setblocking(False)
            block = b"u" * 65536
            sent = refused = 0
            while refused < 5:
                try:
                    sent += sock.send(block)
                    refused = 0
                except BlockingIOError:
                    assert stats(server)["read"] == 0
                    refused += 1
                assert sent < total, "nothing stopped the upload"
            assert server.memory() - before < BOUND, server.memory() - before
            get(server, "/release")
            sock.setblocking(True)
            sock.settimeout(60)
            while sent < total:
                sent += sock.send(block[:total - sent])
            assert body(rest(sock)) == str(total).encode()


def slow_heads_and_bodies():
    with start({"headersTimeout": 300, "requestTimeout": 600, "keepAliveTimeout": 1000}) as server:
        assert ask(server.port, b"GET / HTTP/1.1\r\nHost: x\r\n").startswith(b"HTTP/1.1 408 "), "half a head"
        assert ask(server.port, b"").startswith(b"HTTP/1.1 408 "), "nothing at all"
        answer = ask(server.port, req("/body", "Content-Length: 10", method="POST", body=b"12345"))
        assert answer.startswith(b"HTTP/1.1 408 "), answer
        # An idle connection ends without a word, after an answer that said so.
        with connect(server.port) as sock:
            sock.sendall(req("/plain", close=False))
            stream = sock.makefile("rb")
            answer = Answer(stream)
            assert answer.headers["keep-alive"] == "timeout=1", answer.headers
            assert stream.read() == b""


# ---- half closed, and gone ----------------------------------------------------------------------------------------

def half_closed():
    with start() as server:
        for sent, count in ((req("/slowly", close=False), 1), (req("/slowly", close=False) * 3, 3), (post("/sum", b"abc", close=False), 1)):
            with connect(server.port) as sock:
                sock.sendall(sent)
                sock.shutdown(socket.SHUT_WR)
                answer = rest(sock)
                assert answer.count(b"HTTP/1.1 200 OK") == count and not answer.endswith(b"<reset>"), answer
        for sent in (b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            with connect(server.port) as sock:
                sock.sendall(sent)
                sock.shutdown(socket.SHUT_WR)
                assert rest(sock).startswith(b"HTTP/1.1 400 "), sent
        with connect(server.port) as sock:
            sock.shutdown(socket.SHUT_WR)
            assert rest(sock) == b""
        # Gone, or silent: nobody can tell. It is not waited for without end.
        with connect(server.port) as sock:
            sock.sendall(req("/forever", close=False))
            sock.shutdown(socket.SHUT_WR)
            assert b"a beginning" in rest(sock)
        until_event(server, "res close false")
        # In the midst of a body.
        with connect(server.port) as sock:
            sock.sendall(req("/body", "Content-Length: 10", method="POST", body=b"123"))
            until_event(server, "body began")
            sock.shutdown(socket.SHUT_WR)
            until_event(server, "body aborted")
        assert server.stop() == 0


def gone_in_the_midst():
    with start() as server:
        for _ in range(20):
            sock = connect(server.port)
            sock.sendall(req("/endless"))
            sock.recv(1000)
            reset(sock)
        sock = connect(server.port)
        sock.sendall(req("/forever"))
        assert sock.recv(1000)
        reset(sock)
        until_event(server, "res close false")
        events = stats(server)["events"]
        assert [word for word in events if "endless" not in word] == ["aborted", "ECONNRESET", "req close", "res close false"], events
        assert server.stop() == 0, server.errors()


def no_descriptors():
    """More clients than descriptors: the rest waits, nobody is lost, and it ends well."""
    with start(descriptors=64) as server:
        socks = [connect(server.port) for _ in range(100)]
        for sock in socks:
            sock.sendall(req("/plain", close=False))
        answered = 0
        for sock in socks:
            answer = Answer(sock.makefile("rb"))
            assert answer.body == b"plain"
            answered += 1
            sock.close() # makes room for the next
        assert answered == 100
        assert get(server, "/plain") == b"plain"
        assert server.stop() == 0, server.errors()


# ---- the program --------------------------------------------------------------------------------------------------

def graceful_end():
    with start() as server:
        with connect(server.port) as busy, connect(server.port) as idle:
            idle.sendall(req("/plain", close=False))
            stream = idle.makefile("rb")
            Answer(stream)
            busy.sendall(req("/sum", "Content-Length: 6", method="POST", body=b"abc", close=False))
            until_event(server, "sum began")
            server.process.send_signal(15)
            assert stream.read() == b"", "an idle connection ends at once"
            busy.sendall(b"def")
            answer = rest(busy)
            assert b"Connection: close\r\n" in answer and body(answer) == b"6", answer
        assert server.line() == "closed"
        assert server.stop(ask=False) == 0


def failing_handler():
    with start() as server:
        ask(server.port, req("/throw"))
        assert server.stop(ask=False) == 1
        assert "Error: the handler failed" in server.errors()
    with start(catches=True) as server:
        with connect(server.port) as sock:
            sock.sendall(req("/throw"))
            assert server.line() == "caught the handler failed"
        assert get(server, "/plain") == b"plain"


def own_words_for_faults():
    with start(clientError=True) as server:
        assert ask(server.port, b"BREW / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 499 HPE_INVALID_METHOD\r\n")
        assert ask(server.port, req("/", "X: " + "a" * 20000)).startswith(b"HTTP/1.1 499 HPE_HEADER_OVERFLOW\r\n")


def promises_without_end():
    """A chain of promises that does not end: requests are still answered."""
    with start() as server:
        with connect(server.port) as sock:
            sock.sendall(req("/storm"))
            assert get(server, "/plain") == b"plain"
            assert get(server, "/calm") == b"told"
            assert body(rest(sock)) == b"calm again"


def fetch_style():
    with start(serve=True) as server:
        assert get(server, "/x?y=1") == b"served GET http://x/x?y=1"
        answer = ask(server.port, post("/sum", b"12345"))
        assert answer.startswith(b"HTTP/1.1 201 Summed\r\n") and body(answer) == b"5", answer
        assert answer.count(b"set-cookie: ") == 2 and b"x-a: 1\r\n" in answer, answer
        answer = ask(server.port, post("/json", b'{"a": [1]}'))
        assert body(answer) == b'{"got":{"a":[1]},"method":"POST"}' and b"content-type: application/json\r\n" in answer, answer
        assert b"content-type: text/plain;charset=UTF-8\r\n" in ask(server.port, req("/later", method="HEAD"))
        for path, text in (("/fail", "no answer"), ("/wrong", "Expected a Response")):
            answer = ask(server.port, req(path))
            assert answer.startswith(b"HTTP/1.1 500 ") and body(answer) == b"Internal Server Error", answer
            assert server.line().startswith(f"unhandled {text}")
        server.process.send_signal(15)
        assert server.line() == "closed"
        assert server.stop(ask=False) == 0, server.errors()


def example():
    script = os.path.join(HERE, "..", "..", "..", "examples", "http_server.mjs")
    with Server(PROGRAM, script, "0") as server:
        assert get(server, "/") == b"hello, world\n"
        with connect(server.port) as sock:
            sock.sendall(req("/count/3"))
            assert Answer(sock.makefile("rb")).body == b"1\n2\n3\n"
        assert body(ask(server.port, post("/sum", b"[1, 2, 39]"))) == b'{"sum":42}'
        assert ask(server.port, post("/sum", b"{}")).startswith(b"HTTP/1.1 400 ")
        assert ask(server.port, req("/else")).startswith(b"HTTP/1.1 404 ")
        assert server.stop() == 0, server.errors()


TESTS = [many_requests, split_anywhere, long_bodies, reader_that_never_reads, asker_that_never_reads, slow_upload, slow_heads_and_bodies,
         half_closed, gone_in_the_midst, no_descriptors, graceful_end, failing_handler, own_words_for_faults, promises_without_end,
         fetch_style, example]
for test in TESTS:
    if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
        continue
    began = time.monotonic()
    test()
    print(f"{test.__name__} {time.monotonic() - began:.1f} s", flush=True)
