/* SPDX-License-Identifier: MIT */
/* A descriptor keeps what it was ready for until somebody has looked in vain; no event is lost, and its close is told to all. */
#include "io_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

struct noted {
    vigil_ready ready; /* first */
    unsigned calls;
    int64_t result;
};

static void note(vigil_ready *ready, int64_t result)
{
    struct noted *it = (struct noted *)(void *)ready;
    it->calls++;
    it->result = result;
}

struct setup {
    vigil_loop *loop;
    vigil_descriptor *descriptor;
    int peer;
    int fd;
};

static void setup(struct setup *it)
{
    int ends[2];
    it->loop = loop_plain();
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    it->fd = ends[0];
    it->peer = ends[1];
    must_equal(vigil_descriptor_open(&it->descriptor, it->loop, it->fd, NULL), 0);
    turns(it->loop);
}

static void tear_down(struct setup *it)
{
    (void)vigil_descriptor_close(it->descriptor);
    must_equal(close(it->peer), 0);
    must_equal(vigil_loop_run(it->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(it->loop), 0);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void readiness_is_kept_until_it_is_cleared(void **state)
{
    (void)state;
    struct setup it;
    struct noted wait = {.ready.done = note};
    char byte;
    setup(&it);
    must_equal(vigil_descriptor_fd(it.descriptor), it.fd);
    must_equal(vigil_descriptor_seen(it.descriptor) & (VIGIL_FD_READ | VIGIL_FD_WRITE), VIGIL_FD_WRITE);
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_READ), 0);
    turns(it.loop);
    must_equal(wait.calls, 0);
    must_equal(write(it.peer, "ab", 2), 2);
    turns(it.loop);
    must_equal(wait.calls, 1);
    must((wait.result & VIGIL_FD_READ) != 0);
    must_equal(read(it.fd, &byte, 1), 1); /* one of two: it stays ready */
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_READ), 0);
    must_equal(wait.calls, 1); /* never inside a call */
    turns(it.loop);
    must_equal(wait.calls, 2);
    must_equal(read(it.fd, &byte, 1), 1);
    must_equal(read(it.fd, &byte, 1), -1);
    must_equal(errno, EAGAIN);
    vigil_descriptor_clear(it.descriptor, VIGIL_FD_READ, wait.result);
    must_equal(vigil_descriptor_seen(it.descriptor) & (VIGIL_FD_READ | VIGIL_FD_WRITE), VIGIL_FD_WRITE);
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_READ), 0);
    turns(it.loop);
    must_equal(wait.calls, 2);
    must_equal(vigil_descriptor_await_cancel(it.descriptor, &wait.ready), 0);
    must_equal(vigil_descriptor_await_cancel(it.descriptor, &wait.ready), -ESTALE);
    tear_down(&it);
    must_equal(wait.calls, 2);
}

static void a_clear_takes_nothing_newer(void **state)
{
    (void)state;
    struct setup it;
    char byte;
    setup(&it);
    must_equal(write(it.peer, "a", 1), 1);
    turns(it.loop);
    const int64_t seen = vigil_descriptor_seen(it.descriptor);
    must_equal(read(it.fd, &byte, 1), 1);
    must_equal(read(it.fd, &byte, 1), -1); /* EAGAIN, and before we say so: */
    must_equal(write(it.peer, "b", 1), 1);
    turns(it.loop);
    vigil_descriptor_clear(it.descriptor, VIGIL_FD_READ, seen);
    must((vigil_descriptor_seen(it.descriptor) & VIGIL_FD_READ) != 0);
    tear_down(&it);
}

static void several_wait_and_each_is_told(void **state)
{
    (void)state;
    struct setup it;
    struct noted reads[3] = {{.ready.done = note}, {.ready.done = note}, {.ready.done = note}};
    struct noted writes = {.ready.done = note};
    setup(&it);
    for (int i = 0; i < 3; i++)
        must_equal(vigil_descriptor_await(it.descriptor, &reads[i].ready, VIGIL_FD_READ), 0);
    must_equal(vigil_descriptor_await(it.descriptor, &writes.ready, VIGIL_FD_WRITE), 0);
    turns(it.loop);
    must_equal(writes.calls, 1);
    must_equal(reads[0].calls + reads[1].calls + reads[2].calls, 0);
    must_equal(shutdown(it.peer, SHUT_WR), 0); /* the end of the peer's side is something to read */
    turns(it.loop);
    for (int i = 0; i < 3; i++)
        must_equal(reads[i].calls, 1);
    must((reads[0].result & VIGIL_FD_RDHUP) != 0);
    tear_down(&it);
}

static void a_close_is_told_to_all_and_fd_is_closed_before(void **state)
{
    (void)state;
    struct setup it;
    struct noted waits[2] = {{.ready.done = note}, {.ready.done = note}};
    vigil_promise *promise;
    setup(&it);
    must_equal(vigil_descriptor_await(it.descriptor, &waits[0].ready, VIGIL_FD_READ), 0);
    must_equal(vigil_descriptor_await(it.descriptor, &waits[1].ready, VIGIL_FD_READ), 0);
    must_equal(vigil_promise_ready(it.descriptor, VIGIL_FD_READ, NULL, &promise), 0);
    must_equal(vigil_promise_mark_handled(promise), 0);
    (void)vigil_descriptor_ref(it.descriptor);
    must_equal(vigil_descriptor_close(it.descriptor), 0);
    turns(it.loop);
    must(!is_open(it.fd));
    for (int i = 0; i < 2; i++) {
        must_equal(waits[i].calls, 1);
        must_equal(waits[i].result, -ECANCELED);
    }
    must_equal(promise_result(promise), -ECANCELED);
    vigil_promise_unref(promise);
    must_equal(vigil_descriptor_fd(it.descriptor), -EBADF);
    must_equal(vigil_descriptor_await(it.descriptor, &waits[0].ready, VIGIL_FD_READ), -EBADF);
    must_equal(vigil_descriptor_close(it.descriptor), -EALREADY);
    it.descriptor = NULL;
    tear_down(&it);
}

static void a_promise_gives_what_was_seen_and_ends_with_its_token(void **state)
{
    (void)state;
    struct setup it;
    vigil_promise *promise;
    vigil_cancel_source *source;
    setup(&it);
    must_equal(vigil_promise_ready(it.descriptor, VIGIL_FD_WRITE, NULL, &promise), 0);
    turns(it.loop);
    must((promise_result(promise) & VIGIL_FD_WRITE) != 0);
    vigil_promise_unref(promise);
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_promise_ready(it.descriptor, VIGIL_FD_READ, vigil_cancel_token_of(source), &promise), 0);
    must_equal(vigil_promise_mark_handled(promise), 0);
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    turns(it.loop);
    must_equal(promise_result(promise), -ECANCELED);
    vigil_promise_unref(promise);
    vigil_cancel_destroy(source);
    tear_down(&it);
}

static void a_borrowed_one_stays_open_and_a_gone_one_is_told(void **state)
{
    (void)state;
    struct setup it;
    struct noted wait = {.ready.done = note};
    vigil_descriptor *borrowed;
    vigil_descriptor_options options = VIGIL_DESCRIPTOR_OPTIONS_INIT;
    options.borrowed = true;
    options.events = VIGIL_FD_READ;
    setup(&it);
    const int fd = eventfd(0, EFD_CLOEXEC);
    must_equal(vigil_descriptor_open(&borrowed, it.loop, fd, &options), 0);
    must_equal(vigil_descriptor_close(borrowed), 0);
    turns(it.loop);
    must(is_open(fd));
    must_equal(vigil_descriptor_open(&borrowed, it.loop, fd, &options), 0);
    must_equal(vigil_descriptor_await(borrowed, &wait.ready, VIGIL_FD_READ), 0);
    must_equal(close(fd), 0); /* behind it */
    const int again = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    must_equal(again, fd);
    vigil_descriptor *second;
    must_equal(vigil_descriptor_open(&second, it.loop, again, NULL), 0);
    turns(it.loop);
    must_equal(wait.calls, 1);
    must_equal(wait.result, -EBADF);
    must(is_open(again));
    must((vigil_descriptor_seen(second) & VIGIL_FD_READ) != 0);
    must_equal(vigil_descriptor_close(borrowed), -EALREADY);
    must_equal(vigil_descriptor_close(second), 0);
    tear_down(&it);
}

/* ---- other threads ----------------------------------------------------------------------------------------------- */

struct waiter {
    pthread_t thread;
    vigil_descriptor *descriptor;
    _Atomic int stage;
    int rc;
    int64_t seen;
};

static void *wait_to_read(void *arg)
{
    struct waiter *it = arg;
    atomic_store_explicit(&it->stage, 1, memory_order_release);
    it->rc = vigil_descriptor_wait(it->descriptor, VIGIL_FD_READ, VIGIL_FOREVER, &it->seen);
    vigil_descriptor_unref(it->descriptor);
    atomic_store_explicit(&it->stage, 2, memory_order_release);
    return NULL;
}

static void waiter_start(struct waiter *it, vigil_descriptor *descriptor)
{
    *it = (struct waiter){.descriptor = vigil_descriptor_ref(descriptor)};
    must_equal(pthread_create(&it->thread, NULL, wait_to_read, it), 0);
    while (atomic_load_explicit(&it->stage, memory_order_acquire) == 0)
        (void)sched_yield();
}

static void run_until_over(vigil_loop *loop, struct waiter *it)
{
    while (atomic_load_explicit(&it->stage, memory_order_acquire) != 2)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(pthread_join(it->thread, NULL), 0);
}

static void another_thread_waits(void **state)
{
    (void)state;
    for (int round = 0; round < (int)scaled(200, 20); round++) {
        struct setup it;
        struct waiter one, two;
        setup(&it);
        waiter_start(&one, it.descriptor);
        waiter_start(&two, it.descriptor);
        must_equal(write(it.peer, "x", 1), 1);
        run_until_over(it.loop, &one);
        run_until_over(it.loop, &two);
        must_equal(one.rc, 0);
        must_equal(two.rc, 0);
        must((one.seen & VIGIL_FD_READ) != 0);
        must_equal(vigil_descriptor_wait(it.descriptor, VIGIL_FD_PRI, 0, NULL), -ETIMEDOUT);
        tear_down(&it);
    }
}

static void a_close_wakes_a_thread_that_waits(void **state)
{
    (void)state;
    for (int round = 0; round < (int)scaled(200, 20); round++) {
        struct setup it;
        struct waiter waiter;
        setup(&it);
        waiter_start(&waiter, it.descriptor);
        must_equal(vigil_descriptor_close(it.descriptor), 0);
        it.descriptor = NULL;
        run_until_over(it.loop, &waiter);
        must_equal(waiter.rc, -ECANCELED);
        tear_down(&it);
    }
}

static void the_end_of_the_loop_wakes_a_thread_that_waits(void **state)
{
    (void)state;
    struct setup it;
    struct waiter waiter;
    struct noted wait = {.ready.done = note};
    setup(&it);
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_READ), 0);
    waiter_start(&waiter, it.descriptor);
    must_equal(vigil_loop_destroy(it.loop), 0);
    must_equal(pthread_join(waiter.thread, NULL), 0);
    must_equal(waiter.rc, -ESHUTDOWN);
    must_equal(wait.calls, 1);
    must_equal(wait.result, -ESHUTDOWN);
    must_equal(vigil_descriptor_wait(it.descriptor, VIGIL_FD_READ, 0, NULL), -ESHUTDOWN);
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_READ), -ESHUTDOWN);
    must_equal(vigil_descriptor_close(it.descriptor), -EALREADY);
    must_equal(close(it.peer), 0);
}

static void *close_it(void *arg)
{
    must_equal(vigil_descriptor_close(arg), 0);
    return NULL;
}

static void another_thread_closes(void **state)
{
    (void)state;
    for (int round = 0; round < (int)scaled(200, 20); round++) {
        struct setup it;
        pthread_t thread;
        struct noted wait = {.ready.done = note};
        setup(&it);
        must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_READ), 0);
        must_equal(pthread_create(&thread, NULL, close_it, it.descriptor), 0);
        must_equal(vigil_loop_run(it.loop, VIGIL_RUN), 0); /* until nobody waits */
        must_equal(wait.calls, 1);
        must_equal(wait.result, -ECANCELED);
        must_equal(pthread_join(thread, NULL), 0);
        it.descriptor = NULL;
        tear_down(&it);
    }
}

static void the_owner_may_not_block(void **state)
{
    (void)state;
    struct setup it;
    setup(&it);
    struct noted wait = {.ready.done = note};
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, 0), -EINVAL);
    must_equal(vigil_descriptor_await(it.descriptor, NULL, VIGIL_FD_READ), -EINVAL);
    must_equal(vigil_descriptor_await(it.descriptor, &wait.ready, VIGIL_FD_HANGUP), -EINVAL);
    must_equal(vigil_descriptor_open(NULL, it.loop, it.peer, NULL), -EINVAL);
    vigil_descriptor *none;
    must_equal(vigil_descriptor_open(&none, it.loop, 1000000, NULL), -EBADF);
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    must_equal(vigil_descriptor_open(&none, it.loop, file, NULL), -EOPNOTSUPP);
    must_equal(close(file), 0);
    vigil_descriptor_options options = VIGIL_DESCRIPTOR_OPTIONS_INIT;
    options.events = VIGIL_FD_HANGUP;
    must_equal(vigil_descriptor_open(&none, it.loop, it.peer, &options), -EINVAL);
    must_equal(vigil_descriptor_close(NULL), 0);
    tear_down(&it);
}

static void a_child_gives_its_copy_back(void **state)
{
    (void)state;
    struct setup it;
    setup(&it);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(vigil_descriptor_wait(it.descriptor, VIGIL_FD_READ, 0, NULL) == -ECHILD &&
                      vigil_descriptor_close(it.descriptor) == 0 && !is_open(it.fd)
                  ? 0
                  : 1);
    int status;
    must_equal(waitpid(child, &status, 0), child);
    must_equal(status, 0);
    must(is_open(it.fd));
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(readiness_is_kept_until_it_is_cleared),
        test(a_clear_takes_nothing_newer),
        test(several_wait_and_each_is_told),
        test(a_close_is_told_to_all_and_fd_is_closed_before),
        test(a_promise_gives_what_was_seen_and_ends_with_its_token),
        test(a_borrowed_one_stays_open_and_a_gone_one_is_told),
        test(another_thread_waits),
        test(a_close_wakes_a_thread_that_waits),
        test(the_end_of_the_loop_wakes_a_thread_that_waits),
        test(another_thread_closes),
        test(the_owner_may_not_block),
        test(a_child_gives_its_copy_back),
    };
    return run_all(tests);
}
