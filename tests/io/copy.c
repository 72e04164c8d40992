/* SPDX-License-Identifier: MIT */
/* Copies between streams: in the system and through memory, as fast as the target takes, to the last byte. */
#include "io_test.h"

#include <signal.h>

/* Two streams, the other ends of both, and a copy from the first to the second. */
struct scene {
    vigil_loop *loop;
    vigil_stream *from, *to;
    int source, sink; /* the test's ends */
    vigil_promise *promise;
    vigil_copy_options options;
    uint64_t copied;
};

enum kind {
    SPLICED,
    BUFFERED,
    KINDS
};

static vigil_stream *stream_of(vigil_loop *loop, int *peer)
{
    int ends[2];
    vigil_stream *stream;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    must_equal(vigil_stream_open(&stream, loop, ends[0], NULL), 0);
    *peer = ends[1];
    return stream;
}

static void scene_open(struct scene *scene, enum kind kind)
{
    const vigil_copy_options plain = VIGIL_COPY_OPTIONS_INIT;
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
    scene->from = stream_of(scene->loop, &scene->source);
    scene->to = stream_of(scene->loop, &scene->sink);
    scene->options = plain;
    scene->options.buffered = kind == BUFFERED;
    scene->options.copied = &scene->copied;
}

static void scene_copy(struct scene *scene, vigil_cancel_token *token)
{
    must_equal(vigil_promise_copy(scene->from, scene->to, &scene->options, token, &scene->promise), 0);
}

static void scene_end(struct scene *scene)
{
    vigil_promise_unref(scene->promise);
    must_equal(vigil_stream_close(scene->from), 0);
    must_equal(vigil_stream_close(scene->to), 0);
    if (scene->source >= 0)
        must_equal(close(scene->source), 0);
    if (scene->sink >= 0)
        must_equal(close(scene->sink), 0);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

static bool is_settled(const struct scene *scene)
{
    vigil_value value;
    return vigil_promise_result(scene->promise, &value) != VIGIL_PENDING;
}

static unsigned char byte_at(uint64_t position)
{
    return (unsigned char)(position * 131 >> 3);
}

/* Feed and drain by hand, in steps of those sizes, until `total` bytes have come out. */
static void pump(struct scene *scene, uint64_t total, size_t in_step, size_t out_step)
{
    static unsigned char bytes[1 << 20];
    uint64_t in = 0, out = 0;
    while (out < total) {
        if (in < total) {
            const size_t length = in_step < total - in ? in_step : (size_t)(total - in);
            for (size_t i = 0; i < length; i++)
                bytes[i] = byte_at(in + i);
            const ssize_t sent = write(scene->source, bytes, length);
            must(sent > 0 || errno == EAGAIN);
            in += sent > 0 ? (uint64_t)sent : 0;
            if (in == total)
                must_equal(shutdown(scene->source, SHUT_WR), 0);
        }
        must(vigil_loop_run(scene->loop, VIGIL_RUN_NOWAIT) >= 0);
        const ssize_t got = read(scene->sink, bytes, out_step);
        must(got > 0 || (got < 0 && errno == EAGAIN));
        for (ssize_t i = 0; i < got; i++)
            must_equal(bytes[i], byte_at(out + (uint64_t)i));
        out += got > 0 ? (uint64_t)got : 0;
    }
}

static void every_byte_arrives_in_order(void **state)
{
    static const size_t steps[][2] = {{1, 1}, {1, 4096}, {65536, 100}, {100, 65536}, {1 << 20, 1 << 20}, {3000, 7001}};
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < count_of(steps); i++) {
            struct scene scene;
            const uint64_t total = steps[i][0] == 1 ? 3000 : steps[i][1] == 100 ? 300000 : 3000000;
            scene_open(&scene, (enum kind)kind);
            scene.options.finish = true;
            scene_copy(&scene, NULL);
            pump(&scene, total, steps[i][0], steps[i][1]);
            turns(scene.loop);
            must_equal(promise_result(scene.promise), total);
            must_equal(scene.copied, total);
            char byte;
            must_equal(read(scene.sink, &byte, 1), 0); /* the end was passed on */
            scene_end(&scene);
        }
}

static void a_target_that_takes_nothing_holds_the_source(void **state)
{
    static char bytes[65536];
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene;
        uint64_t fed = 0;
        scene_open(&scene, (enum kind)kind);
        scene_copy(&scene, NULL);
        for (int i = 0; i < 200; i++) { /* 13 MB, if somebody took them */
            const ssize_t sent = write(scene.source, bytes, sizeof bytes);
            fed += sent > 0 ? (uint64_t)sent : 0;
            turns(scene.loop);
        }
        must(fed < 4U << 20); /* the buffers of two sockets, and one pipe */
        must(!is_settled(&scene));
        must_equal(write(scene.source, bytes, 1), -1);
        scene_end(&scene);
    }
}

static void it_takes_no_more_than_it_was_told(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene;
        char bytes[16] = {0};
        scene_open(&scene, (enum kind)kind);
        scene.options.most = 5;
        scene.options.finish = true;
        scene_copy(&scene, NULL);
        must_equal(write(scene.source, "abc", 3), 3);
        turns(scene.loop);
        must_equal(write(scene.source, "defgh", 5), 5);
        turns(scene.loop);
        must_equal(promise_result(scene.promise), 5);
        must_equal(read(scene.sink, bytes, sizeof bytes), 5);
        must_equal(memcmp(bytes, "abcde", 5), 0);
        must_equal(read(scene.sink, bytes, sizeof bytes), -1); /* `from` has not ended: so neither has `to` */
        must_equal(vigil_stream_try_read(scene.from, bytes, sizeof bytes), 3);
        must_equal(memcmp(bytes, "fgh", 3), 0);
        scene_end(&scene);
    }
}

static void what_a_read_has_left_goes_first(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene;
        struct noted_read line = {.read.done = note_read};
        char bytes[32];
        scene_open(&scene, (enum kind)kind);
        must_equal(write(scene.source, "one\ntwo", 7), 7);
        must_equal(vigil_stream_read_until(scene.from, &line.read, bytes, sizeof bytes, '\n'), 0);
        turns(scene.loop);
        must_equal(line.result, 4);
        must_equal(vigil_stream_write(scene.to, "zero ", 5), 0); /* and what was written before */
        scene_copy(&scene, NULL);
        must_equal(write(scene.source, " three", 6), 6);
        turns(scene.loop);
        must_equal(read(scene.sink, bytes, sizeof bytes), 14);
        must_equal(memcmp(bytes, "zero two three", 14), 0);
        must_equal(scene.copied, 9);
        scene_end(&scene);
    }
}

static void a_cancelled_copy_delivers_what_it_took(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene;
        static char bytes[1 << 16];
        vigil_cancel_source *source;
        uint64_t out = 0;
        scene_open(&scene, (enum kind)kind);
        must_equal(vigil_cancel_create(&source), 0);
        scene_copy(&scene, vigil_cancel_token_of(source));
        for (int i = 0; i < 20; i++) { /* until the target is full, with a write under way */
            (void)!write(scene.source, bytes, sizeof bytes);
            turns(scene.loop);
        }
        must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
        turns(scene.loop);
        must_equal(promise_result(scene.promise), -ECANCELED);
        const uint64_t copied = scene.copied;
        must(copied > 0);
        while (out < copied) {
            const ssize_t got = read(scene.sink, bytes, sizeof bytes);
            out += got > 0 ? (uint64_t)got : 0;
            turns(scene.loop);
        }
        must_equal(out, copied);
        must_equal(read(scene.sink, bytes, sizeof bytes), -1);
        must_equal(vigil_stream_try_read(scene.from, bytes, 1), 1); /* the rest is there for others */
        vigil_cancel_destroy(source);
        scene_end(&scene);
    }
}

static void closing_either_stream_ends_it(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int which = 0; which < 4; which++) {
            struct scene scene;
            static char bytes[1 << 16];
            scene_open(&scene, (enum kind)kind);
            scene_copy(&scene, NULL);
            for (int i = 0; which >= 2 && i < 20; i++) { /* with a write under way */
                (void)!write(scene.source, bytes, sizeof bytes);
                turns(scene.loop);
            }
            must_equal(vigil_stream_reset(which % 2 == 0 ? scene.from : scene.to), 0);
            turns(scene.loop);
            must_equal(promise_result(scene.promise), -ECANCELED);
            must_equal(vigil_stream_close(which % 2 == 0 ? scene.to : scene.from), 0);
            must_equal(close(scene.source), 0);
            must_equal(close(scene.sink), 0);
            vigil_promise_unref(scene.promise);
            must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
            must_equal(vigil_loop_destroy(scene.loop), 0);
        }
}

/* A peer that has gone is an error of the copy, and never a signal. */
static void a_target_that_goes_away_is_told(void **state)
{
    (void)state;
    must(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene;
        scene_open(&scene, (enum kind)kind);
        scene_copy(&scene, NULL);
        must_equal(close(scene.sink), 0);
        scene.sink = -1;
        must_equal(write(scene.source, "lost", 4), 4);
        turns(scene.loop);
        must_equal(promise_result(scene.promise), -EPIPE);
        must_equal(scene.copied, 0); /* none of them was sent */
        scene_end(&scene);
    }
}

static void the_end_of_the_loop_ends_it(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int busy = 0; busy < 2; busy++) {
            struct scene scene;
            static char bytes[1 << 16];
            scene_open(&scene, (enum kind)kind);
            scene_copy(&scene, NULL);
            for (int i = 0; busy && i < 20; i++) {
                (void)!write(scene.source, bytes, sizeof bytes);
                turns(scene.loop);
            }
            must_equal(vigil_loop_close(scene.loop, VIGIL_FOREVER), 0);
            must_equal(promise_result(scene.promise), -ESHUTDOWN);
            vigil_promise_unref(scene.promise);
            must_equal(vigil_stream_close(scene.from), 0);
            must_equal(vigil_stream_close(scene.to), 0);
            must_equal(close(scene.source), 0);
            must_equal(close(scene.sink), 0);
            must_equal(vigil_loop_destroy(scene.loop), 0);
        }
}

static void pipes_are_streams_too(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        struct scene scene;
        int in[2], out[2];
        char bytes[16];
        memset(&scene, 0, sizeof scene);
        scene.loop = loop_plain();
        must_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
        must_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
        must_equal(vigil_stream_open(&scene.from, scene.loop, in[0], NULL), 0);
        must_equal(vigil_stream_open(&scene.to, scene.loop, out[1], NULL), 0);
        scene.source = in[1];
        scene.sink = out[0];
        const vigil_copy_options plain = VIGIL_COPY_OPTIONS_INIT;
        scene.options = plain;
        scene.options.buffered = kind == BUFFERED;
        scene_copy(&scene, NULL);
        must_equal(write(scene.source, "hello", 5), 5);
        turns(scene.loop);
        must_equal(read(scene.sink, bytes, sizeof bytes), 5);
        must_equal(close(scene.source), 0);
        scene.source = -1;
        turns(scene.loop);
        must_equal(promise_result(scene.promise), 5);
        scene_end(&scene);
    }
}

static void one_at_a_time_and_on_one_loop(void **state)
{
    struct scene scene, other;
    vigil_promise *promise;
    struct noted_read read = {.read.done = note_read};
    char byte;
    (void)state;
    scene_open(&scene, SPLICED);
    scene_open(&other, SPLICED);
    scene_copy(&scene, NULL);
    scene_copy(&other, NULL);
    must_equal(vigil_stream_read(scene.from, &read.read, &byte, 1), -EBUSY);
    must_equal(vigil_promise_copy(scene.from, scene.to, NULL, NULL, &promise), -EBUSY);
    must_equal(vigil_promise_copy(scene.to, scene.to, NULL, NULL, &promise), -EBUSY);
    must_equal(vigil_promise_copy(scene.to, other.from, NULL, NULL, &promise), -EXDEV);
    must_equal(vigil_promise_copy(scene.to, scene.from, NULL, NULL, NULL), -EINVAL);
    must_equal(vigil_promise_copy(NULL, scene.from, NULL, NULL, &promise), -EINVAL);
    scene_end(&scene);
    scene_end(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(every_byte_arrives_in_order),
        test(a_target_that_takes_nothing_holds_the_source),
        test(it_takes_no_more_than_it_was_told),
        test(what_a_read_has_left_goes_first),
        test(a_cancelled_copy_delivers_what_it_took),
        test(closing_either_stream_ends_it),
        test(a_target_that_goes_away_is_told),
        test(the_end_of_the_loop_ends_it),
        test(pipes_are_streams_too),
        test(one_at_a_time_and_on_one_loop),
    };
    return run_all(tests);
}
