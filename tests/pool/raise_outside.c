/* SPDX-License-Identifier: MIT */
/* vigil_raise where there is nothing to leave ends the process, and ends it by abort, in whatever thread. */
#include "support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void must_abort(void (*body)(void *), void *arg)
{
    int status = in_child(body, arg);
    must(WIFSIGNALED(status));
    must_equal(WTERMSIG(status), SIGABRT);
}

static void raise_plainly(void *arg)
{
    (void)arg;
    vigil_raise(-EIO);
}

static void outside_any_task_a_raise_aborts(void **state)
{
    (void)state;
    must_abort(raise_plainly, NULL);
}

/* The thread sanitizer ends a process that makes threads after a fork with threads; the address sanitizer may have forked while
   another thread held the lock of its allocator. */
#if !TEST_SANITIZED
static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int raising(void *arg)
{
    (void)arg;
    vigil_raise(-EIO);
}

static void raise_beside_a_pool(void *arg)
{
    (void)arg;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, NULL), 0);
    must_equal(vigil_pool_call(pool, raising, NULL, NULL, VIGIL_NORMAL), 0); /* inside it is fine */
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    vigil_raise(-EIO);
}

static void a_thread_beside_a_pool_is_outside_too(void **state)
{
    (void)state;
    must_abort(raise_beside_a_pool, NULL);
}

static void raise_in_hook(void *user, unsigned worker)
{
    (void)user;
    (void)worker;
    vigil_raise(-EIO);
}

static void hook_raises(void *arg)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    if (*(bool *)arg)
        options.on_worker_start = raise_in_hook;
    else
        options.on_worker_stop = raise_in_hook;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, &options), 0);
    (void)vigil_pool_destroy(pool);
}

static void a_workers_hook_is_no_task(void **state)
{
    (void)state;
    for (int start = 0; start < 2; start++) {
        bool at_start = start != 0;
        must_abort(hook_raises, &at_start);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(outside_any_task_a_raise_aborts),
#if !TEST_SANITIZED
        test(a_thread_beside_a_pool_is_outside_too),
        test(a_workers_hook_is_no_task),
#endif
    };
    return run_all(tests);
}
