/* SPDX-License-Identifier: MIT */
/* Go: the server is the program go/main.go, which takes the place of the forked process. */
#include "../peer/peer.h"
#include "harness.h"

#include <stdio.h>
#include <unistd.h>

void io_serve(const char *bench)
{
    char pipe_end[16];
    (void)snprintf(pipe_end, sizeof pipe_end, "%d", io_port_pipe());
    (void)execl(GO_SERVER, GO_SERVER, bench, pipe_end, (char *)NULL);
    bench_trouble("the server in Go does not start");
}
