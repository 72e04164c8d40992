/* SPDX-License-Identifier: MIT */
/* The HTTP servers as data. bench/web/README.md says what each number means. */
#include "../driver/catalog.h"

static const struct bench_def benches[] = {
    {
        .name = "io-http",
        .what = "an HTTP server that says hello: requests per second of the server's CPU time",
        .long_ =
            "A client process keeps C connections open on 127.0.0.1 with P requests under way on each; n requests in\n"
            "    all, of 77 bytes. Server on the first CPU, client on the others. CPU time is the server's, from the "
            "first\n"
            "    request to the last.",
        .param = "connections",
        .n = 400000,
        .n_quick = 60000,
        .n_smoke = 2000,
        .metrics = {{"requests_per_cpu_s", "requests/CPU s", 0, BENCH_HIGHER},
                    {"requests_per_s", "requests/s", 0, BENCH_HIGHER}},
        .cases = {{0, 1, 1}, {0, 1, 64}, {0, 1, 500}, {0, 16, 64}},
        .peers = "vigil vigil-http libuv libevent epoll",
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"vigil", "Vigil's streams, answers by hand", "", BENCH_OURS},
    {"vigil-http", "libvigil-http: parses all, knows limits", "node-llhttp", BENCH_OURS},
    {"libuv", "libuv, uv_tcp, answers by hand", "libuv1-dev", BENCH_PEER},
    {"libevent", "libevent, bufferevent, answers by hand", "libevent-dev", BENCH_PEER},
    {"epoll", "plain C, epoll, answers by hand", "", BENCH_FLOOR},
    {0},
};

const struct bench_family bench_family_web = {.name = "web", .benches = benches, .peers = peers};
