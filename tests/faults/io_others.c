/* SPDX-License-Identifier: MIT */
/* Every system call and every allocation in the life of a datagram, a child, a stored and a copied file, and a passed descriptor fails
   once, in turn, with several errors. Whatever happens, it is reported or it went well; nothing leaks, nothing is left behind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "faults.h"
#include "io/io_test.h"

#include <dirent.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* ---- calls that fail --------------------------------------------------------------------------------------------- */

enum call {
    CALL_SOCKET,
    CALL_BIND,
    CALL_SENDMMSG,
    CALL_RECVMMSG,
    CALL_PIPE2,
    CALL_SPAWN,
    CALL_READ,
    CALL_WRITE,
    CALL_FSYNC,
    CALL_RENAME,
    CALL_MKOSTEMP,
    CALL_COPY_FILE_RANGE,
    CALL_SENDMSG,
    CALL_RECVMSG,
    CALLS
};

static struct {
    enum call call;
    _Atomic uint64_t at; /* 0: none */
    int error;
    _Atomic uint64_t seen[CALLS];
} broken;

static bool fails(enum call call)
{
    if (atomic_fetch_add(&broken.seen[call], 1) + 1 != atomic_load(&broken.at) || broken.call != call)
        return false;
    errno = broken.error;
    return true;
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
    return fails(CALL_SOCKET) ? -1 : __real_socket(domain, type, protocol);
}

int __real_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t length)
{
    return fails(CALL_BIND) ? -1 : __real_bind(fd, address, length);
}

int __real_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    return fails(CALL_SENDMMSG) ? -1 : __real_sendmmsg(fd, messages, count, flags);
}

int __real_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    return fails(CALL_RECVMMSG) ? -1 : __real_recvmmsg(fd, messages, count, flags, timeout);
}

int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags)
{
    return fails(CALL_PIPE2) ? -1 : __real_pipe2(fds, flags);
}

ssize_t __real_read(int fd, void *buffer, size_t room);
ssize_t __wrap_read(int fd, void *buffer, size_t room);
ssize_t __wrap_read(int fd, void *buffer, size_t room)
{
    return fails(CALL_READ) ? -1 : __real_read(fd, buffer, room);
}

ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length)
{
    return fails(CALL_WRITE) ? -1 : __real_write(fd, data, length);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails(CALL_FSYNC) ? -1 : __real_fsync(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fails(CALL_RENAME) ? -1 : __real_rename(from, to);
}

int __real_mkostemp(char *path, int flags);
int __wrap_mkostemp(char *path, int flags);
int __wrap_mkostemp(char *path, int flags)
{
    return fails(CALL_MKOSTEMP) ? -1 : __real_mkostemp(path, flags);
}

ssize_t __real_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t length, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t length, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t length, unsigned flags)
{
    return fails(CALL_COPY_FILE_RANGE) ? -1 : __real_copy_file_range(from, from_at, to, to_at, length, flags);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return fails(CALL_SENDMSG) ? -1 : __real_sendmsg(fd, message, flags);
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    return fails(CALL_RECVMSG) ? -1 : __real_recvmsg(fd, message, flags);
}

int __real_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const env[]);
int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const env[]);
int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    return fails(CALL_SPAWN) ? broken.error : __real_posix_spawnp(pid, file, actions, attributes, argv, env);
}

/* ---- lives ------------------------------------------------------------------------------------------------------- */

static vigil_loop *loop;
static unsigned came;
static int64_t trouble;

static void quiet(void *user, const vigil_rejection *rejection)
{
    (void)user;
    (void)rejection;
}

static void note_packets(vigil_datagrams *datagrams, const vigil_packet *packets, int64_t count, void *arg)
{
    (void)datagrams;
    (void)packets;
    (void)arg;
    if (count < 0)
        trouble = count;
    else
        came += (unsigned)count;
}

static int live_datagrams(void)
{
    vigil_address address;
    vigil_datagrams *server, *client;
    vigil_datagrams_options options = VIGIL_DATAGRAMS_OPTIONS_INIT;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    options.local = &address;
    int rc = vigil_datagrams_open(&server, loop, &options);
    if (rc != 0)
        return rc;
    must_equal(vigil_datagrams_address(server, &address), 0);
    options.local = NULL;
    options.remote = &address;
    rc = vigil_datagrams_open(&client, loop, &options);
    if (rc == 0) {
        vigil_packet packets[3] = {{.data = "a", .length = 1}, {.data = "b", .length = 1}, {.data = "c", .length = 1}};
        (void)vigil_datagrams_on_packets(server, note_packets, NULL);
        const int64_t sent = vigil_datagrams_send(client, packets, 3);
        if (sent < 0)
            rc = (int)sent;
        else
            for (int i = 0; i < 100000 && came < sent && trouble == 0; i++)
                must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        if (rc == 0)
            rc = trouble != 0 ? (int)trouble : came == 3 ? 0 : -EIO;
        must_equal(vigil_datagrams_close(client), 0);
    }
    must_equal(vigil_datagrams_close(server), 0);
    return rc;
}

static int live_process(void)
{
    static const char *const words[] = {"true", NULL};
    vigil_process *process;
    vigil_promise *promise;
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    options.argv = words;
    options.stdio[0].kind = VIGIL_STDIO_STREAM;
    options.stdio[1].kind = VIGIL_STDIO_STREAM;
    int rc = vigil_process_open(&process, loop, &options);
    if (rc != 0)
        return rc;
    rc = vigil_promise_exit(process, NULL, &promise);
    if (rc == 0) {
        while (vigil_promise_state_get(promise) == VIGIL_PENDING)
            must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        const int64_t status = promise_result(promise);
        rc = status < 0 ? (int)status : 0;
        must(rc < 0 || status == 0);
        vigil_promise_unref(promise);
    }
    while (vigil_process_end_get(process, &(vigil_process_end)VIGIL_PROCESS_END_INIT) == -EAGAIN)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(vigil_process_close(process), 0);
    return rc;
}

static vigil_pool *pool;
static char folder[64];
static unsigned at_rest; /* open descriptors */

static int settle(int rc, vigil_promise **promise)
{
    if (rc != 0)
        return rc;
    (void)vigil_promise_mark_handled(*promise);
    while (vigil_promise_state_get(*promise) == VIGIL_PENDING) {
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        yield();
    }
    const int64_t result = promise_result(*promise);
    vigil_promise_unref(*promise);
    return result < 0 ? (int)result : 0;
}

static int live_files(void)
{
    vigil_promise *promise;
    char one[96], two[96];
    vigil_files on = VIGIL_FILES_INIT;
    on.loop = loop;
    on.pool = pool;
    (void)snprintf(one, sizeof one, "%s/one", folder);
    (void)snprintf(two, sizeof two, "%s/two", folder);
    int rc = settle(vigil_promise_store_file(&on, one, "text", 4, 0600, &promise), &promise);
    if (rc == 0)
        rc = settle(vigil_promise_copy_file(&on, one, two, &promise), &promise);
    if (rc == 0)
        rc = settle(vigil_promise_load_file(&on, two, 100, &promise), &promise);
    (void)unlink(one);
    (void)unlink(two);
    must_equal(rmdir(folder), 0); /* nothing is left beside them */
    must_equal(mkdir(folder, 0700), 0);
    return rc;
}

static int live_passing(void)
{
    int ends[2];
    int rc;
    vigil_stream *one, *two;
    struct noted_read read = {.read.done = note_read};
    char byte;
    const int fd = STDERR_FILENO;
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    options.takes_fds = true;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    rc = vigil_stream_open(&one, loop, ends[0], NULL);
    if (rc != 0) {
        must_equal(close(ends[0]), 0);
        must_equal(close(ends[1]), 0);
        return rc;
    }
    rc = vigil_stream_open(&two, loop, ends[1], &options);
    if (rc != 0)
        must_equal(close(ends[1]), 0);
    if (rc == 0) {
        rc = vigil_stream_pass_fds(one, "x", 1, &fd, 1);
        if (rc == 0)
            rc = vigil_stream_finish(one);
        if (rc == 0)
            rc = vigil_stream_read(two, &read.read, &byte, 1);
        if (rc == 0) {
            turns(loop);
            turns(loop);
            rc = read.calls == 0 || read.result == 0 ? -EIO : read.result < 0 ? (int)read.result : 0;
        }
        const int taken = vigil_stream_take_fd(two);
        must((taken >= 0) == (rc == 0));
        if (taken >= 0)
            must_equal(close(taken), 0);
        must_equal(vigil_stream_close(two), 0);
    }
    must_equal(vigil_stream_close(one), 0);
    turns(loop);
    return rc;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static unsigned count_open(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* arm: after the loop is made. Gives back what the life has answered. */
static int one_life(int (*live)(void), void (*arm)(uint64_t k), uint64_t k)
{
    came = 0;
    trouble = 0;
    memset(&broken, 0, sizeof broken);
    faults_reset();
    loop = loop_plain();
    vigil_promise_hooks hooks = VIGIL_PROMISE_HOOKS_INIT;
    hooks.unhandled = quiet;
    must_equal(vigil_promise_hooks_set(loop, &hooks), 0);
    arm(k);
    const int rc = live();
    must(rc <= 0);
    atomic_store(&broken.at, 0);
    faults_reset();
    (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    must_equal(vigil_loop_destroy(loop), 0);
    while (count_open() > at_rest) /* a worker may be about to close its file; a leak stays, and the time runs out */
        yield();
    must(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    return rc;
}

static struct {
    enum call call;
    int error;
} armed;

static void arm_call(uint64_t k)
{
    broken.call = armed.call;
    broken.error = armed.error;
    atomic_store(&broken.at, k);
}

static void arm_alloc(uint64_t k)
{
    faults_fail_at(FAULT_ALLOC, k);
}

static void every_call_fails_once(void **state)
{
    (void)state;
    static const struct {
        int (*live)(void);
        enum call call;
        int errors[5];
    } table[] = {{live_datagrams, CALL_SOCKET, {EMFILE, ENOBUFS}},
                 {live_datagrams, CALL_BIND, {EADDRINUSE, EACCES}},
                 {live_datagrams, CALL_SENDMMSG, {EINTR, EAGAIN, ENOBUFS, ECONNREFUSED}},
                 {live_datagrams, CALL_RECVMMSG, {EINTR, EAGAIN, ENOMEM, ECONNREFUSED}},
                 {live_process, CALL_PIPE2, {EMFILE, ENFILE}},
                 {live_process, CALL_SPAWN, {EAGAIN, ENOMEM, ENOENT}},
                 {live_files, CALL_READ, {EIO, EINTR}},
                 {live_files, CALL_WRITE, {ENOSPC, EINTR, EIO}},
                 {live_files, CALL_FSYNC, {EIO, ENOSPC}},
                 {live_files, CALL_RENAME, {EIO, EACCES}},
                 {live_files, CALL_MKOSTEMP, {EACCES, EMFILE, ENOSPC}},
                 {live_files, CALL_COPY_FILE_RANGE, {EXDEV, EINTR, EIO, ENOSPC, EINVAL}},
                 {live_passing, CALL_SENDMSG, {EINTR, EAGAIN, EPIPE, ETOOMANYREFS}},
                 {live_passing, CALL_RECVMSG, {EINTR, EAGAIN, ECONNRESET}}};
    for (size_t i = 0; i < count_of(table); i++)
        for (size_t e = 0; e < count_of(table[i].errors) && table[i].errors[e] != 0; e++) {
            armed.call = table[i].call;
            armed.error = table[i].errors[e];
            uint64_t k = 0;
            int rc;
            do {
                rc = one_life(table[i].live, arm_call, ++k);
                if (armed.error == EINTR)
                    must_equal(rc, 0); /* made again */
            } while (atomic_load(&broken.seen[armed.call]) >= k && k < 50);
            must(k > 1);
            must_equal(rc, 0); /* the last life had no fault */
        }
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    static int (*const lives[])(void) = {live_datagrams, live_process, live_passing, live_files};
    for (size_t i = 0; i < count_of(lives); i++) {
        uint64_t k = 0;
        int rc;
        do
            rc = one_life(lives[i], arm_alloc, ++k);
        while (rc != 0 && k < 100);
        must_equal(rc, 0);
    }
}

static int begin(void **state)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    must_equal(vigil_pool_create(&pool, &options), 0);
    (void)strcpy(folder, "/tmp/vigil-test-faults-XXXXXX");
    must(mkdtemp(folder) != NULL);
    at_rest = count_open();
    return support_begin(state);
}

static int finish(void **state)
{
    must_equal(vigil_pool_destroy(pool), 0);
    must_equal(rmdir(folder), 0);
    return support_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_fails_once, begin, finish),
        cmocka_unit_test_setup_teardown(every_allocation_fails_once, begin, finish),
    };
    return run_all(tests);
}
