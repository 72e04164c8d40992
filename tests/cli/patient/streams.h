/* SPDX-License-Identifier: MIT */
/* A loop for streams.py to look at: a listener, a stream that reads, one whose peer does not, a connection of our own, a child. */
#include <vigil/vigil.h>

#include <netinet/in.h>
#include <sys/socket.h>

static void no_data(vigil_stream *stream, const void *data, int64_t got, void *arg)
{
    (void)stream;
    (void)data;
    (void)got;
    (void)arg;
}

/* The first connection is told more than its peer ever reads. */
static void takes_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    static char much[1 << 24];
    (void)user;
    (void)vigil_stream_on_data(stream, no_data, NULL);
    if (vigil_listener_streams(listener) == 1) {
        (void)vigil_stream_name(stream, "deaf");
        (void)vigil_stream_write(stream, much, sizeof much);
    } else {
        (void)vigil_stream_name(stream, "alice");
    }
}

static void opens_streams(void *arg)
{
    static const char *const words[] = {"/bin/cat", NULL};
    vigil_loop *loop = arg;
    vigil_listener *listener = NULL;
    vigil_process *process = NULL;
    vigil_promise *promise = NULL;
    vigil_address address;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_process_options child = VIGIL_PROCESS_OPTIONS_INIT;
    options.on_stream = takes_stream;
    child.argv = words;
    child.stdio[0].kind = VIGIL_STDIO_STREAM;
    if (vigil_address_init(&address, "127.0.0.1:0") != 0 ||
        vigil_listener_open(&listener, loop, &address, &options) != 0 ||
        vigil_listener_address(listener, &address) != 0 || vigil_process_open(&process, loop, &child) != 0)
        exit(1);
    const int deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (deaf < 0 || connect(deaf, &address.any, address.length) != 0)
        exit(1);
    if (vigil_promise_connect(loop, &address, 1, NULL, NULL, &promise) != 0)
        exit(1);
}
