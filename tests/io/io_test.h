/* SPDX-License-Identifier: MIT */
/* io_test.h - what the tests of streams share: pairs, a peer that is moved by hand, and a log of calls. */
#ifndef VG_TEST_IO_H
#define VG_TEST_IO_H

#include "../loop/loop_test.h"

#include <vigil/vigil.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* One stream and the other end of its socket. */
struct pair {
    vigil_loop *loop;
    vigil_stream *stream;
    int peer;
    /* what was seen */
    char text[4096];
    size_t length;
    unsigned calls, ends;
    int64_t last;
    unsigned closed;
    vigil_stream_end end;
};

static inline void pair_closed(void *user, const vigil_stream_end *end)
{
    struct pair *pair = user;
    pair->closed++;
    pair->end = *end;
    pair->stream = NULL;
}

static inline vigil_stream_options pair_options(struct pair *pair)
{
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    options.on_closed = pair_closed;
    options.user = pair;
    return options;
}

static inline void pair_open_with(struct pair *pair, vigil_loop *loop, const vigil_stream_options *options)
{
    int ends[2];
    memset(pair, 0, sizeof *pair);
    pair->loop = loop;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pair->peer = ends[1];
    must_equal(vigil_stream_open(&pair->stream, pair->loop, ends[0], options), 0);
}

static inline void pair_open(struct pair *pair)
{
    const vigil_stream_options options = pair_options(pair);
    pair_open_with(pair, loop_plain(), &options);
}

static inline void peer_says(struct pair *pair, const char *text)
{
    must_equal(write(pair->peer, text, strlen(text)), strlen(text));
}

/* Turns until nothing happens any more. */
static inline void turns(vigil_loop *loop)
{
    for (int i = 0; i < 8; i++)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

/* What a promise was settled with: its number, 0 for nothing, or the status of its rejection. */
static inline int64_t promise_result(vigil_promise *promise)
{
    vigil_value value;
    must(vigil_promise_result(promise, &value) != VIGIL_PENDING);
    return vigil_value_is_error(&value) ? value.status : value.kind == VIGIL_INT ? value.integer : 0;
}

static inline void pair_end(struct pair *pair)
{
    if (pair->stream != NULL)
        must_equal(vigil_stream_close(pair->stream), 0);
    if (pair->peer >= 0)
        must_equal(close(pair->peer), 0);
    must_equal(vigil_loop_run(pair->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(pair->loop), 0);
}

/* A vigil_read that notes its result. */
struct noted_read {
    vigil_read read; /* first */
    unsigned calls;
    int64_t result;
};

static inline void note_read(vigil_read *read, int64_t result)
{
    struct noted_read *it = (struct noted_read *)(void *)read;
    it->calls++;
    it->result = result;
}

static inline void collect(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct pair *pair = arg;
    must(stream == pair->stream);
    pair->calls++;
    pair->last = length;
    if (length <= 0) {
        must(data == NULL);
        pair->ends++;
        return;
    }
    must(pair->length + (size_t)length < sizeof pair->text);
    memcpy(pair->text + pair->length, data, (size_t)length);
    pair->length += (size_t)length;
    pair->text[pair->length] = 0;
}

/* An address of this process alone: the same test of another build may run beside it. */
static inline const char *own_place(const char *name)
{
    static char places[4][64];
    static unsigned next;
    char *place = places[next++ % 4];
    (void)snprintf(place, sizeof places[0], "unix:@vigil-test-%s-%d", name, (int)getpid());
    return place;
}

#endif
