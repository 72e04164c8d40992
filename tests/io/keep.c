/* SPDX-License-Identifier: MIT */
/* A stream, a listener, datagrams and a child may let the loop end without them; what is to be sent is sent first. */
#include "io_test.h"

#include <sys/resource.h>
#include <sys/wait.h>

static void count_streams(vigil_listener *listener, vigil_stream *stream, void *user)
{
    unsigned *count = user;
    (void)listener;
    ++*count;
    must_equal(vigil_stream_close(stream), 0);
}

/* Does something keep the loop? */
static bool is_kept(vigil_loop *loop)
{
    const int rc = vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    must(rc == 0 || rc == 1);
    return rc == 1;
}

static void a_reader_that_does_not_count_lets_the_loop_end(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) { /* a callback, a read, unref before the reader; and back again */
        struct pair pair;
        struct noted_read read = {.read.done = note_read};
        char bytes[16];
        pair_open(&pair);
        if (how == 2)
            must_equal(vigil_stream_unref(pair.stream), 0);
        if (how == 1)
            must_equal(vigil_stream_read(pair.stream, &read.read, bytes, sizeof bytes), 0);
        else
            must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
        must_equal(vigil_stream_unref(pair.stream), 0);
        must_equal(vigil_stream_unref(pair.stream), 0); /* not counted */
        if (how == 3) {
            must_equal(vigil_stream_ref(pair.stream), 0);
            must(is_kept(pair.loop)); /* it keeps the loop */
            must_equal(vigil_stream_unref(pair.stream), 0);
        }
        must(!is_kept(pair.loop));
        must_equal(pair.calls, 0);
        peer_says(&pair, "hello"); /* it reads for as long as the loop runs */
        must(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT) >= 0);
        must_equal(how == 1 ? (size_t)read.result : pair.length, 5);
        pair_end(&pair);
    }
}

static void what_waits_to_be_sent_keeps_the_loop_all_the_same(void **state)
{
    (void)state;
    struct pair pair;
    static char much[1 << 20];
    pair_open(&pair);
    must_equal(vigil_stream_on_data(pair.stream, collect, &pair), 0);
    must_equal(vigil_stream_unref(pair.stream), 0);
    must_equal(vigil_stream_write(pair.stream, much, sizeof much), 1);
    must(is_kept(pair.loop));
    for (size_t got = 0; got < sizeof much;) {
        static char bytes[65536];
        const ssize_t more = recv(pair.peer, bytes, sizeof bytes, MSG_DONTWAIT);
        must(more > 0 || errno == EAGAIN);
        got += more > 0 ? (size_t)more : 0;
        must(vigil_loop_run(pair.loop, VIGIL_RUN_NOWAIT) >= 0);
    }
    must(!is_kept(pair.loop));
    pair_end(&pair);
}

static void a_listener_and_datagrams_too(void **state)
{
    (void)state;
    unsigned streams = 0;
    vigil_loop *loop = loop_plain();
    vigil_address address;
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_datagrams *datagrams;
    vigil_datagrams_options settings = VIGIL_DATAGRAMS_OPTIONS_INIT;
    vigil_promise *promise;
    char bytes[16];
    options.on_stream = count_streams;
    options.user = &streams;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, loop, &address, &options), 0);
    must(is_kept(loop));
    must_equal(vigil_listener_unref(listener), 0);
    must(!is_kept(loop));
    must_equal(vigil_listener_ref(listener), 0);
    must(is_kept(loop));
    must_equal(vigil_listener_unref(listener), 0);
    settings.local = &address;
    must_equal(vigil_datagrams_open(&datagrams, loop, &settings), 0);
    must_equal(vigil_promise_packet(datagrams, bytes, sizeof bytes, NULL, NULL, &promise), 0);
    must(is_kept(loop));
    must_equal(vigil_datagrams_unref(datagrams), 0);
    must(!is_kept(loop));
    must_equal(vigil_datagrams_ref(datagrams), 0);
    must(is_kept(loop));
    must_equal(vigil_promise_mark_handled(promise), 0);
    must_equal(vigil_datagrams_close(datagrams), 0);
    must_equal(vigil_listener_close(listener), 0);
    must_equal(vigil_listener_unref(NULL), -EINVAL);
    must_equal(vigil_stream_unref(NULL), -EINVAL);
    must_equal(vigil_datagrams_unref(NULL), -EINVAL);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    vigil_promise_unref(promise);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_listener_that_pauses_does_not_count_either(void **state)
{
    (void)state;
    unsigned streams = 0;
    struct rlimit before, none;
    vigil_loop *loop = loop_plain();
    vigil_address address;
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = count_streams;
    options.user = &streams;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, loop, &address, &options), 0);
    must_equal(vigil_listener_unref(listener), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    turns(loop);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must_equal(connect(fd, &address.any, address.length), 0);
    must_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    must_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    must(!is_kept(loop)); /* EMFILE: it pauses, and keeps nothing */
    must_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    must_equal(streams, 0);
    must_equal(vigil_listener_ref(listener), 0); /* its pause counts again */
    while (streams == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_listener_close(listener), 0);
    must_equal(close(fd), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_child_that_does_not_count_goes_on(void **state)
{
    (void)state;
    static const char *const argv[] = {"sh", "-c", "read line", NULL};
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    vigil_loop *loop = loop_plain();
    vigil_process *process;
    vigil_process_end end = VIGIL_PROCESS_END_INIT;
    options.argv = argv;
    options.stdio[0].kind = VIGIL_STDIO_STREAM;
    must_equal(vigil_process_open(&process, loop, &options), 0);
    must(is_kept(loop));
    must_equal(vigil_process_unref(process), 0);
    must(!is_kept(loop));
    must_equal(vigil_process_end_get(process, &end), -EAGAIN); /* it runs */
    must_equal(vigil_process_ref(process), 0);
    must_equal(vigil_stream_close(vigil_process_stream(process, 0)), 0);
    while (is_kept(loop)) /* now until its end */
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(vigil_process_end_get(process, &end), 0);
    must_equal(end.code, CLD_EXITED);
    must_equal(vigil_process_unref(process), -ESRCH);
    must_equal(vigil_process_ref(NULL), -EINVAL);
    must_equal(vigil_process_close(process), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_reader_that_does_not_count_lets_the_loop_end),
        test(what_waits_to_be_sent_keeps_the_loop_all_the_same),
        test(a_listener_and_datagrams_too),
        test(a_listener_that_pauses_does_not_count_either),
        test(a_child_that_does_not_count_goes_on),
    };
    return run_all(tests);
}
