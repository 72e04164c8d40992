/* SPDX-License-Identifier: MIT */
/* What the library prints: the first of each kind, each of them on demand but never a flood, nothing where a hook hears of it. */
#include "promise_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char printed[65536];

/* Run the function in a child whose standard error is read here. word: VIGIL_LOG; NULL: not set. Returns how many lines came. */
static int lines_of(void (*what)(void), const char *word)
{
    int ends[2];
    must_equal(pipe(ends), 0);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        if (word == NULL)
            (void)unsetenv("VIGIL_LOG");
        else
            (void)setenv("VIGIL_LOG", word, 1);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        what();
        _exit(0);
    }
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], printed + used, sizeof printed - 1 - used)) > 0)
        used += (size_t)got;
    printed[used] = '\0';
    (void)close(ends[0]);
    int status;
    must_equal(waitpid(child, &status, 0), child);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int lines = 0;
    for (size_t i = 0; i < used; i++)
        lines += printed[i] == '\n';
    return lines;
}

static int failing_function(void *arg)
{
    (void)arg;
    return -EIO;
}

static void fail_often(const vigil_pool_options *options)
{
    vigil_pool *pool = NULL;
    if (vigil_pool_create(&pool, options) != 0)
        _exit(9);
    for (int i = 0; i < 1000; i++)
        (void)vigil_pool_call(pool, failing_function, NULL, NULL, VIGIL_NORMAL);
    (void)vigil_pool_shutdown(pool, VIGIL_FOREVER);
    (void)vigil_pool_destroy(pool);
}

static void tasks_fail(void)
{
    fail_often(NULL);
}

static void hear(void *user, const vigil_failure *failure)
{
    (void)user;
    (void)failure;
}

static void tasks_fail_with_a_hook(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.on_failure = hear;
    fail_often(&options);
}

static void reject_some(const vigil_promise_hooks *hooks)
{
    vigil_loop *it = NULL;
    if (vigil_loop_create(&it, NULL) != 0 || vigil_promise_hooks_set(it, hooks) != 0)
        _exit(9);
    for (int i = 0; i < 100; i++) {
        vigil_promise *promise = NULL;
        (void)vigil_promise_create(&promise, it);
        (void)vigil_promise_reject(promise, vigil_value_error(-ENODATA));
        vigil_promise_unref(promise);
    }
    (void)vigil_loop_run(it, VIGIL_RUN);
    (void)vigil_loop_destroy(it);
}

static void nobody_handles(void)
{
    reject_some(NULL);
}

static void hear_rejection(void *user, const vigil_rejection *rejection)
{
    (void)user;
    (void)rejection;
}

static void a_hook_hears_rejections(void)
{
    vigil_promise_hooks hooks = VIGIL_PROMISE_HOOKS_INIT;
    hooks.unhandled = hear_rejection;
    reject_some(&hooks);
}

static void leave(void *arg)
{
    (void)arg;
    vigil_raise(-EPROTO);
}

static void uncaught(void *user, const vigil_uncaught *it)
{
    (void)user;
    (void)it;
}

static void raise_some(const vigil_loop_options *options)
{
    vigil_loop *it = NULL;
    if (vigil_loop_create(&it, options) != 0)
        _exit(9);
    for (int i = 0; i < 100; i++)
        (void)vigil_loop_call(it, leave, NULL, NULL);
    (void)vigil_loop_run(it, VIGIL_RUN);
    (void)vigil_loop_destroy(it);
}

static void callbacks_raise(void)
{
    raise_some(NULL);
}

static void callbacks_raise_with_a_hook(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = uncaught;
    raise_some(&options);
}

static int end_thread(void *arg)
{
    (void)arg;
    pthread_exit(NULL);
    return 0;
}

static void a_task_ends_its_thread(void)
{
    vigil_pool *pool = NULL;
    if (vigil_pool_create(&pool, NULL) != 0)
        _exit(9);
    (void)vigil_pool_call(pool, end_thread, NULL, NULL, VIGIL_NORMAL);
    (void)vigil_pool_shutdown(pool, VIGIL_FOREVER);
    (void)vigil_pool_destroy(pool);
}

static void end_thread_in_callback(void *arg)
{
    (void)end_thread(arg);
}

static void *run_the_loop(void *arg)
{
    (void)vigil_loop_run(arg, VIGIL_RUN);
    return NULL;
}

static void a_callback_ends_its_thread(void)
{
    vigil_loop *it = NULL;
    pthread_t thread;
    if (vigil_loop_create(&it, NULL) != 0)
        _exit(9);
    (void)vigil_loop_call(it, end_thread_in_callback, NULL, NULL);
    if (pthread_create(&thread, NULL, run_the_loop, it) != 0)
        _exit(9);
    (void)pthread_join(thread, NULL);
    (void)vigil_loop_run(it, VIGIL_RUN);
    (void)vigil_loop_destroy(it);
}

static void misuse(void)
{
    vigil_pool *pool = NULL;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2000;
    for (int i = 0; i < 100; i++)
        (void)vigil_pool_create(&pool, &options);
}

static void everything_goes_well(void)
{
    vigil_pool *pool = NULL;
    vigil_loop *it = NULL;
    vigil_promise *promise = NULL;
    if (vigil_pool_create(&pool, NULL) != 0 || vigil_loop_create(&it, NULL) != 0)
        _exit(9);
    (void)vigil_promise_sleep(it, 1, NULL, &promise);
    vigil_promise_unref(promise);
    (void)vigil_loop_run(it, VIGIL_RUN);
    (void)vigil_loop_destroy(it);
    (void)vigil_pool_destroy(pool);
}

static void the_first_failed_task_is_printed(void **state)
{
    (void)state;
    must_equal(lines_of(tasks_fail, NULL), 1);
    must(strstr(printed, "vigil: a task failed: ") == printed);
    must(strstr(printed, "returned -5") != NULL && strstr(printed, "on_failure") != NULL);
    must(strstr(printed, "VIGIL_LOG=off") != NULL);
    must_equal(lines_of(tasks_fail, "error"), 1);
}

static void the_first_unhandled_rejection_is_printed(void **state)
{
    (void)state;
    must_equal(lines_of(nobody_handles, NULL), 1);
    must(strstr(printed, "rejected with -61") != NULL && strstr(printed, "vigil_promise_catch") != NULL);
}

static void the_first_callback_that_raises_is_printed(void **state)
{
    (void)state;
    must_equal(lines_of(callbacks_raise, NULL), 1);
    must(strstr(printed, "vigil_raise(-71)") != NULL && strstr(printed, "on_uncaught") != NULL);
}

static void the_end_of_a_thread_is_called_so(void **state)
{
    (void)state;
    const char *const words = "ended its thread (pthread_exit or cancellation)";
    must_equal(lines_of(a_task_ends_its_thread, NULL), 1);
    must(strstr(printed, "vigil: a task failed: ") == printed && strstr(printed, words) != NULL);
    must_equal(lines_of(a_callback_ends_its_thread, NULL), 1);
    must(strstr(printed, words) != NULL && strstr(printed, "vigil_raise") == NULL);
}

static void the_first_misuse_is_printed_with_the_argument(void **state)
{
    (void)state;
    must_equal(lines_of(misuse, NULL), 1);
    must(strstr(printed, "options.workers is 2000") != NULL && strstr(printed, "-EINVAL") != NULL);
}

static void a_hook_takes_the_place_of_the_line(void **state)
{
    (void)state;
    must_equal(lines_of(tasks_fail_with_a_hook, NULL), 0);
    must_equal(lines_of(a_hook_hears_rejections, NULL), 0);
    must_equal(lines_of(callbacks_raise_with_a_hook, NULL), 0);
}

static void off_prints_nothing(void **state)
{
    (void)state;
    must_equal(lines_of(tasks_fail, "off"), 0);
    must_equal(lines_of(nobody_handles, "off"), 0);
    must_equal(lines_of(callbacks_raise, "off"), 0);
    must_equal(lines_of(misuse, "off"), 0);
}

static void warn_prints_more_but_never_a_flood(void **state)
{
    (void)state;
    const uint64_t began = now_ns();
    const int lines = lines_of(tasks_fail, "warn");
    const uint64_t tenths = (now_ns() - began) / 100000000 + 2;
    must(lines >= 1 && (uint64_t)lines <= tenths); /* 1000 failures */
}

static void a_program_without_failures_prints_nothing(void **state)
{
    (void)state;
    must_equal(lines_of(everything_goes_well, "warn"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failed_task_is_printed),
        cmocka_unit_test(the_first_unhandled_rejection_is_printed),
        cmocka_unit_test(the_first_callback_that_raises_is_printed),
        cmocka_unit_test(the_end_of_a_thread_is_called_so),
        cmocka_unit_test(the_first_misuse_is_printed_with_the_argument),
        cmocka_unit_test(a_hook_takes_the_place_of_the_line),
        cmocka_unit_test(off_prints_nothing),
        cmocka_unit_test(warn_prints_more_but_never_a_flood),
        cmocka_unit_test(a_program_without_failures_prints_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
