/* SPDX-License-Identifier: MIT */
/* nginx, one worker that is its only process. Its long answer comes from a file in the page cache. */
#include "../peer/peer.h"
#include "tls_harness.h"

#include <stdio.h>
#include <unistd.h>

void tls_serve(const char *folder, int port)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/nginx.conf", folder);
    FILE *out = fopen(path, "w");
    bench_must(out != NULL, "a file");
    fprintf(out,
            "daemon off; master_process off; worker_processes 1; pid %s/nginx.pid; error_log %s/error.log crit;\n"
            "events { worker_connections 1024; }\n"
            "http { access_log off; server_tokens off; default_type text/plain; keepalive_requests 100000000;\n"
            "ssl_certificate %s/cert.pem; ssl_certificate_key %s/key.pem; ssl_protocols TLSv1.3;\n"
            "server { listen 127.0.0.1:%d ssl; location = / { return 200 \"hello world\\n\"; }\n"
            "location = /bulk { root %s; } } }\n",
            folder, folder, folder, folder, port, folder);
    bench_must(fclose(out) == 0, "a file");
    (void)execl(NGINX, NGINX, "-p", folder, "-c", path, "-e", "stderr", (char *)NULL);
    bench_trouble("nginx does not start");
}
