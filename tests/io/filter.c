/* SPDX-License-Identifier: MIT */
/* A stream with a filter is a stream like any other: the filter changes the bytes and says what it waits for. */
#include "io_test.h"

/* A filter that turns each byte round (~), begins with one byte in each direction, ends its side with a byte of its own, and can
   be told to wait for the wrong direction first. */
enum {
    HELLO = 'h',
    BYE = 'e'
};

struct turner {
    vigil_stream *stream;
    int fd;
    bool greeted, heard;
    size_t most;             /* bytes of one send; 0: all */
    unsigned char held[256]; /* read and not given */
    size_t at, length;
    unsigned read_blocked_by_write; /* so often receive asks for WRITE first */
    unsigned send_blocked_by_read;
    int start_fails;
    bool ended;
    unsigned finishes, destroyed;
};

static int turner_start(void *filter, unsigned *wants)
{
    struct turner *it = filter;
    const unsigned char hello = HELLO;
    unsigned char byte;
    if (it->start_fails != 0)
        return it->start_fails;
    if (!it->greeted) {
        if (send(it->fd, &hello, 1, MSG_NOSIGNAL) != 1)
            return -errno;
        it->greeted = true;
    }
    const ssize_t got = recv(it->fd, &byte, 1, 0);
    *wants = VIGIL_FD_READ;
    if (got == 0)
        return -ECONNRESET;
    if (got < 0)
        return -errno;
    return byte == HELLO ? 0 : -EPROTO;
}

static int64_t turner_receive(void *filter, void *buffer, size_t room, unsigned *wants)
{
    struct turner *it = filter;
    unsigned char *out = buffer;
    if (it->read_blocked_by_write != 0) {
        it->read_blocked_by_write--;
        *wants = VIGIL_FD_WRITE;
        return -EAGAIN;
    }
    if (it->at == it->length) {
        const ssize_t got = recv(it->fd, it->held, sizeof it->held, 0);
        if (got < 0)
            return -errno;
        if (got == 0)
            return it->ended ? 0 : -ECONNRESET; /* cut off */
        it->at = 0;
        it->length = (size_t)got;
    }
    size_t count = 0;
    while (count < room && count < 16 && it->at < it->length &&
           !it->ended) { /* little at a time: the rest is pending */
        const unsigned char byte = it->held[it->at++];
        if (byte == BYE)
            it->ended = true;
        else
            out[count++] = (unsigned char)~byte;
    }
    return (int64_t)count;
}

static bool turner_pending(void *filter)
{
    const struct turner *it = filter;
    return it->at != it->length || it->ended;
}

static int64_t turner_send(void *filter, const struct iovec *parts, size_t count, unsigned *wants)
{
    struct turner *it = filter;
    unsigned char turned[4096];
    size_t length = 0;
    if (it->send_blocked_by_read != 0) {
        it->send_blocked_by_read--;
        *wants = VIGIL_FD_READ;
        return -EAGAIN;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < parts[i].iov_len && length < sizeof turned; j++)
            turned[length++] = (unsigned char)~((unsigned char *)parts[i].iov_base)[j];
    if (it->most != 0 && it->most < length)
        length = it->most;
    const ssize_t sent = send(it->fd, turned, length, MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

static int turner_finish(void *filter, unsigned *wants)
{
    struct turner *it = filter;
    const unsigned char bye = BYE;
    (void)wants;
    it->finishes++;
    return send(it->fd, &bye, 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static void turner_destroy(void *filter)
{
    ((struct turner *)filter)->destroyed++;
}

static vigil_filter_calls turner_calls(void)
{
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    calls.start = turner_start;
    calls.receive = turner_receive;
    calls.pending = turner_pending;
    calls.send = turner_send;
    calls.finish = turner_finish;
    calls.destroy = turner_destroy;
    return calls;
}

struct told {
    unsigned calls;
    int status;
};

static void note_started(vigil_stream *stream, int status, void *arg)
{
    struct told *told = arg;
    (void)stream;
    told->calls++;
    told->status = status;
}

static void turn(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        text[i] = (char)~text[i];
}

static void peer_says_turned(struct pair *pair, const char *text)
{
    char bytes[1024];
    const size_t length = strlen(text);
    memcpy(bytes, text, length);
    turn(bytes, length);
    must_equal(write(pair->peer, bytes, length), length);
}

/* A stream whose filter has started. */
static void begin(struct pair *pair, struct turner *turner, struct told *told)
{
    const vigil_filter_calls calls = turner_calls();
    char byte;
    pair_open(pair);
    turner->fd = vigil_stream_fd(pair->stream);
    must_equal(vigil_stream_filter(pair->stream, &calls, turner, note_started, told), 0);
    turns(pair->loop);
    must_equal(told->calls, 0);
    must_equal(read(pair->peer, &byte, 1), 1);
    must_equal(byte, HELLO);
    must_equal(write(pair->peer, "h", 1), 1);
    turns(pair->loop);
    must_equal(told->calls, 1);
    must_equal(told->status, 0);
}

static void bytes_go_through_it(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {.most = 3};
    struct told told = {0};
    char got[64];
    begin(&pair, &turner, &told);
    must(vigil_stream_filter_of(pair.stream, turner_receive) == &turner);
    must(vigil_stream_filter_of(pair.stream, NULL) == NULL);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    static const char text[] =
        "a text that is longer than what one call of the filter gives, so that the rest is pending";
    peer_says_turned(&pair, text);
    turns(pair.loop);
    must_equal(strcmp(pair.text, text), 0); /* also what no event would have brought */
    must_equal(vigil_stream_write(pair.stream, "hello world", 11), 0);
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 11);
    turn(got, 11);
    must_equal(memcmp(got, "hello world", 11), 0);
    const char bye = BYE;
    must_equal(write(pair.peer, &bye, 1), 1);
    turns(pair.loop);
    must_equal(pair.ends, 1);
    must_equal(pair.last, 0);
    must_equal(vigil_stream_close(pair.stream), 0);
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 1); /* the filter's own end */
    must_equal(got[0], BYE);
    must_equal(read(pair.peer, got, sizeof got), 0);
    must_equal(turner.finishes, 1);
    must_equal(turner.destroyed, 1);
    must_equal(pair.closed, 1);
    must_equal(pair.end.status, 0);
    pair_end(&pair);
}

static void lines_come_out_of_it_one_by_one(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {0};
    struct told told = {0};
    struct noted_read read = {.read.done = note_read};
    char line[64];
    char seen[128] = "";
    begin(&pair, &turner, &told);
    peer_says_turned(&pair, "first line of some length\nsecond\nthird\n");
    for (unsigned i = 0; i < 3; i++) {
        must_equal(vigil_stream_read_until(pair.stream, &read.read, line, sizeof line, '\n'), 0);
        turns(pair.loop);
        must_equal(read.calls, i + 1);
        (void)strncat(seen, line, (size_t)read.result);
    }
    must_equal(strcmp(seen, "first line of some length\nsecond\nthird\n"), 0);
    pair_end(&pair);
    must_equal(turner.destroyed, 1);
}

static void what_is_written_before_the_start_waits_for_it(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {0};
    const vigil_filter_calls calls = turner_calls();
    char got[16];
    pair_open(&pair);
    turner.fd = vigil_stream_fd(pair.stream);
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, NULL, NULL), 0);
    must_equal(vigil_stream_write(pair.stream, "early", 5), 0);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 1);
    must_equal(write(pair.peer, "h", 1), 1);
    peer_says_turned(&pair, "at once"); /* behind the greeting, perhaps in one packet */
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 5);
    turn(got, 5);
    must_equal(memcmp(got, "early", 5), 0);
    must_equal(strcmp(pair.text, "at once"), 0);
    pair_end(&pair);
}

static void each_direction_may_wait_for_the_other(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {0};
    struct told told = {0};
    char got[16];
    begin(&pair, &turner, &told);
    turner.read_blocked_by_write = 2;
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    peer_says_turned(&pair, "one");
    turns(pair.loop);
    must_equal(strcmp(pair.text, "one"), 0);
    turner.send_blocked_by_read = 1;
    must_equal(vigil_stream_write(pair.stream, "two", 3), 0);
    turns(pair.loop);
    must_equal(recv(pair.peer, got, sizeof got, MSG_DONTWAIT), -1);
    peer_says_turned(&pair, "!");
    turns(pair.loop);
    must_equal(recv(pair.peer, got, sizeof got, MSG_DONTWAIT), 3);
    must_equal(strcmp(pair.text, "one!"), 0);
    pair_end(&pair);
}

static void a_start_that_fails_is_told_to_all(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {.start_fails = -EPROTO};
    struct told told = {0};
    const vigil_filter_calls calls = turner_calls();
    pair_open(&pair);
    turner.fd = vigil_stream_fd(pair.stream);
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, note_started, &told), 0);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_stream_write(pair.stream, "lost", 4), 0);
    turns(pair.loop);
    must_equal(told.calls, 1);
    must_equal(told.status, -EPROTO);
    must_equal(pair.last, -EPROTO);
    must_equal(vigil_stream_close(pair.stream), 0);
    turns(pair.loop);
    must_equal(pair.end.status, -EPROTO);
    must_equal(pair.end.unsent, 4);
    must_equal(turner.finishes, 0);
    must_equal(turner.destroyed, 1);
    pair_end(&pair);
}

static void a_start_is_a_promise_and_ends_with_its_token(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) { /* it starts; the token is aborted; the stream is closed; the loop ends */
        struct pair pair;
        struct turner turner = {0};
        const vigil_filter_calls calls = turner_calls();
        vigil_cancel_source *source;
        vigil_promise *promise;
        pair_open(&pair);
        turner.fd = vigil_stream_fd(pair.stream);
        must_equal(vigil_cancel_create(&source), 0);
        must_equal(vigil_promise_filter(pair.stream, &calls, &turner, vigil_cancel_token_of(source), &promise), 0);
        must_equal(vigil_promise_mark_handled(promise), 0);
        turns(pair.loop);
        must_equal(vigil_promise_state_get(promise), VIGIL_PENDING);
        if (how == 0)
            must_equal(write(pair.peer, "h", 1), 1);
        else if (how == 1)
            must_equal(vigil_cancel_abort(source, -ETIMEDOUT, NULL), 0);
        else if (how == 2)
            must_equal(vigil_stream_close(pair.stream), 0);
        if (how == 3)
            must_equal(vigil_loop_close(pair.loop, VIGIL_FOREVER), 0);
        else
            turns(pair.loop);
        static const int expected[] = {0, -ETIMEDOUT, -ECANCELED, -ESHUTDOWN};
        must_equal(promise_result(promise), expected[how]);
        if (how == 1)
            must_equal(vigil_stream_write(pair.stream, "x", 1), -ETIMEDOUT);
        vigil_promise_unref(promise);
        vigil_cancel_destroy(source);
        pair_end(&pair);
        must_equal(turner.destroyed, 1);
    }
}

static void only_a_stream_at_rest_takes_one(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {0};
    struct told told = {0};
    vigil_filter_calls calls = turner_calls();
    struct noted_read read = {.read.done = note_read};
    char bytes[16];
    pair_open(&pair);
    turner.fd = vigil_stream_fd(pair.stream);
    must_equal(vigil_stream_write(pair.stream, "x", 1), 0);
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, NULL, NULL), -EBUSY);
    turns(pair.loop);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, NULL, NULL), -EBUSY);
    must_equal(vigil_stream_on_data(pair.stream, NULL, NULL), 0);
    peer_says(&pair, "line\nand what somebody has put behind it");
    must_equal(vigil_stream_read_until(pair.stream, &read.read, bytes, sizeof bytes, '\n'), 0);
    turns(pair.loop);
    must_equal(read.calls, 1);
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, NULL, NULL), -EBUSY); /* in the clear */
    while (vigil_stream_try_read(pair.stream, bytes, sizeof bytes) > 0)
        ;
    calls.receive = NULL;
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, NULL, NULL), -EINVAL);
    calls.receive = turner_receive;
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, note_started, &told), 0);
    must_equal(vigil_stream_filter(pair.stream, &calls, &turner, NULL, NULL), -EBUSY);
    pair_end(&pair);
    must_equal(told.calls, 0);
    must_equal(turner.destroyed, 1);
}

static void a_reset_says_nothing_to_the_peer(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {0};
    struct told told = {0};
    char byte;
    begin(&pair, &turner, &told);
    must_equal(vigil_stream_reset(pair.stream), 0);
    turns(pair.loop);
    must_equal(turner.finishes, 0);
    must_equal(read(pair.peer, &byte, 1), 0);
    must_equal(pair.closed, 1);
    pair_end(&pair);
}

static void a_finish_ends_one_side(void **state)
{
    (void)state;
    struct pair pair;
    struct turner turner = {0};
    struct told told = {0};
    char got[16];
    begin(&pair, &turner, &told);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_stream_write(pair.stream, "last", 4), 0);
    must_equal(vigil_stream_finish(pair.stream), 0);
    turns(pair.loop);
    must_equal(read(pair.peer, got, sizeof got), 5);
    must_equal(got[4], BYE);
    peer_says_turned(&pair, "answer");
    turns(pair.loop);
    must_equal(strcmp(pair.text, "answer"), 0);
    pair_end(&pair);
    must_equal(turner.finishes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(bytes_go_through_it),
        test(lines_come_out_of_it_one_by_one),
        test(what_is_written_before_the_start_waits_for_it),
        test(each_direction_may_wait_for_the_other),
        test(a_start_that_fails_is_told_to_all),
        test(a_start_is_a_promise_and_ends_with_its_token),
        test(only_a_stream_at_rest_takes_one),
        test(a_reset_says_nothing_to_the_peer),
        test(a_finish_ends_one_side),
    };
    return run_all(tests);
}
