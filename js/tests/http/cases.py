# SPDX-License-Identifier: MIT
# Bytes that clients send. What Node 20 answers to them stands in cases.out.


def req(path, *headers, method="GET", version="1.1", body=b"", close=True):
    lines = [f"{method} {path} HTTP/{version}", "Host: x", *headers]
    if close:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode("latin1") + b"\r\n\r\n" + body


def post(path, body, *headers, **more):
    return req(path, f"Content-Length: {len(body)}", *headers, method="POST", body=body, **more)


def chunked(path, raw, *headers, **more):
    return req(path, "Transfer-Encoding: chunked", *headers, method="POST", body=raw, **more)


ROUTES = "/ /empty /bytes /unicode /latin1 /encoding /chunks /later /length /head /head2 /head3 /none /same /404 /odd /bare /closing "
ROUTES += "/cookies /trailers /flush /hints /errors /nothing /?q=1 /nolength"

# name -> what is sent, all at once
SAME = {}
for route in ROUTES.split():
    SAME[f"GET {route}"] = req(route)
    SAME[f"HEAD {route}"] = req(route, method="HEAD")
    SAME[f"1.0 {route}"] = req(route, version="1.0", close=False)
SAME.update({
    "1.0 keep-alive": req("/", "Connection: keep-alive", version="1.0", close=False),
    "1.0 keep-alive length": req("/length", "Connection: keep-alive", version="1.0", close=False) + req("/"),
    "two": req("/", close=False) + req("/chunks"),
    "five": req("/", close=False) * 4 + req("/none"),
    "later first": req("/later", close=False) + req("/"),
    "head then get": req("/", method="HEAD", close=False) + req("/"),
    "no body then get": req("/none", close=False) + req("/same", close=False) + req("/"),
    "keep-alive asked": req("/", "Connection: keep-alive", close=False) + req("/"),
    "closing leaves the rest": req("/closing", close=False) + req("/"),
    "end twice": req("/twice"),
    "what became of it": req("/log"),
    "empty lines before": b"\r\n\r\n" + req("/"),
    "post": post("/echo", b"some body"),
    "post nothing": post("/echo", b""),
    "post two": post("/echo", b"one", close=False) + post("/echo", b"two"),
    "post chunked": chunked("/echo", b"4\r\nwiki\r\n5;ext=1\r\npedia\r\n0\r\n\r\n"),
    "post chunked capitals": chunked("/echo", b"A\r\n0123456789\r\n0\r\n\r\n"),
    "post trailers": chunked("/echo", b"3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"),
    "post chunked then get": chunked("/echo", b"3\r\nabc\r\n0\r\n\r\n", close=False) + req("/"),
    "post gzip, chunked": req("/echo", "Transfer-Encoding: gzip, chunked", method="POST", body=b"3\r\nabc\r\n0\r\n\r\n"),
    "iterate": post("/iterate", "grün ☃".encode()),
    "pipe": post("/pipe", b"through"),
    "leave in the midst": post("/leave", b"x" * 100000, close=False) + req("/"),
    "ignored body, then get": post("/ignore", b"x" * 1000, close=False) + req("/"),
    "ignored chunked body, then get": chunked("/ignore", b"3\r\nabc\r\n0\r\n\r\n", close=False) + req("/"),
    "get with body": req("/echo", "Content-Length: 3", body=b"abc"),
    "put": req("/echo", "Content-Length: 3", method="PUT", body=b"abc"),
    "delete": req("/echo", method="DELETE"),
    "options": req("*", method="OPTIONS"),
    "absolute": req("http://host/path?x=1"),
    "inspect": req("/inspect?a=b&c", "X-One: 1", "x-one: 2", "Cookie: a=1", "Cookie: b=2", "Accept: a", "accept:b", "User-Agent: first",
                   "User-Agent: second", "Set-Cookie: x", "X-Empty:", "X-Blank:   padded \t ", "__proto__: x", "constructor: y"),
    "latin1 header": req("/inspect", "X-Name: gr\xfcn"),
    "continue": req("/echo", "Expect: 100-continue", "Content-Length: 2", method="POST", body=b"ok"),
    "expects": req("/", "Expect: tea"),
    "upgrade ignored": req("/", "Upgrade: foo", "Connection: upgrade", close=True),
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "no host 1.0": b"GET / HTTP/1.0\r\n\r\n",
    # ---- no requests
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03garbage\r\n\r\n",
    "lower method": b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no such method": b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
    "version letters": b"GET / HTTP/x.y\r\nHost: x\r\n\r\n",
    "not http": b"GET / ICY/1.1\r\nHost: x\r\n\r\n",
    "no path": b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
    "zero in path": b"GET /a\x00b HTTP/1.1\r\nHost: x\r\n\r\n",
    "blank in name": req("/", "X Name: 1"),
    "blank after name": req("/", "X-Name : 1"),
    "blank after length": req("/", "Content-Length : 0"),
    "no name": req("/", ": 1"),
    "no colon": req("/", "X-Name"),
    "zero in value": req("/", "X-Name: a\x00b"),
    "return in value": req("/", "X-Name: a\rb"),
    "control in value": req("/", "X-Name: a\x01b"),
    "two lengths": req("/echo", "Content-Length: 1", "Content-Length: 1", method="POST", body=b"a"),
    "two different lengths": req("/echo", "Content-Length: 1", "Content-Length: 2", method="POST", body=b"ab"),
    "length list": req("/echo", "Content-Length: 1, 1", method="POST", body=b"a"),
    "negative length": req("/echo", "Content-Length: -1", method="POST", body=b"a"),
    "signed length": req("/echo", "Content-Length: +1", method="POST", body=b"a"),
    "hex length": req("/echo", "Content-Length: 0x1", method="POST", body=b"a"),
    "empty length": req("/echo", "Content-Length:", method="POST", body=b"a"),
    "huge length": req("/echo", "Content-Length: 99999999999999999999", method="POST", body=b"a"),
    "length and chunked": req("/echo", "Content-Length: 3", "Transfer-Encoding: chunked", method="POST", body=b"0\r\n\r\nGET /x"),
    "chunked and length": req("/echo", "Transfer-Encoding: chunked", "Content-Length: 3", method="POST", body=b"0\r\n\r\nGET /x"),
    "chunked not last": req("/echo", "Transfer-Encoding: chunked, gzip", method="POST", body=b"0\r\n\r\n"),
    "unknown coding": req("/echo", "Transfer-Encoding: xchunked", method="POST", body=b"0\r\n\r\n"),
    "identity coding": req("/echo", "Transfer-Encoding: identity", method="POST", body=b"0\r\n\r\n"),
    "bad chunk size": chunked("/echo", b"zz\r\nabc\r\n0\r\n\r\n"),
    "no chunk size": chunked("/echo", b"\r\nabc\r\n0\r\n\r\n"),
    "signed chunk size": chunked("/echo", b"+3\r\nabc\r\n0\r\n\r\n"),
    "hex chunk size": chunked("/echo", b"0x3\r\nabc\r\n0\r\n\r\n"),
    "huge chunk size": chunked("/echo", b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
    "large head": req("/", "X-Large: " + "a" * 20000),
    "large name": req("/", "X" * 20000 + ": a"),
    "many headers": req("/", *[f"X-{i}: {'a' * 100}" for i in range(300)]),
    "large path": req("/" + "a" * 20000),
    "head that fits": req("/", "X-Large: " + "a" * 15000),
    "large trailer": chunked("/echo", b"3\r\nabc\r\n0\r\nX: " + b"a" * 20000 + b"\r\n\r\n"),
})

# What is answered more strictly here than by Node: 400 each, whatever comes behind.
STRICT = {
    "version 2": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "two hosts": req("/", "Host: y"),
    "two codings": req("/echo", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked", method="POST", body=b"0\r\n\r\n"),
    "coding in 1.0": req("/echo", "Transfer-Encoding: chunked", method="POST", version="1.0", body=b"0\r\n\r\n"),
    "length in trailer": chunked("/echo", b"0\r\nContent-Length: 3\r\n\r\n"),
    "connect": req("x:80", method="CONNECT"),
}
