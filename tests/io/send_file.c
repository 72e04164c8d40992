/* SPDX-License-Identifier: MIT */
/* Parts of files among the writes of a stream: in their place, to the last byte, and nothing after a file that is too short. */
#include "io_test.h"

#include <vigil/io_filter.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static unsigned char byte_at(uint64_t position)
{
    return (unsigned char)(position * 131 >> 3);
}

/* A file without a name, of so many bytes. */
static int file_of(uint64_t length)
{
    static unsigned char bytes[1 << 16];
    const int fd = memfd_create("test", MFD_CLOEXEC);
    must(fd >= 0);
    for (uint64_t done = 0; done < length;) {
        const size_t step = length - done < sizeof bytes ? (size_t)(length - done) : sizeof bytes;
        for (size_t i = 0; i < step; i++)
            bytes[i] = byte_at(done + i);
        must_equal(write(fd, bytes, step), step);
        done += step;
    }
    return fd;
}

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

/* A filter that changes nothing: enough to keep the system's own way out. */
static int64_t plain_receive(void *filter, void *buffer, size_t room, unsigned *wants)
{
    (void)wants;
    const ssize_t got = recv(*(int *)filter, buffer, room, 0);
    return got < 0 ? -errno : got;
}

static int64_t plain_send(void *filter, const struct iovec *parts, size_t count, unsigned *wants)
{
    (void)wants;
    (void)count;
    const ssize_t sent = send(*(int *)filter, parts->iov_base, parts->iov_len, MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

enum target {
    SOCKET,
    PIPE,
    FILTERED,
    TARGETS
};

struct scene {
    struct pair pair;
    int raw; /* of the filter */
};

static void scene_open(struct scene *scene, enum target target)
{
    struct pair *pair = &scene->pair;
    const vigil_stream_options options = pair_options(pair);
    if (target == PIPE) {
        int ends[2];
        memset(pair, 0, sizeof *pair);
        pair->loop = loop_plain();
        must_equal(pipe2(ends, O_CLOEXEC), 0);
        pair->peer = ends[0];
        must_equal(vigil_stream_open(&pair->stream, pair->loop, ends[1], &options), 0);
    } else {
        pair_open_with(pair, loop_plain(), &options);
    }
    must_equal(fcntl(pair->peer, F_SETFL, O_NONBLOCK), 0);
    if (target == FILTERED) {
        vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
        calls.receive = plain_receive;
        calls.send = plain_send;
        scene->raw = vigil_stream_fd(pair->stream);
        must_equal(vigil_stream_filter(pair->stream, &calls, &scene->raw, NULL, NULL), 0);
        turns(pair->loop);
    }
}

/* Take `count` bytes from the peer's end while the loop turns; the first is number `from` of the file. */
static void must_arrive(struct pair *pair, uint64_t from, uint64_t count)
{
    static unsigned char bytes[1 << 16];
    uint64_t done = 0;
    while (done < count) {
        must(vigil_loop_run(pair->loop, VIGIL_RUN_NOWAIT) >= 0);
        const uint64_t most = count - done < sizeof bytes ? count - done : sizeof bytes;
        const ssize_t got = read(pair->peer, bytes, (size_t)most);
        must(got > 0 || (got < 0 && errno == EAGAIN));
        for (ssize_t i = 0; i < got; i++)
            must_equal(bytes[i], byte_at(from + done + (uint64_t)i));
        done += got > 0 ? (uint64_t)got : 0;
    }
}

static void must_arrive_text(struct pair *pair, const char *text)
{
    char bytes[64];
    const size_t length = strlen(text);
    for (size_t done = 0; done < length;) {
        must(vigil_loop_run(pair->loop, VIGIL_RUN_NOWAIT) >= 0);
        const ssize_t got = read(pair->peer, bytes, length - done);
        must(got > 0 || (got < 0 && errno == EAGAIN));
        must(got <= 0 || memcmp(bytes, text + done, (size_t)got) == 0);
        done += got > 0 ? (size_t)got : 0;
    }
}

static void a_file_leaves_in_its_place_among_the_writes(void **state)
{
    static const uint64_t lengths[] = {0, 1, 100, 16384, 16385, 1 << 20, (3 << 20) + 7};
    (void)state;
    for (int target = 0; target < TARGETS; target++)
        for (size_t i = 0; i < count_of(lengths); i++) {
            struct scene scene;
            struct noted_write first = {.write.done = note_write}, second = {.write.done = note_write};
            const int file = file_of(lengths[i] + 50);
            scene_open(&scene, (enum target)target);
            vigil_stream *stream = scene.pair.stream;
            must(vigil_stream_write(stream, "head", 4) >= 0);
            must(vigil_stream_send_file(stream, &first.write, file, 50, 0) >= 0);
            must(vigil_stream_write(stream, "between", 7) >= 0);
            must(vigil_stream_send_file(stream, &second.write, file, 10, 30) >= 0);
            must(vigil_stream_write(stream, "tail", 4) >= 0);
            must_arrive_text(&scene.pair, "head");
            must_arrive(&scene.pair, 50, lengths[i]);
            must_arrive_text(&scene.pair, "between");
            must_arrive(&scene.pair, 10, 30);
            must_arrive_text(&scene.pair, "tail");
            turns(scene.pair.loop);
            must_equal(first.calls, 1);
            must_equal(first.status, 0);
            must_equal(second.calls, 1);
            must_equal(second.status, 0);
            must_equal(lseek(file, 0, SEEK_CUR), lengths[i] + 50); /* its own offset was not used */
            must_equal(close(file), 0);
            pair_end(&scene.pair);
        }
}

static void a_close_sends_the_rest_of_the_file(void **state)
{
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        struct noted_write note = {.write.done = note_write};
        const int file = file_of(2000000);
        scene_open(&scene, (enum target)target);
        must_equal(vigil_stream_send_file(scene.pair.stream, &note.write, file, 0, 0), 1);
        must_equal(vigil_stream_close(scene.pair.stream), 0);
        must_arrive(&scene.pair, 0, 2000000);
        turns(scene.pair.loop);
        must_equal(note.calls, 1);
        must_equal(note.status, 0);
        must_equal(scene.pair.closed, 1);
        must_equal(scene.pair.end.status, 0);
        must_equal(close(file), 0);
        pair_end(&scene.pair);
    }
}

static void a_file_that_ends_early_ends_the_sending_side(void **state)
{
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        struct noted_write note = {.write.done = note_write};
        const int file = file_of(1000);
        scene_open(&scene, (enum target)target);
        must(vigil_stream_send_file(scene.pair.stream, &note.write, file, 0, 3000) >= 0);
        must(vigil_stream_write(scene.pair.stream, "tail", 4) >= 0);
        must_arrive(&scene.pair, 0, 1000);
        turns(scene.pair.loop);
        must_equal(note.calls, 1);
        must_equal(note.status, -ENODATA);
        char byte;
        must(read(scene.pair.peer, &byte, 1) < 0 && errno == EAGAIN); /* the tail is not taken for the file */
        must_equal(vigil_stream_write(scene.pair.stream, "x", 1), -ENODATA);
        must_equal(vigil_stream_close(scene.pair.stream), 0);
        turns(scene.pair.loop);
        must_equal(scene.pair.end.status, -ENODATA);
        must_equal(scene.pair.end.unsent, 2004);
        must_equal(close(file), 0);
        pair_end(&scene.pair);
    }
}

static void a_file_counts_as_unsent_and_against_no_bound(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_write note = {.write.done = note_write};
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    vigil_stream_options options = pair_options(&pair);
    const int file = file_of(4000000);
    options.most_unsent = 1000;
    pair_open_with(&pair, loop_plain(), &options);
    must_equal(fcntl(pair.peer, F_SETFL, O_NONBLOCK), 0);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, file, 0, 0), 1);
    must_equal(vigil_stream_stats_get(pair.stream, &stats), 0);
    must_equal(stats.unsent, 4000000);
    static const char text[1000];
    must_equal(vigil_stream_write(pair.stream, text, 999), 1);
    must_equal(vigil_stream_write(pair.stream, text, 2), -ENOBUFS);
    must_equal(vigil_stream_write(pair.stream, text, 1), 1);
    must_arrive(&pair, 0, 4000000);
    must_equal(close(file), 0);
    pair_end(&pair);
}

static unsigned other_calls;

static void call_again(void *arg)
{
    other_calls++;
    if (other_calls < 1000)
        must_equal(vigil_loop_call(arg, call_again, NULL, arg), 0);
}

/* 64 MiB to a process that reads as fast as it can: others have their turn in between. */
static void a_long_file_leaves_turns_to_others(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_write note = {.write.done = note_write};
    const int file = file_of(64 << 20);
    pair_open(&pair);
    const pid_t reader = fork();
    must(reader >= 0);
    if (reader == 0) {
        static char sink[1 << 20];
        (void)close(vigil_stream_fd(pair.stream)); /* else the end never comes */
        while (read(pair.peer, sink, sizeof sink) > 0)
            ;
        _exit(0);
    }
    must_equal(close(pair.peer), 0);
    pair.peer = -1;
    other_calls = 0;
    must_equal(vigil_loop_call(pair.loop, call_again, NULL, pair.loop), 0);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, file, 0, 0), 1);
    while (note.calls == 0)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(note.status, 0);
    must(other_calls >= 32); /* a mebibyte in one turn at most */
    must_equal(close(file), 0);
    pair_end(&pair);
    must_equal(waitpid(reader, NULL, 0), reader);
}

static void a_peer_that_goes_is_an_error_and_no_signal(void **state)
{
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        struct noted_write note = {.write.done = note_write};
        const int file = file_of(3000000);
        scene_open(&scene, (enum target)target);
        must_equal(vigil_stream_send_file(scene.pair.stream, &note.write, file, 0, 0), 1);
        must_arrive(&scene.pair, 0, 5000);
        must_equal(close(scene.pair.peer), 0);
        scene.pair.peer = -1;
        while (note.calls == 0)
            must(vigil_loop_run(scene.pair.loop, VIGIL_RUN_ONCE) >= 0);
        must(note.status == -EPIPE || note.status == -ECONNRESET);
        must_equal(close(file), 0);
        pair_end(&scene.pair);
    }
}

static void a_promise_tells_how_much_was_sent(void **state)
{
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        vigil_promise *promise;
        const int file = file_of(300000);
        scene_open(&scene, (enum target)target);
        must_equal(vigil_promise_send_file(scene.pair.stream, file, 100, 0, NULL, &promise), 0);
        must_arrive(&scene.pair, 100, 299900);
        turns(scene.pair.loop);
        must_equal(promise_result(promise), 299900);
        vigil_promise_unref(promise);
        must_equal(close(file), 0);
        pair_end(&scene.pair);
    }
}

/* Another write fills the socket, and the file waits behind it. */
static void an_abort_before_the_first_byte_sends_nothing(void **state)
{
    static char much[2000000];
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        vigil_promise *promise;
        vigil_cancel_source *source;
        const int file = file_of(300000);
        scene_open(&scene, (enum target)target);
        must_equal(vigil_cancel_create(&source), 0);
        must_equal(vigil_stream_write(scene.pair.stream, much, sizeof much), 1);
        must_equal(vigil_promise_send_file(scene.pair.stream, file, 0, 0, vigil_cancel_token_of(source), &promise), 0);
        must_equal(vigil_stream_write(scene.pair.stream, "tail", 4), 1);
        turns(scene.pair.loop);
        must_equal(vigil_cancel_abort(source, -ETIME, "not needed"), 0);
        turns(scene.pair.loop);
        must_equal(promise_result(promise), -ETIME);
        must_equal(close(file), 0); /* it is not read any more */
        for (size_t done = 0; done < sizeof much;) {
            const ssize_t got = read(scene.pair.peer, much, sizeof much - done);
            must(got > 0 || errno == EAGAIN);
            done += got > 0 ? (size_t)got : 0;
            must(vigil_loop_run(scene.pair.loop, VIGIL_RUN_NOWAIT) >= 0);
        }
        must_arrive_text(&scene.pair, "tail");
        must_equal(vigil_stream_close(scene.pair.stream), 0);
        turns(scene.pair.loop);
        must_equal(scene.pair.end.status, 0);
        vigil_cancel_destroy(source);
        vigil_promise_unref(promise);
        pair_end(&scene.pair);
    }
}

/* The socket is full of the file when the token is aborted: the peer reads what was sent, and then the end. */
static void an_abort_in_the_middle_ends_the_sending_side(void **state)
{
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        vigil_promise *promise;
        vigil_cancel_source *source;
        const int file = file_of(8000000);
        scene_open(&scene, (enum target)target);
        must_equal(vigil_cancel_create(&source), 0);
        must_equal(vigil_promise_send_file(scene.pair.stream, file, 0, 0, vigil_cancel_token_of(source), &promise), 0);
        must_arrive(&scene.pair, 0, 1000);
        must_equal(vigil_cancel_abort(source, -ETIME, "too long"), 0);
        turns(scene.pair.loop);
        must_equal(promise_result(promise), -ETIME);
        must_equal(close(file), 0); /* it is not read any more */
        must_equal(vigil_stream_write(scene.pair.stream, "x", 1), -ETIME);
        must_equal(vigil_stream_close(scene.pair.stream), 0);
        turns(scene.pair.loop);
        must_equal(scene.pair.end.status, -ETIME);
        must(scene.pair.end.unsent > 0);
        vigil_cancel_destroy(source);
        vigil_promise_unref(promise);
        pair_end(&scene.pair);
    }
}

/* ---- aborts at the edges ------------------------------------------------------------------------------------------ */

struct aborting_write {
    vigil_write write; /* first */
    vigil_cancel_source *source;
};

static void abort_when_done(vigil_write *write, int status)
{
    struct aborting_write *it = (struct aborting_write *)(void *)write;
    must_equal(status, 0);
    must_equal(vigil_cancel_abort(it->source, -ETIME, "not needed"), 0);
}

/* Both leave in one flush, and the first report comes before the second. */
static void an_abort_after_the_last_byte_leaves_the_stream_alone(void **state)
{
    (void)state;
    for (int target = 0; target < TARGETS; target++) {
        struct scene scene;
        vigil_promise *promise;
        struct aborting_write first = {.write.done = abort_when_done};
        const struct iovec part = {(void *)"head", 4};
        const int file = file_of(100);
        scene_open(&scene, (enum target)target);
        must_equal(vigil_cancel_create(&first.source), 0);
        must_equal(vigil_stream_submit(scene.pair.stream, &first.write, &part, 1), 0);
        must_equal(
            vigil_promise_send_file(scene.pair.stream, file, 0, 0, vigil_cancel_token_of(first.source), &promise), 0);
        must_arrive_text(&scene.pair, "head");
        must_arrive(&scene.pair, 0, 100);
        turns(scene.pair.loop);
        must_equal(promise_result(promise), -ETIME);
        must_equal(vigil_stream_write(scene.pair.stream, "tail", 4), 0);
        must_arrive_text(&scene.pair, "tail");
        must_equal(vigil_stream_close(scene.pair.stream), 0);
        turns(scene.pair.loop);
        must_equal(scene.pair.end.status, 0);
        vigil_cancel_destroy(first.source);
        vigil_promise_unref(promise);
        must_equal(close(file), 0);
        pair_end(&scene.pair);
    }
}

struct keeper {
    int raw; /* first: of plain_receive */
    bool refuses;
    uint64_t taken;
};

static int64_t keeper_send(void *filter, const struct iovec *parts, size_t count, unsigned *wants)
{
    struct keeper *it = filter;
    uint64_t length = 0;
    (void)wants;
    if (it->refuses)
        return -EAGAIN;
    for (size_t i = 0; i < count; i++)
        length += parts[i].iov_len;
    it->taken += length;
    return (int64_t)length;
}

static void keeper_open(struct pair *pair, struct keeper *keeper)
{
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    calls.receive = plain_receive;
    calls.send = keeper_send;
    pair_open(pair);
    *keeper = (struct keeper){.raw = vigil_stream_fd(pair->stream)};
    must_equal(vigil_stream_filter(pair->stream, &calls, keeper, NULL, NULL), 0);
    turns(pair->loop);
}

/* The first file uses up the turn, so that the second waits without having been offered to the filter. */
static void an_abort_of_a_file_that_no_filter_has_seen_takes_it_out(void **state)
{
    (void)state;
    struct pair pair;
    struct keeper keeper;
    vigil_promise *promise;
    struct aborting_write first = {.write.done = abort_when_done};
    const int file = file_of(1 << 20);
    keeper_open(&pair, &keeper);
    must_equal(vigil_cancel_create(&first.source), 0);
    must_equal(vigil_stream_send_file(pair.stream, &first.write, file, 0, 0), 1);
    must_equal(vigil_promise_send_file(pair.stream, file, 0, 500, vigil_cancel_token_of(first.source), &promise), 0);
    must_equal(vigil_stream_write(pair.stream, "tail", 4), 1);
    turns(pair.loop);
    must_equal(promise_result(promise), -ETIME);
    must_equal(keeper.taken, (1 << 20) + 4);
    must_equal(vigil_stream_close(pair.stream), 0);
    turns(pair.loop);
    must_equal(pair.end.status, 0);
    vigil_cancel_destroy(first.source);
    vigil_promise_unref(promise);
    must_equal(close(file), 0);
    pair_end(&pair);
}

static void abort_at_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)stream;
    (void)data;
    if (length > 0)
        must_equal(vigil_cancel_abort(arg, -ETIME, "not needed"), 0);
    else
        must_equal(length, -ETIME);
}

/* The event that lets the stream send again has come, and the reader is called before the flush. */
static void an_abort_of_a_file_that_a_filter_has_refused_ends_the_sending_side(void **state)
{
    (void)state;
    struct pair pair;
    struct keeper keeper;
    vigil_promise *promise;
    vigil_cancel_source *source;
    const int file = file_of(100);
    keeper_open(&pair, &keeper);
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_stream_on_data(pair.stream, abort_at_data, source), 0);
    turns(pair.loop);
    must_equal(vigil_promise_send_file(pair.stream, file, 0, 0, vigil_cancel_token_of(source), &promise), 0);
    keeper.refuses = true;
    must_equal(write(pair.peer, "x", 1), 1);
    while (vigil_promise_state_get(promise) == VIGIL_PENDING)
        must(vigil_loop_run(pair.loop, VIGIL_RUN_ONCE) >= 0);
    keeper.refuses = false;
    must_equal(promise_result(promise), -ETIME);
    must_equal(vigil_stream_write(pair.stream, "tail", 4), -ETIME); /* the filter would send the file's bytes first */
    turns(pair.loop);
    must_equal(keeper.taken, 0);
    vigil_cancel_destroy(source);
    vigil_promise_unref(promise);
    must_equal(close(file), 0);
    pair_end(&pair);
}

static void the_end_of_the_loop_settles_the_promise(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct pair pair;
        vigil_promise *promise;
        const int file = file_of(8000000);
        pair_open(&pair);
        must_equal(vigil_promise_send_file(pair.stream, file, 0, 0, NULL, &promise), 0);
        turns(pair.loop);
        must_equal(how == 0 ? vigil_loop_shutdown(pair.loop, 0) : vigil_loop_close(pair.loop, VIGIL_FOREVER), 0);
        must_equal(promise_result(promise), -ESHUTDOWN);
        vigil_promise_unref(promise);
        must_equal(vigil_stream_close(pair.stream), 0);
        must_equal(pair.closed, 1);
        must_equal(close(pair.peer), 0);
        must_equal(close(file), 0);
        must_equal(vigil_loop_destroy(pair.loop), 0);
    }
}

static void what_cannot_be_sent_is_refused(void **state)
{
    (void)state;
    struct pair pair;
    struct noted_write note = {.write.done = note_write};
    vigil_promise *promise;
    const int file = file_of(10);
    int ends[2];
    pair_open(&pair);
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, -1, 0, 0), -EBADF);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, ends[0], 0, 0), -EOPNOTSUPP);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, ends[1], 0, 0), -EBADF);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, file, -1, 0), -EINVAL);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, file, 11, 0), -ENODATA);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, file, 1, UINT64_MAX), -EINVAL);
    must_equal(vigil_stream_send_file(pair.stream, NULL, file, 0, 0), -EINVAL);
    must_equal(vigil_stream_send_file(NULL, &note.write, file, 0, 0), -EINVAL);
    must_equal(vigil_promise_send_file(pair.stream, file, 0, 0, NULL, NULL), -EINVAL);
    must_equal(vigil_promise_send_file(pair.stream, -1, 0, 0, NULL, &promise), -EBADF);
    must_equal(vigil_stream_finish(pair.stream), 0);
    must_equal(vigil_stream_send_file(pair.stream, &note.write, file, 0, 0), -EPIPE);
    turns(pair.loop);
    must_equal(note.calls, 0);
    must_equal(close(ends[0]), 0);
    must_equal(close(ends[1]), 0);
    must_equal(close(file), 0);
    pair_end(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_file_leaves_in_its_place_among_the_writes),
        test(a_close_sends_the_rest_of_the_file),
        test(a_file_that_ends_early_ends_the_sending_side),
        test(a_file_counts_as_unsent_and_against_no_bound),
        test(a_long_file_leaves_turns_to_others),
        test(a_peer_that_goes_is_an_error_and_no_signal),
        test(a_promise_tells_how_much_was_sent),
        test(an_abort_before_the_first_byte_sends_nothing),
        test(an_abort_in_the_middle_ends_the_sending_side),
        test(an_abort_after_the_last_byte_leaves_the_stream_alone),
        test(an_abort_of_a_file_that_no_filter_has_seen_takes_it_out),
        test(an_abort_of_a_file_that_a_filter_has_refused_ends_the_sending_side),
        test(the_end_of_the_loop_settles_the_promise),
        test(what_cannot_be_sent_is_refused),
    };
    return run_all(tests);
}
