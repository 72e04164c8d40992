/* SPDX-License-Identifier: MIT */
/* serve.h - what `vigil serve` was asked for: read twice, by the command and by the program that it becomes. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "command.h"

struct serve_request {
    const char *host, *token, *jobs;
    long port;
    bool no_token; /* made anew */
    bool any_port; /* if the port is taken */
};
extern struct serve_request serve_request;

#endif
