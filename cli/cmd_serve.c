/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "command.h"
#include "say.h"

static const char *host = "127.0.0.1", *token;
static long port = 8844;
static bool want_token;

#ifdef VIGIL_HAVE_SERVE
#include "quiet.h"
#include "serve.h"
#include "server.h"

static void told_to_end(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal, (void)info, (void)arg;
    vigil_loop_stop(loop);
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 || strcmp(address, "localhost") == 0;
}

static bool new_token(char room[33])
{
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(room + 2 * i, 3, "%02x", random[i]);
    return true;
}

int serve_look(struct look *look, const struct server_options *options, FILE *url_to, bool any_port)
{
    vigil_loop *loop = NULL;
    struct server *server = NULL;
    vigil_loop_options loop_options = VIGIL_LOOP_OPTIONS_INIT;
    loop_options.name = "serve";
    be_no_subject();
    int status, error = vigil_loop_create(&loop, &loop_options);
    if (error == 0)
        error = vigil_signal_add(loop, NULL, SIGINT, told_to_end, NULL);
    if (error == 0)
        error = vigil_signal_add(loop, NULL, SIGTERM, told_to_end, NULL);
    if (error < 0) {
        say_error("serve: the loop does not start: %s", vigil_strerror(error));
        status = EXIT_FAILED;
    } else {
        struct server_options chosen = *options;
        status = server_create(&server, loop, look, &chosen, any_port);
        if (status == -EADDRINUSE) {
            chosen.port = 0;
            status = server_create(&server, loop, look, &chosen, false);
        }
    }
    if (status == 0) {
        fprintf(url_to, "%s\n", server_url(server));
        fflush(url_to);
        error = vigil_loop_run(loop, VIGIL_RUN);
        if (error < 0) {
            say_error("serve: %s", vigil_strerror(error));
            status = EXIT_FAILED;
        }
        server_destroy(server);
    }
    vigil_loop_destroy(loop);
    return status;
}

static int serve(int count, char **operands)
{
    char made[33];
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    if (token != NULL && (strlen(token) < 8 || strlen(token) > 128 || strspn(token, good) != strlen(token))) {
        say_error("serve: a token has 8 to 128 letters, digits or any of - . _ ~");
        return EXIT_USAGE;
    }
    if (token == NULL && (want_token || !is_loopback(host))) {
        if (!new_token(made)) {
            say_error("serve: the system gives no random numbers: %s; choose a token with --token-is", strerror(errno));
            return EXIT_FAILED;
        }
        token = made;
    }
    struct look look;
    int status = look_open(&look, "serve", count > 0 ? operands[0] : NULL, true);
    if (status != 0)
        return status;
    struct server_options options = {host, (unsigned)port, token};
    status = serve_look(&look, &options, stdout, false);
    look_close(&look);
    return status;
}
#else
#define serve NULL /* command_run says why */
#endif

static const struct option_spec options[] = {
    {'p', "port", OPTION_NUMBER, "PORT", &port, 0, 65535, "listen there (default 8844); 0 is any that is free"},
    {'l', "listen", OPTION_TEXT, "ADDRESS", &host, 0, 0,
     "listen at this address instead of 127.0.0.1; anything but loopback\nalso asks for a token"},
    {'t', "token", OPTION_FLAG, NULL, &want_token, 0, 0,
     "ask for a token, made anew; it is part of the address that is printed"},
    {0, "token-is", OPTION_TEXT, "TOKEN", &token, 0, 0, "ask for this token"},
    {0},
};

const struct command command_serve = {
    .name = "serve",
    .operands = "[PID|FILE]",
    .summary = "the same in a browser: lanes, plots, warnings, live",
    .text = "Offers a page that shows a process live, and prints its address: a lane for each worker, queues, "
            "latencies and\n"
            "throughput of each class as plots, the loops, and the watchdog's warnings with evidence and advice. Only "
            "this\n"
            "machine can reach it unless --listen says otherwise. It ends with ctrl-c; the process is not touched.\n\n"
            "Below the same address are /report.json, /trace.json and /metrics (for Prometheus). A token is given as\n"
            "?token=TOKEN or in a header `Authorization: Bearer TOKEN`.",
    .examples = "  vigil serve 4711                       then open the printed address\n"
                "  vigil serve 4711 --listen 0.0.0.0      for other machines; the printed address has the token",
#ifndef VIGIL_HAVE_SERVE
    .left_out =
        "it was built without libmicrohttpd or dygraphs. Install them (Debian: libmicrohttpd-dev libjs-dygraphs) and "
        "build again; `vigil top` works",
#endif
    .most_operands = 1,
    .options = options,
    .run = serve,
};
