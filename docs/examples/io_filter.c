/* SPDX-License-Identifier: MIT */
/* Examples of vigil/io_filter.h, one for each function. */
#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vigil/io_filter.h>

/* A filter that swaps upper and lower case: stands for TLS here. */
struct swap {
    int fd;
    unsigned started;
};

static int64_t swap_receive(void *filter, void *buffer, size_t room,
                            unsigned *wants)
{
    struct swap *it = filter;
    char *bytes = buffer;
    ssize_t got = recv(it->fd, buffer, room, 0);
    *wants = VIGIL_FD_READ;
    for (ssize_t i = 0; i < got; i++)
        bytes[i] = (char)(bytes[i] ^ 32);
    return got < 0 ? -errno : got;
}

static int64_t swap_send(void *filter, const struct iovec *parts,
                         size_t count, unsigned *wants)
{
    struct swap *it = filter;
    char bytes[64];
    const char *from = parts[0].iov_base;
    size_t length = parts[0].iov_len < sizeof bytes ? parts[0].iov_len
                                                    : sizeof bytes;
    (void)count; /* the next call brings the others */
    *wants = VIGIL_FD_WRITE;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(from[i] ^ 32);
    ssize_t sent = send(it->fd, bytes, length, MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

/* vigil_stream_filter: put a filter on a stream */
static void started(vigil_stream *stream, int status, void *arg)
{
    struct swap *it = arg;
    (void)stream;
    assert(status == 0);
    it->started++;
}

static void swap_case(vigil_stream *stream, struct swap *it)
{
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    calls.receive = swap_receive;
    calls.send = swap_send;
    it->fd = vigil_stream_fd(stream);
    int rc = vigil_stream_filter(stream, &calls, it, started, it);
    assert(rc == 0);
}

/* vigil_promise_filter: the same, and a promise for its start */
static vigil_promise *promise_swap(vigil_stream *stream,
                                   struct swap *it)
{
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    vigil_promise *promise;
    calls.receive = swap_receive;
    calls.send = swap_send;
    it->fd = vigil_stream_fd(stream);
    int rc = vigil_promise_filter(stream, &calls, it, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_stream_filter_of: find what was put on a stream */
static struct swap *its_swap(const vigil_stream *stream)
{
    return vigil_stream_filter_of(stream, swap_receive);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_loop *loop;
    vigil_stream *streams[2];
    struct swap swaps[2] = {{.fd = -1}, {.fd = -1}};
    int ends[2];
    char bytes[8] = "";
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    rc = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    assert(rc == 0);
    for (int i = 0; i < 2; i++) {
        rc = vigil_stream_open(&streams[i], loop, ends[i], NULL);
        assert(rc == 0);
    }
    swap_case(streams[0], &swaps[0]);
    assert(its_swap(streams[0]) == &swaps[0]);
    vigil_promise *promise = promise_swap(streams[1], &swaps[1]);
    assert(promise != NULL);
    rc = vigil_stream_write(streams[0], "Hello", 5);
    assert(rc == 0);
    for (int i = 0; i < 8; i++)
        (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    assert(swaps[0].started == 1);
    assert(vigil_promise_state_get(promise) == VIGIL_FULFILLED);
    vigil_promise_unref(promise);
    int64_t got =
        vigil_stream_try_read(streams[1], bytes, sizeof bytes);
    assert(got == 5);
    assert(bytes[0] == 'H'); /* swapped twice */
    (void)vigil_stream_close(streams[0]);
    (void)vigil_stream_close(streams[1]);
    rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
    rc = vigil_loop_destroy(loop);
    assert(rc == 0);
    return 0;
}
