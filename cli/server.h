/* SPDX-License-Identifier: MIT */
/*
 * server.h - the page over HTTP: libmicrohttpd, driven by one of our own loops.
 *
 *   /               the page          /report.json   as `vigil report --json`
 *   /events         samples, as server-sent events    /trace.json    as `vigil trace`
 *   /doctor.json    as `vigil doctor --json`, ?pid=NUMBER of another process; 202 while it looks
 *   /processes.json those that may be examined
 *   /history.json   the last minute, from the rings
 *   /metrics        as `vigil metrics`                /verdicts/hog  as `vigil explain`, and so on
 */
#ifndef CLI_SERVER_H
#define CLI_SERVER_H

#include <vigil/loop.h>

#include "look.h"
#include "queues.h"

struct server;

struct server_options {
    const char *host;      /* an address, not a name */
    unsigned port;         /* 0: any */
    const char *token;     /* NULL: none is asked for */
    pid_t patient;         /* without a look: the process to begin with, or 0 */
    struct queues *queues; /* of jobs; may be NULL; they must outlive the server */
};

/* Listen, and answer on `loop` from now on; the look must outlive the server; NULL: only the doctor
   answers, about processes without Vigil. 0, or an exit status after a line on stderr.
   quiet: a port that is taken gives -EADDRINUSE without a line. */
int server_create(struct server **result, vigil_loop *loop, struct look *look, const struct server_options *options,
                  bool quiet);

/* Where to point a browser. */
const char *server_url(const struct server *server);

/* On the loop's thread, or when nobody runs it. */
void server_destroy(struct server *server);

#endif
