/* SPDX-License-Identifier: MIT */
/* What only Unix sockets can: descriptors that go through them, and who the peer is. And the wait for something to read that
   holds no buffer. */
#include "io_test.h"

struct both {
    vigil_loop *loop;
    vigil_stream *one, *two;
};

static void both_open(struct both *it, bool takes)
{
    int ends[2];
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    it->loop = loop_plain();
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(vigil_stream_open(&it->one, it->loop, ends[0], NULL), 0);
    options.takes_fds = takes;
    must_equal(vigil_stream_open(&it->two, it->loop, ends[1], &options), 0);
}

static void both_end(struct both *it)
{
    must_equal(vigil_stream_close(it->one), 0);
    must_equal(vigil_stream_close(it->two), 0);
    must_equal(vigil_loop_run(it->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(it->loop), 0);
}

static unsigned count_open(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static size_t read_all(int fd, char *bytes, size_t room)
{
    size_t length = 0;
    ssize_t got;
    while (length < room && (got = read(fd, bytes + length, room - length)) > 0)
        length += (size_t)got;
    return length;
}

static void descriptors_come_with_their_bytes_in_order(void **state)
{
    (void)state;
    struct both it;
    struct noted_read read = {.read.done = note_read};
    int pipes[2];
    char bytes[64];
    const unsigned before = count_open();
    both_open(&it, true);
    must_equal(pipe2(pipes, O_CLOEXEC), 0);
    must_equal(vigil_stream_write(it.one, "ab", 2), 0);
    must_equal(vigil_stream_pass_fds(it.one, "cd", 2, pipes, 2), 0);
    must_equal(vigil_stream_write(it.one, "ef", 2), 0);
    must_equal(vigil_stream_pass_fds(it.one, "gh", 2, &pipes[1], 1), 0);
    must_equal(close(pipes[0]), 0); /* ours again: copies were sent */
    must_equal(close(pipes[1]), 0);
    must_equal(vigil_stream_take_fd(it.two), -EAGAIN);
    must_equal(vigil_stream_read_exactly(it.two, &read.read, bytes, 8), 0);
    turns(it.loop);
    must_equal(read.result, 8);
    must_equal(memcmp(bytes, "abcdefgh", 8), 0);
    int got[3];
    for (int i = 0; i < 3; i++) {
        got[i] = vigil_stream_take_fd(it.two);
        must(got[i] >= 0);
        must((fcntl(got[i], F_GETFD) & FD_CLOEXEC) != 0);
    }
    must_equal(vigil_stream_take_fd(it.two), -EAGAIN);
    must_equal(write(got[1], "x", 1), 1); /* they are a pipe still */
    must_equal(write(got[2], "y", 1), 1);
    must_equal(close(got[1]), 0);
    must_equal(close(got[2]), 0);
    must_equal(read_all(got[0], bytes, sizeof bytes), 2);
    must_equal(close(got[0]), 0);
    both_end(&it);
    must_equal(count_open(), before);
}

static void what_nobody_takes_is_closed_and_too_many_end_the_stream(void **state)
{
    (void)state;
    const unsigned before = count_open();
    for (int how = 0; how < 3; how++) { /* not taken; not wanted; too many */
        struct both it;
        struct noted_read read = {.read.done = note_read};
        char bytes[256];
        both_open(&it, how != 1);
        const int fds[] = {STDERR_FILENO, STDERR_FILENO, STDERR_FILENO, STDERR_FILENO, STDERR_FILENO};
        for (int i = 0; i < (how == 2 ? 13 : 3); i++)
            must_equal(vigil_stream_pass_fds(it.one, "x", 1, fds, 5), 0);
        for (int i = 0; i < 20; i++) {
            if (vigil_stream_read(it.two, &read.read, bytes, sizeof bytes) != 0)
                break;
            turns(it.loop);
            if (read.calls == 0 || read.result <= 0)
                break;
        }
        if (how == 2)
            must_equal(read.result, -ENOBUFS);
        both_end(&it);
        must_equal(count_open(), before);
    }
}

static void only_unix_sockets_pass_them(void **state)
{
    (void)state;
    int ends[2];
    vigil_stream *stream;
    vigil_credentials who;
    vigil_loop *loop = loop_plain();
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    must_equal(vigil_stream_open(&stream, loop, ends[1], NULL), 0);
    const int fd = STDERR_FILENO;
    must_equal(vigil_stream_pass_fds(stream, "x", 1, &fd, 1), -EOPNOTSUPP);
    must_equal(vigil_stream_credentials(stream, &who), -EOPNOTSUPP);
    must_equal(vigil_stream_close(stream), 0);
    must_equal(close(ends[0]), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    struct both it;
    both_open(&it, false);
    const int bad = 1000000;
    must_equal(vigil_stream_pass_fds(it.one, "x", 1, &bad, 1), -EBADF);
    must_equal(vigil_stream_credentials(it.one, &who), 0);
    must_equal(who.pid, getpid());
    must_equal(who.uid, getuid());
    must_equal(who.gid, getgid());
    both_end(&it);
}

static void a_wait_for_something_reads_nothing(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_read wait = {.read.done = note_read};
    vigil_promise *promise;
    char bytes[16];
    pair_open(&pair);
    must_equal(vigil_stream_readable(pair.stream, &wait.read), 0);
    must_equal(vigil_stream_readable(pair.stream, &wait.read), -EBUSY);
    turns(pair.loop);
    must_equal(wait.calls, 0);
    must_equal(vigil_stream_read_cancel(pair.stream, &wait.read), 0);
    for (unsigned i = 1; i <= 3; i++) {
        must_equal(vigil_stream_readable(pair.stream, &wait.read), 0);
        peer_says(&pair, "ab");
        turns(pair.loop);
        must_equal(wait.calls, i);
        must_equal(wait.result, 1);
        must_equal(vigil_stream_try_read(pair.stream, bytes, sizeof bytes), 2);
    }
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    must_equal(vigil_stream_stats_get(pair.stream, &stats), 0);
    must_equal(stats.reads, 3); /* one for each */
    must_equal(vigil_promise_readable(pair.stream, NULL, &promise), 0);
    must_equal(close(pair.peer), 0);
    pair.peer = -1;
    turns(pair.loop);
    must_equal(promise_result(promise), 0);
    vigil_promise_unref(promise);
    must_equal(vigil_stream_try_read(pair.stream, bytes, sizeof bytes), 0);
    must_equal(vigil_promise_readable(pair.stream, NULL, &promise), 0); /* the end is there again and again */
    turns(pair.loop);
    must_equal(promise_result(promise), 0);
    vigil_promise_unref(promise);
    must_equal(vigil_promise_readable(pair.stream, NULL, &promise), 0);
    must_equal(vigil_promise_mark_handled(promise), 0);
    must_equal(vigil_stream_close(pair.stream), 0);
    must_equal(promise_result(promise), -ECANCELED);
    vigil_promise_unref(promise);
    pair.stream = NULL;
    pair_end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(descriptors_come_with_their_bytes_in_order),
        test(what_nobody_takes_is_closed_and_too_many_end_the_stream),
        test(only_unix_sockets_pass_them),
        test(a_wait_for_something_reads_nothing),
    };
    return run_all(tests);
}
