/* SPDX-License-Identifier: MIT */
/* Examples of vigil/descriptor.h, one for each function. */
#include <assert.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vigil/descriptor.h>

/* vigil_descriptor_open: register an eventfd once */
static vigil_descriptor *register_it(vigil_loop *loop, int fd)
{
    vigil_descriptor_options options = VIGIL_DESCRIPTOR_OPTIONS_INIT;
    options.events = VIGIL_FD_READ; /* nobody will wait to write */
    vigil_descriptor *descriptor;
    int rc = vigil_descriptor_open(&descriptor, loop, fd, &options);
    return rc == 0 ? descriptor : NULL;
}

/* vigil_descriptor_fd: the number, for a system call */
static ssize_t take_the_count(vigil_descriptor *descriptor,
                              uint64_t *count)
{
    return read(vigil_descriptor_fd(descriptor), count, sizeof *count);
}

/* vigil_descriptor_name: tell viewers what it is for */
static int name_it(vigil_descriptor *descriptor)
{
    return vigil_descriptor_name(descriptor, "inotify");
}

/* vigil_descriptor_seen: look before a system call */
static int64_t what_is_there(vigil_descriptor *descriptor)
{
    return vigil_descriptor_seen(descriptor);
}

/* vigil_descriptor_clear: nothing was there after all */
static void nothing_there(vigil_descriptor *descriptor, int64_t seen)
{
    vigil_descriptor_clear(descriptor, VIGIL_FD_READ, seen);
}

/* vigil_descriptor_await: wait in a struct of your own */
struct counting {
    vigil_ready ready; /* first */
    unsigned calls;
};

static void counted(vigil_ready *ready, int64_t result)
{
    struct counting *it = (struct counting *)(void *)ready;
    assert(result < 0 || (result & VIGIL_FD_READ) != 0);
    it->calls++;
}

static void wait_for_it(vigil_descriptor *descriptor,
                        struct counting *it)
{
    it->ready.done = counted;
    int rc =
        vigil_descriptor_await(descriptor, &it->ready, VIGIL_FD_READ);
    assert(rc == 0);
}

/* vigil_descriptor_await_cancel: do not wait any more */
static void wait_no_more(vigil_descriptor *descriptor,
                         struct counting *it)
{
    int rc = vigil_descriptor_await_cancel(descriptor, &it->ready);
    assert(rc == 0 ||
           rc == -ESTALE); /* stale: it was reported before */
}

/* vigil_promise_ready: the same as a promise */
static vigil_promise *promise_it(vigil_descriptor *descriptor)
{
    vigil_promise *promise;
    int rc =
        vigil_promise_ready(descriptor, VIGIL_FD_READ, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_descriptor_wait: block on a thread that does not run the loop */
static int block(vigil_descriptor *descriptor)
{
    int64_t seen;
    return vigil_descriptor_wait(descriptor, VIGIL_FD_READ,
                                 INT64_C(1000000), &seen);
}

/* vigil_descriptor_ref: keep it while another thread waits */
static vigil_descriptor *for_a_thread(vigil_descriptor *descriptor)
{
    return vigil_descriptor_ref(descriptor);
}

/* vigil_descriptor_unref: the thread is done with it */
static void thread_is_done(vigil_descriptor *descriptor)
{
    vigil_descriptor_unref(descriptor);
}

/* vigil_descriptor_close: tell all who wait */
static void close_it(vigil_descriptor *descriptor)
{
    int rc = vigil_descriptor_close(descriptor);
    assert(rc == 0);
}

/* ---- all of them ---- */

static void some_turns(vigil_loop *loop)
{
    for (int i = 0; i < 4; i++)
        (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
}

int main(void)
{
    vigil_loop *loop;
    struct counting counting = {.calls = 0};
    uint64_t count;
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    vigil_descriptor *it =
        register_it(loop, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    assert(it != NULL);
    wait_for_it(it, &counting);
    some_turns(loop);
    assert(counting.calls == 0);
    rc = eventfd_write(vigil_descriptor_fd(it), 3);
    assert(rc == 0);
    some_turns(loop);
    assert(counting.calls == 1);
    ssize_t got = take_the_count(it, &count);
    assert(got == sizeof count);
    assert(count == 3);
    nothing_there(it, what_is_there(it));
    rc = name_it(it);
    assert(rc == 0);
    wait_for_it(it, &counting);
    wait_no_more(it, &counting);
    thread_is_done(for_a_thread(it));
    rc = block(it);
    assert(rc == -ETIMEDOUT);
    rc = eventfd_write(vigil_descriptor_fd(it), 1);
    assert(rc == 0);
    vigil_promise *promise = promise_it(it);
    assert(promise != NULL);
    some_turns(loop);
    assert(vigil_promise_state_get(promise) == VIGIL_FULFILLED);
    vigil_promise_unref(promise);
    close_it(it);
    rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
    rc = vigil_loop_destroy(loop);
    assert(rc == 0);
    return 0;
}
