/* SPDX-License-Identifier: MIT */
/* A stream gives what its peer has sent, once and in order, in whatever pieces it comes; and it says how it ended. */
#include "io_test.h"

#include <signal.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void what_comes_is_given(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    peer_says(&pair, "one");
    must_equal(pair.calls, 0); /* never inside a call */
    turns(pair.loop);
    must_equal(strcmp(pair.text, "one"), 0);
    peer_says(&pair, "two");
    turns(pair.loop);
    must_equal(strcmp(pair.text, "onetwo"), 0);
    must_equal(close(pair.peer), 0);
    pair.peer = -1;
    turns(pair.loop);
    must_equal(pair.ends, 1);
    must_equal(pair.last, 0);
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    must_equal(vigil_stream_stats_get(pair.stream, &stats), 0);
    must_equal(stats.bytes_read, 6);
    must(stats.reads <= 5); /* a try when the reader came, two pieces, the end */
    pair_end(&pair);
    must_equal(pair.closed, 1);
    must_equal(pair.end.status, 0);
}

static void a_line_at_a_time_in_any_pieces(void **state)
{
    (void)state;
    static const char text[] = "first\nsecond\n\nlast without an end";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct pair pair;
        struct noted_read read = {.read.done = note_read};
        char line[64];
        char seen[128] = "";
        pair_open(&pair);
        must_equal(vigil_stream_read_until(pair.stream, &read.read, line, sizeof line, '\n'), 0);
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            const size_t length = sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece;
            must_equal(write(pair.peer, text + at, length), length);
            turns(pair.loop);
            while (read.calls != 0) {
                read.calls = 0;
                (void)strncat(seen, line, (size_t)read.result);
                (void)strcat(seen, "|");
                must_equal(vigil_stream_read_until(pair.stream, &read.read, line, sizeof line, '\n'), 0);
                turns(pair.loop);
            }
        }
        must_equal(shutdown(pair.peer, SHUT_WR), 0);
        turns(pair.loop);
        must_equal(read.calls, 1); /* what came without a delimiter, like a last line */
        (void)strncat(seen, line, (size_t)read.result);
        must_equal(strcmp(seen, "first\n|second\n|\n|last without an end"), 0);
        must_equal(vigil_stream_read_until(pair.stream, &read.read, line, sizeof line, '\n'), 0);
        turns(pair.loop);
        must_equal(read.calls, 2);
        must_equal(read.result, 0);
        pair_end(&pair);
    }
}

static void a_line_that_is_too_long_is_an_error(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_read read = {.read.done = note_read};
    char line[4];
    pair_open(&pair);
    peer_says(&pair, "12345\n");
    must_equal(vigil_stream_read_until(pair.stream, &read.read, line, sizeof line, '\n'), 0);
    turns(pair.loop);
    must_equal(read.result, -EMSGSIZE);
    must_equal(memcmp(line, "1234", 4), 0);
    must_equal(vigil_stream_read_until(pair.stream, &read.read, line, sizeof line, '\n'), 0);
    turns(pair.loop);
    must_equal(read.result, 2); /* the rest of it is still there */
    must_equal(memcmp(line, "5\n", 2), 0);
    pair_end(&pair);
}

static void exactly_so_many_bytes(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_read read = {.read.done = note_read};
    char bytes[8] = "";
    pair_open(&pair);
    must_equal(vigil_stream_read_exactly(pair.stream, &read.read, bytes, 6), 0);
    must_equal(vigil_stream_read(pair.stream, &(vigil_read){.done = note_read}, bytes, 1), -EBUSY);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), -EBUSY);
    peer_says(&pair, "abc");
    turns(pair.loop);
    must_equal(read.calls, 0);
    peer_says(&pair, "defgh");
    turns(pair.loop);
    must_equal(read.result, 6);
    must_equal(memcmp(bytes, "abcdef", 6), 0);
    must_equal(vigil_stream_read_exactly(pair.stream, &read.read, bytes, 3), 0);
    must_equal(close(pair.peer), 0);
    pair.peer = -1;
    turns(pair.loop);
    must_equal(read.result, -ENODATA);
    pair_end(&pair);
}

static void a_read_that_is_taken_back_loses_nothing(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_read read = {.read.done = note_read};
    char bytes[8];
    pair_open(&pair);
    must_equal(vigil_stream_read_exactly(pair.stream, &read.read, bytes, 6), 0);
    peer_says(&pair, "abc");
    turns(pair.loop);
    must_equal(vigil_stream_read_cancel(pair.stream, &read.read), 0);
    must_equal(vigil_stream_read_cancel(pair.stream, &read.read), -ESTALE);
    must_equal(vigil_stream_try_read(pair.stream, bytes, 2), 2);
    must_equal(memcmp(bytes, "ab", 2), 0);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    peer_says(&pair, "def");
    turns(pair.loop);
    must_equal(strcmp(pair.text, "cdef"), 0);
    must_equal(read.calls, 0);
    pair_end(&pair);
}

struct raising {
    struct pair pair;
    unsigned raised;
};

static void raise_once(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct raising *it = arg;
    collect(stream, data, length, &it->pair);
    if (it->raised++ == 0)
        vigil_raise(-EIO);
}

static void nothing(void *user, const vigil_uncaught *uncaught)
{
    (void)user;
    (void)uncaught;
}

static void a_callback_that_raises_harms_itself_alone(void **state)
{
    (void)state;
    struct raising it = {0};
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = nothing;
    const vigil_stream_options stream_options = pair_options(&it.pair);
    pair_open_with(&it.pair, loop_with(&options), &stream_options);
    must_equal(vigil_stream_on_data(it.pair.stream, raise_once, &it), 0);
    peer_says(&it.pair, "one");
    turns(it.pair.loop);
    peer_says(&it.pair, "two");
    turns(it.pair.loop);
    must_equal(strcmp(it.pair.text, "onetwo"), 0);
    must_equal(it.raised, 2);
    pair_end(&it.pair);
}

static void close_it(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct pair *pair = arg;
    (void)data;
    (void)length;
    pair->calls++;
    must_equal(vigil_stream_write(stream, "bye", 3), 0);
    must_equal(vigil_stream_close(stream), 0);
}

static void it_may_be_closed_inside_its_callback(void **state)
{
    (void)state;
    struct pair pair;
    char got[8] = "";
    pair_open(&pair);
    must_equal(vigil_stream_on_data(pair.stream, close_it, &pair), 0);
    peer_says(&pair, "hello");
    turns(pair.loop);
    must_equal(pair.calls, 1);
    must_equal(pair.closed, 1);
    must_equal(pair.end.status, 0);
    must_equal(read(pair.peer, got, sizeof got), 3); /* what was written is sent first */
    must_equal(memcmp(got, "bye", 3), 0);
    must_equal(read(pair.peer, got, sizeof got), 0);
    pair_end(&pair);
}

static void read_again_after_the_end(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct pair *pair = arg;
    (void)data;
    must_equal(length, 0);
    if (++pair->ends < 3)
        must_equal(vigil_stream_on_data(stream, read_again_after_the_end, pair), 0);
}

static void the_end_is_there_for_each_new_reader(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_read it = {.read.done = note_read};
    char byte;
    pair_open(&pair);
    must_equal(shutdown(pair.peer, SHUT_WR), 0);
    must_equal(vigil_stream_on_data(pair.stream, read_again_after_the_end, &pair), 0);
    turns(pair.loop);
    must_equal(pair.ends, 3);
    must_equal(vigil_stream_on_data(pair.stream, read_again_after_the_end, &pair), 0);
    turns(pair.loop);
    must_equal(pair.ends, 4);
    must_equal(vigil_stream_read(pair.stream, &it.read, &byte, 1), 0);
    turns(pair.loop);
    must_equal(it.calls, 1);
    must_equal(it.result, 0);
    must_equal(vigil_stream_readable(pair.stream, &it.read), 0);
    turns(pair.loop);
    must_equal(it.calls, 2);
    must_equal(vigil_stream_try_read(pair.stream, &byte, 1), 0);
    must_equal(vigil_stream_write(pair.stream, "x", 1), 0); /* the other side goes on */
    turns(pair.loop);
    must_equal(read(pair.peer, &byte, 1), 1);
    pair_end(&pair);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum {
    MUCH = 4 << 20
};

struct flood {
    struct pair pair;
    unsigned char *data;
    unsigned drained, done;
    struct iovec parts[3];
    vigil_write write;
    size_t got;
};

static void count_drained(void *arg)
{
    ((struct flood *)arg)->drained++;
}

static void count_done(vigil_write *write, int status)
{
    struct flood *flood = container_of(write, struct flood, write);
    must_equal(status, 0);
    flood->done++;
}

static void much_is_sent_in_order_and_says_when_it_is_too_much(void **state)
{
    (void)state;
    struct flood flood = {.write.done = count_done};
    flood.data = malloc(MUCH);
    must(flood.data != NULL);
    for (size_t i = 0; i < MUCH; i++)
        flood.data[i] = (unsigned char)(i * 7 + (i >> 11));
    pair_open(&flood.pair);
    must_equal(vigil_stream_write(flood.pair.stream, flood.data, 100), 0);
    flood.parts[0] = (struct iovec){flood.data + 100, 0};
    flood.parts[1] = (struct iovec){flood.data + 100, MUCH / 2 - 100};
    flood.parts[2] = (struct iovec){flood.data + MUCH / 2, 1};
    must_equal(vigil_stream_submit(flood.pair.stream, &flood.write, flood.parts, 3), 1);
    must_equal(vigil_stream_write(flood.pair.stream, flood.data + MUCH / 2 + 1, MUCH / 2 - 1), 1);
    must_equal(vigil_stream_on_drained(flood.pair.stream, count_drained, &flood), 0);
    must_equal(vigil_stream_on_drained(flood.pair.stream, count_drained, &flood), -EBUSY);
    turns(flood.pair.loop);
    must_equal(flood.drained, 0);
    unsigned char *got = malloc(MUCH);
    must(got != NULL);
    must_equal(fcntl(flood.pair.peer, F_SETFL, O_NONBLOCK), 0);
    while (flood.got < MUCH) {
        const ssize_t more = read(flood.pair.peer, got + flood.got, MUCH - flood.got);
        if (more > 0)
            flood.got += (size_t)more;
        else
            must(vigil_loop_run(flood.pair.loop, VIGIL_RUN_ONCE) >= 0);
    }
    turns(flood.pair.loop);
    must_equal(memcmp(got, flood.data, MUCH), 0);
    must_equal(flood.drained, 1);
    must_equal(flood.done, 1);
    pair_end(&flood.pair);
    free(got);
    free(flood.data);
}

static void many_small_writes_are_one_call(void **state)
{
    (void)state;
    struct pair pair;
    char got[8192];
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    pair_open(&pair);
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_stream_write(pair.stream, "12345", 5), 0);
    turns(pair.loop);
    must_equal(vigil_stream_stats_get(pair.stream, &stats), 0);
    must_equal(stats.sends, 1);
    must_equal(stats.bytes_sent, 5000);
    must_equal(stats.unsent, 0);
    must_equal(read(pair.peer, got, sizeof got), 5000);
    pair_end(&pair);
}

static void a_bound_refuses_what_is_above_it(void **state)
{
    (void)state;
    struct pair pair;
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    options.most_unsent = 10;
    pair_open_with(&pair, loop_plain(), &options);
    must_equal(vigil_stream_write(pair.stream, "12345678", 8), 0);
    must_equal(vigil_stream_write(pair.stream, "901", 3), -ENOBUFS);
    must(strstr(vigil_why(), "most_unsent") != NULL);
    must_equal(vigil_stream_write(pair.stream, "90", 2), 0);
    pair_end(&pair);
}

static void the_two_sides_end_apart(void **state)
{
    (void)state;
    struct pair pair;
    char got[8];
    pair_open(&pair);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_stream_write(pair.stream, "last", 4), 0);
    must_equal(vigil_stream_finish(pair.stream), 0);
    must_equal(vigil_stream_finish(pair.stream), -EALREADY);
    must_equal(vigil_stream_write(pair.stream, "more", 4), -EPIPE);
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 4);
    must_equal(read(pair.peer, got, sizeof got), 0);
    peer_says(&pair, "still"); /* reading goes on */
    turns(pair.loop);
    must_equal(strcmp(pair.text, "still"), 0);
    pair_end(&pair);
}

static void what_the_peer_sent_is_read_though_nothing_can_be_sent(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_read read = {.read.done = note_read};
    char bytes[16];
    pair_open(&pair);
    peer_says(&pair, "farewell");
    must_equal(close(pair.peer), 0);
    pair.peer = -1;
    must_equal(vigil_stream_write(pair.stream, "x", 1), 0);
    turns(pair.loop); /* EPIPE, and no signal */
    must_equal(vigil_stream_write(pair.stream, "x", 1), -EPIPE);
    must_equal(vigil_stream_read(pair.stream, &read.read, bytes, sizeof bytes), 0);
    turns(pair.loop);
    must_equal(read.result, 8);
    pair_end(&pair);
    must_equal(pair.end.status, -EPIPE);
    must_equal(pair.end.unsent, 1);
}

static void a_pipe_without_reader_is_an_error_and_no_signal(void **state)
{
    (void)state;
    int ends[2];
    struct pair pair = {.loop = loop_plain(), .peer = -1};
    const vigil_stream_options options = pair_options(&pair);
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    must_equal(vigil_stream_open(&pair.stream, pair.loop, ends[1], &options), 0);
    must_equal(close(ends[0]), 0);
    must_equal(vigil_stream_write(pair.stream, "x", 1), 0);
    turns(pair.loop);
    must_equal(vigil_stream_write(pair.stream, "x", 1), -EPIPE);
    pair_end(&pair);
    must_equal(pair.end.status, -EPIPE);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void fill(struct pair *pair) /* until the system takes no more */
{
    static char zeros[65536];
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    do {
        must(vigil_stream_write(pair->stream, zeros, sizeof zeros) >= 0);
        turns(pair->loop);
        must_equal(vigil_stream_stats_get(pair->stream, &stats), 0);
    } while (stats.unsent == 0);
}

struct late {
    struct pair *pair;
    size_t *got;
    unsigned *finals;
};

static void note_late(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct late *late = arg;
    must(stream == late->pair->stream && (data != NULL) == (length > 0));
    must(length >= 0);
    *late->got += (size_t)length;
    *late->finals += length == 0;
}

/* The peer has said something and has gone before anybody reads: all of it is given, then the end. */
static void who_reads_late_is_told_of_the_end(void **state)
{
    (void)state;
    static char much[3 * 65536];
    for (int how = 0; how < 4; how++) { /* a socket; a pipe; more than one read; reading was stopped in between */
        int ends[2];
        struct pair pair = {.loop = loop_plain()};
        const vigil_stream_options options = pair_options(&pair);
        const size_t length = how == 2 ? sizeof much : 4;
        must_equal(how == 1 ? pipe2(ends, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        if (how == 2)
            must_equal(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int)), 0);
        must_equal(vigil_stream_open(&pair.stream, pair.loop, ends[0], &options), 0);
        if (how == 3) {
            must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
            turns(pair.loop);
            must_equal(vigil_stream_on_data(pair.stream, NULL, NULL), 0);
        }
        must_equal(write(ends[1], much, length), length);
        must_equal(close(ends[1]), 0);
        pair.peer = -1;
        turns(pair.loop); /* nobody wants to know */
        size_t got = 0;
        unsigned finals = 0;
        struct late late = {&pair, &got, &finals};
        must_equal(vigil_stream_on_data(pair.stream, note_late, &late), 0);
        turns(pair.loop);
        must_equal(got, length);
        must_equal(finals, 1);
        pair_end(&pair);
    }
}

static void a_reset_says_what_is_lost(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    fill(&pair);
    must_equal(vigil_stream_reset(pair.stream), 0);
    turns(pair.loop);
    must_equal(pair.closed, 1);
    must_equal(pair.end.status, -ECANCELED);
    must(pair.end.unsent > 0);
    pair_end(&pair);
}

static void a_peer_that_never_reads_holds_the_close_up_for_flush_ns(void **state)
{
    (void)state;
    struct pair pair;
    vigil_stream_options options = pair_options(&pair);
    options.flush_ns = 20000000;
    pair_open_with(&pair, loop_plain(), &options);
    fill(&pair);
    must_equal(vigil_stream_close(pair.stream), 0);
    while (pair.closed == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(pair.end.status, -ETIMEDOUT);
    must(pair.end.unsent > 0);
    pair_end(&pair);
}

static void an_idle_stream_fails_after_its_time(void **state)
{
    (void)state;
    struct pair pair;
    vigil_stream_options options = pair_options(&pair);
    options.idle_ns = 20000000;
    pair_open_with(&pair, loop_plain(), &options);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    const uint64_t begin = now_ns();
    while (pair.ends == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(pair.last, -ETIMEDOUT);
    must(now_ns() - begin >= 20000000);
    pair_end(&pair);
}

static void talk_back(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct pair *pair = arg;
    pair->last = length;
    if (length <= 0)
        pair->ends++;
    else
        (void)vigil_stream_write(stream, data, (size_t)length);
}

static void say_again(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct pair *pair = arg;
    char byte = 'x';
    (void)loop;
    (void)timer;
    must_equal(write(pair->peer, &byte, 1), 1);
}

/* Traffic does not prolong it. */
static void a_stream_fails_at_the_end_of_its_life(void **state)
{
    (void)state;
    struct pair pair;
    vigil_timer timer;
    vigil_stream_options options = pair_options(&pair);
    vigil_timer_options often = VIGIL_TIMER_OPTIONS_INIT;
    options.life_ns = 30000000;
    options.idle_ns = INT64_C(3600000000000);
    pair_open_with(&pair, loop_plain(), &options);
    must_equal(vigil_stream_on_data(pair.stream, talk_back, &pair), 0);
    often.delay_ns = 1000000;
    often.interval_ns = 1000000;
    must_equal(vigil_timer_start_with(pair.loop, &often, say_again, &pair, &timer), 0);
    const uint64_t begin = now_ns();
    while (pair.ends == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(pair.last, -ETIMEDOUT);
    must(now_ns() - begin >= 30000000);
    must_equal(vigil_timer_cancel(pair.loop, timer), 0);
    pair_end(&pair);
}

static void the_end_of_its_life_ends_the_flush_of_a_close(void **state)
{
    (void)state;
    struct pair pair;
    vigil_stream_options options = pair_options(&pair);
    options.life_ns = 20000000;
    pair_open_with(&pair, loop_plain(), &options);
    fill(&pair);
    must_equal(vigil_stream_close(pair.stream), 0);
    while (pair.closed == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(pair.end.status, -ETIMEDOUT);
    pair_end(&pair);
}

static void the_end_of_the_loop_is_told(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    fill(&pair);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_loop_shutdown(pair.loop, VIGIL_FOREVER), 0);
    must_equal(pair.last, -ESHUTDOWN);
    must_equal(pair.ends, 1);
    must_equal(vigil_stream_write(pair.stream, "x", 1), -ESHUTDOWN);
    must_equal(vigil_loop_destroy(pair.loop), 0);
    must_equal(pair.closed, 0);
    must_equal(vigil_stream_close(pair.stream), 0); /* its memory, also behind the loop */
    must_equal(pair.closed, 1);
    must_equal(pair.end.status, -ESHUTDOWN);
    must(pair.end.unsent > 0);
    must_equal(close(pair.peer), 0);
}

static void close_at_the_end(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct pair *pair = arg;
    (void)data;
    pair->calls++;
    must_equal(length, -ESHUTDOWN);
    must_equal(vigil_stream_close(stream), 0);
}

static void it_may_be_closed_while_the_loop_ends(void **state)
{
    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        struct pair pair;
        pair_open(&pair);
        fill(&pair);
        must_equal(vigil_stream_on_data(pair.stream, close_at_the_end, &pair), 0);
        must_equal(at_once ? vigil_loop_close(pair.loop, VIGIL_FOREVER) : vigil_loop_shutdown(pair.loop, VIGIL_FOREVER),
                   0);
        must_equal(pair.calls, 1);
        must_equal(pair.closed, 1);
        must_equal(vigil_loop_destroy(pair.loop), 0);
        must_equal(close(pair.peer), 0);
    }
}

static void end_in_child(void *arg)
{
    struct pair *pair = arg;
    must_equal(vigil_stream_write(pair->stream, "x", 1), -ECHILD);
    must_equal(vigil_stream_close(pair->stream), 0);
    must_equal(vigil_loop_destroy(pair->loop), 0);
    _exit(0);
}

static void a_child_gives_its_copy_back(void **state)
{
    (void)state;
    struct pair pair;
    char got[4];
    pair_open(&pair);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(in_child(end_in_child, &pair), 0);
    must_equal(vigil_stream_write(pair.stream, "here", 4), 0); /* the parent's works as before */
    peer_says(&pair, "there");
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 4);
    must_equal(strcmp(pair.text, "there"), 0);
    pair_end(&pair);
}

static void have_a_child_of_my_number(void *arg)
{
    struct pair pair;
    (void)arg;
    pair_open(&pair);
    next_child_has_my_number();
    must_equal(in_child(end_in_child, &pair), 0);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    peer_says(&pair, "there"); /* the child has not taken the descriptor out of the set that both watch */
    turns(pair.loop);
    must_equal(strcmp(pair.text, "there"), 0);
    pair_end(&pair);
    _exit(0);
}

static void a_child_that_has_its_parents_number_is_a_child(void **state)
{
    (void)state;
    const int status = as_first_process(have_a_child_of_my_number, NULL);
    must(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    must_equal(WEXITSTATUS(status), 0);
}

static void a_stream_keeps_the_loop_while_somebody_waits(void **state)
{
    (void)state;
    struct pair pair;
    pair_open(&pair);
    must_equal(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE), 0); /* nobody waits */
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(vigil_stream_on_data(pair.stream, NULL, NULL), 0);
    must_equal(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT), 0);
    pair_end(&pair);
}

struct busy {
    struct pair pair;
    const struct pair *calm;
    unsigned calls, calls_before_calm;
    size_t length;
};

static void count_pieces(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct busy *busy = arg;
    (void)stream;
    (void)data;
    must(length > 0);
    busy->calls++;
    busy->length += (size_t)length;
    if (busy->calm->length == 0)
        busy->calls_before_calm = busy->calls;
}

static void a_busy_peer_gives_way(void **state)
{
    (void)state;
    struct busy busy = {0};
    struct pair calm;
    static char much[1 << 18];
    const vigil_stream_options options = pair_options(&calm);
    const vigil_stream_options busy_options = pair_options(&busy.pair);
    pair_open_with(&calm, loop_plain(), &options);
    pair_open_with(&busy.pair, calm.loop, &busy_options);
    busy.calm = &calm;
    must_equal(fcntl(busy.pair.peer, F_SETFL, O_NONBLOCK), 0);
    const ssize_t sent = write(busy.pair.peer, much, sizeof much);
    must(sent > 3 * 65536);
    must_equal(vigil_stream_on_data(busy.pair.stream, count_pieces, &busy), 0);
    must_equal(vigil_stream_on_data(calm.stream, collect, &calm), 0);
    peer_says(&calm, "me too");
    turns(calm.loop);
    must_equal(busy.length, sent);
    must(busy.calls > 2);
    must(busy.calls_before_calm <= 2); /* one piece in a turn */
    must_equal(vigil_stream_close(busy.pair.stream), 0);
    must_equal(close(busy.pair.peer), 0);
    pair_end(&calm);
}

static void wrong_calls_say_what_is_wrong(void **state)
{
    (void)state;
    struct pair pair;
    vigil_stream *stream;
    pair_open(&pair);
    must_equal(vigil_stream_open(NULL, pair.loop, 0, NULL), -EINVAL);
    must_equal(vigil_stream_open(&stream, NULL, 0, NULL), -EINVAL);
    must_equal(vigil_stream_open(&stream, pair.loop, 1000000, NULL), -EBADF);
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    must(file >= 0);
    must(vigil_stream_open(&stream, pair.loop, file, NULL) < 0); /* epoll takes no such thing */
    must_equal(close(file), 0);
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    options.life_ns = 0;
    must_equal(vigil_stream_open(&stream, pair.loop, pair.peer, &options), -EINVAL);
    options.life_ns = VIGIL_FOREVER;
    options.idle_ns = 0;
    must_equal(vigil_stream_open(&stream, pair.loop, pair.peer, &options), -EINVAL);
    char byte;
    must_equal(vigil_stream_read(pair.stream, NULL, &byte, 1), -EINVAL);
    must_equal(vigil_stream_write(pair.stream, NULL, 1), -EINVAL);
    must_equal(vigil_stream_write(pair.stream, NULL, 0), 0);
    must_equal(vigil_stream_close(NULL), 0);
    pair_end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_comes_is_given),
        test(a_line_at_a_time_in_any_pieces),
        test(a_line_that_is_too_long_is_an_error),
        test(exactly_so_many_bytes),
        test(a_read_that_is_taken_back_loses_nothing),
        test(a_callback_that_raises_harms_itself_alone),
        test(it_may_be_closed_inside_its_callback),
        test(the_end_is_there_for_each_new_reader),
        test(much_is_sent_in_order_and_says_when_it_is_too_much),
        test(many_small_writes_are_one_call),
        test(a_bound_refuses_what_is_above_it),
        test(the_two_sides_end_apart),
        test(what_the_peer_sent_is_read_though_nothing_can_be_sent),
        test(a_pipe_without_reader_is_an_error_and_no_signal),
        test(who_reads_late_is_told_of_the_end),
        test(a_reset_says_what_is_lost),
        test(a_peer_that_never_reads_holds_the_close_up_for_flush_ns),
        test(an_idle_stream_fails_after_its_time),
        test(a_stream_fails_at_the_end_of_its_life),
        test(the_end_of_its_life_ends_the_flush_of_a_close),
        test(the_end_of_the_loop_is_told),
        test(it_may_be_closed_while_the_loop_ends),
        test(a_child_gives_its_copy_back),
        test(a_child_that_has_its_parents_number_is_a_child),
        test(a_stream_keeps_the_loop_while_somebody_waits),
        test(a_busy_peer_gives_way),
        test(wrong_calls_say_what_is_wrong),
    };
    return run_all(tests);
}
