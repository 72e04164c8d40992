/* SPDX-License-Identifier: MIT */
/* Who waits when a loop or a stream goes is told, once. */
#include "io_test.h"

static char much[1 << 20];

struct noted_write {
    vigil_write write; /* first */
    unsigned calls;
    int status;
    unsigned place; /* among all that were told */
};

static unsigned told;

static void note_write(vigil_write *write, int status)
{
    struct noted_write *it = (struct noted_write *)(void *)write;
    it->calls++;
    it->status = status;
    it->place = told++;
}

/* What was given back and is not sent when the loop is closed: first the write is told, then the end. */
static void a_stream_that_is_sending_is_told_of_the_close_of_its_loop(void **state)
{
    (void)state;
    for (int writes = 1; writes <= 2; writes++) {
        struct pair pair;
        struct noted_write it[2] = {{.write.done = note_write}, {.write.done = note_write}};
        const struct iovec part = {much, sizeof much};
        pair_open(&pair);
        for (int i = 0; i < writes; i++)
            must(vigil_stream_submit(pair.stream, &it[i].write, &part, 1) >= 0);
        turns(pair.loop); /* the peer does not read: most of it stays */
        must_equal(it[0].calls, 0);
        must_equal(vigil_stream_close(pair.stream), 0);
        must_equal(vigil_loop_close(pair.loop, VIGIL_FOREVER), 0);
        for (int i = 0; i < writes; i++) {
            must_equal(it[i].calls, 1);
            must_equal(it[i].status, -ESHUTDOWN);
        }
        must_equal(pair.closed, 1);
        must_equal(pair.end.status, -ESHUTDOWN);
        must(pair.end.unsent > 0);
        must_equal(vigil_loop_destroy(pair.loop), 0);
        must_equal(close(pair.peer), 0);
    }
}

/* The operation of a promise goes with the loop, and the stream's work comes after it. */
static void a_promise_that_waits_is_rejected_when_its_loop_is_closed(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct pair pair;
        vigil_promise *promise;
        struct noted_write it = {.write.done = note_write};
        const struct iovec part = {much, sizeof much};
        char byte;
        pair_open(&pair);
        must(vigil_stream_submit(pair.stream, &it.write, &part, 1) >= 0);
        turns(pair.loop);
        must_equal(kind == 0 ? vigil_promise_read(pair.stream, &byte, 1, NULL, &promise)
                             : vigil_promise_drained(pair.stream, NULL, &promise),
                   0);
        must_equal(vigil_loop_close(pair.loop, VIGIL_FOREVER), 0);
        must_equal(it.calls, 1);
        must_equal(promise_result(promise), -ESHUTDOWN);
        vigil_promise_unref(promise);
        must_equal(vigil_stream_close(pair.stream), 0);
        must_equal(pair.closed, 1);
        must_equal(vigil_loop_destroy(pair.loop), 0);
        must_equal(close(pair.peer), 0);
    }
}

/* ---- writes that are queued when their stream goes --------------------------------------------------------------- */

enum {
    WRITES = 5
};

/* The first is partly sent, the last one was written in the turn that ends the stream. */
static void queue_writes(struct pair *pair, struct noted_write *it)
{
    static const struct iovec part = {much, sizeof much};
    told = 0;
    for (int i = 0; i < WRITES; i++) {
        it[i] = (struct noted_write){.write.done = note_write};
        if (i == WRITES - 1)
            turns(pair->loop);
        must(vigil_stream_submit(pair->stream, &it[i].write, &part, 1) >= 0);
    }
    must_equal(told, 0);
}

static void must_be_told_once_in_order(struct pair *pair, const struct noted_write *it, int status)
{
    while (pair->closed == 0)
        must(vigil_loop_run(pair->loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(told, WRITES); /* before the end of the stream */
    turns(pair->loop);
    for (unsigned i = 0; i < WRITES; i++) {
        must_equal(it[i].calls, 1);
        must_equal(it[i].status, status);
        must_equal(it[i].place, i);
    }
    must_equal(pair->closed, 1);
    must_equal(pair->end.status, status);
    must(pair->end.unsent > (WRITES - 1) * sizeof much);
    pair_end(pair);
}

static void a_reset_cancels_each_write_once(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_write it[WRITES];
    pair_open(&pair);
    queue_writes(&pair, it);
    must_equal(vigil_stream_reset(pair.stream), 0);
    must_equal(told, 0); /* not inside the call */
    must_be_told_once_in_order(&pair, it, -ECANCELED);
}

static void a_close_that_may_not_send_tells_each_write_once(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_write it[WRITES];
    vigil_stream_options options = pair_options(&pair);
    options.flush_ns = 1000000;
    pair_open_with(&pair, loop_plain(), &options);
    queue_writes(&pair, it);
    must_equal(vigil_stream_close(pair.stream), 0);
    must_be_told_once_in_order(&pair, it, -ETIMEDOUT);
}

static void a_close_whose_peer_goes_tells_each_write_once(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_write it[WRITES];
    pair_open(&pair);
    queue_writes(&pair, it);
    must_equal(vigil_stream_close(pair.stream), 0);
    turns(pair.loop);
    must_equal(told, 0); /* it goes on sending */
    must_equal(close(pair.peer), 0);
    pair.peer = -1;
    must_be_told_once_in_order(&pair, it, -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_stream_that_is_sending_is_told_of_the_close_of_its_loop),
        test(a_promise_that_waits_is_rejected_when_its_loop_is_closed),
        test(a_reset_cancels_each_write_once),
        test(a_close_that_may_not_send_tells_each_write_once),
        test(a_close_whose_peer_goes_tells_each_write_once),
    };
    return run_all(tests);
}
