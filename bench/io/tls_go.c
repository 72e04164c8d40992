/* SPDX-License-Identifier: MIT */
/* Go's crypto/tls: the server is the program go/main.go. */
#include "../peer/peer.h"
#include "tls_harness.h"

#include <stdio.h>
#include <unistd.h>

void tls_serve(const char *folder, int port)
{
    char where[16];
    (void)snprintf(where, sizeof where, "%d", port);
    (void)execl(GO_SERVER, GO_SERVER, "io-tls", folder, where, (char *)NULL);
    bench_trouble("the server in Go does not start");
}
