/* SPDX-License-Identifier: MIT */
/* Every system call and every allocation in the life of a connection fails once, in turn, with each of several errors; reads and
   writes are cut to every length. Whatever happens, each stream ends once, each write is told once, nothing leaks (the
   sanitizer looks), and if nobody reports a failure every byte has arrived. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "faults.h"
#include "io/io_test.h"

#include <sys/mman.h>

/* ---- calls that fail --------------------------------------------------------------------------------------------- */

enum call {
    CALL_RECV,
    CALL_SEND,
    CALL_SENDMSG,
    CALL_SENDFILE,
    CALL_PREAD,
    CALL_ACCEPT,
    CALL_SOCKET,
    CALL_CONNECT,
    CALL_EPOLL_CTL,
    CALLS
};

static struct {
    enum call call;
    uint64_t at; /* 0: none */
    int error;
    uint64_t seen[CALLS];
    size_t most;      /* bytes of one call; 0: no bound */
    bool no_sendfile; /* the system lacks it */
} broken;

static bool fails(enum call call)
{
    if (++broken.seen[call] != broken.at || broken.call != call)
        return false;
    errno = broken.error;
    return true;
}

static size_t bounded(size_t length)
{
    return broken.most != 0 && broken.most < length ? broken.most : length;
}

ssize_t __real_recv(int fd, void *buffer, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t room, int flags)
{
    if (fails(CALL_RECV))
        return -1;
    return __real_recv(fd, buffer, bounded(room), flags);
}

ssize_t __real_send(int fd, const void *data, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t length, int flags)
{
    return fails(CALL_SEND) ? -1 : __real_send(fd, data, bounded(length), flags);
}

ssize_t __real_sendfile(int to, int from, off_t *offset, size_t length);
ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t length);
ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t length)
{
    if (fails(CALL_SENDFILE))
        return -1;
    if (!broken.no_sendfile)
        return __real_sendfile(to, from, offset, bounded(length));
    errno = EINVAL;
    return -1;
}

ssize_t __real_pread(int fd, void *buffer, size_t room, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t room, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t room, off_t offset)
{
    return fails(CALL_PREAD) ? -1 : __real_pread(fd, buffer, bounded(room), offset);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (fails(CALL_SENDMSG))
        return -1;
    if (broken.most == 0 || message->msg_iov[0].iov_len == 0)
        return __real_sendmsg(fd, message, flags);
    struct iovec first = message->msg_iov[0];
    first.iov_len = bounded(first.iov_len);
    const struct msghdr less = {.msg_iov = &first, .msg_iovlen = 1};
    return __real_sendmsg(fd, &less, flags);
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    return fails(CALL_ACCEPT) ? -1 : __real_accept4(fd, address, length, flags);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
    return fails(CALL_SOCKET) ? -1 : __real_socket(domain, type, protocol);
}

int __real_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return fails(CALL_CONNECT) ? -1 : __real_connect(fd, address, length);
}

struct epoll_event;
int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    return fails(CALL_EPOLL_CTL) ? -1 : __real_epoll_ctl(epoll, what, fd, event);
}

/* ---- one life ---------------------------------------------------------------------------------------------------- */

enum {
    COPIED = 3000,
    SUBMITTED = 5000,
    FILED = 20000,
    ALL = COPIED + SUBMITTED + FILED
};

static struct {
    vigil_loop *loop;
    vigil_listener *listener;
    vigil_stream *client;
    unsigned opened, closed; /* streams that were given to us, and ended */
    unsigned submitted, done;
    bool failed; /* somebody has said so */
    vigil_write write, of_file;
    struct iovec part;
    size_t came;
} life;

static unsigned char bytes[ALL];
static int file; /* of all the bytes */

static void one_closed(void *user, const vigil_stream_end *end)
{
    (void)user;
    life.closed++;
    life.failed |= end->status != 0;
}

static void all_over(void)
{
    if (life.listener != NULL)
        must_equal(vigil_listener_close(life.listener), 0);
    life.listener = NULL;
}

static void send_back(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)arg;
    if (length > 0) {
        if (vigil_stream_write(stream, data, (size_t)length) >= 0)
            return;
        life.failed = true;
    }
    life.failed |= length < 0;
    must_equal(vigil_stream_close(stream), 0); /* after what was written */
}

static void accepted(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    life.opened++;
    must_equal(vigil_stream_on_data(stream, send_back, NULL), 0);
}

static void accept_error(vigil_listener *listener, int error, void *user)
{
    (void)listener;
    (void)user;
    must(error < 0);
    life.failed = true;
    all_over(); /* the client fails then */
}

static void compare(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    (void)arg;
    if (length > 0) {
        must(life.came + (size_t)length <= ALL);
        must_equal(memcmp(bytes + life.came, data, (size_t)length), 0);
        life.came += (size_t)length;
        return;
    }
    life.failed |= length < 0;
    must_equal(vigil_stream_close(stream), 0);
    life.client = NULL;
    all_over();
}

static void sent(vigil_write *write, int status)
{
    must(write == &life.write || write == &life.of_file);
    life.done++;
    life.failed |= status != 0;
    if (status == -EPIPE &&
        life.client != NULL) { /* the peer reads no more, and may yet send: it is for us to end it */
        must_equal(vigil_stream_reset(life.client), 0);
        life.client = NULL;
        all_over();
    }
}

static vigil_value talk(vigil_value *value, void *arg)
{
    (void)arg;
    vigil_stream *stream = vigil_value_move(value).pointer;
    life.opened++;
    life.client = stream;
    life.part = (struct iovec){bytes + COPIED, SUBMITTED};
    life.write.done = sent;
    life.of_file.done = sent;
    int rc = vigil_stream_write(stream, bytes, COPIED);
    if (rc >= 0) {
        rc = vigil_stream_submit(stream, &life.write, &life.part, 1);
        life.submitted += rc >= 0;
    }
    if (rc >= 0) {
        rc = vigil_stream_send_file(stream, &life.of_file, file, COPIED + SUBMITTED, 0);
        life.submitted += rc >= 0;
    }
    if (rc >= 0)
        rc = vigil_stream_finish(stream);
    if (rc < 0 || vigil_stream_on_data(stream, compare, NULL) != 0) {
        life.failed = true;
        life.client = NULL;
        must_equal(vigil_stream_reset(stream), 0);
        all_over();
    }
    return vigil_value_none();
}

static vigil_value no_talk(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    life.failed = true;
    all_over();
    return vigil_value_none();
}

static void begin(const char *at)
{
    vigil_address address;
    vigil_promise *promise;
    vigil_stream_options streams = VIGIL_STREAM_OPTIONS_INIT;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    vigil_connect_options connecting = VIGIL_CONNECT_OPTIONS_INIT;
    streams.on_closed = one_closed;
    options.on_stream = accepted;
    options.on_error = accept_error;
    options.stream = &streams;
    connecting.stream = &streams;
    must_equal(vigil_address_init(&address, at), 0);
    int rc = vigil_listener_open(&life.listener, life.loop, &address, &options);
    if (rc != 0) {
        life.failed = true;
        life.listener = NULL;
        return;
    }
    must_equal(vigil_listener_address(life.listener, &address), 0);
    rc = vigil_promise_connect(life.loop, &address, 1, &connecting, NULL, &promise);
    if (rc == 0) {
        rc = vigil_promise_then(promise, talk, no_talk, NULL, NULL);
        if (rc != 0)
            (void)vigil_promise_mark_handled(promise);
        vigil_promise_unref(promise);
    }
    if (rc != 0) {
        life.failed = true;
        all_over();
    }
}

static void quiet(void *user, const vigil_rejection *rejection)
{
    (void)user;
    (void)rejection;
}

/* The loop is made before anything fails, and must end by itself. */
static void live(const char *at, void (*arm)(uint64_t k), uint64_t k)
{
    memset(&life, 0, sizeof life);
    memset(&broken, 0, sizeof broken);
    faults_reset();
    life.loop = loop_plain();
    vigil_promise_hooks hooks = VIGIL_PROMISE_HOOKS_INIT;
    hooks.unhandled = quiet;
    must_equal(vigil_promise_hooks_set(life.loop, &hooks), 0);
    arm(k);
    begin(at);
    must_equal(vigil_loop_run(life.loop, VIGIL_RUN), 0);
    faults_reset();
    must_equal(vigil_loop_destroy(life.loop), 0);
    must_equal(life.closed, life.opened);
    must_equal(life.done, life.submitted);
    must(life.failed || life.came == ALL);
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static const char *places[] = {"127.0.0.1:0", NULL}; /* main fills in the second */
static struct {
    enum call call;
    int error;
    bool no_sendfile;
} armed;

static void arm_call(uint64_t k)
{
    broken.call = armed.call;
    broken.error = armed.error;
    broken.at = k;
    broken.no_sendfile = armed.no_sendfile;
}

static void arm_alloc(uint64_t k)
{
    faults_fail_at(FAULT_ALLOC, k);
}

static void arm_short(uint64_t k)
{
    broken.most = k;
    broken.no_sendfile = armed.no_sendfile;
}

static void every_call_fails_once(void **state)
{
    (void)state;
    static const struct {
        enum call call;
        int errors[8];
    } table[] = {{CALL_RECV, {ECONNRESET, ENOMEM, EINTR, EAGAIN, ETIMEDOUT}},
                 {CALL_SEND, {EPIPE, ECONNRESET, ENOBUFS, ENOMEM, EINTR, EAGAIN}},
                 {CALL_SENDFILE, {EPIPE, ECONNRESET, EIO, EINVAL, ENOSYS, EOVERFLOW, EINTR, EAGAIN}},
                 {CALL_PREAD, {EIO, EISDIR, EINTR}},
                 {CALL_SENDMSG, {EPIPE, ECONNRESET, ENOBUFS, EINTR, EAGAIN}},
                 {CALL_ACCEPT, {EMFILE, ENOBUFS, ECONNABORTED, EINTR, EAGAIN}},
                 {CALL_SOCKET, {EMFILE, ENOBUFS, EACCES}},
                 {CALL_CONNECT, {ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL}},
                 {CALL_EPOLL_CTL, {ENOMEM, ENOSPC}}};
    unsigned lives = 0;
    for (size_t place = 0; place < count_of(places); place++)
        for (size_t i = 0; i < count_of(table); i++)
            for (size_t e = 0; e < count_of(table[i].errors) && table[i].errors[e] != 0; e++) {
                armed.call = table[i].call;
                armed.error = table[i].errors[e];
                armed.no_sendfile = armed.call == CALL_PREAD;
                uint64_t k = 0;
                do {
                    live(places[place], arm_call, ++k);
                    lives++;
                } while (broken.seen[armed.call] >= k && k < 200);
                must(k > 1);
            }
    armed.no_sendfile = false;
    (void)fprintf(stderr, "  %u lives\n", lives);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    uint64_t k = 0;
    uint64_t failed;
    do {
        memset(&life, 0, sizeof life);
        live(places[0], arm_alloc, ++k);
        failed = life.failed;
    } while ((failed || k < 10) && k < 1000);
    (void)fprintf(stderr, "  %llu allocations\n", (unsigned long long)k);
    must(k > 4);
}

static void reads_and_writes_of_every_length(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 2, 3, 5, 7, 16, 100, 1000, 2999, 3000, 3001, 4096, 7999};
    for (size_t place = 0; place < count_of(places); place++)
        for (size_t i = TEST_SANITIZED ? 2 : 0; i < count_of(lengths); i++) {
            armed.no_sendfile = i % 2 != 0;
            live(places[place], arm_short, lengths[i]);
            must(!life.failed);
        }
}

int main(void)
{
    places[1] = own_place("io-calls");
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 31 + (i >> 8));
    file = memfd_create("test", MFD_CLOEXEC);
    must(file >= 0 && write(file, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    const struct CMUnitTest tests[] = {
        test(every_call_fails_once),
        test(every_allocation_fails_once),
        test(reads_and_writes_of_every_length),
    };
    return run_all(tests);
}
