/* SPDX-License-Identifier: MIT */
/* An asynchronous function reads from a stream without a promise, with a token or without. Both end alike. */
#include "io_test.h"

#include <vigil/async.h>

struct reader {
    vigil_frame frame; /* first */
    struct pair *pair;
    vigil_stream *stream;
    vigil_frame_reads how;
    size_t room;
    char buffer[16];
};

static struct {
    unsigned steps, outs;
    int error;
    int64_t value;
    char text[17];
} seen;

static void reader_steps(vigil_frame *frame)
{
    struct reader *self = (struct reader *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    if (self->how == VIGIL_FRAME_READ)
        VIGIL_AWAIT_READ(frame, self->stream, self->buffer, self->room);
    if (self->how == VIGIL_FRAME_READ_EXACTLY)
        VIGIL_AWAIT_READ_EXACTLY(frame, self->stream, self->buffer, self->room);
    if (self->how == VIGIL_FRAME_READ_UNTIL)
        VIGIL_AWAIT_READ_UNTIL(frame, self->stream, self->buffer, self->room, '\n');
    if (self->how == VIGIL_FRAME_READABLE) {
        VIGIL_AWAIT_READABLE(frame, self->stream);
        must_equal(frame->value->kind, VIGIL_NONE);
        seen.value = vigil_stream_try_read(self->stream, self->buffer, self->room);
    } else {
        must_equal(frame->value->kind, VIGIL_INT);
        seen.value = frame->value->integer;
    }
    seen.steps++;
    memcpy(seen.text, self->buffer, seen.value > 0 ? (size_t)seen.value : 0);
    VIGIL_ASYNC_OUT(frame);
    seen.outs++;
    seen.error = frame->error;
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void start(struct pair *pair, vigil_stream *stream, vigil_frame_reads how, size_t room,
                  vigil_cancel_token *token)
{
    struct reader *self = vigil_frame_alloc(sizeof *self, pair->loop, token);
    must(self != NULL);
    memset(&seen, 0, sizeof seen);
    self->pair = pair;
    self->stream = stream;
    self->how = how;
    self->room = room;
    must_equal(vigil_frame_start(&self->frame, reader_steps, NULL), 0);
}

static void until_out(struct pair *pair)
{
    while (seen.outs == 0)
        must(vigil_loop_run(pair->loop, VIGIL_RUN_NOWAIT) >= 0);
    turns(pair->loop);
    must_equal(seen.outs, 1);
}

static uint64_t promises(vigil_loop *loop)
{
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    must_equal(vigil_promise_stats_get(loop, &stats), 0);
    return stats.created;
}

struct row {
    vigil_frame_reads how;
    size_t room;
    const char *says;
    int64_t value;
    int error;
    const char *left;
};

static void each_read_gives_its_bytes_or_its_error(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {VIGIL_FRAME_READ, 16, "abc", 3, 0, ""},
        {VIGIL_FRAME_READ, 2, "abc", 2, 0, "c"},
        {VIGIL_FRAME_READ_EXACTLY, 2, "abc", 2, 0, "c"},
        {VIGIL_FRAME_READ_UNTIL, 16, "ab\ncd", 3, 0, "cd"},
        {VIGIL_FRAME_READ_UNTIL, 3, "abcd", 0, -EMSGSIZE, "d"},
        {VIGIL_FRAME_READABLE, 16, "abc", 3, 0, ""},
        {VIGIL_FRAME_READ, 16, NULL, 0, 0, NULL},
        {VIGIL_FRAME_READ_EXACTLY, 5, NULL, 0, 0, NULL},
        {VIGIL_FRAME_READABLE, 16, NULL, 0, 0, NULL},
        {VIGIL_FRAME_READ, 0, "abc", 0, -EINVAL, "abc"},
    };
    for (size_t i = 0; i < count_of(rows); i++)
        for (int with_token = 0; with_token < 2; with_token++) {
            struct pair pair;
            vigil_cancel_source *source;
            char rest[16];
            pair_open(&pair);
            must_equal(vigil_cancel_create(&source), 0);
            const uint64_t before = promises(pair.loop);
            start(&pair, pair.stream, rows[i].how, rows[i].room, with_token ? vigil_cancel_token_of(source) : NULL);
            const bool refused = rows[i].error == -EINVAL;
            must_equal(seen.outs, refused);
            if (!refused)
                must_equal(promises(pair.loop) - before, 1); /* one is the frame's own */
            if (rows[i].says != NULL) {
                peer_says(&pair, rows[i].says);
            } else {
                must_equal(close(pair.peer), 0);
                pair.peer = -1;
            }
            until_out(&pair);
            must_equal(seen.error, rows[i].error);
            must_equal(seen.steps, rows[i].error == 0);
            must_equal(seen.value, rows[i].value);
            if (rows[i].value > 0)
                must_equal(memcmp(seen.text, rows[i].says, (size_t)rows[i].value), 0);
            if (rows[i].left != NULL) {
                const int64_t got = vigil_stream_try_read(pair.stream, rest, sizeof rest);
                must_equal(got, rows[i].left[0] != 0 ? (int64_t)strlen(rows[i].left) : -EAGAIN);
            }
            vigil_cancel_destroy(source);
            pair_end(&pair);
        }
}

static void another_reader_is_refused(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    start(&pair, pair.stream, VIGIL_FRAME_READ, 16, NULL);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), -EBUSY);
    must_equal(vigil_stream_try_read(pair.stream, &pair.text, 1), -EBUSY);
    peer_says(&pair, "x");
    until_out(&pair);
    must_equal(seen.value, 1);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    start(&pair, pair.stream, VIGIL_FRAME_READ, 16, NULL);
    must_equal(seen.error, -EBUSY);
    start(&pair, NULL, VIGIL_FRAME_READ, 16, NULL);
    must_equal(seen.error, -EINVAL);
    vigil_loop *other = loop_plain();
    struct pair far = pair;
    far.loop = other;
    start(&far, pair.stream, VIGIL_FRAME_READ, 16, NULL);
    must_equal(seen.error, -EXDEV);
    must_equal(vigil_loop_run(other, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(other), 0);
    pair_end(&pair);
}

/* By somebody else, while the function waits. It goes on in a turn of its own, once. */
static void a_close_ends_the_wait(void **state)
{
    (void)state;
    for (int how = 0; how <= VIGIL_FRAME_READABLE; how++)
        for (int reset = 0; reset < 2; reset++)
            for (int with_data = 0; with_data < 2; with_data++) {
                struct pair pair;
                vigil_cancel_source *source;
                must_equal(vigil_cancel_create(&source), 0);
                pair_open(&pair);
                start(&pair, pair.stream, (vigil_frame_reads)how, 3, reset ? vigil_cancel_token_of(source) : NULL);
                turns(pair.loop);
                if (with_data) /* it has come, and was not seen yet */
                    peer_says(&pair, "xyz");
                must_equal(reset ? vigil_stream_reset(pair.stream) : vigil_stream_close(pair.stream), 0);
                must_equal(seen.outs, 0); /* not inside the close */
                until_out(&pair);
                must_equal(seen.error, -ECANCELED);
                must_equal(seen.steps, 0);
                must_equal(pair.closed, 1);
                pair_end(&pair);
                vigil_cancel_destroy(source);
            }
}

static void an_abort_ends_the_wait_and_keeps_the_bytes(void **state)
{
    (void)state;
    struct pair pair;
    vigil_cancel_source *source;
    char rest[8];
    pair_open(&pair);
    must_equal(vigil_cancel_create(&source), 0);
    start(&pair, pair.stream, VIGIL_FRAME_READ_EXACTLY, 5, vigil_cancel_token_of(source));
    peer_says(&pair, "abc");
    turns(pair.loop);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    until_out(&pair);
    must_equal(seen.error, -EINTR);
    must_equal(vigil_stream_try_read(pair.stream, rest, sizeof rest), 3);
    start(&pair, pair.stream, VIGIL_FRAME_READ, 5, vigil_cancel_token_of(source)); /* aborted before */
    must_equal(seen.error, -EINTR);
    vigil_cancel_destroy(source);
    pair_end(&pair);
}

static void the_end_of_the_loop_ends_the_wait(void **state)
{
    (void)state;
    for (int i = 0; i <= 2 * VIGIL_FRAME_READABLE + 1; i++) {
        const int how = i / 2;
        struct pair pair;
        vigil_cancel_source *source;
        must_equal(vigil_cancel_create(&source), 0);
        pair_open(&pair);
        start(&pair, pair.stream, (vigil_frame_reads)how, 3, i % 2 != 0 ? vigil_cancel_token_of(source) : NULL);
        turns(pair.loop);
        must_equal(vigil_loop_close(pair.loop, VIGIL_FOREVER), 0);
        must_equal(seen.outs, 1);
        if (how == VIGIL_FRAME_READABLE)
            must_equal(seen.value, -ESHUTDOWN); /* the read says it */
        else
            must_equal(seen.error, -ESHUTDOWN);
        must_equal(vigil_stream_close(pair.stream), 0);
        must_equal(close(pair.peer), 0);
        must_equal(vigil_loop_destroy(pair.loop), 0);
        vigil_cancel_destroy(source);
    }
}

static void *abort_it(void *source)
{
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    return NULL;
}

/* Whichever comes first, the frame goes on once, and no byte is lost. */
static void an_abort_of_another_thread_races_the_read(void **state)
{
    (void)state;
    unsigned aborted = 0;
    for (int i = 0; i < 300; i++) {
        struct pair pair;
        vigil_cancel_source *source;
        pthread_t thread;
        char rest[8];
        pair_open(&pair);
        must_equal(vigil_cancel_create(&source), 0);
        start(&pair, pair.stream, (vigil_frame_reads)(i % 2 == 0 ? VIGIL_FRAME_READ : VIGIL_FRAME_READABLE), 5,
              vigil_cancel_token_of(source));
        must_equal(pthread_create(&thread, NULL, abort_it, source), 0);
        peer_says(&pair, "abc");
        until_out(&pair);
        must_equal(seen.outs, 1);
        must(seen.error == 0 || seen.error == -EINTR);
        if (seen.error != 0) {
            aborted++;
            must_equal(vigil_stream_try_read(pair.stream, rest, sizeof rest), 3);
        }
        must_equal(pthread_join(thread, NULL), 0);
        pair_end(&pair);
        vigil_cancel_destroy(source);
    }
    print_message("%u of 300 were aborted\n", aborted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_read_gives_its_bytes_or_its_error),
        cmocka_unit_test(another_reader_is_refused),
        cmocka_unit_test(a_close_ends_the_wait),
        cmocka_unit_test(an_abort_ends_the_wait_and_keeps_the_bytes),
        cmocka_unit_test(the_end_of_the_loop_ends_the_wait),
        cmocka_unit_test(an_abort_of_another_thread_races_the_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
