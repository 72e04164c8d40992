/* SPDX-License-Identifier: MIT */
/* The benches and peers of streams and datagrams as data. */
#include "../driver/catalog.h"

#define SERVERS "epoll vigil async cpp libuv libevent asio go tokio"

static const struct bench_def benches[] = {
    {
        .name = "io-http",
        .what = "a request of HTTP and its answer, CPU us of the server",
        .long_ = "`param` connections with `producers` requests under way on each. The server has the first CPU, the "
                 "client the\n"
                 "    others. All threads of the server count. A quarter as many requests come first.",
        .param = "connections",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 2000,
        .metrics = {{"cpu_us", "CPU us", 3, BENCH_LOWER}, {"per_s", "per s", 0, BENCH_HIGHER}},
        .cases = {{1, 1, 1}, {1, 1, 64}, {1, 1, 1000}, {1, 16, 64}},
        .peers = SERVERS " http",
    },
    {
        .name = "io-lines",
        .what = "a line and its echo, CPU us of the server",
        .long_ =
            "Lines of 32 bytes, read up to their end and sent back. `param` connections with `producers` lines under "
            "way on each.",
        .param = "connections",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 2000,
        .metrics = {{"cpu_us", "CPU us", 3, BENCH_LOWER}, {"per_s", "per s", 0, BENCH_HIGHER}},
        .cases = {{1, 1, 64}, {1, 16, 64}},
        .peers = SERVERS,
    },
    {
        .name = "io-accept",
        .what = "a connection that makes one request and is reset, CPU us of the server",
        .long_ = "`param` connections at a time: all are opened, all ask, all are reset.",
        .param = "connections",
        .n = 50000,
        .n_quick = 10000,
        .n_smoke = 200,
        .metrics = {{"cpu_us", "CPU us", 3, BENCH_LOWER}},
        .cases = {{1, 1, 1}, {1, 1, 64}},
        .peers = SERVERS,
    },
    {
        .name = "io-tls",
        .what = "TLS 1.3 with ECDSA P-256, CPU us of the server for a connection (0 full, 1 resumed) or a MiB (2)",
        .long_ = "A connection makes one request and is reset; 2 reads answers of 64 MiB by AES-128-GCM.",
        .param = "what",
        .n = 4000,
        .n_quick = 1000,
        .n_smoke = 20,
        .metrics = {{"cpu_us", "CPU us", 1, BENCH_LOWER}},
        .cases = {{1, 1, 0}, {1, 1, 1}, {1, 1, 2}},
        .peers = "tls nginx gotls",
    },
    {
        .name = "io-idle",
        .what = "memory of the server for a connection that has made one request and rests, bytes",
        .long_ = "Anonymous memory of the process (RssAnon) after n connections less that after 100, by n.",
        .n = 8000,
        .n_quick = 8000,
        .n_smoke = 100,
        .metrics = {{"bytes", "bytes", 0, BENCH_LOWER}},
        .cases = {{1, 1, 0}},
        .peers = SERVERS,
    },
    {
        .name = "io-copy",
        .what = "a copy from one connection to another, CPU s of the server for a GiB",
        .long_ = "The client fills the first connection and empties the second; n MiB.",
        .n = 4096,
        .n_quick = 512,
        .n_smoke = 4,
        .metrics = {{"cpu_s_per_gib", "CPU s/GiB", 3, BENCH_LOWER}, {"s_per_gib", "s/GiB", 3, BENCH_LOWER}},
        .cases = {{1, 1, 0}},
        .peers = "epoll memory vigil buffered libuv libevent asio go tokio",
    },
    {
        .name = "io-udp",
        .what = "a datagram of 64 bytes and its echo, CPU us of the server",
        .long_ = "Bursts of `param`; the next when all have come back.",
        .param = "burst",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 2000,
        .metrics = {{"cpu_us", "CPU us", 3, BENCH_LOWER}},
        .cases = {{1, 1, 1}, {1, 1, 32}},
        .peers = "epoll vigil libuv libevent asio go tokio",
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"epoll", "plain C on epoll; io-copy by splice", "", BENCH_FLOOR},
    {"memory", "plain C, io-copy through 256 KiB", "", BENCH_FLOOR},
    {"vigil", "Vigil, callbacks", "", BENCH_OURS},
    {"buffered", "Vigil, io-copy through memory", "", BENCH_OURS},
    {"http", "libvigil-http: parses all, keeps limits", "node-llhttp", BENCH_OURS},
    {"tls", "libvigil-tls, callbacks", "libssl-dev", BENCH_OURS},
    {"nginx", "nginx, one worker", "nginx-light", BENCH_PEER},
    {"async", "Vigil, asynchronous functions in C", "", BENCH_OURS},
    {"cpp", "Vigil, C++20 coroutines", "", BENCH_OURS},
    {"libuv", "libuv", "libuv1-dev", BENCH_PEER},
    {"libevent", "libevent, bufferevents", "libevent-dev", BENCH_PEER},
    {"asio", "Boost.Asio, callbacks", "libboost-dev", BENCH_PEER},
    {"go", "Go's net, a goroutine per connection", "golang-go", BENCH_PEER},
    {"gotls", "Go's crypto/tls", "golang-go", BENCH_PEER},
    {"tokio", "tokio, one thread, a task per connection", "librust-tokio-dev, cargo and rustc", BENCH_PEER},
    {0},
};

const struct bench_family bench_family_io = {.name = "io", .benches = benches, .peers = peers};
