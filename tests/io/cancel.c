/* SPDX-License-Identifier: MIT */
/* Streams, connections, datagrams, descriptors, files and children: a function that waits for one of them is cancelled
   there. */
#include "cancel_test.h"

#include <vigil/datagram.h>
#include <vigil/descriptor.h>
#include <vigil/file.h>
#include <vigil/io_filter.h>
#include <vigil/process.h>

#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>

enum {
    FILLERS = 4
};

static struct scene {
    vigil_loop *loop;
    struct pair pair, other;
    char bytes[64];
    /* connections */
    int silent, fillers[FILLERS];
    vigil_address nowhere, somewhere;
    vigil_listener *listener;
    /* the rest */
    vigil_datagrams *datagrams;
    vigil_descriptor *descriptor;
    vigil_process *process;
    vigil_pool *pool;
    sem_t gate;
    vigil_file *file;
    char folder[64];
    char path[128], second[128];
} scene;

/* ---- streams ------------------------------------------------------------------------------------------------------ */

static vigil_loop *open_streams(void *arg)
{
    (void)arg;
    pair_open(&scene.pair);
    pair_open_with(&scene.other, scene.pair.loop, NULL);
    return scene.pair.loop;
}

static void close_streams(void *arg)
{
    (void)arg;
    must_equal(vigil_stream_close(scene.other.stream), 0);
    must_equal(close(scene.other.peer), 0);
    pair_end(&scene.pair);
}

static int await_read(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_read(scene.pair.stream, scene.bytes, sizeof scene.bytes, token, promise);
}

static int await_read_that_comes(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    peer_says(&scene.pair, "abc");
    return await_read(arg, token, promise);
}

static int await_exactly(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    peer_says(&scene.pair, "abc"); /* not all of it */
    return vigil_promise_read_exactly(scene.pair.stream, scene.bytes, 5, token, promise);
}

static int await_line(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    peer_says(&scene.pair, "abc");
    return vigil_promise_read_until(scene.pair.stream, scene.bytes, sizeof scene.bytes, '\n', token, promise);
}

static int await_readable(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_readable(scene.pair.stream, token, promise);
}

static int await_drained(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    static char many[1 << 20];
    (void)arg;
    must_equal(vigil_stream_write(scene.pair.stream, many, sizeof many), 1); /* more than the system takes */
    return vigil_promise_drained(scene.pair.stream, token, promise);
}

static int await_copy(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_copy(scene.pair.stream, scene.other.stream, NULL, token, promise);
}

static int await_copy_of_some(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    peer_says(&scene.pair, "abc");
    return await_copy(arg, token, promise);
}

static int await_copy_that_ends(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    peer_says(&scene.pair, "abc");
    must_equal(shutdown(scene.pair.peer, SHUT_WR), 0);
    return await_copy(arg, token, promise);
}

static int never_starts(void *filter, unsigned *wants)
{
    (void)filter;
    *wants = VIGIL_FD_READ;
    return -EAGAIN;
}

static int64_t no_bytes(void *filter, void *buffer, size_t room, unsigned *wants)
{
    (void)filter;
    (void)buffer;
    (void)room;
    *wants = VIGIL_FD_READ;
    return -EAGAIN;
}

static int64_t no_sending(void *filter, const struct iovec *parts, size_t count, unsigned *wants)
{
    (void)filter;
    (void)parts;
    (void)count;
    *wants = VIGIL_FD_WRITE;
    return -EAGAIN;
}

static int await_filter(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    (void)arg;
    calls.start = never_starts;
    calls.receive = no_bytes;
    calls.send = no_sending;
    calls.destroy = free;
    void *filter = malloc(1);
    must(filter != NULL);
    const int rc = vigil_promise_filter(scene.pair.stream, &calls, filter, token, promise);
    if (rc != 0)
        free(filter); /* it is still ours */
    return rc;
}

static void streams(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"read", await_read, true},
        {"read that comes", await_read_that_comes, false},
        {"read exactly", await_exactly, true},
        {"read until", await_line, true},
        {"readable", await_readable, true},
        {"drained", await_drained, true},
        {"copy", await_copy, true},
        {"copy of some", await_copy_of_some, true},
        {"copy that ends", await_copy_that_ends, false},
        {"filter", await_filter, true},
    };
    const struct await_scene with = {open_streams, close_streams, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

/* ---- connections -------------------------------------------------------------------------------------------------- */

static void drop_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    must_equal(vigil_stream_close(stream), 0);
}

/* A listener whose backlog is full, and one that accepts. */
static vigil_loop *open_connections(void *arg)
{
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    (void)arg;
    scene.loop = loop_plain();
    scene.silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(scene.silent >= 0);
    must_equal(vigil_address_init(&scene.nowhere, "127.0.0.1:0"), 0);
    must_equal(bind(scene.silent, &scene.nowhere.any, scene.nowhere.length), 0);
    must_equal(listen(scene.silent, 0), 0);
    must_equal(getsockname(scene.silent, &scene.nowhere.any, &scene.nowhere.length), 0);
    for (int i = 0; i < FILLERS; i++) {
        scene.fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        must(scene.fillers[i] >= 0);
        (void)connect(scene.fillers[i], &scene.nowhere.any, scene.nowhere.length);
    }
    options.on_stream = drop_stream;
    must_equal(vigil_address_init(&scene.somewhere, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&scene.listener, scene.loop, &scene.somewhere, &options), 0);
    must_equal(vigil_listener_address(scene.listener, &scene.somewhere), 0);
    return scene.loop;
}

static void close_connections(void *arg)
{
    (void)arg;
    for (int i = 0; i < FILLERS; i++)
        must_equal(close(scene.fillers[i]), 0);
    must_equal(close(scene.silent), 0);
    must_equal(vigil_listener_close(scene.listener), 0);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
}

static int await_silence(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_connect(scene.loop, &scene.nowhere, 1, NULL, token, promise);
}

static int await_connect(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_connect(scene.loop, &scene.somewhere, 1, NULL, token, promise);
}

static int await_race(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_connect_options options = VIGIL_CONNECT_OPTIONS_INIT;
    const vigil_address both[2] = {scene.nowhere, scene.nowhere};
    (void)arg;
    options.attempt_ns = 1; /* the second begins at once */
    return vigil_promise_connect(scene.loop, both, 2, &options, token, promise);
}

static void connections(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"connect to silence", await_silence, true},
        {"connect", await_connect, false},
        {"connect to two", await_race, true},
    };
    const struct await_scene with = {open_connections, close_connections, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

/* ---- datagrams, descriptors, children ----------------------------------------------------------------------------- */

static vigil_loop *open_others(void *arg)
{
    static const char *const argv[] = {"cat", NULL};
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    vigil_datagrams_options packets = VIGIL_DATAGRAMS_OPTIONS_INIT;
    (void)arg;
    pair_open(&scene.pair); /* its peer is watched here */
    scene.loop = scene.pair.loop;
    must_equal(vigil_address_init(&scene.somewhere, "127.0.0.1:0"), 0);
    packets.local = &scene.somewhere;
    must_equal(vigil_datagrams_open(&scene.datagrams, scene.loop, &packets), 0);
    must_equal(vigil_descriptor_open(&scene.descriptor, scene.loop, dup(scene.pair.peer), NULL), 0);
    options.argv = argv;
    options.stdio[0].kind = VIGIL_STDIO_STREAM;
    must_equal(vigil_process_open(&scene.process, scene.loop, &options), 0);
    return scene.loop;
}

static void close_others(void *arg)
{
    (void)arg;
    must_equal(vigil_datagrams_close(scene.datagrams), 0);
    (void)vigil_descriptor_close(scene.descriptor);
    must_equal(vigil_process_close(scene.process), 0); /* its input ends, and so does it */
    pair_end(&scene.pair);
}

static int await_packet(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    static vigil_address peer;
    (void)arg;
    return vigil_promise_packet(scene.datagrams, scene.bytes, sizeof scene.bytes, &peer, token, promise);
}

static int await_ready(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_ready(scene.descriptor, VIGIL_FD_READ, token, promise);
}

static int await_ready_that_comes(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    must_equal(vigil_stream_write(scene.pair.stream, "x", 1), 0);
    return await_ready(arg, token, promise);
}

static int await_exit(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    return vigil_promise_exit(scene.process, token, promise);
}

static int await_exit_that_comes(void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    must_equal(vigil_process_signal(scene.process, SIGKILL), 0);
    return await_exit(arg, token, promise);
}

static void others(void **state)
{
    (void)state;
    static const struct await_point points[] = {
        {"packet", await_packet, true},
        {"ready", await_ready, true},
        {"ready that comes", await_ready_that_comes, false},
        {"exit", await_exit, true},
        {"exit that comes", await_exit_that_comes, false},
    };
    const struct await_scene with = {open_others, close_others, NULL};
    cancel_everywhere(&with, points, count_of(points));
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static int wait_at_gate(vigil_task *task)
{
    (void)task;
    while (sem_wait(&scene.gate) != 0)
        must_equal(errno, EINTR);
    return 0;
}

static vigil_task gate_task;
static bool gated;

static void store_text(const char *path)
{
    const int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    must(fd >= 0);
    must_equal(write(fd, "text", 4), 4);
    must_equal(close(fd), 0);
}

static vigil_value took_file(vigil_value *value, void *arg)
{
    (void)arg;
    scene.file = vigil_value_move(value).pointer;
    return vigil_value_none();
}

/* A folder with a file in it, which is open. Gated: the one worker is busy, so that nothing begins. */
static vigil_loop *open_files(void *arg)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_files on = VIGIL_FILES_INIT;
    vigil_promise *promise;
    (void)arg;
    scene.loop = loop_plain();
    options.workers = 1;
    must_equal(vigil_pool_create(&scene.pool, &options), 0);
    must_equal(sem_init(&scene.gate, 0, 0), 0);
    (void)snprintf(scene.folder, sizeof scene.folder, "/tmp/vigil-cancel-XXXXXX");
    must(mkdtemp(scene.folder) != NULL);
    (void)snprintf(scene.path, sizeof scene.path, "%s/a", scene.folder);
    (void)snprintf(scene.second, sizeof scene.second, "%s/b", scene.folder);
    store_text(scene.path);
    on.loop = scene.loop;
    on.pool = scene.pool;
    scene.file = NULL;
    must_equal(vigil_promise_open_file(&on, scene.path, O_RDWR, 0, &promise), 0);
    must_equal(vigil_promise_then(promise, took_file, NULL, NULL, NULL), 0);
    vigil_promise_unref(promise);
    while (scene.file == NULL)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    if (gated) {
        vigil_task_init(&gate_task, wait_at_gate, NULL);
        must_equal(vigil_pool_submit(scene.pool, &gate_task, VIGIL_CRITICAL), 0);
    }
    return scene.loop;
}

static void close_files(void *arg)
{
    char command[128];
    (void)arg;
    if (gated)
        must_equal(sem_post(&scene.gate), 0);
    vigil_file_close(scene.file);
    must_equal(vigil_loop_run(scene.loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene.loop), 0);
    must_equal(vigil_pool_destroy(scene.pool), 0);
    must_equal(sem_destroy(&scene.gate), 0);
    (void)snprintf(command, sizeof command, "rm -rf %s", scene.folder);
    must_equal(system(command), 0);
}

static vigil_files files_with(vigil_cancel_token *token)
{
    vigil_files on = VIGIL_FILES_INIT;
    on.loop = scene.loop;
    on.pool = scene.pool;
    on.token = token;
    return on;
}

#define FILE_POINT(name, call)                                                     \
    static int name(void *arg, vigil_cancel_token *token, vigil_promise **promise) \
    {                                                                              \
        const vigil_files files = files_with(token);                               \
        const vigil_files *on = &files;                                            \
        (void)arg;                                                                 \
        return call;                                                               \
    }

FILE_POINT(await_open, vigil_promise_open_file(on, scene.path, O_RDONLY, 0, promise))
FILE_POINT(await_file_read, vigil_promise_file_read(on, scene.file, 4, 0, promise))
FILE_POINT(await_file_write, vigil_promise_file_write(on, scene.file, "TEXT", 4, 0, promise))
FILE_POINT(await_file_sync, vigil_promise_file_sync(on, scene.file, promise))
FILE_POINT(await_truncate, vigil_promise_file_truncate(on, scene.file, 2, promise))
FILE_POINT(await_file_stat, vigil_promise_file_stat(on, scene.file, promise))
FILE_POINT(await_load, vigil_promise_load_file(on, scene.path, 100, promise))
FILE_POINT(await_store, vigil_promise_store_file(on, scene.second, "new", 3, 0600, promise))
FILE_POINT(await_copy_file, vigil_promise_copy_file(on, scene.path, scene.second, promise))
FILE_POINT(await_stat, vigil_promise_stat(on, scene.path, true, promise))
FILE_POINT(await_rename, vigil_promise_rename(on, scene.path, scene.second, promise))
FILE_POINT(await_link, vigil_promise_link(on, scene.path, scene.second, promise))
FILE_POINT(await_symlink, vigil_promise_symlink(on, scene.path, scene.second, promise))
FILE_POINT(await_unlink, vigil_promise_unlink(on, scene.path, promise))
FILE_POINT(await_chmod, vigil_promise_chmod(on, scene.path, 0640, promise))
FILE_POINT(await_mkdir, vigil_promise_mkdir(on, scene.second, 0700, promise))
FILE_POINT(await_readdir, vigil_promise_readdir(on, scene.folder, promise))

/* As what it is: it may be done before the abort is seen. Gated: it is in the queue, and never done. */
static void files(void **state)
{
    (void)state;
    struct await_point points[] = {
        {"open", await_open, false},
        {"file read", await_file_read, false},
        {"file write", await_file_write, false},
        {"file sync", await_file_sync, false},
        {"truncate", await_truncate, false},
        {"file stat", await_file_stat, false},
        {"load", await_load, false},
        {"store", await_store, false},
        {"copy file", await_copy_file, false},
        {"stat", await_stat, false},
        {"rename", await_rename, false},
        {"link", await_link, false},
        {"symlink", await_symlink, false},
        {"unlink", await_unlink, false},
        {"chmod", await_chmod, false},
        {"mkdir", await_mkdir, false},
        {"readdir", await_readdir, false},
    };
    const struct await_scene with = {open_files, close_files, NULL};
    for (size_t i = 0; i < count_of(points); i++)
        for (int elsewhere = 0; elsewhere < 2; elsewhere++)
            for (int round = 0; round < 4; round++) { /* before; at once; after a turn; in the queue */
                gated = round == 3;
                points[i].endless = gated;
                const unsigned descriptors = open_descriptors();
                (void)cancel_after(&with, &points[i], gated ? 1 : round - 1, elsewhere != 0);
                must_equal(open_descriptors(), descriptors);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams),
        cmocka_unit_test(connections),
        cmocka_unit_test(others),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
