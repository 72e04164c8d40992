/* SPDX-License-Identifier: MIT */
/* Writes of many parts: any number of them, over short writes of every length, arrives whole and in order. */
#include "io_test.h"

#include <vigil/io_filter.h>

enum {
    MOST_PARTS = 5000
};

static unsigned char bytes[MOST_PARTS * 50 + 100];

struct noted_write {
    vigil_write write; /* first */
    unsigned calls;
    int status;
};

static void note_write(vigil_write *write, int status)
{
    struct noted_write *it = (struct noted_write *)(void *)write;
    it->calls++;
    it->status = status;
}

/* So many parts of 0 to `longest` bytes, of which the first and the last are empty where there are several. Returns
   their length. */
static size_t cut(struct iovec *parts, size_t count, size_t longest)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length = count == 1 ? longest : i == 0 || i == count - 1 ? 0 : (i * 7) % (longest + 1);
        parts[i] = (struct iovec){bytes + at, length};
        at += length;
    }
    must(at <= sizeof bytes);
    return at;
}

/* ---- a filter that takes so many bytes at a time ----------------------------------------------------------------- */

struct narrow {
    size_t most;
    size_t got;
    unsigned char seen[MOST_PARTS * 3];
};

static int64_t narrow_receive(void *filter, void *buffer, size_t room, unsigned *wants)
{
    (void)filter;
    (void)buffer;
    (void)room;
    *wants = VIGIL_FD_READ;
    return -EAGAIN;
}

static int64_t narrow_send(void *filter, const struct iovec *parts, size_t count, unsigned *wants)
{
    struct narrow *self = filter;
    size_t taken = 0;
    (void)wants;
    must(count > 0);
    for (size_t i = 0; i < count && taken < self->most; i++) {
        const size_t left = self->most - taken;
        const size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
        must(self->got + length <= sizeof self->seen);
        memcpy(self->seen + self->got, parts[i].iov_base, length);
        self->got += length;
        taken += length;
    }
    return (int64_t)taken;
}

/* Two writes, so that a short write may end in either and between them. */
static void send_twice(struct pair *pair, struct narrow *narrow, const struct iovec *parts, size_t count, size_t length)
{
    struct noted_write it[2] = {{.write.done = note_write}, {.write.done = note_write}};
    narrow->got = 0;
    for (int i = 0; i < 2; i++)
        must(vigil_stream_submit(pair->stream, &it[i].write, parts, count) >= 0);
    turns(pair->loop);
    must_equal(narrow->got, 2 * length);
    must_equal(memcmp(narrow->seen, bytes, length), 0);
    must_equal(memcmp(narrow->seen + length, bytes, length), 0);
    for (int i = 0; i < 2; i++) {
        must_equal(it[i].calls, 1);
        must_equal(it[i].status, 0);
    }
}

static void short_writes_of_every_length_lose_no_part(void **state)
{
    (void)state;
    const size_t counts[] = {1, 2, 3, 63, 64, 65, 1023, 1024, 1025, MOST_PARTS};
    static struct iovec parts[MOST_PARTS];
    static struct narrow narrow;
    struct pair pair;
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    calls.receive = narrow_receive;
    calls.send = narrow_send;
    pair_open(&pair);
    must_equal(vigil_stream_filter(pair.stream, &calls, &narrow, NULL, NULL), 0);
    turns(pair.loop);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t length = cut(parts, counts[i], 2);
        /* of many parts only the short ones, and samples: else a minute under a sanitizer */
        const size_t every = counts[i] <= 65 ? SIZE_MAX : 130;
        for (narrow.most = 1; narrow.most <= 2 * length + 1; narrow.most += narrow.most < every ? 1 : 211)
            send_twice(&pair, &narrow, parts, counts[i], length);
    }
    pair_end(&pair);
}

/* ---- the system's own short writes ------------------------------------------------------------------------------- */

static void a_peer_that_reads_little_gets_every_part(void **state)
{
    (void)state;
    static struct iovec parts[MOST_PARTS];
    static unsigned char seen[sizeof bytes];
    const int small = 1;
    struct pair pair;
    struct noted_write it = {.write.done = note_write};
    size_t got = 0, step = 0;
    const size_t length = cut(parts, MOST_PARTS, 99);
    pair_open(&pair);
    must_equal(setsockopt(vigil_stream_fd(pair.stream), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    must_equal(fcntl(pair.peer, F_SETFL, O_NONBLOCK), 0);
    must(vigil_stream_submit(pair.stream, &it.write, parts, MOST_PARTS) >= 0);
    while (got < length) {
        const size_t room = ++step % 1777 < length - got ? step % 1777 + 1 : length - got;
        const ssize_t more = read(pair.peer, seen + got, room);
        if (more > 0)
            got += (size_t)more;
        else
            must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    }
    turns(pair.loop);
    must_equal(it.calls, 1);
    must_equal(it.status, 0);
    must_equal(memcmp(seen, bytes, length), 0);
    pair_end(&pair);
}

/* ---- none -------------------------------------------------------------------------------------------------------- */

static void a_write_needs_a_part_and_an_empty_one_will_do(void **state)
{
    (void)state;
    static struct iovec empty[MOST_PARTS];
    struct pair pair;
    struct noted_write it = {.write.done = note_write};
    pair_open(&pair);
    must_equal(vigil_stream_submit(pair.stream, &it.write, empty, 0), -EINVAL);
    must(strstr(vigil_why(), "parts") != NULL);
    must_equal(vigil_stream_submit(pair.stream, &it.write, empty, MOST_PARTS), 0);
    must_equal(it.calls, 0); /* never inside the call */
    turns(pair.loop);
    must_equal(it.calls, 1);
    must_equal(it.status, 0);
    pair_end(&pair);
}

int main(void)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + (i >> 8));
    const struct CMUnitTest tests[] = {
        test(short_writes_of_every_length_lose_no_part),
        test(a_peer_that_reads_little_gets_every_part),
        test(a_write_needs_a_part_and_an_empty_one_will_do),
    };
    return run_all(tests);
}
