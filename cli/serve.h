/* SPDX-License-Identifier: MIT */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <stdio.h>

#include "server.h"

/* Serve until SIGINT or SIGTERM; the address goes to `url_to` as one line. any_port: if the port is taken, take another. Gives
   the exit status. */
int serve_look(struct look *look, const struct server_options *options, FILE *url_to, bool any_port);

#endif
