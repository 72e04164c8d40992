/* SPDX-License-Identifier: MIT */
/* vigil serve: how it is called. What it does is in serve.c, a program of its own. */
#include "serve.h"

struct serve_request serve_request = {.host = "127.0.0.1", .port = 8844};

static const struct option_spec options[] = {
    {'p', "port", OPTION_NUMBER, "PORT", &serve_request.port, 0, 65535,
     "listen there (default 8844); 0 is any that is free"},
    {'a', "any-port", OPTION_FLAG, NULL, &serve_request.any_port, 0, 0, "if that port is taken, take any that is free"},
    {'l', "listen", OPTION_TEXT, "ADDRESS", &serve_request.host, 0, 0, "listen at this address instead of 127.0.0.1"},
    {0, "token-is", OPTION_TEXT, "TOKEN", &serve_request.token, 0, 0, "use this token instead of a new one"},
    {0, "no-token", OPTION_FLAG, NULL, &serve_request.no_token, 0, 0,
     "ask for no token: every user of this machine may look"},
    {0, "jobs", OPTION_TEXT, "WHERE", &serve_request.jobs, 0, 0,
     "the queue of jobs to show, a file or postgresql://; default: those that the process has open"},
    {0},
};

const struct command command_serve = {
    .name = "serve",
    .operands = "[PID|FILE]",
    .summary = "the same in a browser: lanes, plots, warnings, live",
    .text = "Offers a page that shows a process live, and prints its address: a lane for each worker, queues, "
            "latencies and\n"
            "throughput of each class as plots, the loops, and the watchdog's warnings with evidence and advice, and "
            "the queues of\n"
            "jobs that it has open. Only "
            "this\n"
            "machine can reach it unless --listen says otherwise. It ends with ctrl-c; the process is not touched.\n\n"
            "The printed address contains a token: without it the server answers nobody, since other users of this "
            "machine\n"
            "could ask too. Below the same address are /report.json, /trace.json and /metrics (for Prometheus); the "
            "token is\n"
            "given as ?token=TOKEN or in a header `Authorization: Bearer TOKEN`.",
    .examples = "  vigil serve 4711                       then open the printed address\n"
                "  vigil serve 4711 --listen 0.0.0.0      for other machines",
#ifndef VIGIL_HAVE_SERVE
    .left_out =
        "it was built without libmicrohttpd or dygraphs. Install them (Debian: libmicrohttpd-dev libjs-dygraphs) and "
        "build again; `vigil top` works",
#endif
    .most_operands = 1,
    .options = options,
    .program = "vigil-serve",
};
