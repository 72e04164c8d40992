# SPDX-License-Identifier: MIT
"""A server under test as a process, and raw sockets to it."""
import os
import signal
import socket
import subprocess
import tempfile


class Server:
    """Runs `program script arguments...` until the with-block ends; `port` is what it prints first."""

    def __init__(self, program, script, *arguments, **more):
        self.err = tempfile.TemporaryFile()
        # What the address sanitizer keeps of freed memory is not the server's.
        more.setdefault("env", dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"))
        self.process = subprocess.Popen([program, script, *arguments], stdout=subprocess.PIPE, stderr=self.err, text=True, **more)
        line = self.process.stdout.readline()
        if not line.startswith("port "):
            self.process.kill()
            raise SystemExit(f"{program} {script} said {line!r} {self.errors()}")
        self.port = int(line.split()[1])
        self.count = int(line.split()[2]) if len(line.split()) > 2 else 0
        self.status = None

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def errors(self):
        self.err.seek(0)
        return self.err.read().decode(errors="replace")[-2000:]

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self, ask=True):
        """Its exit status, after asking it to end, or (ask=False) when it ends by itself."""
        if self.status is None:
            if ask:
                self.process.send_signal(signal.SIGTERM)
            try:
                self.status = self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.status = "no end"
        return self.status

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        self.err.close()


def connect(port, **options):
    sock = socket.socket()
    if "receive" in options:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["receive"])
    sock.settimeout(60)
    sock.connect(("127.0.0.1", port))
    return sock


def rest(sock):
    """Everything until the server's end; b"<reset>" at the end if it was no end in order."""
    got = b""
    try:
        while chunk := sock.recv(65536):
            got += chunk
    except ConnectionResetError:
        got += b"<reset>"
    return got


def ask(port, sent):
    with connect(port) as sock:
        try:
            sock.sendall(sent)
        except OSError:
            pass
        return rest(sock)


class Answer:
    """One answer, read off a connection that stays open."""

    def __init__(self, stream, head_only=False):
        self.status = stream.readline().decode("latin1").rstrip("\r\n")
        self.headers = {}
        while (line := stream.readline().decode("latin1").rstrip("\r\n")) != "":
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        self.body = b""
        if head_only:
            return
        if "content-length" in self.headers:
            self.body = stream.read(int(self.headers["content-length"]))
        elif self.headers.get("transfer-encoding") == "chunked":
            while size := int(stream.readline(), 16):
                self.body += stream.read(size)
                stream.readline()
            stream.readline()
