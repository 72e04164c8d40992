/* SPDX-License-Identifier: MIT */
/* What a callback has written leaves when it ends, however it ends. */
#include "io_test.h"

#include <pthread.h>

static void ignore(void *user, const vigil_uncaught *uncaught)
{
    (void)user;
    (void)uncaught;
}

static vigil_loop *loop_quiet(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = ignore;
    return loop_with(&options);
}

static void must_get(struct pair *pair, const char *text)
{
    char got[256] = {0};
    must_equal(recv(pair->peer, got, sizeof got - 1, MSG_DONTWAIT), strlen(text));
    must_equal(strcmp(got, text), 0);
}

static uint64_t sends_of(vigil_stream *stream)
{
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    must_equal(vigil_stream_stats_get(stream, &stats), 0);
    return stats.sends;
}

/* ---- one way out each ---------------------------------------------------------------------------------------------- */

static void write_and_return(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)data;
    (void)arg;
    if (length > 0) {
        must_equal(vigil_stream_write(stream, "one ", 4), 0);
        must_equal(vigil_stream_write(stream, "two", 3), 0);
    }
}

static void two_writes_of_a_callback_are_one_call(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    must_equal(vigil_stream_on_data(pair.stream, write_and_return, &pair), 0);
    for (unsigned i = 1; i < 4; i++) {
        peer_says(&pair, "x");
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
        must_get(&pair, "one two");
        must_equal(sends_of(pair.stream), i);
    }
    pair_end(&pair);
}

static void write_and_raise(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)data;
    (void)arg;
    if (length <= 0)
        return;
    must_equal(vigil_stream_write(stream, "sent", 4), 0);
    vigil_raise(-EIO);
}

static void a_callback_that_raises_has_written_all_the_same(void **state)
{
    (void)state;
    struct pair pair, other;
    vigil_loop *loop = loop_quiet();
    const vigil_stream_options options = pair_options(&pair);
    pair_open_with(&pair, loop, &options);
    pair_open_with(&other, loop, NULL);
    must_equal(vigil_stream_on_data(pair.stream, write_and_raise, &pair), 0);
    must_equal(vigil_stream_on_data(other.stream, write_and_return, &other), 0);
    for (int i = 0; i < 3; i++) {
        peer_says(&pair, "x");
        peer_says(&other, "x");
        turns(loop);
        must_get(&pair, "sent");
        must_get(&other, "one two");
    }
    must_equal(vigil_stream_close(other.stream), 0);
    must_equal(close(other.peer), 0);
    pair_end(&pair);
}

static void write_close_and_raise(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)data;
    (void)length;
    (void)arg;
    must_equal(vigil_stream_write(stream, "last", 4), 0);
    must_equal(vigil_stream_close(stream), 0);
    vigil_raise(-EIO);
}

static void a_callback_may_write_close_and_raise(void **state)
{
    (void)state;
    struct pair pair;
    const vigil_stream_options options = pair_options(&pair);
    vigil_loop *loop = loop_quiet();
    pair_open_with(&pair, loop, &options);
    pair.loop = loop;
    must_equal(vigil_stream_on_data(pair.stream, write_close_and_raise, &pair), 0);
    peer_says(&pair, "x");
    turns(loop);
    must_get(&pair, "last");
    must_equal(pair.closed, 1);
    must_equal(pair.end.status, 0);
    pair_end(&pair);
}

static void write_and_leave_the_thread(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)data;
    (void)arg;
    if (length <= 0)
        return;
    must_equal(vigil_stream_write(stream, "left", 4), 0);
    pthread_exit(NULL);
}

static void *run_once(void *arg)
{
    (void)vigil_loop_run(arg, VIGIL_RUN_ONCE);
    return NULL;
}

static void a_thread_that_ends_in_its_callback_has_written_all_the_same(void **state)
{
    (void)state;
    struct pair pair;
    pthread_t thread;
    vigil_loop *loop = loop_quiet();
    const vigil_stream_options options = pair_options(&pair);
    pair_open_with(&pair, loop, &options);
    must_equal(vigil_stream_on_data(pair.stream, write_and_leave_the_thread, &pair), 0);
    peer_says(&pair, "x");
    must_equal(pthread_create(&thread, NULL, run_once, loop), 0);
    must_equal(pthread_join(thread, NULL), 0);
    turns(loop);
    must_get(&pair, "left");
    pair_end(&pair);
}

/* ---- lines --------------------------------------------------------------------------------------------------------- */

struct talker {
    vigil_read read; /* first */
    struct pair pair;
    unsigned lines, most;
    char line[16];
};

static void answer_line(vigil_read *read, int64_t length)
{
    struct talker *it = (struct talker *)(void *)read;
    if (length <= 0)
        return;
    it->lines++;
    must(vigil_stream_write(it->pair.stream, it->line, (size_t)length) >= 0);
    if (it->lines != it->most)
        must_equal(vigil_stream_read_until(it->pair.stream, read, it->line, sizeof it->line, '\n'), 0);
}

static void answers_to_lines_that_came_together_leave_together(void **state)
{
    (void)state;
    struct talker it = {.read.done = answer_line, .most = 100};
    char text[256];
    pair_open(&it.pair);
    must_equal(vigil_stream_read_until(it.pair.stream, &it.read, it.line, sizeof it.line, '\n'), 0);
    peer_says(&it.pair, "a\nb\nc\nd\nrest");
    turns(it.pair.loop);
    must_get(&it.pair, "a\nb\nc\nd\n");
    must_equal(it.lines, 4);
    must_equal(sends_of(it.pair.stream), 1);
    peer_says(&it.pair, " of it\n");
    turns(it.pair.loop);
    must_get(&it.pair, "rest of it\n");
    /* the last one ends in a close: nothing is lost */
    it.most = 6;
    peer_says(&it.pair, "e\nf\ng\n");
    turns(it.pair.loop);
    must_equal(vigil_stream_close(it.pair.stream), 0);
    turns(it.pair.loop);
    must_equal(recv(it.pair.peer, text, sizeof text, MSG_DONTWAIT), 2); /* "e\n", the sixth line */
    must_equal(it.pair.closed, 1);
    it.pair.stream = NULL;
    pair_end(&it.pair);
}

/* ---- lines that are here already ----------------------------------------------------------------------------------- */

struct many {
    vigil_read read; /* first */
    struct pair pair;
    unsigned lines, between, raise_at, stop_at;
    bool queues; /* each line queues a tick and a microtask */
    char line[16];
};

static void between_lines(void *arg)
{
    struct many *it = arg;
    it->between++;
}

static void count_line(vigil_read *read, int64_t length)
{
    struct many *it = (struct many *)(void *)read;
    if (length <= 0)
        return;
    if (it->queues && it->lines != 0) /* the first line's tick has run */
        must(it->between != 0);
    it->lines++;
    must(vigil_stream_write(it->pair.stream, it->line, (size_t)length) >= 0);
    must_equal(vigil_stream_read_until(it->pair.stream, read, it->line, sizeof it->line, '\n'), 0);
    if (it->queues) {
        must_equal(vigil_loop_tick_call(it->pair.loop, between_lines, NULL, it), 0);
        must_equal(vigil_loop_microtask_call(it->pair.loop, between_lines, NULL, it), 0);
    }
    if (it->lines == it->stop_at)
        must_equal(vigil_stream_read_cancel(it->pair.stream, read), 0);
    if (it->lines == it->raise_at)
        vigil_raise(-EIO);
}

static void say_lines(struct many *it, unsigned count)
{
    char text[1024];
    must(2 * count < sizeof text);
    for (unsigned i = 0; i < count; i++)
        memcpy(text + 2 * (size_t)i, "x\n", 3);
    peer_says(&it->pair, text);
    turns(it->pair.loop);
}

static void must_get_lines(struct many *it, ssize_t count)
{
    char text[1024];
    must_equal(recv(it->pair.peer, text, sizeof text, MSG_DONTWAIT), 2 * count);
}

static void many_open(struct many *it)
{
    const vigil_stream_options options = pair_options(&it->pair);
    pair_open_with(&it->pair, loop_quiet(), &options);
    it->read.done = count_line;
    must_equal(vigil_stream_read_until(it->pair.stream, &it->read, it->line, sizeof it->line, '\n'), 0);
}

static void any_number_of_lines_is_answered(void **state)
{
    (void)state;
    struct many it = {.lines = 0};
    many_open(&it);
    for (unsigned count = 62; count < 68; count++) {
        it.lines = 0;
        say_lines(&it, count);
        must_equal(it.lines, count);
        must_get_lines(&it, count);
    }
    it.lines = 0;
    say_lines(&it, 500);
    must_equal(it.lines, 500);
    must_get_lines(&it, 500);
    must_equal(sends_of(it.pair.stream), 7);
    pair_end(&it.pair);
}

static void what_a_line_queues_comes_before_more_lines(void **state)
{
    (void)state;
    struct many it = {.queues = true};
    many_open(&it);
    say_lines(&it, 100);
    must_equal(it.lines, 100);
    must_equal(it.between, 200);
    must_get_lines(&it, 100);
    pair_end(&it.pair);
}

static void a_raise_among_lines_loses_none(void **state)
{
    (void)state;
    struct many it = {.raise_at = 3};
    many_open(&it);
    say_lines(&it, 10);
    must_equal(it.lines, 10);
    must_get_lines(&it, 10);
    pair_end(&it.pair);
}

static void a_reader_that_leaves_among_lines_finds_the_rest_later(void **state)
{
    (void)state;
    struct many it = {.stop_at = 3};
    many_open(&it);
    say_lines(&it, 10);
    must_equal(it.lines, 3);
    must_get_lines(&it, 3);
    must_equal(vigil_stream_read_until(it.pair.stream, &it.read, it.line, sizeof it.line, '\n'), 0);
    turns(it.pair.loop);
    must_equal(it.lines, 10);
    must_get_lines(&it, 7);
    it.stop_at = 13;
    say_lines(&it, 10);
    must_get_lines(&it, 3);
    must_equal(vigil_loop_run(it.pair.loop, VIGIL_RUN), 0); /* nobody waits: the loop is not kept */
    pair_end(&it.pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(two_writes_of_a_callback_are_one_call),
        test(a_callback_that_raises_has_written_all_the_same),
        test(a_callback_may_write_close_and_raise),
        test(a_thread_that_ends_in_its_callback_has_written_all_the_same),
        test(answers_to_lines_that_came_together_leave_together),
        test(any_number_of_lines_is_answered),
        test(what_a_line_queues_comes_before_more_lines),
        test(a_raise_among_lines_loses_none),
        test(a_reader_that_leaves_among_lines_finds_the_rest_later),
    };
    return run_all(tests);
}
