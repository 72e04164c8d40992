/* SPDX-License-Identifier: MIT */
/* Each refusal of src/io's newer calls names what is wrong. */
#include "io_test.h"

static void refused(long long rc, const char *word, const char *call, int line)
{
    support_equal(rc, -EINVAL, call, "-EINVAL", __FILE__, line);
    if (strstr(vigil_why(), word) == NULL) {
        fprintf(stderr, "\"%s\" has no \"%s\"\n", vigil_why(), word);
        support_fail(call, __FILE__, line);
    }
}

#define refuses(call, word) refused((call), word, #call, __LINE__)

static void descriptors(void **state)
{
    (void)state;
    int ends[2];
    vigil_loop *loop = loop_plain();
    vigil_descriptor *descriptor;
    vigil_promise *promise;
    vigil_ready ready = {0};
    vigil_descriptor_options options = VIGIL_DESCRIPTOR_OPTIONS_INIT;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    options.events = VIGIL_FD_RDHUP;
    refuses(vigil_descriptor_open(&descriptor, loop, ends[0], &options), "options.events");
    must_equal(vigil_descriptor_open(&descriptor, loop, ends[0], NULL), 0);
    refuses(vigil_descriptor_fd(NULL), "descriptor");
    refuses(vigil_descriptor_name(NULL, "name"), "descriptor");
    refuses(vigil_descriptor_name(descriptor, NULL), "name");
    refuses(vigil_descriptor_await(descriptor, &ready, VIGIL_FD_READ), "ready->done");
    refuses(vigil_descriptor_await_cancel(descriptor, NULL), "ready");
    refuses(vigil_promise_ready(descriptor, 0, NULL, &promise), "events");
    refuses(vigil_descriptor_wait(descriptor, 0, 0, NULL), "events");
    must_equal(vigil_descriptor_close(descriptor), 0);
    must_equal(close(ends[1]), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void filters(void **state)
{
    (void)state;
    struct pair pair;
    vigil_promise *promise;
    const vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    pair_open(&pair);
    refuses(vigil_stream_filter(pair.stream, &calls, NULL, NULL, NULL), "calls->receive");
    refuses(vigil_promise_filter(pair.stream, &calls, NULL, NULL, &promise), "calls->receive");
    pair_end(&pair);
}

static void unix_sockets(void **state)
{
    (void)state;
    struct pair pair;
    vigil_read read = {0};
    pair_open(&pair);
    refuses(vigil_stream_readable(pair.stream, &read), "read->done");
    refuses(vigil_promise_readable(pair.stream, NULL, NULL), "promise");
    vigil_frame *frame = vigil_frame_alloc(sizeof *frame, pair.loop, NULL);
    must(frame != NULL);
    refuses(vigil_frame_read(frame, NULL, VIGIL_FRAME_READ, frame, 1, 0), "stream");
    refuses(vigil_frame_read(frame, pair.stream, VIGIL_FRAME_READ, NULL, 1, 0), "room");
    refuses(vigil_frame_read(frame, pair.stream, (vigil_frame_reads)99, frame, 1, 0), "how");
    vigil_frame_free(frame);
    refuses(vigil_promise_copy(pair.stream, pair.stream, NULL, NULL, NULL), "promise");
    refuses(vigil_stream_send_file(pair.stream, NULL, 0, 0, 0), "write");
    refuses(vigil_promise_send_file(pair.stream, 0, 0, 0, NULL, NULL), "promise");
    refuses(vigil_stream_pass_fds(pair.stream, "", 0, &pair.peer, 1), "data");
    refuses(vigil_stream_pass_fds(pair.stream, "x", 1, &pair.peer, 0), "fds");
    refuses(vigil_stream_take_fd(NULL), "stream");
    refuses(vigil_stream_name(pair.stream, NULL), "name");
    refuses(vigil_stream_ref(NULL), "stream");
    refuses(vigil_stream_unref(NULL), "stream");
    refuses(vigil_listener_ref(NULL), "listener");
    refuses(vigil_listener_unref(NULL), "listener");
    vigil_shown shown;
    refuses(vigil_shown_begin(NULL, pair.loop, "query"), "shown");
    refuses(vigil_shown_begin(&shown, pair.loop, NULL), "name");
    refuses(vigil_stream_credentials(pair.stream, NULL), "credentials");
    pair_end(&pair);
}

static void processes(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_process *process;
    vigil_promise *promise;
    vigil_process_end end = {0};
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    static const char *const words[] = {"true", NULL};
    refuses(vigil_process_open(&process, loop, &options), "options.argv");
    options.argv = words;
    must_equal(vigil_process_open(&process, loop, &options), 0);
    refuses(vigil_process_signal(NULL, 1), "process");
    refuses(vigil_process_ref(NULL), "process");
    refuses(vigil_process_unref(NULL), "process");
    refuses(vigil_process_stop(NULL, 1), "process");
    refuses(vigil_process_end_get(process, NULL), "end");
    refuses(vigil_promise_exit(process, NULL, NULL), "promise");
    must_equal(vigil_promise_exit(process, NULL, &promise), 0);
    while (vigil_promise_state_get(promise) == VIGIL_PENDING)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    refuses(vigil_process_end_get(process, &end), "end->size");
    vigil_promise_unref(promise);
    must_equal(vigil_process_close(process), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void datagrams(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    vigil_datagrams *made;
    vigil_address address;
    vigil_datagrams_options options = VIGIL_DATAGRAMS_OPTIONS_INIT;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    refuses(vigil_datagrams_open(&made, loop, &options), "options.local");
    options.broadcast = true;
    refuses(vigil_datagrams_open_fd(&made, loop, 0, &options), "broadcast");
    options.broadcast = false;
    vigil_listener *listener;
    const vigil_listener_options nobody = VIGIL_LISTENER_OPTIONS_INIT;
    refuses(vigil_listener_open_fd(&listener, loop, 0, &nobody), "options.on_stream");
    options.local = &address;
    options.largest = 70000;
    refuses(vigil_datagrams_open(&made, loop, &options), "options.largest");
    options.largest = 0;
    must_equal(vigil_datagrams_open(&made, loop, &options), 0);
    refuses(vigil_datagrams_on_packets(NULL, NULL, NULL), "datagrams");
    refuses(vigil_datagrams_send(made, NULL, 1), "packets");
    refuses(vigil_promise_packet(made, &address, 1, NULL, NULL, NULL), "promise");
    refuses(vigil_datagrams_address(made, NULL), "address");
    refuses(vigil_datagrams_fd(NULL), "datagrams");
    refuses(vigil_datagrams_ref(NULL), "datagrams");
    refuses(vigil_datagrams_unref(NULL), "datagrams");
    must_equal(vigil_datagrams_close(made), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void files(void **state)
{
    (void)state;
    vigil_promise *p;
    vigil_files on = VIGIL_FILES_INIT;
    refuses(vigil_promise_open_file(NULL, "/", 0, 0, &p), "on");
    refuses(vigil_promise_open_file(&on, "/", 0, 0, &p), "on->loop");
    refuses(vigil_promise_open_file(&on, NULL, 0, 0, &p), "path");
    refuses(vigil_file_fd(NULL), "file");
    refuses(vigil_promise_file_read(&on, NULL, 1, 0, &p), "file");
    refuses(vigil_promise_file_write(&on, NULL, NULL, 1, 0, &p), "file");
    refuses(vigil_promise_file_sync(&on, NULL, &p), "file");
    refuses(vigil_promise_file_truncate(&on, NULL, 0, &p), "file");
    refuses(vigil_promise_file_stat(&on, NULL, &p), "file");
    refuses(vigil_promise_load_file(&on, NULL, 1, &p), "path");
    refuses(vigil_promise_store_file(&on, "/", NULL, 1, 0, &p), "data");
    refuses(vigil_promise_copy_file(&on, "/", NULL, &p), "to");
    refuses(vigil_promise_stat(&on, NULL, true, &p), "path");
    refuses(vigil_promise_rename(&on, "/", NULL, &p), "path");
    refuses(vigil_promise_link(&on, "/", NULL, &p), "path");
    refuses(vigil_promise_symlink(&on, NULL, "/", &p), "path");
    refuses(vigil_promise_readlink(&on, NULL, &p), "path");
    refuses(vigil_promise_unlink(&on, NULL, &p), "path");
    refuses(vigil_promise_chmod(&on, NULL, 0, &p), "path");
    refuses(vigil_promise_mkdir(&on, NULL, 0, &p), "path");
    refuses(vigil_promise_rmdir(&on, NULL, &p), "path");
    refuses(vigil_promise_readdir(&on, NULL, &p), "path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(descriptors), test(filters), test(unix_sockets), test(processes), test(datagrams), test(files),
    };
    return run_all(tests);
}
